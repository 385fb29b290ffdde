// SPDX-License-Identifier: Apache-2.0
// Warpgroup matrix multiply-accumulate, wgmma.mma_async m64nNk… with N up to 256: here only the form with A
// and B both in shared memory. The accumulators are registers. And stmatrix.
#pragma once
#include <cstdint>
#include "tessera/cuda/ptx/mbarrier.cuh"

namespace tessera::cuda::ptx {

// Returns the matrix descriptor of an operand in shared memory with the 128-byte swizzle that the TMA writes.
// stride_byte_offset (SBO) is the byte offset between consecutive groups of 8 rows (K-major) or 8 k
// (MN-major). leading_byte_offset (LBO) is, for MN-major, the byte offset between consecutive 128-byte spans
// along M or N; for K-major it is not used.
__device__ __forceinline__ std::uint64_t matrix_descriptor(const void* address,
                                                           std::uint32_t stride_byte_offset,
                                                           std::uint32_t leading_byte_offset) {
  constexpr std::uint64_t swizzle_128 = 1;
  const auto field = [](std::uint32_t bytes) { return static_cast<std::uint64_t>((bytes & 0x3ffff) >> 4); };
  return field(shared_address(address)) | field(leading_byte_offset) << 16 | field(stride_byte_offset) << 32 |
         swizzle_128 << 62;
}

__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Waits until at most the latest `groups` wgmma groups are still pending.
template <int groups>
__device__ __forceinline__ void wgmma_wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory");
}
// The compiler must not move accesses to the accumulators across this: wgmma.mma_async writes them
// asynchronously until wgmma.wait_group.
template <int count>
__device__ __forceinline__ void fence_accumulators(float (&accum)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(accum[i])::"memory");
}
template <int count>
__device__ __forceinline__ void fence_accumulators(std::int32_t (&accum)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+r"(accum[i])::"memory");
}

// Element types of A and B. supports_mn_major: A and B may be MN-major; else they must be K-major.
struct Bf16 {
  static constexpr int bytes = 2;
  static constexpr bool supports_mn_major = true;
  using Accumulator = float;
};
struct F16 : Bf16 {};
struct Tf32 {
  static constexpr int bytes = 4;
  static constexpr bool supports_mn_major = false;
  using Accumulator = float;
};
enum class Fp8 { e4m3, e5m2 };
template <Fp8 a, Fp8 b>
struct Fp8Pair {
  static constexpr int bytes = 1;
  static constexpr bool supports_mn_major = false;
  using Accumulator = float;
};
struct S8 {
  static constexpr int bytes = 1;
  static constexpr bool supports_mn_major = false;
  using Accumulator = std::int32_t;
};

// accum = A·B + scale_d·accum, scale_d 0 or 1. transpose_a, transpose_b: 1 for an MN-major operand, 0 for
// K-major.
template <class Kind, int columns, int transpose_a, int transpose_b>
struct Wgmma;

// The operand list of inline assembly: %0 … for up to 128 accumulators, eight at a time.
#define TESSERA_REGISTERS_AT_0 "%0, %1, %2, %3, %4, %5, %6, %7"
#define TESSERA_REGISTERS_AT_1 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define TESSERA_REGISTERS_AT_2 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define TESSERA_REGISTERS_AT_3 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define TESSERA_REGISTERS_AT_4 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define TESSERA_REGISTERS_AT_5 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define TESSERA_REGISTERS_AT_6 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define TESSERA_REGISTERS_AT_7 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define TESSERA_REGISTERS_AT_8 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define TESSERA_REGISTERS_AT_9 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define TESSERA_REGISTERS_AT_10 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define TESSERA_REGISTERS_AT_11 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define TESSERA_REGISTERS_AT_12 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define TESSERA_REGISTERS_AT_13 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define TESSERA_REGISTERS_AT_14 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define TESSERA_REGISTERS_AT_15 ", %120, %121, %122, %123, %124, %125, %126, %127"
#define TESSERA_REGISTERS_8 TESSERA_REGISTERS_AT_0
#define TESSERA_REGISTERS_16 TESSERA_REGISTERS_8 TESSERA_REGISTERS_AT_1
#define TESSERA_REGISTERS_24 TESSERA_REGISTERS_16 TESSERA_REGISTERS_AT_2
#define TESSERA_REGISTERS_32 TESSERA_REGISTERS_24 TESSERA_REGISTERS_AT_3
#define TESSERA_REGISTERS_40 TESSERA_REGISTERS_32 TESSERA_REGISTERS_AT_4
#define TESSERA_REGISTERS_48 TESSERA_REGISTERS_40 TESSERA_REGISTERS_AT_5
#define TESSERA_REGISTERS_56 TESSERA_REGISTERS_48 TESSERA_REGISTERS_AT_6
#define TESSERA_REGISTERS_64 TESSERA_REGISTERS_56 TESSERA_REGISTERS_AT_7
#define TESSERA_REGISTERS_72 TESSERA_REGISTERS_64 TESSERA_REGISTERS_AT_8
#define TESSERA_REGISTERS_80 TESSERA_REGISTERS_72 TESSERA_REGISTERS_AT_9
#define TESSERA_REGISTERS_88 TESSERA_REGISTERS_80 TESSERA_REGISTERS_AT_10
#define TESSERA_REGISTERS_96 TESSERA_REGISTERS_88 TESSERA_REGISTERS_AT_11
#define TESSERA_REGISTERS_128                                                                  \
  TESSERA_REGISTERS_96 TESSERA_REGISTERS_AT_12 TESSERA_REGISTERS_AT_13 TESSERA_REGISTERS_AT_14 \
      TESSERA_REGISTERS_AT_15
#define TESSERA_ACCUMULATORS_AT(c, i)                                                               \
  c(accum[i]), c(accum[i + 1]), c(accum[i + 2]), c(accum[i + 3]), c(accum[i + 4]), c(accum[i + 5]), \
      c(accum[i + 6]), c(accum[i + 7])
#define TESSERA_ACCUMULATORS_8(c) TESSERA_ACCUMULATORS_AT(c, 0)
#define TESSERA_ACCUMULATORS_16(c) TESSERA_ACCUMULATORS_AT(c, 0), TESSERA_ACCUMULATORS_AT(c, 8)
#define TESSERA_ACCUMULATORS_24(c) TESSERA_ACCUMULATORS_16(c), TESSERA_ACCUMULATORS_AT(c, 16)
#define TESSERA_ACCUMULATORS_32(c) TESSERA_ACCUMULATORS_24(c), TESSERA_ACCUMULATORS_AT(c, 24)
#define TESSERA_ACCUMULATORS_40(c) TESSERA_ACCUMULATORS_32(c), TESSERA_ACCUMULATORS_AT(c, 32)
#define TESSERA_ACCUMULATORS_48(c) TESSERA_ACCUMULATORS_40(c), TESSERA_ACCUMULATORS_AT(c, 40)
#define TESSERA_ACCUMULATORS_56(c) TESSERA_ACCUMULATORS_48(c), TESSERA_ACCUMULATORS_AT(c, 48)
#define TESSERA_ACCUMULATORS_64(c) TESSERA_ACCUMULATORS_56(c), TESSERA_ACCUMULATORS_AT(c, 56)
#define TESSERA_ACCUMULATORS_72(c) TESSERA_ACCUMULATORS_64(c), TESSERA_ACCUMULATORS_AT(c, 64)
#define TESSERA_ACCUMULATORS_80(c) TESSERA_ACCUMULATORS_72(c), TESSERA_ACCUMULATORS_AT(c, 72)
#define TESSERA_ACCUMULATORS_88(c) TESSERA_ACCUMULATORS_80(c), TESSERA_ACCUMULATORS_AT(c, 80)
#define TESSERA_ACCUMULATORS_96(c) TESSERA_ACCUMULATORS_88(c), TESSERA_ACCUMULATORS_AT(c, 88)
#define TESSERA_ACCUMULATORS_128(c)                                                            \
  TESSERA_ACCUMULATORS_96(c), TESSERA_ACCUMULATORS_AT(c, 96), TESSERA_ACCUMULATORS_AT(c, 104), \
      TESSERA_ACCUMULATORS_AT(c, 112), TESSERA_ACCUMULATORS_AT(c, 120)

// The immediate operands after scale-d: imm-scale-a, imm-scale-b, imm-trans-a, imm-trans-b for 16-bit types;
// the two scales for TF32 and FP8; none for integers.
#define TESSERA_SCALES_AND_TRANSPOSES(transpose_a, transpose_b) ", 1, 1, " transpose_a ", " transpose_b
#define TESSERA_SCALES(transpose_a, transpose_b) ", 1, 1"
#define TESSERA_NO_SCALES(transpose_a, transpose_b) ""

// m64nN: R accumulators per thread, with inline-assembly constraint CONSTRAINT. A, B, SCALE_D, TRANSPOSE_A,
// TRANSPOSE_B: the assembly's operands after the accumulators.
#define TESSERA_WGMMA(KIND, NAME, CONSTRAINT, IMMEDIATES, N, R, A, B, SCALE_D, TRANSPOSE_A, TRANSPOSE_B) \
  template <int transpose_a, int transpose_b>                                                            \
  struct Wgmma<KIND, N, transpose_a, transpose_b> {                                                      \
    static_assert(KIND::supports_mn_major || (transpose_a == 0 && transpose_b == 0));                    \
    static __device__ __forceinline__ void mma_async(KIND::Accumulator (&accum)[R], std::uint64_t a,     \
                                                     std::uint64_t b, int scale_d) {                     \
      asm volatile("{\n .reg .pred scale_d;\n setp.ne.b32 scale_d, " SCALE_D                             \
                   ", 0;\n"                                                                              \
                   " wgmma.mma_async.sync.aligned.m64n" #N NAME " {" TESSERA_REGISTERS_##R               \
                   "}, " A ", " B ", scale_d" IMMEDIATES(TRANSPOSE_A, TRANSPOSE_B) ";\n}"                \
                   : TESSERA_ACCUMULATORS_##R(CONSTRAINT)                                                \
                   : "l"(a), "l"(b), "r"(scale_d), "n"(transpose_a), "n"(transpose_b));                  \
    }                                                                                                    \
  };
#define TESSERA_WGMMA_SHAPES(NAME, CONSTRAINT, IMMEDIATES, KIND)                                 \
  TESSERA_WGMMA(KIND, NAME, CONSTRAINT, IMMEDIATES, 16, 8, "%8", "%9", "%10", "%11", "%12")      \
  TESSERA_WGMMA(KIND, NAME, CONSTRAINT, IMMEDIATES, 32, 16, "%16", "%17", "%18", "%19", "%20")   \
  TESSERA_WGMMA(KIND, NAME, CONSTRAINT, IMMEDIATES, 48, 24, "%24", "%25", "%26", "%27", "%28")   \
  TESSERA_WGMMA(KIND, NAME, CONSTRAINT, IMMEDIATES, 64, 32, "%32", "%33", "%34", "%35", "%36")   \
  TESSERA_WGMMA(KIND, NAME, CONSTRAINT, IMMEDIATES, 80, 40, "%40", "%41", "%42", "%43", "%44")   \
  TESSERA_WGMMA(KIND, NAME, CONSTRAINT, IMMEDIATES, 96, 48, "%48", "%49", "%50", "%51", "%52")   \
  TESSERA_WGMMA(KIND, NAME, CONSTRAINT, IMMEDIATES, 112, 56, "%56", "%57", "%58", "%59", "%60")  \
  TESSERA_WGMMA(KIND, NAME, CONSTRAINT, IMMEDIATES, 128, 64, "%64", "%65", "%66", "%67", "%68")  \
  TESSERA_WGMMA(KIND, NAME, CONSTRAINT, IMMEDIATES, 144, 72, "%72", "%73", "%74", "%75", "%76")  \
  TESSERA_WGMMA(KIND, NAME, CONSTRAINT, IMMEDIATES, 160, 80, "%80", "%81", "%82", "%83", "%84")  \
  TESSERA_WGMMA(KIND, NAME, CONSTRAINT, IMMEDIATES, 176, 88, "%88", "%89", "%90", "%91", "%92")  \
  TESSERA_WGMMA(KIND, NAME, CONSTRAINT, IMMEDIATES, 192, 96, "%96", "%97", "%98", "%99", "%100") \
  TESSERA_WGMMA(KIND, NAME, CONSTRAINT, IMMEDIATES, 256, 128, "%128", "%129", "%130", "%131", "%132")

using E4m3E4m3 = Fp8Pair<Fp8::e4m3, Fp8::e4m3>;
using E4m3E5m2 = Fp8Pair<Fp8::e4m3, Fp8::e5m2>;
using E5m2E4m3 = Fp8Pair<Fp8::e5m2, Fp8::e4m3>;
using E5m2E5m2 = Fp8Pair<Fp8::e5m2, Fp8::e5m2>;

TESSERA_WGMMA_SHAPES("k16.f32.bf16.bf16", "+f", TESSERA_SCALES_AND_TRANSPOSES, Bf16)
TESSERA_WGMMA_SHAPES("k16.f32.f16.f16", "+f", TESSERA_SCALES_AND_TRANSPOSES, F16)
TESSERA_WGMMA_SHAPES("k8.f32.tf32.tf32", "+f", TESSERA_SCALES, Tf32)
TESSERA_WGMMA_SHAPES("k32.f32.e4m3.e4m3", "+f", TESSERA_SCALES, E4m3E4m3)
TESSERA_WGMMA_SHAPES("k32.f32.e4m3.e5m2", "+f", TESSERA_SCALES, E4m3E5m2)
TESSERA_WGMMA_SHAPES("k32.f32.e5m2.e4m3", "+f", TESSERA_SCALES, E5m2E4m3)
TESSERA_WGMMA_SHAPES("k32.f32.e5m2.e5m2", "+f", TESSERA_SCALES, E5m2E5m2)
TESSERA_WGMMA_SHAPES("k32.s32.s8.s8", "+r", TESSERA_NO_SCALES, S8)

// Stores four 8 × 8 matrices of 16-bit elements from a warp's registers to shared memory. Lane i gives the
// address of the 16-byte row i % 8 of matrix i / 8.
__device__ __forceinline__ void stmatrix_x4(void* row, std::uint32_t p0, std::uint32_t p1, std::uint32_t p2,
                                            std::uint32_t p3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)),
               "r"(p0), "r"(p1), "r"(p2), "r"(p3)
               : "memory");
}

}  // namespace tessera::cuda::ptx
