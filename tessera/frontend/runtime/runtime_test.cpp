// SPDX-License-Identifier: Apache-2.0
// Kernels as the front end would write them, on the runtime.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>
#include "tessera/frontend/include/cooperative_groups.h"
#include "tessera/frontend/include/cuda_bf16.h"
#include "tessera/frontend/include/cuda_fp16.h"
#include "tessera/frontend/include/math_functions.h"
#include "tessera/frontend/include/simd_functions.h"
#include "tessera/frontend/include/tessera_calls.h"

namespace {

using tessera_cuda::block_index;
using tessera_cuda::configure;
using tessera_cuda::kernel;
using tessera_cuda::thread_index;

// Device memory that a test reads back.
template <class T>
class Device {
 public:
  explicit Device(const std::vector<T>& values) : count_(values.size()) {
    EXPECT_EQ(cudaMalloc(&data_, count_ * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~Device() { cudaFree(data_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  T* data() const { return data_; }
  std::vector<T> read() const {
    std::vector<T> out(count_);
    EXPECT_EQ(cudaMemcpy(out.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return out;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

void fill(int* out, int n) {
  kernel("fill", [=]() mutable {
    const int i = static_cast<int>(block_index().x * tessera_cuda::block_dim().x + thread_index().x);
    if (i < n) out[i] = 3 * i;
  });
}

TEST(Runtime, AKernelWritesWhatTheHostCopiesBack) {
  const Device<int> out(std::vector<int>(100, -1));
  configure(2, 64);
  fill(out.data(), 99);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  const auto values = out.read();
  for (int i = 0; i < 99; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], 3 * i);
  EXPECT_EQ(values[99], -1);
}

// Static shared memory of a kernel, of a device function, and dynamic.
int from_function(int value) {
  struct S {
    int kept[32];
  };
  auto& kept = tessera_cuda::shared("kept", &S::kept);
  kept[thread_index().x] = value;
  __syncthreads();
  return kept[31 - thread_index().x];
}
template <int n>
void all_kinds(int* out) {
  kernel("all_kinds", [=]() mutable {
    struct S {
      int a[n];
      int b[2][n / 2];
    };
    auto& a = tessera_cuda::shared("a", &S::a);
    auto& b = tessera_cuda::shared("b", &S::b);
    int* const c = (int*)tessera_cuda::dynamic_shared("c");
    const unsigned i = thread_index().x;
    a[i] = static_cast<int>(i);
    b[i % 2][i / 2] = 100;
    c[i] = 1000;
    __syncthreads();
    out[i] = a[n - 1 - i] + b[1 - i % 2][i / 2] + c[n - 1 - i] + from_function(static_cast<int>(10000 * i));
  });
}

TEST(Runtime, SharedMemoryOfEachKindHasAPlaceOfItsOwn) {
  const Device<int> out(std::vector<int>(32));
  configure(1, 32, 32 * sizeof(int));
  all_kinds<32>(out.data());
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  const auto values = out.read();
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(values[static_cast<std::size_t>(i)], 31 - i + 1100 + 10000 * (31 - i));
  cudaFuncAttributes attributes;
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, &all_kinds<32>), cudaSuccess);
  EXPECT_EQ(attributes.sharedSizeBytes, 32u * 4 + 32 * 4 + 32 * 4);
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, &all_kinds<64>), cudaSuccess);
  EXPECT_EQ(attributes.sharedSizeBytes, 64u * 4 + 64 * 4) << "what it calls is known once it has run";
}

TEST(Runtime, RefusesAnOversizedLaunchAndClearsTheErrorWhenQueried) {
  const Device<int> out(std::vector<int>(8, 7));
  const auto refuses = [&](dim3 grid, dim3 block, std::size_t bytes, cudaError_t error) {
    configure(grid, block, bytes);
    fill(out.data(), 8);
    EXPECT_EQ(cudaPeekAtLastError(), error);
    EXPECT_EQ(cudaGetLastError(), error);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  };
  refuses(1, 1025, 0, cudaErrorInvalidConfiguration);
  refuses(1, dim3(32, 33), 0, cudaErrorInvalidConfiguration);
  refuses(1, dim3(1, 1, 65), 0, cudaErrorInvalidConfiguration);
  refuses(0, 32, 0, cudaErrorInvalidConfiguration);
  refuses(dim3(1, 65536), 32, 0, cudaErrorInvalidConfiguration);
  refuses(1, 32, 49153, cudaErrorInvalidValue);
  EXPECT_EQ(out.read(), std::vector<int>(8, 7)) << "nothing ran";
  EXPECT_EQ(cudaFuncSetAttribute(&fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536), cudaSuccess);
  configure(1, 32, 65536);
  fill(out.data(), 8);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaFuncSetAttribute(&fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

TEST(Runtime, RefusesAnOversizedCopy) {
  const Device<int> device(std::vector<int>(8, 7));
  std::vector<int> host(16);
  EXPECT_EQ(cudaMemcpy(host.data(), device.data(), 33, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device.data(), host.data(), 32, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), device.data(), 32, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(host.data(), 0, 32), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), device.data() + 4, 16, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(host[3], 7);
  EXPECT_EQ(cudaFree(host.data()), cudaErrorInvalidValue);
  cudaGetLastError();
  // The first 2 of 4 elements of each row.
  EXPECT_EQ(cudaMemset2D(device.data(), 16, 1, 8, 2), cudaSuccess);
  EXPECT_EQ(device.read(), (std::vector<int>{0x01010101, 0x01010101, 7, 7, 0x01010101, 0x01010101, 7, 7}));
}

void meet_lanes(unsigned* out) {
  kernel("meet_lanes", [=]() mutable {
    const unsigned i = thread_index().x;
    unsigned* const mine = out + 16 * i;
    mine[0] = __shfl_sync(~0u, i, 5);
    mine[1] = __shfl_sync(~0u, i, 5, 8);
    mine[2] = __shfl_up_sync(~0u, i, 3, 16);
    mine[3] = __shfl_down_sync(~0u, i, 3, 16);
    mine[4] = __shfl_xor_sync(~0u, i, 1);
    mine[5] = __ballot_sync(~0u, i % 3 == 0);
    mine[6] =
        static_cast<unsigned>(__any_sync(~0u, i == 7)) + 2 * static_cast<unsigned>(__all_sync(~0u, i < 32));
    mine[7] = __match_any_sync(~0u, i / 8);
    mine[8] = __reduce_add_sync(~0u, i);
    mine[9] = i % 2 == 0 ? cooperative_groups::coalesced_threads().size() : 0;
    mine[10] = i < 4 ? __activemask() : 0;
    const auto tile = cooperative_groups::tiled_partition<8>(cooperative_groups::this_thread_block());
    mine[11] = cooperative_groups::reduce(tile, i, cooperative_groups::plus<unsigned>());
    mine[12] = static_cast<unsigned>(__syncthreads_count(i < 5)) +
               100 * static_cast<unsigned>(__syncthreads_or(0)) +
               1000 * static_cast<unsigned>(__syncthreads_and(1));
    mine[13] = static_cast<unsigned>(__syncthreads_count(i >= 30));
  });
}

TEST(Runtime, LanesExchangeValues) {
  const Device<unsigned> out(std::vector<unsigned>(32 * 16));
  configure(1, 32);
  meet_lanes(out.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const auto values = out.read();
  for (unsigned i = 0; i < 32; ++i) {
    const unsigned* const mine = &values[16 * i];
    EXPECT_EQ(mine[0], 5u);
    EXPECT_EQ(mine[1], i / 8 * 8 + 5);
    EXPECT_EQ(mine[2], i % 16 < 3 ? i : i - 3);
    EXPECT_EQ(mine[3], i % 16 > 12 ? i : i + 3);
    EXPECT_EQ(mine[4], i ^ 1);
    EXPECT_EQ(mine[5], 0x49249249u);
    EXPECT_EQ(mine[6], 3u);
    EXPECT_EQ(mine[7], 0xffu << i / 8 * 8);
    EXPECT_EQ(mine[8], 496u);
    EXPECT_EQ(mine[9], i % 2 == 0 ? 16u : 0u);
    EXPECT_EQ(mine[10], i < 4 ? 0xfu : 0u);
    EXPECT_EQ(mine[11], 28 + i / 8 * 64);
    EXPECT_EQ(mine[12], 1005u);
    EXPECT_EQ(mine[13], 2u);
  }
}

void add_all(int* sum, float* total, unsigned* wrapped, int* least) {
  kernel("add_all", [=]() mutable {
    atomicAdd(sum, 2);
    atomicAdd(total, 0.5f);
    atomicInc(wrapped, 9);
    atomicMin(least, -static_cast<int>(block_index().x));
  });
}

TEST(Runtime, AtomicsLoseNothing) {
  const Device<int> sum(std::vector<int>{1}), least(std::vector<int>{0});
  const Device<float> total(std::vector<float>{0});
  const Device<unsigned> wrapped(std::vector<unsigned>{0});
  configure(16, 256);
  add_all(sum.data(), total.data(), wrapped.data(), least.data());
  EXPECT_EQ(sum.read()[0], 1 + 2 * 4096);
  EXPECT_EQ(total.read()[0], 2048.f);
  EXPECT_EQ(wrapped.read()[0], 4096u % 10);
  EXPECT_EQ(least.read()[0], -15);
}

// Each block doubles what its neighbour wrote, twice.
void around(int* a, int* b) {
  kernel("around", [=]() mutable {
    const auto grid = cooperative_groups::this_grid();
    const unsigned i = block_index().x, next = (i + 1) % tessera_cuda::grid_dim().x;
    a[i] = static_cast<int>(i);
    grid.sync();
    b[i] = 2 * a[next];
    grid.sync();
    a[i] = 2 * b[next];
  });
}

TEST(Runtime, AGridHasBarriers) {
  const Device<int> a(std::vector<int>(40)), b(std::vector<int>(40));
  int *pa = a.data(), *pb = b.data();
  void* arguments[] = {&pa, &pb};
  EXPECT_EQ(cudaLaunchCooperativeKernel(&around, 40, 64, arguments), cudaSuccess);
  const auto values = a.read();
  for (int i = 0; i < 40; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], 4 * ((i + 2) % 40));
  EXPECT_EQ(cudaLaunchCooperativeKernel(&around, 5000, 1024, arguments), cudaErrorCooperativeLaunchTooLarge);
  EXPECT_EQ(cudaGetLastError(), cudaErrorCooperativeLaunchTooLarge);
}

void count_runs(int* data, int* runs) {
  kernel("count_runs", [=]() mutable {
    data[thread_index().x] = 5;
    if (runs != nullptr) atomicAdd(runs, 1);
  });
}

TEST(Runtime, ALaunchThatChangesSomethingIsAlwaysRepeated) {
  const Device<int> data(std::vector<int>(32)), runs(std::vector<int>{0});
  for (int i = 0; i < 10; ++i) {
    configure(1, 32);
    count_runs(data.data(), runs.data());
  }
  EXPECT_EQ(runs.read()[0], 320);
}

TEST(Runtime, ALaunchIsRepeatedWhenMemoryHasChanged) {
  const Device<int> data(std::vector<int>(32));
  for (int i = 0; i < 5; ++i) {
    configure(1, 32);
    count_runs(data.data(), nullptr);
  }
  EXPECT_EQ(cudaMemset(data.data(), 0, 128), cudaSuccess);
  configure(1, 32);
  count_runs(data.data(), nullptr);
  EXPECT_EQ(data.read(), std::vector<int>(32, 5));
  int* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, 128), cudaSuccess);
  for (int i = 0; i < 5; ++i) {
    managed[3] = 0;  // a write that no call reports to the runtime
    configure(1, 32);
    count_runs(managed, nullptr);
    EXPECT_EQ(managed[3], 5);
  }
  cudaFree(managed);
}

TEST(Runtime, HalvesAreRoundedAsHardwareRoundsThem) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float value = tessera_cuda::half_to_float(static_cast<unsigned short>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(tessera_cuda::float_to_half(value), bits);
    if ((bits & 0x7fff) >= 0x7bff) continue;
    const float next = tessera_cuda::half_to_float(static_cast<unsigned short>(bits + 1));
    const float middle = (value + next) / 2;
    ASSERT_EQ(tessera_cuda::float_to_half(middle), bits % 2 == 0 ? bits : bits + 1) << "ties go to even";
    ASSERT_EQ(tessera_cuda::float_to_half(std::nextafter(middle, next)), bits + 1);
  }
  EXPECT_EQ(tessera_cuda::float_to_half(65520.f), 0x7c00);
  EXPECT_EQ(tessera_cuda::float_to_half(65519.f), 0x7bff);
}

TEST(Runtime, NumbersAreConvertedAndRounded) {
  EXPECT_EQ(__float2int_rn(2.5f), 2);
  EXPECT_EQ(__float2int_ru(2.1f), 3);
  EXPECT_EQ(__float2int_rd(-2.1f), -3);
  EXPECT_EQ(__float2int_rz(3e9f), 2147483647);
  EXPECT_EQ(__float2uint_rz(-1.f), 0u);
  EXPECT_EQ(__double2ull_rz(1.8446744073709552e19), ~0ull);
  EXPECT_LT(__fadd_rd(1.f, 1e-9f), __fadd_ru(1.f, 1e-9f));
  EXPECT_EQ(__fadd_rz(1.f, 1e-9f), 1.f);
  EXPECT_LT(__ddiv_rd(1, 3), __ddiv_ru(1, 3));
  EXPECT_EQ(__byte_perm(0x33221100, 0x77665544, 0x7531), 0x77553311u);
  EXPECT_EQ(__brev(1), 0x80000000u);
  EXPECT_EQ(__funnelshift_l(0x80000000, 1, 1), 3u);
  EXPECT_EQ(__mul24(-3, 5), -15);
  EXPECT_EQ(__umulhi(1u << 31, 4), 2u);
  EXPECT_EQ(sinpi(1.5), -1.0);
  EXPECT_EQ(cospi(0.5), 0.0);
  EXPECT_EQ(min(-1, 1u), 1u) << "as CUDA converts them";
}

TEST(Runtime, PartsOfAWordAreComputedEachByItself) {
  EXPECT_EQ(__vadd4(0x01ff7f80u, 0x01010180u), 0x02008000u);
  EXPECT_EQ(__vaddss4(0x01ff7f80u, 0x01010180u), 0x02007f80u);
  EXPECT_EQ(__vaddus4(0x01ff7f80u, 0x01010180u), 0x02ff80ffu);
  EXPECT_EQ(__vsub2(0x00000005u, 0x00010006u), 0xffffffffu);
  EXPECT_EQ(__vsubus2(0x00020005u, 0x00010006u), 0x00010000u);
  EXPECT_EQ(__vabsdiffs2(0x7fff0003u, 0x80000005u), 0xffff0002u);
  EXPECT_EQ(__vmaxs4(0x80010203u, 0x7f000504u), 0x7f010504u);
  EXPECT_EQ(__vmaxu4(0x80010203u, 0x7f000504u), 0x80010504u);
  EXPECT_EQ(__vavgs4(0xff03fd00u, 0x00000001u), 0xff02fe01u) << "halves are rounded away from zero";
  EXPECT_EQ(__vavgu4(0xff030001u, 0x00000001u), 0x80020001u);
  EXPECT_EQ(__vhaddu2(0xffff0003u, 0xffff0000u), 0xffff0001u);
  EXPECT_EQ(__vcmpgts4(0x80017f00u, 0x00007f01u), 0x00ff0000u);
  EXPECT_EQ(__vcmpgtu4(0x80017f00u, 0x00007f01u), 0xffff0000u);
  EXPECT_EQ(__vsetne2(0x00010002u, 0x00010003u), 1u);
  EXPECT_EQ(__vabsss2(0x8000ffffu), 0x7fff0001u);
  EXPECT_EQ(__vneg4(0x80010000u), 0x80ff0000u);
  EXPECT_EQ(__vsads4(0x80000000u, 0x7f000001u), 256u);
  EXPECT_EQ(__vsadu2(0x00030000u, 0x00010005u), 7u);
  EXPECT_EQ(__viaddmax_s32_relu(-5, 2, -1), 0);
  EXPECT_EQ(__vimin3_u16x2(0x00050001u, 0x00040002u, 0x00060003u), 0x00040001u);
  bool high = true, low = false;
  EXPECT_EQ(__vibmax_s16x2(0x0001ffffu, 0x0002fffeu, &high, &low), 0x0002ffffu);
  EXPECT_TRUE(!high && low);
  EXPECT_EQ(__dp2a_lo(0x0002ffff, 0x00000503, 100), 100 - 3 + 10);
  EXPECT_EQ(__dp2a_hi(0x00020001u, 0xff030000u, 0u), 3u + 510u);
  EXPECT_EQ(__fns(0b1011000, 3, 2), 4u);
  EXPECT_EQ(__fns(0b1011000, 6, -2), 4u);
  EXPECT_EQ(__fns(0b1011000, 2, 0), 0xffffffffu);
}

TEST(Runtime, InverseFunctionsInvert) {
  for (const double x : {1e-300, 1e-20, 1e-3, 0.09, 0.11, 0.4, 0.9, 1.0, 1.3, 1.95, 2 - 1e-12})
    EXPECT_NEAR(std::erfc(erfcinv(x)) / x, 1, 1e-12) << x;
  for (const double x : {-0.999999, -0.3, 1e-30, 0.2, 0.49, 0.51, 0.99})
    EXPECT_NEAR(std::erf(erfinv(x)) / x, 1, 1e-14) << x;
  EXPECT_NEAR(normcdfinv(0.975), 1.959963984540054, 1e-14);
  EXPECT_FLOAT_EQ(normcdfinvf(1e-30f), -11.464025f);
  EXPECT_EQ(erfcinv(0.0), HUGE_VAL);
  EXPECT_TRUE(std::isnan(erfinv(1.5)));
  EXPECT_EQ(erfinvf(1.0f), HUGE_VALF);
  EXPECT_NEAR(erfcx(24.999) / erfcx(25.001), 25.001 / 24.999, 1e-6);
  EXPECT_NEAR(erfcx(30.0), 0.018795888861416751, 1e-15);
  EXPECT_NEAR(cyl_bessel_i1(-2.0), -1.5906368546373291, 1e-14);
  const double sides[] = {2, 3, 6};
  EXPECT_EQ(norm(3, sides), 7.0);
  EXPECT_LT(__ll2float_rd((1ll << 40) + 1), __ll2float_ru((1ll << 40) + 1));
  EXPECT_EQ(__double2float_rz(1 + 1e-10), 1.0f);
}

// Tests that the narrow types share. Returns the values of H from 0 up, in order.
template <class H>
std::vector<float> values_of_all_bits() {
  std::vector<float> out;
  for (unsigned bits = 0; bits < 0x8000; ++bits) {
    const H h = __builtin_bit_cast(H, static_cast<unsigned short>(bits));
    if (!__hisnan(h)) out.push_back(static_cast<float>(h));
  }
  return out;
}
template <class H>
void conversions_take_the_nearest() {
  const auto values = values_of_all_bits<H>();
  for (std::size_t i = 0; i + 2 < values.size(); ++i) {
    const double a = values[i], b = values[i + 1], middle = a / 2 + b / 2;
    const auto even = i % 2 == 0 ? values[i] : values[i + 1];
    ASSERT_EQ(static_cast<float>(H(values[i])), values[i]);
    ASSERT_EQ(static_cast<float>(H(middle)), even) << i;
    ASSERT_EQ(static_cast<float>(H(std::nextafter(middle, HUGE_VAL))), values[i + 1]) << i;
    ASSERT_EQ(static_cast<float>(H(-std::nextafter(middle, 0.0))), -values[i]) << i;
  }
}

TEST(Runtime, NarrowNumbersAreRoundedOnce) {
  conversions_take_the_nearest<__half>();
  conversions_take_the_nearest<__nv_bfloat16>();
  EXPECT_EQ(static_cast<float>(__float2bfloat16_rz(1.999f)), 1.9921875f);
  EXPECT_EQ(static_cast<float>(__float2bfloat16_ru(1.0001f)), 1.0078125f);
  EXPECT_EQ(static_cast<float>(__float2half_rd(-1e-9f)), -5.9604644775390625e-8f);
  EXPECT_EQ(__half_as_ushort(__float2half_rz(1e6f)), 0x7bffu);
  EXPECT_EQ(static_cast<float>(__int2bfloat16_rn(257)), 256.0f) << "a tie goes to the even one";
  EXPECT_EQ(static_cast<float>(__ull2half_rn(2049)), 2048.0f);
  EXPECT_EQ(__bfloat162int_rn(__nv_bfloat16(2.5f)), 2);
  EXPECT_EQ(__half2uchar_rz(__half(300)), 255);
  const __half near_one =
      __ushort_as_half(0x3c01);  // 1 + 2^-10: its square has a digit more than half precision
  EXPECT_EQ(static_cast<float>(__hfma(near_one, near_one, -near_one)), 0.0009765625f + 9.5367431640625e-7f);
}

TEST(Runtime, BfloatsCompareAndCompute) {
  const __nv_bfloat16 one(1.0f), three(3.0f), nan(NAN);
  EXPECT_EQ(static_cast<float>(one / three), 0.333984375f);
  EXPECT_EQ(static_cast<float>(one + __nv_bfloat16(0.001f)), 1.0f);
  EXPECT_TRUE(one < three && one != nan && !(one == nan) && !__hne(one, nan) && __hneu(one, nan));
  EXPECT_EQ(static_cast<float>(__hmax(nan, three)), 3.0f);
  EXPECT_TRUE(__hisnan(__hmax_nan(nan, three)));
  EXPECT_EQ(__bfloat16_as_ushort(__hmin(__nv_bfloat16(0.0f), __nv_bfloat16(-0.0f))), 0x8000u);
  EXPECT_EQ(static_cast<float>(__hadd_sat(one, three)), 1.0f);
  EXPECT_EQ(static_cast<float>(__hfma_relu(one, -three, one)), 0.0f);
  const __nv_bfloat162 pair = __floats2bfloat162_rn(1.5f, -2.0f);
  EXPECT_EQ(__bfloat1622float2(__hmul2(pair, pair)).y, 4.0f);
  EXPECT_EQ(__hgt2_mask(pair, __float2bfloat162_rn(0.0f)), 0xffffu);
  EXPECT_EQ(static_cast<float>(hexp(three)), 20.125f);
  __nv_bfloat16 sum(0.0f);
  sum += three;
  EXPECT_EQ(static_cast<float>(++sum), 4.0f);
}

TEST(Runtime, ReportsTheLimitsOfTheDevice) {
  cudaDeviceProp properties;
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  int value = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  EXPECT_EQ(value, properties.multiProcessorCount);
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  cudaGetLastError();
  int blocks = 0;
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &fill, 256, 0), cudaSuccess);
  EXPECT_EQ(blocks, properties.maxThreadsPerMultiProcessor / 256);
}

TEST(Runtime, EventsFollowEachOther) {
  cudaEvent_t start, stop;
  ASSERT_EQ(cudaEventCreate(&start), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&stop, cudaEventDefault), cudaSuccess);
  float milliseconds = -1;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, stop), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(start), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(stop, nullptr), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, stop), cudaSuccess);
  EXPECT_GE(milliseconds, 0);
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  cudaGetLastError();
}

int table[16];
const tessera_cuda::Variable table_variable("table", table, tessera_cuda::Variable::constant);

void read_table(int* out) {
  kernel("read_table", [=]() mutable { out[thread_index().x] = table[thread_index().x]; });
}

TEST(Runtime, VariablesOfTheDeviceAreCopiedByName) {
  std::vector<int> values(16);
  std::iota(values.begin(), values.end(), 40);
  EXPECT_EQ(cudaMemcpyToSymbol(table, values.data(), 64), cudaSuccess);
  const Device<int> out(std::vector<int>(16));
  configure(1, 16);
  read_table(out.data());
  EXPECT_EQ(out.read(), values);
  int one = 0;
  EXPECT_EQ(cudaMemcpyFromSymbol(&one, table, 4, 12), cudaSuccess);
  EXPECT_EQ(one, 43);
  EXPECT_EQ(cudaMemcpyToSymbol(table, values.data(), 64, 4), cudaErrorInvalidValue);
  cudaGetLastError();
}

void touch_nothing(int* p) {
  kernel("touch_nothing", [=]() mutable { *p = 1; });
}

TEST(RuntimeDeathTest, ADeviceErrorIsSticky) {
  configure(1, 1);
  touch_nothing(nullptr);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  int* more = nullptr;
  EXPECT_EQ(cudaMalloc(&more, 4), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(RuntimeDeathTest, TheHostCannotTouchDeviceMemory) {
  int* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 40), cudaSuccess);
  EXPECT_DEATH(device[3] = 1, "the host touches device\\[3\\], which is device memory");
  cudaFree(device);
}

}  // namespace
