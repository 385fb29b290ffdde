// SPDX-License-Identifier: Apache-2.0
// Heuristic: does not select rung 17's short sums if tensor cores take less time, or for lines of C that are
// shorter than a warp, if sums are long or of doubles.
#include "ops/matmul/kernels/small_k/short_kernel.hpp"
#include "tessera/run/heuristics.hpp"

namespace tessera::matmul {
namespace {

// True if tensor cores can read the operands without packing.
template <class Problem>
bool are_vector_aligned(const Problem& p) {
  const auto vector_aligned = [](const auto& x) {
    return is_vector_aligned(x.data, x.stride[0], x.stride[1]) ||
           is_vector_aligned(x.data, x.stride[1], x.stride[0]);
  };
  return vector_aligned(p.a) && vector_aligned(p.b);
}

// Tensor cores multiply narrow elements so fast that multiply-adds of floats take less time for short sums
// only, and for none if C is large and nothing is misaligned. Packing misaligned operands, and storing C
// element by element, take tensor cores longer. Measured on one NVIDIA H200 with bf16 and i8.
template <class T>
std::int64_t max_products_of_narrow(const GemmProblem<T>& p) {
  const bool is_packed = !are_vector_aligned(p);
  const std::int64_t size = p.m() * p.n();
  if (is_packed && size <= 300'000) return longest_short_sum<T>;
  const int of_c = !are_rows_of_c_aligned<T>(p, 16) ? 2 : size <= 1'000'000 ? 1 : 0;
  return 8 * (of_c + (is_packed ? 1 : 0));
}

template <class T>
Reason slower_short_sums(const Arguments& arguments, const Device& device) {
  const auto p = by_rows_of_c<T>(GemmArguments<T>::of(arguments));
  if ((std::is_same_v<T, double> || p.k() > 32) && p.n() < 32)
    return "lines of C have fewer than 32 elements, one for each lane of a warp";
  if (std::is_same_v<T, float> && MixedProblem::of(arguments).compute == Compute::tf32)
    // Measured on one NVIDIA H200. Misaligned lines would have to be packed.
    if (const std::int64_t most = are_vector_aligned(p) ? 12 : 32; p.k() > most)
      return "tensor cores are faster at TF32 sums of more than " + std::to_string(most) + " products";
  if (std::is_same_v<T, double>)
    // Measured on one NVIDIA H200, with aligned lines.
    if (constexpr std::int64_t most = 12;
        p.k() > most && device.compute_capability == 90 && are_vector_aligned(p))
      return "tensor cores are faster at sums of more than " + std::to_string(most) + " doubles";
  if (is_narrow<T>)
    if (const std::int64_t most = max_products_of_narrow<T>(p); p.k() > most)
      return "tensor cores are faster at sums of more than " + std::to_string(most) + " products";
  return std::nullopt;
}

[[maybe_unused]] const bool short_sums_heuristic_registered =
    (register_heuristic("matmul", {"short_sums"},
                        [](const Arguments& arguments, const Device& device) {
                          return with_element_type(arguments.element(), [&]<class T>() {
                            return slower_short_sums<T>(arguments, device);
                          });
                        }),
     true);

}  // namespace
}  // namespace tessera::matmul
