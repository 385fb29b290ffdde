// SPDX-License-Identifier: Apache-2.0
// Heuristic: does not select rung 17's few rows if tiles or tensor cores read the large operand as fast, or
// if sums are too short for its lanes to share.
#include <algorithm>
#include "ops/matmul/kernels/gemv/few_rows_config.hpp"
#include "tessera/run/heuristics.hpp"

namespace tessera::matmul {
namespace {

Reason slower_few_rows(const Arguments& arguments, const Device& device) {
  const std::int64_t m = arguments.dim("m"), n = arguments.dim("n"), k = arguments.dim("k");
  const Element element = arguments.element();
  const bool is_narrow_element = size_of(element) < 4;
  const std::int64_t min_k = is_narrow_element ? 256 : 128;
  if (k < min_k) return "sums of fewer than " + std::to_string(min_k) + " products leave most lanes idle";
  const FewRowsConfig config = with_element_type(
      element, [&]<class T>() { return config_of<T>(few_rows_first<T>(GemmArguments<T>::of(arguments))); });
  if (is_narrow_element && config.rows > 1 && config.wide)
    return "tensor cores read the large operand in place, and multiply several rows as fast";
  // Numbers of products, measured on one NVIDIA H100.
  constexpr double max_of_fp8 = 16e6, max_along_k = 14e6;
  const double products = double(m) * double(n) * double(k);
  // Measured on one NVIDIA H200. Tensor cores read the floats of a large operand that is contiguous along k
  // faster if the product is small, or large, or if their tiles of 64 lines occupy three quarters of the
  // multiprocessors.
  const double few_products = config.along_k ? 20e6 : 0, many_products = config.along_k ? 60e6 : 100e6;
  const bool many_tiles = config.along_k && std::max(m, n) >= std::int64_t{48} * device.multiprocessors;
  const bool whole_lines = k * static_cast<std::int64_t>(size_of(element)) % 128 == 0,
             on_hopper = whole_lines && device.compute_capability == 90, is_float = element != Element::i8;
  const bool by_tensor_cores =
      is_fp8(element)
          ? products > max_of_fp8 || (on_hopper && config.along_k)
          : on_hopper && (products > many_products || (is_float && (products < few_products || many_tiles)));
  if (is_narrow_element && config.wide && by_tensor_cores)
    return "tensor cores read the large operand in place, and take less time for this number of products";
  // With several rows, each warp loads all of A along k for its few lines: too much for a large product. But
  // tiles copy misaligned lines element by element, which takes longer; TF32 packs them.
  const bool is_packed = element == Element::f32 && MixedProblem::of(arguments).compute == Compute::tf32;
  if (!is_narrow_element && config.along_k && (config.wide || is_packed) && config.rows > 1 &&
      (element == Element::f64 || products > max_along_k))
    return "the large operand is contiguous along k: tiles in shared memory multiply several rows as fast";
  return std::nullopt;
}

[[maybe_unused]] const bool few_rows_heuristic_registered =
    (register_heuristic("matmul", {"few_rows"}, slower_few_rows), true);

}  // namespace
}  // namespace tessera::matmul
