// SPDX-License-Identifier: Apache-2.0
// GPU rung 11: the summit in the element's own arithmetic.
//
// Copies run asynchronously past the registers into a ring of stages, so that no thread waits for
// global memory; a warp shares a square tile, so that a lane's outer product takes six 16-byte loads
// for 128 multiply-adds; and the next fragment loads while this one is multiplied. Nearly every
// issued instruction is then a multiply-add, and what limits the rung is their rate, and power.
#include <typeinfo>
#include "tessera/kernel.hpp"
#include "warp_tiles.cuh"

namespace tessera::matmul {
namespace {

using Config = WarpTilesConfig;
constexpr Config two_blocks{.blocks = 2};  // one multiplies while the other waits or stores

// Sums of f64 fill twice the registers: half the outputs a thread, whatever the tuning.
template <class T>
constexpr Config config_for(Config config) {
  if (sizeof(T) == 4) return config;
  return {.depth = 8, .warp_n = 32};
}

template <class M>
bool takes_vectors(const M& matrix, std::int64_t stride_mn, std::int64_t stride_k) {
  constexpr std::int64_t vector = 16 / sizeof(*matrix.data);
  return stride_mn == 1 && stride_k % vector == 0 && reinterpret_cast<std::uintptr_t>(matrix.data) % 16 == 0;
}

template <class M>
Access best_access(const M& matrix, std::int64_t stride_mn, std::int64_t stride_k) {
  if (takes_vectors(matrix, stride_mn, stride_k)) return Access::vector;
  return stride_k == 1 ? Access::along_k : Access::along_mn;
}

template <class T>
Access access_to_a(const Problem<T>& p) {
  return best_access(p.a, p.a.stride[0], p.a.stride[1]);
}
template <class T>
Access access_to_b(const Problem<T>& p) {
  return best_access(p.b, p.b.stride[1], p.b.stride[0]);
}

template <class T, Config config, Access a, Access b>
void run(const Problem<T>& p, const Tuning& tuning, Run& run) {
  using Kernel = WarpTiles<T, config_for<T>(config), a, b>;
  const Launch launch = Kernel::launch(p, tuning);
  if (launch.blocks() > 0) launch_kernel<Kernel>(launch, p, run);
}

template <class T, Config config, Access a>
void run_with_a(Access b, const Problem<T>& p, const Tuning& tuning, Run& here) {
  // Only f32 is so fast that element-wise copies of B's rows would show.
  if constexpr (std::is_same_v<T, float>)
    if (b == Access::vector) return run<T, config, a, Access::vector>(p, tuning, here);
  if (b == Access::along_k) return run<T, config, a, Access::along_k>(p, tuning, here);
  run<T, config, a, Access::along_mn>(p, tuning, here);
}

// Any layout. `along_mn` takes whatever the others do not.
template <class T, Config config>
void run_any(const Problem<T>& p, const Tuning& tuning, Run& here) {
  const Access a = access_to_a(p), b = access_to_b(p);
  if (a == Access::along_k) return run_with_a<T, config, Access::along_k>(b, p, tuning, here);
  if constexpr (std::is_same_v<T, float>)
    if (a == Access::vector) return run_with_a<T, config, Access::vector>(b, p, tuning, here);
  run_with_a<T, config, Access::along_mn>(b, p, tuning, here);
}

template <Config config, Access a, Access b, class T>
Footprint footprint_of(const Problem<T>& p, const Tuning& tuning) {
  return tessera::TESSERA_UNIT::detail::footprint_of<WarpTiles<T, config_for<T>(config), a, b>>(p, tuning);
}

template <Config config, class T>
Reason does_not_fit(const Problem<T>& p, const Tuning& tuning, const Device& device) {
  using Kernel = WarpTiles<T, config_for<T>(config), Access::along_k, Access::along_mn>;
  return tessera::TESSERA_UNIT::detail::device_refuses(Kernel::launch(p, tuning),
                                                       sizeof(typename Kernel::Shared), device);
}

template <Config config, class T>
Owner owner_of(const Arguments& arguments, const Extents& index) {
  return WarpLayout<config_for<T>(config), 16 / sizeof(T)>::owner(arguments.dim("m"), arguments.dim("n"),
                                                                  index[0], index[1]);
}

template <Config config>
std::optional<Owner> owner(const Arguments& arguments, const Tuning&, const Extents& index) {
  return arguments.element() == Element::f64 ? owner_of<config, double>(arguments, index)
                                             : owner_of<config, float>(arguments, index);
}

// Of the kernel for rows, whose registers stand for those of the other layouts.
template <Config config>
std::optional<Footprint> footprint(const Arguments& arguments, const Tuning& tuning) {
  switch (arguments.element()) {
    case Element::f32:
      return footprint_of<config, Access::along_k, Access::along_mn>(Problem<float>::of(arguments), tuning);
    case Element::f64:
      return footprint_of<config, Access::along_k, Access::along_mn>(Problem<double>::of(arguments), tuning);
    default:
      return footprint_of<config, Access::along_k, Access::along_mn>(Problem<std::int32_t>::of(arguments),
                                                                     tuning);
  }
}

// By these names the compiler's code is found; of the kernels, those for rows.
template <class T, Config config, Access b>
void name_kernel(Choice& choice) {
  choice.kernels[element_of<T>] = typeid(WarpTiles<T, config_for<T>(config), Access::along_k, b>).name();
}

template <Config config>
Choice for_any_layout() {
  Choice out = choice_of<Problem>([]<class T>(const Problem<T>& p, const Tuning& tuning,
                                              Run& run) { run_any<T, config>(p, tuning, run); },
                                  config.tuning());
  name_kernel<float, config, Access::vector>(out);
  name_kernel<double, config, Access::along_mn>(out);
  name_kernel<std::int32_t, config, Access::along_mn>(out);
  out.owner = owner<config>;
  out.footprint = footprint<config>;
  out.refuses = [](const Arguments& arguments, const Tuning& tuning, const Device& device) -> Reason {
    switch (arguments.element()) {
      case Element::f32:
        return does_not_fit<config>(Problem<float>::of(arguments), tuning, device);
      case Element::f64:
        return does_not_fit<config>(Problem<double>::of(arguments), tuning, device);
      default:
        return does_not_fit<config>(Problem<std::int32_t>::of(arguments), tuning, device);
    }
  };
  return out;
}

// The layout that arrays have when nobody says otherwise; other layouts would multiply the kernels.
template <Config config>
Choice for_rows() {
  Choice out =
      choice_of<Problem, Types<float>>(run<float, config, Access::along_k, Access::vector>, config.tuning());
  name_kernel<float, config, Access::vector>(out);
  out.owner = owner<config>;
  out.footprint = [](const Arguments& arguments, const Tuning& tuning) -> std::optional<Footprint> {
    return footprint_of<config, Access::along_k, Access::vector>(Problem<float>::of(arguments), tuning);
  };
  out.refuses = [](const Arguments& arguments, const Tuning& tuning, const Device& device) -> Reason {
    const auto p = Problem<float>::of(arguments);
    if (p.a.stride[1] != 1 || access_to_b(p) != Access::vector)
      return "this tuning wants A and B in rows, and B's aligned to 16 bytes";
    return does_not_fit<config>(p, tuning, device);
  };
  return out;
}

const Rung rung{
    "asynchronous copies into a ring of stages, a square tile per warp, fragments loaded ahead: "
    "nearly every instruction is a multiply-add",
    Where::cuda,
    {for_rows<Config{.n = 256, .depth = 8, .stages = 5}>(), for_any_layout<two_blocks>(),
     for_rows<Config{.n = 256, .stages = 4}>(), for_rows<Config{.depth = 32, .stages = 3, .blocks = 2}>(),
     for_rows<Config{
         .m = 64, .n = 64, .depth = 16, .stages = 4, .warp_m = 32, .warp_n = 32, .blocks = 3}>()}};

}  // namespace
}  // namespace tessera::matmul
