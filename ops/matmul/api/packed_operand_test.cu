// SPDX-License-Identifier: Apache-2.0
// Products with packed operands: the bits of products with unpacked ones, also if bf16x6 or strict f32 is
// computed instead, as B, as A, transposed.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include "tessera/matmul.hpp"
#include "ops/matmul/api/enqueue_testing.cuh"
#include "tessera/cuda/gpus.hpp"

namespace tessera::matmul {
namespace {

using on_gpu::DeviceCopy;

class PackedOnGpu : public on_gpu::OnHopper {};

Options options_for(Compute compute) {
  Options out;
  out.request = on_gpu::on_gpu();
  out.request.variant = std::string(text_of(compute));
  out.compute = compute;
  return out;
}

TEST_F(PackedOnGpu, ProductsHaveTheSameBits) {
  constexpr std::int64_t m = 77, n = 300, k = 515;
  for (const Compute compute : {Compute::tf32x3, Compute::bf16x6, Compute::f16x3})
    for (const bool transposed : {false, true})
      for (const Compute used : {compute, Compute::bf16x6, Compute::strict}) {
        auto b_host = on_gpu::drawn<float>(k * n, 2);
        if (used == Compute::strict) b_host[1000] = std::numeric_limits<float>::infinity();
        if (used == Compute::bf16x6)  // a range that f16 lacks
          for (std::size_t i = 0; i < b_host.size(); ++i)
            b_host[i] = std::ldexp(b_host[i], static_cast<int>(i % 41) - 20);
        const DeviceCopy<float> a(on_gpu::drawn<float>(m * k, 1)), b(b_host);
        const DeviceCopy<float> c(std::vector<float>(m * n)), d(std::vector<float>(m * n));
        Options options = options_for(compute);
        options.transpose_b = transposed;
        const ConstMatrixView<float> left{a.get(), m, k}, right = transposed
                                                                      ? ConstMatrixView<float>{b.get(), n, k}
                                                                      : ConstMatrixView<float>{b.get(), k, n};
        const auto multiply_to = [&](const DeviceCopy<float>& to) {
          enqueue(stream(), left, right, MatrixView<float>{to.get(), m, n}, options);
        };
        multiply_to(c);
        const PackedOperand packed(stream(), right, compute, transposed);
        EXPECT_GE(packed.bytes(), static_cast<std::size_t>(n * k * 4));
        multiply_to(d);
        wait();
        const std::string what = std::string(text_of(compute)) + (transposed ? " transposed" : "");
        on_gpu::expect_same_bits(d.fetched(), c.fetched(), what);
      }
}

TEST_F(PackedOnGpu, ReadsComponentsInPlace) {
  constexpr std::int64_t m = 64, n = 128, k = 256;
  const DeviceCopy<float> a(on_gpu::drawn<float>(m * k, 1)), b(on_gpu::drawn<float>(k * n, 2)),
      c(std::vector<float>(m * n)), d(std::vector<float>(m * n));
  const ConstMatrixView<float> left{a.get(), m, k}, right{b.get(), k, n};
  const Options options = options_for(Compute::f16x3);
  enqueue(stream(), left, right, MatrixView<float>{c.get(), m, n}, options);
  wait();
  const auto before = c.fetched();
  {
    // The parts are those of the values that B had.
    const PackedOperand packed(stream(), right, Compute::f16x3);
    wait();
    cuda::check(cudaMemset(b.get(), 0, k * n * sizeof(float)));
    enqueue(stream(), left, right, MatrixView<float>{d.get(), m, n}, options);
    wait();
    on_gpu::expect_same_bits(d.fetched(), before, "packed");
  }
  enqueue(stream(), left, right, MatrixView<float>{d.get(), m, n}, options);
  wait();
  on_gpu::expect_same_bits(d.fetched(), std::vector<float>(m * n), "forgotten");
}

TEST_F(PackedOnGpu, APackedAServesAsBOfTheTransposedProduct) {
  constexpr std::int64_t m = 96, n = 64, k = 192;
  const DeviceCopy<float> a(on_gpu::drawn<float>(m * k, 1)), b(on_gpu::drawn<float>(k * n, 2)),
      c(std::vector<float>(m * n)), d(std::vector<float>(m * n));
  const ConstMatrixView<float> left{a.get(), m, k}, right{b.get(), k, n};
  const Options options = options_for(Compute::f16x3);
  enqueue(stream(), left, right, MatrixView<float>{c.get(), m, n}, options);
  wait();
  const auto before = c.fetched();
  const PackedOperand packed(stream(), left, Compute::f16x3, true);
  wait();
  cuda::check(cudaMemset(a.get(), 0, m * k * sizeof(float)));
  enqueue(stream(), left, right, MatrixView<float>{d.get(), m, n}, options);
  wait();
  on_gpu::expect_same_bits(d.fetched(), before, "A");
}

TEST_F(PackedOnGpu, ReportsUnsupportedOperands) {
  std::vector<float> host(12, 1.0f);
  const auto complaint = [&](Compute compute, const float* data) {
    try {
      const PackedOperand packed(stream(), ConstMatrixView<float>{data, 3, 4}, compute);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(complaint(Compute::strict, host.data()),
            "an operand is packed for --compute tf32x3, bf16x6 or f16x3, not for strict");
  EXPECT_EQ(complaint(Compute::f16x3, host.data()),
            "an operand is packed on Hopper GPUs: B lies in host memory");
}

// Distinct numbers around 0 with full mantissas.
__global__ void draw(float* to, std::int64_t count, std::uint64_t seed) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    float sum = 0;
    for (std::uint64_t j = 0; j < 4; ++j) {
      std::uint64_t bits = (static_cast<std::uint64_t>(i) * 4 + j + seed) * 0x9e3779b97f4a7c15ull;
      bits = (bits ^ bits >> 32) * 0xd6e8feb86659fd93ull;
      sum += static_cast<float>(bits >> 40) * 0x1p-23f - 1;
    }
    to[i] = sum;
  }
}

// Medians of alternating runs of products in a stream, whose operands exceed the L2.
TEST_F(PackedOnGpu, DISABLED_Speed) {
  for (const std::int64_t size : {4096, 8192, 16384}) {
    const std::int64_t count = size * size;
    const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
    const cuda::DeviceBuffer memory(3 * bytes);
    auto* const a = static_cast<float*>(memory.get());
    float *const b = a + count, *const c = b + count;
    draw<<<1024, 256, 0, stream()>>>(a, 2 * count, 1);
    cuda::check(cudaGetLastError());
    const ConstMatrixView<float> left{a, size, size}, right{b, size, size};
    const Options options = options_for(Compute::f16x3);
    const auto seconds = [&] {
      cuda::Event first, last;
      const auto multiply_once = [&] {
        enqueue(stream(), left, right, MatrixView<float>{c, size, size}, options);
      };
      multiply_once();
      first.record(stream());
      multiply_once();
      last.record(stream());
      last.synchronize();
      return last.seconds_since(first);
    };
    std::vector<double> each, packed;
    for (int i = 0; i < 9; ++i) {
      each.push_back(seconds());
      const PackedOperand kept(stream(), right, Compute::f16x3);
      packed.push_back(seconds());
    }
    const auto rate = [&](std::vector<double>& all) {
      std::ranges::sort(all);
      return 2e-12 * static_cast<double>(size) * static_cast<double>(count) / all[all.size() / 2];
    };
    std::printf("%5ld³: %.1f TFLOP/s, %.1f with B packed\n", static_cast<long>(size), rate(each),
                rate(packed));
  }
}

}  // namespace
}  // namespace tessera::matmul
