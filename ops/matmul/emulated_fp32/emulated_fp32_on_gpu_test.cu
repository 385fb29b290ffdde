// SPDX-License-Identifier: Apache-2.0
// f16x3 on a Hopper GPU with data of many kinds: errors no larger than strict f32's, and the bits of bf16x6
// where the device chooses bf16 parts.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>
#include "ops/matmul/api/enqueue_testing.cuh"
#include "ops/matmul/emulated_fp32/emulated_fp32_testing.hpp"
#include "tessera/cuda/gpus.hpp"

namespace tessera::matmul {
namespace {

class EmulatedOnGpu : public on_gpu::OnHopper {
 protected:
  // Returns the result of the public call, with B stored along k.
  template <class T>
  static std::vector<T> product(const Operands& f, const std::vector<T>& a, const std::vector<T>& b,
                                Compute compute = Compute::strict, const Tuning& tuning = {}) {
    std::vector<T> c(Operands::index(f.m * f.n));
    Options options{.transpose_b = true, .compute = compute};
    options.request = on_gpu::on_gpu();
    if (compute != Compute::strict) options.request.variant = std::string(text_of(compute));
    options.request.tuning = tuning;
    multiply<T>({a.data(), f.m, f.k}, {b.data(), f.n, f.k}, {c.data(), f.m, f.n}, options);
    return c;
  }
};

// Compares the largest errors relative to |A||B|; the exact result is a product in f64.
TEST_F(EmulatedOnGpu, ErrsNoMoreThanStrictF32) {
  for (const Kind& kind : kinds()) {
    Operands f(768, 640, 4096);
    Random random(20261128);
    kind.fill(f, random);
    std::vector<double> a(f.a.begin(), f.a.end()), b(f.b.begin(), f.b.end());
    const std::vector<double> exact = product(f, a, b);
    for (double& x : a) x = std::fabs(x);
    for (double& x : b) x = std::fabs(x);
    const std::vector<double> size = product(f, a, b);
    const auto error = [&](Compute compute) {
      const std::vector<float> c = product(f, f.a, f.b, compute);
      double out = 0;
      for (std::size_t i = 0; i < c.size(); ++i)
        out = std::max(out, std::fabs(static_cast<double>(c[i]) - exact[i]) / size[i]);
      return out;
    };
    const double strict = error(Compute::strict);
    for (const Compute compute : {Compute::f16x3, Compute::bf16x6}) {
      const double emulated = error(compute);
      EXPECT_LE(emulated, strict) << kind.name << " " << text_of(compute);
      std::printf("%-36s strict f32 %.2e, %s %.2f of it\n", kind.name, strict,
                  std::string(text_of(compute)).c_str(), emulated / strict);
    }
  }
}

TEST_F(EmulatedOnGpu, HasTheBitsOfBf16WhereF16LacksTheRange) {
  for (const Kind& kind : kinds())
    for (int tile = 1; tile <= 3; ++tile) {
      Operands f(300, 420, 1000);
      Random random(7);
      kind.fill(f, random);
      if (f.used(Compute::f16x3) != Compute::bf16x6) continue;
      const Tuning tuning{{"tile", tile}, {"splits", tile == 2 ? 2 : 1}, {"group", 0}, {"cuts", 0}};
      on_gpu::expect_same_bits(product(f, f.a, f.b, Compute::f16x3, tuning),
                               product(f, f.a, f.b, Compute::bf16x6, tuning),
                               std::string(kind.name) + ", tile " + std::to_string(tile));
    }
}

// Prints the rate of products in a stream, by f16 parts and by the bf16 parts that replace them.
TEST_F(EmulatedOnGpu, DISABLED_Speed) {
  const std::vector<float> numbers = on_gpu::drawn<float>(1 << 20, 1);
  for (const std::int64_t size : {4096, 8192})
    for (const bool wide : {false, true}) {
      std::vector<float> a(Operands::index(size * size)), b(a.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        const int power = wide ? static_cast<int>(i % Operands::index(size) * 7 % 41) - 20 : 0;
        a[i] = std::ldexp(numbers[i % numbers.size()], power);
        b[i] = std::ldexp(numbers[(i + i / numbers.size()) % numbers.size()], -power);
      }
      const on_gpu::DeviceCopy<float> left(a), right(b), c(std::vector<float>(a.size()));
      Options options{.transpose_b = true, .accuracy = Element::f32};
      options.request = on_gpu::on_gpu();
      std::vector<double> seconds;
      for (int i = 0; i < 12; ++i) {
        cuda::Event first, last;
        first.record(stream());
        enqueue<float>(stream(), {left.get(), size, size}, {right.get(), size, size}, {c.get(), size, size},
                       options);
        last.record(stream());
        last.synchronize();
        if (i > 2) seconds.push_back(last.seconds_since(first));
      }
      std::ranges::sort(seconds);
      const auto side = static_cast<double>(size);
      std::printf("%ld³, %s: %.1f TFLOP/s\n", static_cast<long>(size), wide ? "scales 2^±20" : "normal",
                  2e-12 * side * side * side / seconds[seconds.size() / 2]);
    }
}

}  // namespace
}  // namespace tessera::matmul
