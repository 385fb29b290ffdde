// SPDX-License-Identifier: Apache-2.0
// Products of few bits from a program, of matrices in host memory: a layer of a network, checked, and a batch
// that shares one matrix of 8-bit floats.
#include <cstdio>
#include <vector>
#include "tessera/matmul.hpp"
#include "tessera/matmul_batch.hpp"

int main() {
  using namespace tessera;
  const std::int64_t m = 64, n = 48, k = 80;

  // C = gelu(A·B + bias), all of bf16, the sums of f32. Without a device in Options the sizes decide.
  const std::vector<bf16> a(m * k, bf16::from(0.5f)), b(k * n, bf16::from(0.25f)), bias(n, bf16::from(-9.0f));
  std::vector<bf16> c(m * n);
  const Outcome layer = matmul::multiply<bf16>(
      {a.data(), m, k}, {b.data(), k, n}, {c.data(), m, n},
      {.check = true, .bias = matmul::bias_of_columns(bias.data()), .activation = matmul::Activation::gelu});
  std::printf("%g by %s: %s\n", static_cast<double>(static_cast<float>(c[0])),
              layer.plan.variant->name.c_str(), layer.verdict->passed ? "right" : "wrong");

  // C[e] = s[e]·A[e]·B: e4m3 by e5m2 to f32, B held transposed, one scale for each entry.
  const std::int64_t batch = 3;
  const std::vector<e4m3> few(batch * m * k, e4m3::from(1.5f));
  const std::vector<e5m2> fewer(n * k, e5m2::from(2.0f));
  const std::vector<float> scale{1, 0.5f, 0.25f};
  std::vector<float> sums(batch * m * n);
  const Outcome many = matmul_batch::multiply_batch<e4m3, float, e5m2>(
      {few.data(), batch, m, k}, {fewer.data(), 1, n, k}, {sums.data(), batch, m, n},
      {.transpose_b = true, .check = true, .scale_a = {.data = scale.data(), .step = 1}});
  std::printf("%g %g %g: %s\n", static_cast<double>(sums[0]), static_cast<double>(sums[m * n]),
              static_cast<double>(sums[2 * m * n]), many.verdict->passed ? "right" : "wrong");
  return layer.verdict->passed && many.verdict->passed ? 0 : 1;
}
