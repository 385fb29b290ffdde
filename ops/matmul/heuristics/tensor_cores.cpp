// SPDX-License-Identifier: Apache-2.0
// Heuristic: does not select rung 12 for doubles if the GPU's tensor cores are slow at them.
#include "tessera/run/heuristics.hpp"

namespace tessera::matmul {
namespace {

Reason slower_doubles(const Arguments& arguments, const Device& device) {
  const int capability = device.compute_capability;
  const bool fast = capability == 80 || capability == 90 || capability == 100;
  if (arguments.element() == Element::f64 && !fast)
    return "this GPU's other units multiply doubles faster than its tensor cores";
  return std::nullopt;
}

[[maybe_unused]] const bool tensor_cores_heuristic_registered =
    (register_heuristic("matmul", {"tensor_cores"}, slower_doubles), true);

}  // namespace
}  // namespace tessera::matmul
