// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup (wgmma): 64 rows of A times up to 256 columns of B, both in shared memory, added to
// registers.
#pragma once
#include <cstdint>
#include "tessera/cuda/ptx/mbarrier.cuh"

namespace tessera::cuda::ptx {

// Where an operand lies: rows of 128 bytes, swizzled as the copy engine does it. Offsets in bytes.
//   k contiguous:    8 rows of the operand are a pattern; `patterns` leads to the next 8.
//   rows contiguous: 8 steps of k are a pattern; `patterns` leads to the next 8, `chunks` to the next 128
//   bytes of
//                    rows.
__device__ __forceinline__ std::uint64_t descriptor(const void* address, std::uint32_t patterns,
                                                    std::uint32_t chunks) {
  constexpr std::uint64_t swizzle_128 = 1;
  const auto field = [](std::uint32_t bytes) { return static_cast<std::uint64_t>((bytes & 0x3ffff) >> 4); };
  return field(shared_address(address)) | field(chunks) << 16 | field(patterns) << 32 | swizzle_128 << 62;
}

__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Until all but the last `groups` are done.
template <int groups>
__device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory");
}
// Tells the compiler that products in flight write these.
template <int count>
__device__ __forceinline__ void touch(float (&sum)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(sum[i])::"memory");
}
template <int count>
__device__ __forceinline__ void touch(std::int32_t (&sum)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+r"(sum[i])::"memory");
}

// An f32 to the nearest that the tensor cores hold.
__device__ __forceinline__ std::uint32_t rounded_to_tf32(std::uint32_t bits) {
  std::uint32_t out;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(out) : "f"(__uint_as_float(bits)));
  return out;
}

// What multiplies. `turns`: an operand may have its rows contiguous.
struct Bf16 {
  static constexpr int bytes = 2;
  static constexpr bool takes_mn_major = true;
  using Sum = float;
};
struct F16 : Bf16 {};
struct Tf32 {
  static constexpr int bytes = 4;
  static constexpr bool takes_mn_major = false;
  using Sum = float;
};
enum class Fp8 { e4m3, e5m2 };
template <Fp8 a, Fp8 b>
struct Fp8Pair {
  static constexpr int bytes = 1;
  static constexpr bool takes_mn_major = false;
  using Sum = float;
};
struct S8 {
  static constexpr int bytes = 1;
  static constexpr bool takes_mn_major = false;
  using Sum = std::int32_t;
};

// sum += A·B, or sum = A·B where `keep` is 0. turn_a, turn_b: rows, not k, are contiguous.
template <class Kind, int columns, int turn_a, int turn_b>
struct Product;

// Inline assembly wants its operands numbered and spelt out, eight at a time.
#define TESSERA_SLOTS_AT_0 "%0, %1, %2, %3, %4, %5, %6, %7"
#define TESSERA_SLOTS_AT_1 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define TESSERA_SLOTS_AT_2 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define TESSERA_SLOTS_AT_3 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define TESSERA_SLOTS_AT_4 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define TESSERA_SLOTS_AT_5 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define TESSERA_SLOTS_AT_6 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define TESSERA_SLOTS_AT_7 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define TESSERA_SLOTS_AT_8 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define TESSERA_SLOTS_AT_9 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define TESSERA_SLOTS_AT_10 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define TESSERA_SLOTS_AT_11 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define TESSERA_SLOTS_AT_12 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define TESSERA_SLOTS_AT_13 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define TESSERA_SLOTS_AT_14 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define TESSERA_SLOTS_AT_15 ", %120, %121, %122, %123, %124, %125, %126, %127"
#define TESSERA_SLOTS_8 TESSERA_SLOTS_AT_0
#define TESSERA_SLOTS_16 TESSERA_SLOTS_8 TESSERA_SLOTS_AT_1
#define TESSERA_SLOTS_24 TESSERA_SLOTS_16 TESSERA_SLOTS_AT_2
#define TESSERA_SLOTS_32 TESSERA_SLOTS_24 TESSERA_SLOTS_AT_3
#define TESSERA_SLOTS_40 TESSERA_SLOTS_32 TESSERA_SLOTS_AT_4
#define TESSERA_SLOTS_48 TESSERA_SLOTS_40 TESSERA_SLOTS_AT_5
#define TESSERA_SLOTS_56 TESSERA_SLOTS_48 TESSERA_SLOTS_AT_6
#define TESSERA_SLOTS_64 TESSERA_SLOTS_56 TESSERA_SLOTS_AT_7
#define TESSERA_SLOTS_72 TESSERA_SLOTS_64 TESSERA_SLOTS_AT_8
#define TESSERA_SLOTS_80 TESSERA_SLOTS_72 TESSERA_SLOTS_AT_9
#define TESSERA_SLOTS_88 TESSERA_SLOTS_80 TESSERA_SLOTS_AT_10
#define TESSERA_SLOTS_96 TESSERA_SLOTS_88 TESSERA_SLOTS_AT_11
#define TESSERA_SLOTS_128 \
  TESSERA_SLOTS_96 TESSERA_SLOTS_AT_12 TESSERA_SLOTS_AT_13 TESSERA_SLOTS_AT_14 TESSERA_SLOTS_AT_15
#define TESSERA_SUMS_AT(c, i)                                                                          \
  c(sum[i]), c(sum[i + 1]), c(sum[i + 2]), c(sum[i + 3]), c(sum[i + 4]), c(sum[i + 5]), c(sum[i + 6]), \
      c(sum[i + 7])
#define TESSERA_SUMS_8(c) TESSERA_SUMS_AT(c, 0)
#define TESSERA_SUMS_16(c) TESSERA_SUMS_AT(c, 0), TESSERA_SUMS_AT(c, 8)
#define TESSERA_SUMS_24(c) TESSERA_SUMS_16(c), TESSERA_SUMS_AT(c, 16)
#define TESSERA_SUMS_32(c) TESSERA_SUMS_24(c), TESSERA_SUMS_AT(c, 24)
#define TESSERA_SUMS_40(c) TESSERA_SUMS_32(c), TESSERA_SUMS_AT(c, 32)
#define TESSERA_SUMS_48(c) TESSERA_SUMS_40(c), TESSERA_SUMS_AT(c, 40)
#define TESSERA_SUMS_56(c) TESSERA_SUMS_48(c), TESSERA_SUMS_AT(c, 48)
#define TESSERA_SUMS_64(c) TESSERA_SUMS_56(c), TESSERA_SUMS_AT(c, 56)
#define TESSERA_SUMS_72(c) TESSERA_SUMS_64(c), TESSERA_SUMS_AT(c, 64)
#define TESSERA_SUMS_80(c) TESSERA_SUMS_72(c), TESSERA_SUMS_AT(c, 72)
#define TESSERA_SUMS_88(c) TESSERA_SUMS_80(c), TESSERA_SUMS_AT(c, 80)
#define TESSERA_SUMS_96(c) TESSERA_SUMS_88(c), TESSERA_SUMS_AT(c, 88)
#define TESSERA_SUMS_128(c)                                                                     \
  TESSERA_SUMS_96(c), TESSERA_SUMS_AT(c, 96), TESSERA_SUMS_AT(c, 104), TESSERA_SUMS_AT(c, 112), \
      TESSERA_SUMS_AT(c, 120)

// What an instruction wants to know after `keep`: signs and how operands are turned; signs; nothing.
#define TESSERA_TURNED(turn_a, turn_b) ", 1, 1, " turn_a ", " turn_b
#define TESSERA_SIGNED(turn_a, turn_b) ", 1, 1"
#define TESSERA_WHOLE(turn_a, turn_b) ""

// N columns, R sums a thread, in registers of class C; then the operands behind the sums: A, B, keep, how A
// and B are turned.
#define TESSERA_PRODUCT(KIND, NAME, C, TAIL, N, R, A, B, KEEP, TURN_A, TURN_B)                        \
  template <int turn_a, int turn_b>                                                                   \
  struct Product<KIND, N, turn_a, turn_b> {                                                           \
    static_assert(KIND::takes_mn_major || (turn_a == 0 && turn_b == 0));                              \
    static __device__ __forceinline__ void add(KIND::Sum (&sum)[R], std::uint64_t a, std::uint64_t b, \
                                               int keep) {                                            \
      asm volatile("{\n .reg .pred keep;\n setp.ne.b32 keep, " KEEP                                   \
                   ", 0;\n"                                                                           \
                   " wgmma.mma_async.sync.aligned.m64n" #N NAME " {" TESSERA_SLOTS_##R                \
                   "}, " A ", " B ", keep" TAIL(TURN_A, TURN_B) ";\n}"                                \
                   : TESSERA_SUMS_##R(C)                                                              \
                   : "l"(a), "l"(b), "r"(keep), "n"(turn_a), "n"(turn_b));                            \
    }                                                                                                 \
  };
#define TESSERA_PRODUCTS(NAME, C, TAIL, KIND)                                       \
  TESSERA_PRODUCT(KIND, NAME, C, TAIL, 16, 8, "%8", "%9", "%10", "%11", "%12")      \
  TESSERA_PRODUCT(KIND, NAME, C, TAIL, 32, 16, "%16", "%17", "%18", "%19", "%20")   \
  TESSERA_PRODUCT(KIND, NAME, C, TAIL, 48, 24, "%24", "%25", "%26", "%27", "%28")   \
  TESSERA_PRODUCT(KIND, NAME, C, TAIL, 64, 32, "%32", "%33", "%34", "%35", "%36")   \
  TESSERA_PRODUCT(KIND, NAME, C, TAIL, 80, 40, "%40", "%41", "%42", "%43", "%44")   \
  TESSERA_PRODUCT(KIND, NAME, C, TAIL, 96, 48, "%48", "%49", "%50", "%51", "%52")   \
  TESSERA_PRODUCT(KIND, NAME, C, TAIL, 112, 56, "%56", "%57", "%58", "%59", "%60")  \
  TESSERA_PRODUCT(KIND, NAME, C, TAIL, 128, 64, "%64", "%65", "%66", "%67", "%68")  \
  TESSERA_PRODUCT(KIND, NAME, C, TAIL, 144, 72, "%72", "%73", "%74", "%75", "%76")  \
  TESSERA_PRODUCT(KIND, NAME, C, TAIL, 160, 80, "%80", "%81", "%82", "%83", "%84")  \
  TESSERA_PRODUCT(KIND, NAME, C, TAIL, 176, 88, "%88", "%89", "%90", "%91", "%92")  \
  TESSERA_PRODUCT(KIND, NAME, C, TAIL, 192, 96, "%96", "%97", "%98", "%99", "%100") \
  TESSERA_PRODUCT(KIND, NAME, C, TAIL, 256, 128, "%128", "%129", "%130", "%131", "%132")

using E4m3E4m3 = Fp8Pair<Fp8::e4m3, Fp8::e4m3>;
using E4m3E5m2 = Fp8Pair<Fp8::e4m3, Fp8::e5m2>;
using E5m2E4m3 = Fp8Pair<Fp8::e5m2, Fp8::e4m3>;
using E5m2E5m2 = Fp8Pair<Fp8::e5m2, Fp8::e5m2>;

TESSERA_PRODUCTS("k16.f32.bf16.bf16", "+f", TESSERA_TURNED, Bf16)
TESSERA_PRODUCTS("k16.f32.f16.f16", "+f", TESSERA_TURNED, F16)
TESSERA_PRODUCTS("k8.f32.tf32.tf32", "+f", TESSERA_SIGNED, Tf32)
TESSERA_PRODUCTS("k32.f32.e4m3.e4m3", "+f", TESSERA_SIGNED, E4m3E4m3)
TESSERA_PRODUCTS("k32.f32.e4m3.e5m2", "+f", TESSERA_SIGNED, E4m3E5m2)
TESSERA_PRODUCTS("k32.f32.e5m2.e4m3", "+f", TESSERA_SIGNED, E5m2E4m3)
TESSERA_PRODUCTS("k32.f32.e5m2.e5m2", "+f", TESSERA_SIGNED, E5m2E5m2)
TESSERA_PRODUCTS("k32.s32.s8.s8", "+r", TESSERA_WHOLE, S8)

#undef TESSERA_PRODUCTS
#undef TESSERA_PRODUCT
#undef TESSERA_WHOLE
#undef TESSERA_SIGNED
#undef TESSERA_TURNED
#undef TESSERA_SUMS_8
#undef TESSERA_SUMS_32
#undef TESSERA_SUMS_40
#undef TESSERA_SUMS_48
#undef TESSERA_SUMS_56
#undef TESSERA_SUMS_64
#undef TESSERA_SUMS_72
#undef TESSERA_SUMS_80
#undef TESSERA_SUMS_88
#undef TESSERA_SUMS_96
#undef TESSERA_SUMS_128
#undef TESSERA_SLOTS_32
#undef TESSERA_SLOTS_40
#undef TESSERA_SLOTS_48
#undef TESSERA_SLOTS_56
#undef TESSERA_SLOTS_64
#undef TESSERA_SLOTS_72
#undef TESSERA_SLOTS_80
#undef TESSERA_SLOTS_88
#undef TESSERA_SLOTS_96
#undef TESSERA_SLOTS_128
#undef TESSERA_SLOTS_AT_0
#undef TESSERA_SLOTS_AT_1
#undef TESSERA_SLOTS_AT_2
#undef TESSERA_SLOTS_AT_3
#undef TESSERA_SLOTS_AT_4
#undef TESSERA_SLOTS_AT_5
#undef TESSERA_SLOTS_AT_6
#undef TESSERA_SLOTS_AT_7
#undef TESSERA_SLOTS_AT_8
#undef TESSERA_SLOTS_AT_9
#undef TESSERA_SLOTS_AT_10
#undef TESSERA_SLOTS_AT_11
#undef TESSERA_SLOTS_AT_12
#undef TESSERA_SLOTS_AT_13
#undef TESSERA_SLOTS_AT_14
#undef TESSERA_SLOTS_AT_15

// Pieces of 8 × 8 numbers of 16 bits, from a warp's registers to rows in shared memory.

// Four pieces; lane i gives where row i % 8 of piece i / 8 goes, 16 bytes.
__device__ __forceinline__ void store_pieces(void* row, std::uint32_t p0, std::uint32_t p1, std::uint32_t p2,
                                             std::uint32_t p3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)),
               "r"(p0), "r"(p1), "r"(p2), "r"(p3)
               : "memory");
}

}  // namespace tessera::cuda::ptx
