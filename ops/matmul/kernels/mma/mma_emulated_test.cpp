// SPDX-License-Identifier: Apache-2.0
// Rung 12's kernels, unchanged, on the executor: asynchronous copies that complete as late or as early as
// possible, and tensor cores as PTX's manual describes them (tests/emulated). Sums are of integers, so
// results are exact.
#include "cuda.hpp"
#include "ops/matmul/kernels/mma/mma_kernel.cuh"
#include <gtest/gtest.h>
#include <cmath>
#include <limits>
#include <random>
#include <vector>
#include "tessera/kernel.hpp"

namespace tessera::matmul {
namespace {

template <class Tile>
struct Emulated {
  struct Shared {
    alignas(128) unsigned char memory[Tile::config.shared_bytes()];
  };
  void operator()(Thread, Shared& shared, const MmaArgs<typename Tile::Kind>& args) const {
    Tile{args, shared.memory}.run();
  }
};

// A problem and its layout: `ahead` elements from an aligned address, lines `more` elements longer.
struct Shape {
  std::int64_t m, n, k;
  bool a_along_k = true, b_along_k = true;
  int more = 0, ahead = 0, splits = 1;
  // `exchanged`: the rows of the computed product are contiguous in C.
  bool c0 = false, transposed = false, exchanged = false;
  bool by_columns() const { return transposed != exchanged; }
};

template <class Element>
struct Numbers {
  std::vector<Element> numbers;
  Element* data;

  Numbers(std::int64_t size, int ahead, std::mt19937& random) {
    constexpr int piece = 16 / sizeof(Element);
    numbers.resize(static_cast<std::size_t>(size + ahead + piece));
    for (Element& x : numbers) x = Element(static_cast<float>(static_cast<int>(random() % 9) - 4));
    const auto at = reinterpret_cast<std::uintptr_t>(numbers.data());
    data = numbers.data() + (16 - at % 16) % 16 / sizeof(Element) + ahead;
  }
};

void set(Problem<double>& p, std::vector<double>& c, std::vector<double>& c0, const Shape& s) {
  const Extents strides = s.by_columns() ? Extents{1, s.m} : Extents{s.n, 1};
  p.c = {c.data(), {s.m, s.n}, {strides[0], strides[1]}};
  p.alpha = 2;
  if (!s.c0) return;
  p.beta = 3;
  p.c0 = {c0.data(), {s.m, s.n}, {strides[0], strides[1]}};
}

void set(MixedProblem& p, std::vector<float>& c, std::vector<float>& c0, const Shape& s) {
  p.m = s.m, p.n = s.n, p.k = s.k;
  p.c = c.data();
  p.c_row_stride = s.by_columns() ? 1 : s.n;
  p.c_col_stride = s.by_columns() ? s.m : 1;
  p.alpha = 2;
  p.beta = s.c0 ? 3.0f : 0.0f;
  p.c0 = {s.c0 ? c0.data() : nullptr, Element::f32, p.c_row_stride, p.c_col_stride};
}

template <class Kind, int tile, Along a, Along b>
void execute(const MmaArgs<Kind>& args) {
  Device device;  // one thread, because shared memory is static
  Run run{.device = &device};
  constexpr MmaConfig config = Kind::tiles[tile];
  launch_kernel<Emulated<MmaTile<Kind, config, a, b>>>(
      {.grid = {args.order.count()}, .block = {config.threads()}}, args, run);
}

template <class Kind>
void reduce_splits(const MmaLaunch<Kind>& launch, std::int64_t enough_blocks) {
  if (launch.args.order.splits == 1) return;
  Device device;
  Run run{.device = &device};
  const MmaPartials<Kind> partials = partials_of(launch);
  with_reduction(partials, enough_blocks,
                 [&]<class Add> { launch_kernel<Add>(Add::launch(partials), partials, run); });
}

template <class Kind, int tile>
void execute(const MmaLaunch<Kind>& launch) {
  ASSERT_EQ(launch.tile, tile);
  if (launch.a == Along::k && launch.b == Along::k)
    return execute<Kind, tile, Along::k, Along::k>(launch.args);
  if (launch.a == Along::k) return execute<Kind, tile, Along::k, Along::lines>(launch.args);
  if (launch.b == Along::k) return execute<Kind, tile, Along::lines, Along::k>(launch.args);
  execute<Kind, tile, Along::lines, Along::lines>(launch.args);
}

template <class Kind, int tile>
void expect_product(const MmaElement& element, const Shape& s, std::mt19937& random) {
  using Number = typename Kind::Element;
  using Sum = typename Kind::Sum;
  const std::int64_t a_step = (s.a_along_k ? s.k : s.m) + s.more, b_step = (s.b_along_k ? s.k : s.n) + s.more;
  Numbers<Number> a((s.a_along_k ? s.m : s.k) * a_step, s.ahead, random),
      b((s.b_along_k ? s.n : s.k) * b_step, s.ahead, random);
  constexpr std::size_t beyond = 4096;  // guard elements, which must not be written
  std::vector<Sum> c(static_cast<std::size_t>(s.m * s.n) + beyond, std::numeric_limits<Sum>::quiet_NaN()),
      c0(c.size());
  for (Sum& x : c0) x = static_cast<Sum>(random() % 5);
  MmaJob job{.a = {a.data, s.m, s.a_along_k ? a_step : 1, s.a_along_k ? 1 : a_step},
             .b = {b.data, s.n, s.b_along_k ? b_step : 1, s.b_along_k ? 1 : b_step},
             .k = s.k,
             .transposed = s.transposed,
             .plan = {}};
  job.plan = plan_mma(element, job.left().lines, job.right().lines, s.k, {132, 227 * 1024},
                      {.tile = tile + 1, .splits = s.splits});
  typename Kind::Problem p;
  set(p, c, c0, s);
  std::vector<double> workspace(mma_workspace_bytes(element, job.plan) / sizeof(double),
                                std::numeric_limits<double>::quiet_NaN());
  const auto launch = launch_of<Kind>(p, job, workspace.data());
  // Up to the last element of each operand.
  const auto range = [](const Numbers<Number>& x, std::int64_t lines, std::int64_t step, std::int64_t line) {
    return emulated::Range{x.data, x.data + (lines == 0 || line == 0 ? 1 : (lines - 1) * step + line)};
  };
  emulated::readable = {range(a, s.a_along_k ? s.m : s.k, a_step, s.a_along_k ? s.k : s.m),
                        range(b, s.b_along_k ? s.n : s.k, b_step, s.b_along_k ? s.k : s.n)};
  ASSERT_NO_FATAL_FAILURE((execute<Kind, tile>(launch)));
  // With s.transposed by the reduction of many tiles, else by the other one.
  reduce_splits(launch, s.transposed ? 1 : usual_enough_blocks);
  emulated::readable.clear();
  int wrong = 0;
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < s.n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < s.k; ++l)
        sum +=
            static_cast<double>(static_cast<float>(a.data[s.a_along_k ? i * a_step + l : l * a_step + i])) *
            static_cast<double>(static_cast<float>(b.data[s.b_along_k ? j * b_step + l : l * b_step + j]));
      const auto at = static_cast<std::size_t>(s.by_columns() ? j * s.m + i : i * s.n + j);
      wrong += !(static_cast<double>(c[at]) == 2 * sum + (s.c0 ? 3 * static_cast<double>(c0[at]) : 0));
    }
  for (std::size_t i = c.size() - beyond; i < c.size(); ++i) wrong += !std::isnan(c[i]);
  EXPECT_EQ(wrong, 0);
}

template <class Kind, int tile>
void expect_products(const MmaElement& element) {
  constexpr MmaConfig config = Kind::tiles[tile];
  constexpr std::int64_t depth = 128 / Kind::bytes, ring = config.stages * depth;
  std::mt19937 random(tile);
  const std::vector<Shape> shapes{
      {.m = config.rows, .n = config.cols, .k = ring + 2 * depth},
      {.m = config.rows,
       .n = config.cols,
       .k = ring + depth,
       .a_along_k = false,
       .b_along_k = false,
       .splits = 3},
      {.m = config.rows + 1, .n = config.cols - 8, .k = 3 * depth - 8, .b_along_k = false, .c0 = true},
      {.m = config.rows - 8,
       .n = config.cols + 24,
       .k = 2 * depth + 8,
       .a_along_k = false,
       .splits = 2,
       .transposed = true},
      {.m = config.rows + 3,
       .n = config.cols - 5,
       .k = ring + 3,
       .more = 2,
       .ahead = 1,
       .splits = 2,
       .c0 = true},
      {.m = config.rows - 3, .n = 5, .k = depth + 1, .a_along_k = false, .b_along_k = false, .more = 1},
      {.m = 7, .n = config.cols + 9, .k = 5, .b_along_k = false, .ahead = 1, .c0 = true, .transposed = true},
      {.m = config.rows + 5, .n = config.cols - 3, .k = ring + 1, .splits = 2, .c0 = true, .exchanged = true},
      {.m = config.rows - 1, .n = config.cols + 9, .k = depth, .transposed = true, .exchanged = true},
      {.m = 9, .n = 10, .k = 0, .c0 = true},
      {.m = 1, .n = 1, .k = 1},
      {.m = 1, .n = config.cols, .k = depth + 1},  // the leading dimension of a single row says nothing of k
      {.m = 5, .n = 9, .k = depth + 3, .more = 5},
      {.m = 11, .n = 3, .k = 5, .a_along_k = false, .b_along_k = false, .more = 5}};
  for (std::size_t i = 0; i < 2 * shapes.size(); ++i) {
    const Shape& s = shapes[i / 2];
    ptx::copies_are_late = i % 2 == 0;
    SCOPED_TRACE(std::to_string(s.m) + " " + std::to_string(s.n) + " " + std::to_string(s.k) + ", shape " +
                 std::to_string(i / 2) + (ptx::copies_are_late ? ", late" : ", early"));
    expect_product<Kind, tile>(element, s, random);
  }
}

template <class Kind>
void expect_all(const MmaElement& element) {
  [&]<std::size_t... tile>(std::index_sequence<tile...>) {
    (expect_products<Kind, static_cast<int>(tile)>(element), ...);
  }
  (std::make_index_sequence<std::size(Kind::tiles)>{});
}

// Compared with the definition, for a result of the operands' element, in the second tile.
TEST(MmaKernel, AppliesTheEpilogue) {
  using Kind = MmaHalf<__nv_bfloat16>;
  constexpr std::int64_t m = 70, n = 50, k = 72;
  std::mt19937 random(5);
  const Numbers<__nv_bfloat16> a(m * k, 0, random), b(n * k, 0, random), c0(m * n, 0, random),
      bias(n, 0, random);
  std::vector<float> scale_a(m), scale_b(n);
  for (float& x : scale_a) x = static_cast<float>(random() % 5) / 4;
  for (float& x : scale_b) x = static_cast<float>(random() % 5) / 4;
  for (const Activation activation :
       {Activation::none, Activation::relu, Activation::gelu, Activation::silu}) {
    std::vector<__nv_bfloat16> c(m * n), wanted(m * n);
    MixedProblem p{.a = {a.data, Element::bf16, k, 1},
                   .b = {b.data, Element::bf16, 1, k},
                   .c0 = {c0.data, Element::bf16, n, 1},
                   .c = c.data(),
                   .c_element = Element::bf16,
                   .c_row_stride = n,
                   .c_col_stride = 1,
                   .m = m,
                   .n = n,
                   .k = k,
                   .alpha = 0.25f,
                   .beta = 0.5f,
                   .bias = bias.data,
                   .bias_element = Element::bf16,
                   .bias_col_stride = 1,
                   .scale_a = scale_a.data(),
                   .scale_b = scale_b.data(),
                   .scale_a_stride = 1,
                   .scale_b_stride = 1,
                   .post_op = {activation}};
    const MmaJob job{.a = {a.data, m, k, 1},
                     .b = {b.data, n, k, 1},
                     .k = k,
                     .transposed = false,
                     .plan = plan_mma(mma_half, m, n, k, {132, 227 * 1024}, {.tile = 2, .splits = 1})};
    execute<Kind, 1>(launch_of<Kind>(p, job, nullptr));
    p.c = wanted.data();
    int wrong = 0;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (std::int64_t l = 0; l < k; ++l)
          sum += static_cast<float>(a.data[i * k + l]) * static_cast<float>(b.data[j * k + l]);
        Epilogue(p).store(i, j, sum);
        wrong += c[static_cast<std::size_t>(i * n + j)].value.bits !=
                 wanted[static_cast<std::size_t>(i * n + j)].value.bits;
      }
    EXPECT_EQ(wrong, 0);
  }
}

TEST(MmaKernel, MultipliesDoubles) { expect_all<MmaF64>(mma_f64); }
TEST(MmaKernel, MultipliesBf16) { expect_all<MmaHalf<__nv_bfloat16>>(mma_half); }
TEST(MmaKernel, MultipliesF16) { expect_all<MmaHalf<__half>>(mma_half); }

}  // namespace
}  // namespace tessera::matmul
