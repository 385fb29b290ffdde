// SPDX-License-Identifier: Apache-2.0
// mma.sync of 8-bit integers, signed or unsigned, with 32-bit accumulators that wrap around; and movmatrix.
#pragma once
#include <cstdint>

namespace tessera::cuda::ptx {

#if __CUDA_ARCH__ >= 800
// d += a·b, m16n8k32 or m16n8k16. A register holds four elements of a row of a, or of a column of b.
#define TESSERA_MMA_M16N8K32(A, B)                                                    \
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." A "." B                       \
               ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                       \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define TESSERA_MMA_M16N8K16(A, B)                                        \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.s32." A "." B           \
               ".s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};" \
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])           \
               : "r"(a[0]), "r"(a[1]), "r"(b[0]))
#else
// Below compute capability 8.0 the largest shape is m8n8k16.
#define TESSERA_MMA_M8N8K16(A, B, m_half, k_half)                                                     \
  asm volatile("mma.sync.aligned.m8n8k16.row.col.s32." A "." B ".s32 {%0, %1}, {%2}, {%3}, {%0, %1};" \
               : "+r"(d[2 * (m_half)]), "+r"(d[2 * (m_half) + 1])                                     \
               : "r"(a[2 * (k_half) + (m_half)]), "r"(b[k_half]))
#define TESSERA_MMA_M16N8K16(A, B) \
  TESSERA_MMA_M8N8K16(A, B, 0, 0); \
  TESSERA_MMA_M8N8K16(A, B, 1, 0)
#define TESSERA_MMA_M16N8K32(A, B) \
  TESSERA_MMA_M8N8K16(A, B, 0, 0); \
  TESSERA_MMA_M8N8K16(A, B, 1, 0); \
  TESSERA_MMA_M8N8K16(A, B, 0, 1); \
  TESSERA_MMA_M8N8K16(A, B, 1, 1)
#endif

#define TESSERA_MMA_BY_SIGNS(MMA)       \
  if constexpr (signed_a && signed_b) { \
    MMA("s8", "s8");                    \
  } else if constexpr (signed_a) {      \
    MMA("s8", "u8");                    \
  } else if constexpr (signed_b) {      \
    MMA("u8", "s8");                    \
  } else {                              \
    MMA("u8", "u8");                    \
  }

template <bool signed_a, bool signed_b>
__device__ __forceinline__ void mma_int8(std::uint32_t (&d)[4], const std::uint32_t (&a)[2],
                                         const std::uint32_t (&b)[1]) {
  TESSERA_MMA_BY_SIGNS(TESSERA_MMA_M16N8K16)
}

template <bool signed_a, bool signed_b>
__device__ __forceinline__ void mma_int8(std::uint32_t (&d)[4], const std::uint32_t (&a)[4],
                                         const std::uint32_t (&b)[2]){
    TESSERA_MMA_BY_SIGNS(TESSERA_MMA_M16N8K32)}

// Transposes an 8 × 8 matrix of 16-bit elements in a warp's registers: lane 4·r + c holds columns 2·c and
// 2·c + 1 of row r before, and of row r of the transpose afterwards.
__device__ __forceinline__ std::uint32_t movmatrix_trans(std::uint32_t pair) {
  std::uint32_t out;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(out) : "r"(pair));
  return out;
}

#undef TESSERA_MMA_BY_SIGNS
#undef TESSERA_MMA_M16N8K32
#undef TESSERA_MMA_M16N8K16
#undef TESSERA_MMA_M8N8K16

}  // namespace tessera::cuda::ptx
