// SPDX-License-Identifier: Apache-2.0
// Heuristic: does not select rung 17's few rows if tiles or tensor cores read the large operand as fast, or
// if sums are too short for its lanes to share.
#include <algorithm>
#include "ops/matmul/kernels/gemv/few_rows_config.hpp"
#include "tessera/run/heuristics.hpp"

namespace tessera::matmul {
namespace {

// The large operand: its n, and the bytes between its lines (along k: its columns; across k: its rows).
struct LargeOperand {
  FewRowsConfig config;
  std::int64_t n, bytes_apart;
  bool suits_hopper;  // aligned, or both operands are contiguous along k
  bool a_in_place;    // the TMA reads the row without packing
};

LargeOperand large_operand(const Arguments& arguments, const Device& device) {
  return with_element_type(arguments.element(), [&]<class T>() {
    const auto p = few_rows_first<T>(GemmArguments<T>::of(arguments));
    const FewRowsConfig config = config_of<T>(p);
    const std::int64_t bytes = p.b.stride[config.along_k ? 1 : 0] * std::int64_t{sizeof(T)};
    // Hopper's tensor cores read misaligned lines in place only if both operands lie along k.
    const bool suits = bytes % 16 == 0 ? reinterpret_cast<std::uintptr_t>(p.b.data) % 16 == 0
                                       : config.along_k && p.a.stride[1] == 1;
    return LargeOperand{config, p.n(), bytes, device.compute_capability == 90 && suits && p.n() > 1,
                        p.a.stride[1] == 1 && reinterpret_cast<std::uintptr_t>(p.a.data) % 16 == 0};
  });
}

// True if tensor cores multiply one row of narrow elements in less time. Limits were measured on one NVIDIA
// H200; 16e6 and 100e6 on one H100.
bool by_tensor_cores(Element element, const LargeOperand& b, double products) {
  const bool along_k = b.config.along_k;
  if (is_fp8(element))  // converting 8-bit floats in registers is slow
    return b.suits_hopper && along_k ? products > 4e6 || b.n > 1200 : products > 16e6;
  if (!b.suits_hopper) return false;
  // With more lines than the H200 has resident warps, tensor cores take less time.
  if (along_k && b.a_in_place && size_of(element) == 2 && b.bytes_apart % 16 == 0) return b.n > 3168;
  if (b.bytes_apart % 128 == 0) return products > (along_k ? 60e6 : 100e6);
  return along_k && b.bytes_apart % 8 != 0 &&
         products > 5e6;  // few_rows loads A element by element for most lines
}

Reason slower_few_rows(const Arguments& arguments, const Device& device) {
  const std::int64_t m = arguments.dim("m"), n = arguments.dim("n"), k = arguments.dim("k");
  const Element element = arguments.element();
  const bool is_narrow_element = size_of(element) < 4;
  const LargeOperand b = large_operand(arguments, device);
  const FewRowsConfig& config = b.config;
  const std::int64_t min_k = is_narrow_element ? 256 : config.rows == 1 && config.along_k ? 64 : 128;
  if (k < min_k) return "sums of fewer than " + std::to_string(min_k) + " products leave most lanes idle";
  if (is_narrow_element && config.rows > 1 && (config.wide || (config.along_k && b.suits_hopper)))
    return "tensor cores multiply several rows as fast";
  const double products = double(m) * double(n) * double(k);
  if (is_narrow_element && config.wide && by_tensor_cores(element, b, products))
    return "tensor cores take less time for these sizes";
  constexpr double max_along_k = 14e6;  // measured on one NVIDIA H100
  // With several rows, each warp loads all of A along k for its few lines: too much for a large product.
  // Tiles of floats take longer still if they copy misaligned lines element by element. TF32 packs such
  // lines.
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
