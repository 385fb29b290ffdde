// SPDX-License-Identifier: Apache-2.0
// GPU rung 11: the fastest rung in the element's own arithmetic.
//
// Asynchronous copies bypass the registers and fill a ring of stages, so that no thread waits for global
// memory; a warp computes a square tile, so that a lane's outer product takes six 16-byte loads for 128
// multiply-adds, and the next fragment loads while this one is multiplied. If tiles do not divide evenly
// among the multiprocessors, these share them stage by stage (stream-K). Nearly every issued instruction is
// then a multiply-add, and the limits are their rate and power.
#include <typeinfo>
#include "ops/matmul/kernels/pack/pack_operands.cuh"
#include "ops/matmul/kernels/simt/warp_kernel.cuh"
#include "ops/matmul/gemm/gemm.hpp"
#include "ops/matmul/gemm/operands.hpp"
#include "tessera/cuda/launch.cuh"
#include "tessera/core/operation/promise.hpp"
#include "tessera/rung.hpp"

namespace tessera::matmul {
namespace {

// Sums of f64 take twice the registers, so a thread has half the outputs.
template <class T>
inline constexpr WarpTilesConfig plain_config = sizeof(T) == 4 ? warp_large
                                                               : WarpTilesConfig{.depth = 8, .warp_n = 32};

template <class T, Access a, Access b>
using PlainKernel = WarpTiles<T, plain_config<T>, a, b>;

// The kernel for row-major operands.
template <int tile>
using RowsKernel =
    WarpTiles<float, warp_tiles[tile], access_of_a(tile, Access::along_k),
              has_kernel(tile, Access::along_k, Access::vector) ? Access::vector : Access::along_k>;

template <class T>
WarpArgs<T> plain_args(const Problem<T>& p) {
  WarpArgs<T> args{.p = p, .order = plain_config<T>.order(p.m(), p.n()), .stream_k = {}};
  args.stream_k.tiles = args.stream_k.data_parallel_tiles = static_cast<std::int32_t>(args.order.count());
  const std::int64_t depth = plain_config<T>.depth;
  args.stream_k.stages = static_cast<std::int32_t>((p.k() + depth - 1) / depth);
  return args;
}

template <class Kernel, class T>
void launch(const WarpArgs<T>& args, Run& run) {
  launch_kernel<Kernel, Pdl::evenly>({.grid = {args.stream_k.blocks()}, .block = {Kernel::threads}}, args,
                                     run);
}

// f64 and i32, any layout: `along_mn` reads every layout that `along_k` does not.
template <class T>
void launch_plain(const Problem<T>& p, Run& run) {
  const WarpArgs<T> args = plain_args(p);
  const bool a = access_to_a(p) == Access::along_k, b = access_to_b(p) == Access::along_k;
  if (a && b) return launch<PlainKernel<T, Access::along_k, Access::along_k>>(args, run);
  if (a) return launch<PlainKernel<T, Access::along_k, Access::along_mn>>(args, run);
  if (b) return launch<PlainKernel<T, Access::along_mn, Access::along_k>>(args, run);
  launch<PlainKernel<T, Access::along_mn, Access::along_mn>>(args, run);
}

template <class T>
PreparedRun prepare_plain(const Arguments& arguments, const Tuning&, const Device&) {
  const auto p = Problem<T>::of(arguments);
  if (p.m() == 0 || p.n() == 0) return {};
  return {.launch = [p](std::span<void* const> arrays, Run& run) {
    launch_plain(with_addresses(p, arrays), run);
  }};
}

template <int tile, Access a, Access b>
void launch_tile(const WarpArgs<float>& args, Run& run) {
  if constexpr (has_kernel(tile, a, b)) launch<WarpTiles<float, warp_tiles[tile], a, b>>(args, run);
}

template <int tile, Access a>
void launch_with_a(const WarpLaunch& wanted, Run& run) {
  if (wanted.b == Access::vector) return launch_tile<tile, a, Access::vector>(wanted.args, run);
  if (wanted.b == Access::along_k) return launch_tile<tile, a, Access::along_k>(wanted.args, run);
  launch_tile<tile, a, Access::along_mn>(wanted.args, run);
}

template <int tile>
void launch_any(const WarpLaunch& wanted, Run& run) {
  if (wanted.a == Access::vector) return launch_with_a<tile, Access::vector>(wanted, run);
  if (wanted.a == Access::along_k) return launch_with_a<tile, Access::along_k>(wanted, run);
  launch_with_a<tile, Access::along_mn>(wanted, run);
}

WarpMachine machine_of(const Device& device) { return {device.multiprocessors, device.max_shared_bytes}; }

Problem<float> oriented(const Problem<float>& p) { return transposes(p) ? transposed(p) : p; }

// True if B, whose columns are contiguous, is first copied to rows: with many rows of C that takes less time
// than transposing it on the way to shared memory for each row of tiles.
bool packs_b(const Problem<float>& p) {
  constexpr std::int64_t min_rows = 4096, min_side = 256, max_elements = std::int64_t{1} << 28;
  return access_to_b(p) == Access::along_k && p.m() >= min_rows && std::min(p.n(), p.k()) >= min_side &&
         p.n() * p.k() <= max_elements;
}
MatrixRef rows_of_b(const Problem<float>& p) {
  return {p.b.data, sizeof(float), p.k(), p.n(), p.b.stride[0], p.b.stride[1]};
}
Problem<float> with_packed_b(Problem<float> p, const void* packed) {
  const std::int64_t step = packed_step(rows_of_b(p));
  p.b = {static_cast<const float*>(packed), {p.k(), step}, {step, 1}};  // columns beyond n are not stored
  return p;
}

void launch_floats(const Problem<float>& p, const WarpPlan& plan, void* workspace, Run& run) {
  const WarpLaunch wanted = warp_launch(p, plan, workspace);
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    ((wanted.tile == static_cast<int>(i) ? launch_any<static_cast<int>(i)>(wanted, run) : void()), ...);
  }
  (std::make_index_sequence<warp_tile_count>{});
  if (plan.stream_k.slots() == 0) return;
  const WarpPartials<float> partials = partials_of(wanted);
  with_reduction(partials, usual_enough_blocks,
                 [&]<class Add> { launch_kernel<Add, Pdl::on>(Add::launch(partials), partials, run); });
}

// Rows of C that are computed together: their plan, and the bytes of a packed B.
struct FloatsRun {
  WarpPlan plan;
  std::size_t packed = 0;

  FloatsRun(const Problem<float>& given, const WarpOptions& options, const Device& device) {
    Problem<float> p = oriented(given);
    if (options.tile == 0 && packs_b(p)) {
      packed = packed_bytes(rows_of_b(p));
      p = with_packed_b(p, nullptr);
    }
    plan = warp_plan(p, machine_of(device), options);
  }

  std::size_t workspace_bytes() const { return packed + warp_workspace_bytes(plan); }
  void operator()(const Problem<float>& given, Run& run) const {
    Problem<float> p = oriented(given);
    char* const workspace = static_cast<char*>(run.workspace);
    if (packed != 0) {
      const cuda::OnDevice on_device(run.device->index);
      pack<4>({{rows_of_b(p), workspace}}, static_cast<cudaStream_t>(run.stream));
      p = with_packed_b(p, workspace);
    }
    launch_floats(p, plan, workspace + packed, run);
  }
};

Problem<float> some_rows(Problem<float> p, std::int64_t first, std::int64_t count) {
  const auto of = [&](auto& x) {
    if (x.data != nullptr) x.data += first * x.stride[0];
    x.extent[0] = count;
  };
  of(p.a);
  of(p.c0);
  of(p.c);
  return p;
}

// `tile`: counted from 1; 0: the model's choice. With --batch-invariant, rows are computed in chunks whose
// partial sums fit the workspace.
template <int tile>
PreparedRun prepare_f32(const Arguments& arguments, const Tuning& tuning, const Device& device) {
  const auto given = Problem<float>::of(arguments);
  const std::int64_t m = given.m();
  if (m == 0 || given.n() == 0) return {};
  WarpOptions options{.tile = tile, .splits = static_cast<int>(tuning["splits"])};
  if (is_batch_invariant(arguments))
    options.exact_parts = warp_parts_of_any_rows(given.n(), given.k(), machine_of(device));
  const std::int64_t rows = options.exact_parts > 1
                                ? std::min(m, warp_rows_at_once(given.n(), options.exact_parts))
                                : m,
                     last = (m - 1) / rows * rows;
  const FloatsRun rest(some_rows(given, last, m - last), options, device),
      most = last == 0 ? rest : FloatsRun(some_rows(given, 0, rows), options, device);
  return {.launch =
              [=](std::span<void* const> arrays, Run& run) {
                const Problem<float> p = with_addresses(given, arrays);
                for (std::int64_t row = 0; row < last; row += rows) most(some_rows(p, row, rows), run);
                rest(some_rows(p, last, m - last), run);
              },
          .workspace_bytes = std::max(most.workspace_bytes(), rest.workspace_bytes())};
}

std::int64_t shared_bytes(Element element, int tile) {
  if (element == Element::f64) return warp_shared_bytes(plain_config<double>, 8);
  return warp_shared_bytes(tile == 0 || element != Element::f32 ? warp_large : warp_tiles[tile - 1], 4);
}

template <int tile>
Reason refuses(const Arguments& arguments, const Tuning& tuning, const Device& device) {
  if (Reason reason = exceeds_index_range(arguments)) return reason;
  const bool splits = tuning["splits"] != 0 || (tile != 0 && warp_tiles[tile == 0 ? 0 : tile - 1].slices > 1);
  if (is_batch_invariant(arguments) && splits)
    return std::string("chooses the parts of sums itself with --") + batch_invariant_option;
  const std::int64_t bytes = shared_bytes(arguments.element(), tile);
  if (bytes > device.max_shared_bytes)
    return "needs " + std::to_string(bytes) + " bytes of shared memory in a block, the limit is " +
           std::to_string(device.max_shared_bytes);
  if constexpr (tile != 0) {
    const auto p = Problem<float>::of(arguments);
    const Problem<float> q = oriented(p);
    if (arguments.element() == Element::f32 &&
        !has_kernel(tile - 1, access_of_a(tile - 1, access_to_a(q)), access_to_b(q)))
      return "this tuning has no kernel for this operand layout";
  }
  return std::nullopt;
}

// True if each lane stores its own accumulators; misaligned rows of C are stored by other lanes.
template <class T>
bool is_stored_by_lanes(const Problem<T>& p) {
  constexpr std::int64_t vector = 16 / sizeof(T);
  const auto is_aligned = [](const auto& c) {
    return c.stride[1] == 1 && c.stride[0] % vector == 0 &&
           reinterpret_cast<std::uintptr_t>(c.data) % 16 == 0;
  };
  return is_aligned(p.c) && (p.beta == T{0} || is_aligned(p.c0));
}

// Returns the block and thread that write an element, if each block computes one tile of a known shape.
template <int tile>
std::optional<Owner> owner(const Arguments& arguments, const Tuning& tuning, const Extents& index) {
  const std::int64_t m = arguments.dim("m"), n = arguments.dim("n"), i = index[0], j = index[1];
  const auto plain = [&]<class T, WarpTilesConfig config>() -> std::optional<Owner> {
    if (!is_stored_by_lanes(Problem<T>::of(arguments))) return std::nullopt;
    return WarpLayout<config, 16 / int{sizeof(T)}>::owner(m, n, i, j);
  };
  if (arguments.element() == Element::f64) return plain.template operator()<double, plain_config<double>>();
  if (arguments.element() == Element::i32) return plain.template operator()<std::int32_t, warp_large>();
  if constexpr (tile != 0) {
    if (tuning["splits"] != 1) return std::nullopt;
    using Layout = WarpLayout<warp_tiles[tile - 1], 4>;
    const auto p = Problem<float>::of(arguments);
    if (!is_stored_by_lanes(oriented(p))) return std::nullopt;
    return transposes(p) ? Layout::owner(n, m, j, i) : Layout::owner(m, n, i, j);
  }
  return std::nullopt;
}

template <class Kernel, class T>
Footprint footprint_of(std::int64_t blocks) {
  return {blocks, Kernel::threads, sizeof(typename Kernel::Shared),
          registers_of<Kernel, WarpArgs<T>, Pdl::evenly>()};
}
template <class T>
Footprint plain_footprint(const Arguments& arguments) {
  return footprint_of<PlainKernel<T, Access::along_k, Access::along_mn>, T>(
      plain_args(Problem<T>::of(arguments)).stream_k.blocks());
}

// Returns the footprint of the kernel for row-major operands, whose registers stand for those of the other
// layouts. Known only if nothing is left to the model, which depends on the device.
template <int tile>
std::optional<Footprint> footprint(const Arguments& arguments, const Tuning& tuning) {
  if (arguments.element() == Element::f64) return plain_footprint<double>(arguments);
  if (arguments.element() == Element::i32) return plain_footprint<std::int32_t>(arguments);
  if constexpr (tile != 0) {
    if (tuning["splits"] == 0) return std::nullopt;
    const auto p = Problem<float>::of(arguments);
    if (p.m() == 0 || p.n() == 0) return std::nullopt;
    const WarpPlan plan = warp_plan(p, {1, 1 << 20}, {tile, tuning["splits"]});
    if (plan.tile != tile - 1) return std::nullopt;
    return footprint_of<RowsKernel<tile - 1>, float>(plan.stream_k.blocks());
  }
  return std::nullopt;
}

// Sets the mangled names by which compiled code is found, those of the kernels for row-major operands.
template <int tile>
void name_kernels(Choice& choice) {
  choice.kernels[Element::f32] = typeid(RowsKernel < tile == 0 ? 0 : tile - 1 >).name();
  if (tile != 0) return;
  choice.kernels[Element::f64] = typeid(PlainKernel<double, Access::along_k, Access::along_mn>).name();
  choice.kernels[Element::i32] = typeid(PlainKernel<std::int32_t, Access::along_k, Access::along_mn>).name();
}

template <int tile>
Choice choice() {
  Choice out;
  if constexpr (tile != 0) out.tuning = warp_tiles[tile - 1].tuning();
  out.ranges = {{.name = "splits", .first = 0, .last = 1024, .value = 0}};
  out.prepare[Element::f32] = prepare_f32<tile>;
  if (tile == 0) {
    out.prepare[Element::f64] = prepare_plain<double>;
    out.prepare[Element::i32] = prepare_plain<std::int32_t>;
    bind_limits<Problem>(out, Types<float, double, std::int32_t>{});
  } else {
    bind_limits<Problem>(out, Types<float>{});
  }
  name_kernels<tile>(out);
  out.refuses = refuses<tile>;
  out.owner = owner<tile>;
  out.footprint = footprint<tile>;
  return out;
}

// Returns the model's choice, then a choice for each tile, for tuning.
std::vector<Choice> choices() {
  return [&]<std::size_t... tile>(std::index_sequence<tile...>) {
    return std::vector<Choice>{choice<static_cast<int>(tile)>()...};
  }
  (std::make_index_sequence<warp_tile_count + 1>{});
}

const Rung rung{
    "asynchronous copies into a ring of stages, a square tile per warp, fragments loaded ahead: "
    "nearly every instruction is a multiply-add",
    Where::cuda, choices()};
[[maybe_unused]] const bool registered =
    (register_layouts(across_k), keep_promise(batch_invariant_option), true);

}  // namespace
}  // namespace tessera::matmul
