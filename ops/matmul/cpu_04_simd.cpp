// SPDX-License-Identifier: Apache-2.0
// CPU rung 4: vectors, a tile of C in registers, every core. The fastest CPU rung.
//
// A register tile of rows × three vectors reuses each element of A and each vector of B that it loads, so
// that the arithmetic units and not the caches are the limit. B is packed into panels that a tile reads
// sequentially; A is read in place. Each thread computes its own block of C and waits for no other. Highway
// compiles the tile for each instruction set and dispatches at run time. Multiply-adds are fused and blocks
// along k summed separately, so bits differ from the rungs below. Small products, and products with few rows
// or columns, have separate loops with bitwise identical results (small.hpp). Elements of 16 and 8 bits are
// converted as they are packed, A as well (packed.hpp).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul/cpu_04_simd.cpp"
#include "tessera/core/device/vector_targets.hpp"
#include <hwy/foreach_target.h>
#include "ops/matmul/kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::matmul {
namespace HWY_NAMESPACE {

void run_f32(const Product<float>& p, const Block& block, Scratch& scratch) {
  BlockProduct<float>(p, block, scratch).run();
}
void run_f64(const Product<double>& p, const Block& block, Scratch& scratch) {
  BlockProduct<double>(p, block, scratch).run();
}
void run_u32(const Product<std::uint32_t>& p, const Block& block, Scratch& scratch) {
  BlockProduct<std::uint32_t>(p, block, scratch).run();
}
std::int64_t tile_rows() { return kTileRows; }

}  // namespace HWY_NAMESPACE
}  // namespace tessera::matmul
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cstdlib>
#include <functional>
#include <new>
#include <sys/mman.h>
#include <unistd.h>
#include "ops/matmul/kernels/cpu/packed.hpp"
#include "ops/matmul/kernels/cpu/small.hpp"
#include "ops/matmul/gemm/gemm.hpp"
#include "ops/matmul/gemm/operands.hpp"
#include "tessera/core/device/parallel.hpp"
#include "tessera/core/operation/promise.hpp"
#include "tessera/rung.hpp"

namespace tessera::matmul {

Scratch::~Scratch() { std::free(data_); }

void* Scratch::get_bytes(std::size_t bytes) {
  constexpr std::size_t huge_page = std::size_t{2} << 20;
  if (bytes <= bytes_) return data_;
  std::free(data_);
  bytes_ = 0;
  const std::size_t rounded = (bytes + huge_page - 1) / huge_page * huge_page;
  data_ = std::aligned_alloc(huge_page, rounded);
  if (data_ == nullptr) throw std::bad_alloc();
  madvise(data_, rounded, MADV_HUGEPAGE);  // only for speed: a refusal changes nothing
  bytes_ = rounded;
  return data_;
}

CacheSizes cache_sizes() {
  static const CacheSizes sizes = [] {
    const auto at_least = [](long bytes, std::int64_t least) { return std::max<std::int64_t>(bytes, least); };
    return CacheSizes{at_least(sysconf(_SC_LEVEL1_DCACHE_SIZE), 32 << 10),
                      at_least(sysconf(_SC_LEVEL2_CACHE_SIZE), 256 << 10)};
  }();
  return sizes;
}

ThreadGrid thread_grid(std::int64_t m, std::int64_t n, int threads, std::int64_t row_unit,
                       std::int64_t col_unit) {
  constexpr double copy_cost = 24;  // per element of B, in units of one product
  ThreadGrid best{1, 1, std::max(m, row_unit), std::max(n, col_unit)};
  double least = 0;
  for (int down = 1; down <= threads; ++down) {
    const int across = threads / down;
    const ThreadGrid tried{down, across, even_part(m, (m + down - 1) / down, row_unit),
                           even_part(n, (n + across - 1) / across, col_unit)};
    const double cost =
        static_cast<double>(tried.block_cols) * (static_cast<double>(tried.block_rows) + copy_cost);
    if (least == 0 || cost < least) {
      best = tried;
      least = cost;
    }
  }
  return best;
}

namespace {

HWY_EXPORT(run_f32);
HWY_EXPORT(run_f64);
HWY_EXPORT(run_u32);
HWY_EXPORT(tile_rows);

template <class T>
void run_block(const Product<T>& product, const Block& block) {
  thread_local Scratch scratch;
  if constexpr (std::is_same_v<T, float>) HWY_DYNAMIC_DISPATCH(run_f32)(product, block, scratch);
  else if constexpr (std::is_same_v<T, double>) HWY_DYNAMIC_DISPATCH(run_f64)(product, block, scratch);
  else HWY_DYNAMIC_DISPATCH(run_u32)(product, block, scratch);
}

// Views integers as unsigned ones, which may alias signed ones.
template <class U, class T>
Strided<U> strided(const Matrix<T>& matrix) {
  return {reinterpret_cast<U*>(matrix.data), matrix.stride[0], matrix.stride[1]};
}

// True if columns of C are contiguous: then its transpose is computed, Cᵀ = Bᵀ·Aᵀ.
template <class T>
bool by_columns(const Problem<T>& p) {
  return p.c.stride[1] != 1 && p.c.stride[0] == 1;
}

template <class T>
auto product_of(const Problem<T>& p) {
  using U =
      typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  Product<U> product{p.m(),
                     p.n(),
                     p.k(),
                     strided<const U>(p.a),
                     strided<const U>(p.b),
                     strided<const U>(p.c0),
                     strided<U>(p.c),
                     static_cast<U>(p.alpha),
                     static_cast<U>(p.beta)};
  if (by_columns(p)) product = exchanged(product);
  return product;
}

template <class T>
void run_product(const Product<T>& product, int threads) {
  if (product.m == 0 || product.n == 0) return;
  if constexpr (!std::is_same_v<T, std::uint32_t>) {
    Product<T> small = product;
    if (multiply_small(small, threads)) return;
  }
  constexpr std::int64_t min_work = 32 * 32 * 32;  // products worth another thread
  const double work =
      static_cast<double>(product.m) * static_cast<double>(product.n) * static_cast<double>(product.k + 1);
  const int useful = static_cast<int>(std::clamp(work / min_work, 1.0, static_cast<double>(threads)));
  const std::int64_t lanes = 64 / static_cast<std::int64_t>(sizeof(T));
  const ThreadGrid grid = thread_grid(product.m, product.n, useful, 8, lanes);
  const auto compute = [&](int part) { run_block(product, grid.block(part, product.m, product.n)); };
  parallel(static_cast<int>(grid.down * grid.across), std::ref(compute));
}

}  // namespace

template <class T>
void multiply_simd(const Problem<T>& problem, int threads, const EpilogueProblem<T>* after) {
  auto product = product_of(problem);
  if (after == nullptr) return run_product(product, threads);
  const EpilogueProblem<T> epilogue = by_columns(problem) ? after->transposed() : *after;
  product.after = &epilogue;
  run_product(product, threads);
}

template <class T>
void add_simd(const Problem<T>& problem, int threads) {
  auto product = product_of(problem);
  product.adds = true;
  run_product(product, threads);
}

std::int64_t simd_depth(std::int64_t k, std::int64_t size) {
  return near_part(k, wanted_depth(cache_sizes(), size, HWY_DYNAMIC_DISPATCH(tile_rows)()), 16);
}

template void multiply_simd(const Problem<float>&, int, const EpilogueProblem<float>*);
template void multiply_simd(const Problem<double>&, int, const EpilogueProblem<double>*);
template void multiply_simd(const Problem<std::int32_t>&, int, const EpilogueProblem<std::int32_t>*);
template void add_simd(const Problem<float>&, int);
template void add_simd(const Problem<double>&, int);
template void add_simd(const Problem<std::int32_t>&, int);

namespace {

template <class T>
void run(const Arguments& arguments, const Tuning&, Run& run) {
  const auto problem = Problem<T>::of(arguments);
  if (is_plain(arguments)) return multiply_simd(problem, run.device->threads);
  const auto after = EpilogueProblem<T>::of(arguments, nullptr);
  multiply_simd(problem, run.device->threads, &after);
}

// Plans plain products, because parsing the arguments of a small one takes longer than the product.
template <class T>
PreparedRun prepare(const Arguments& arguments, const Tuning& tuning, const Device& device) {
  if (!is_plain(arguments)) return without_plan(run<T>)(arguments, tuning, device);
  const auto problem = Problem<T>::of(arguments);
  return {.launch = [product = product_of(problem), exchanged = by_columns(problem)](
                        std::span<void* const> arrays, Run& run) {
    auto addressed = product;
    using U = std::remove_reference_t<decltype(*addressed.c.data)>;
    addressed.a.data = static_cast<const U*>(arrays[exchanged ? in_b : in_a]);
    addressed.b.data = static_cast<const U*>(arrays[exchanged ? in_a : in_b]);
    addressed.c.data = static_cast<U*>(arrays[out_c]);
    if (addressed.c0.data != nullptr) addressed.c0.data = static_cast<const U*>(arrays[in_c0]);
    run_product(addressed, run.device->threads);
  }};
}

PreparedRun prepare_mixed(const Arguments& arguments, const Tuning&, const Device&) {
  return {.launch = [problem = MixedProblem::of(arguments)](std::span<void* const> arrays, Run& run) {
    multiply_packed(with_addresses(problem, arrays), run.device->threads);
  }};
}

Choice choice() {
  Choice out;
  out.prepare[Element::f32] = prepare<float>;
  out.prepare[Element::f64] = prepare<double>;
  out.prepare[Element::i32] = prepare<std::int32_t>;
  for (const Element element : packed_elements) out.prepare[element] = prepare_mixed;
  out.unsupported_arguments = [](const Arguments& arguments) -> Reason {
    if (is_packed(arguments.element())) {
      (void)MixedProblem::of(arguments);  // throws if the combination is not supported
      return std::nullopt;
    }
    if (is_scaled(arguments)) return "does not support scales";
    (void)supports_epilogue_pass(arguments);  // throws if the combination is not supported
    return std::nullopt;
  };
  return out;
}

const Rung rung{"vectors, a tile of C in registers, packed panels of B, all cores", Where::cpu, {choice()}};
// Blocks along k depend on k and the caches alone, and no sum is divided among threads.
[[maybe_unused]] const bool registered =
    (register_layouts(b_in_panels), keep_promise(batch_invariant_option), true);
}  // namespace

}  // namespace tessera::matmul
#endif
