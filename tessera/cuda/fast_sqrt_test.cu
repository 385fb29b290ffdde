// SPDX-License-Identifier: Apache-2.0
// Roots without a branch against the compiler's: every float, and of doubles a billion and those whose roots
// lie closest to the middle between two numbers.
#include <gtest/gtest.h>
#include <array>
#include <cstdint>
#include <string>
#include "tessera/cuda/resources.hpp"
#include "tessera/cuda/gpus.hpp"
#include "tessera/cuda/runtime_kernel.hpp"
#include "tessera/formula/emit.hpp"

namespace tessera::cuda {
namespace {

constexpr const char* kernels = R"(
struct Counts {
  unsigned long long good, wrong, worst;  // roots vouched for; of those, not the compiler's; units off, at most
};

static __device__ void compare(float a, Counts* counts) {
  unsigned max_key = 0, near_max_key = 0;
  const float root = sqrt_rn_fast(a, max_key), near = sqrt_approx_fast(a, near_max_key), right = __fsqrt_rn(a);
  const bool good = all_in_fast_range<float>(max_key), near_good = all_in_fast_range<float>(near_max_key);
  if (good) atomicAdd(&counts->good, 1ull);
  if (good && !(root == right)) atomicAdd(&counts->wrong, 1ull);
  if (near_good && right == right) {
    const int apart = __float_as_int(near) - __float_as_int(right);
    atomicMax(&counts->worst, (unsigned long long)(apart < 0 ? -apart : apart));
  }
}
static __device__ void compare(double a, Counts* counts) {
  unsigned max_key = 0, near_max_key = 0;
  const double root = sqrt_rn_fast(a, max_key), near = sqrt_approx_fast(a, near_max_key), right = __dsqrt_rn(a);
  const bool good = all_in_fast_range<double>(max_key), near_good = all_in_fast_range<double>(near_max_key);
  if (good) atomicAdd(&counts->good, 1ull);
  if (good && !(root == right)) atomicAdd(&counts->wrong, 1ull);
  if (near_good) {
    const long long apart = __double_as_longlong(near) - __double_as_longlong(right);
    atomicMax(&counts->worst, (unsigned long long)(apart < 0 ? -apart : apart));
  }
}

static __device__ unsigned long long hashed(unsigned long long x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

extern "C" __global__ void all_floats(Counts* counts) {
  const unsigned long long all = (unsigned long long)(gridDim.x) * blockDim.x;
  for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i >> 32 == 0; i += all)
    compare(__uint_as_float(unsigned(i)), counts);
}
extern "C" __global__ void many_doubles(Counts* counts, unsigned long long each) {
  const unsigned long long first = (unsigned long long)(blockIdx.x * blockDim.x + threadIdx.x) * each;
  for (unsigned long long i = first; i < first + each; ++i)
    compare(__longlong_as_double((long long)(hashed(i))), counts);
}
// (s + half a unit)^2 = s^2 + s units, rounded, and its neighbours.
extern "C" __global__ void hard_doubles(Counts* counts, unsigned long long each) {
  const unsigned long long first = (unsigned long long)(blockIdx.x * blockDim.x + threadIdx.x) * each;
  for (unsigned long long i = first; i < first + each; ++i) {
    const double s = __longlong_as_double((long long)(0x3ff0000000000000ull | (hashed(i) >> 12)));
    const double square = __fma_rn(s, s, s * 0x1p-52);
    for (int off = -1; off <= 1; ++off) compare(__longlong_as_double(__double_as_longlong(square) + off), counts);
  }
}
)";

struct Counts {
  std::uint64_t good, wrong, worst;
};

class FastSqrt : public testing::Test {
 protected:
  void SetUp() override {
    const Found found = find_devices();
    if (found.devices.empty()) GTEST_SKIP() << found.unusable;
    if (const Reason absent = no_nvrtc()) GTEST_SKIP() << *absent;
    capability_ = found.devices.front().compute_capability;
  }

  template <class... More>
  Counts of(const char* name, More... more) const {
    const RuntimeKernel kernel(std::string(formula::kernel_source()) + kernels, name, capability_);
    const DeviceBuffer counts(sizeof(Counts));
    const Stream stream;
    check(cudaMemsetAsync(counts.get(), 0, sizeof(Counts), stream.get()));
    kernel.launch({.grid = {blocks}, .block = {256}}, 0, stream.get(), counts.get(), more...);
    Counts out{};
    check(cudaMemcpyAsync(&out, counts.get(), sizeof out, cudaMemcpyDeviceToHost, stream.get()));
    stream.synchronize();
    return out;
  }

  static constexpr int blocks = 1024;
  static constexpr std::uint64_t threads = blocks * 256;
  int capability_ = 0;
};

TEST_F(FastSqrt, EveryFloatHasItsRoot) {
  const Counts found = of("all_floats");
  EXPECT_EQ(found.wrong, 0u);
  EXPECT_EQ(found.good, 0x72800000u);  // all from 2^-101 to the largest
  EXPECT_LE(found.worst, 2u);
}

TEST_F(FastSqrt, EveryDoubleHasItsRoot) {
  const Counts any = of("many_doubles", std::uint64_t{4096});
  EXPECT_EQ(any.wrong, 0u);
  EXPECT_GT(any.good, threads * 4096 * 2 / 5);  // the positive ones but the tiny
  EXPECT_LE(any.worst, 1u);
  const Counts hard = of("hard_doubles", std::uint64_t{1024});
  EXPECT_EQ(hard.wrong, 0u);
  EXPECT_EQ(hard.good, 3 * threads * 1024);
}

}  // namespace
}  // namespace tessera::cuda
