// SPDX-License-Identifier: Apache-2.0
// mma.sync of bf16, f16 and f64, and ldmatrix. Used from compute capability 8.0 on; below, mma leaves d
// unchanged and ldmatrix_x4 returns 0.
#pragma once
#include <cstdint>
#include "tessera/cuda/ptx/shared_address.cuh"

namespace tessera::cuda::ptx {

// d += a·b, m16n8k16. A register of a or b holds two elements.
#if __CUDA_ARCH__ >= 800
#define TESSERA_MMA(TYPE)                                                             \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE                 \
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                       \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
#else
#define TESSERA_MMA(TYPE) (void)d, (void)a, (void)b0, (void)b1
#endif
__device__ __forceinline__ void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                         std::uint32_t b1) {
  TESSERA_MMA("bf16");
}
__device__ __forceinline__ void mma_f16(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                        std::uint32_t b1) {
  TESSERA_MMA("f16");
}
#undef TESSERA_MMA

// Loads four 8 × 8 matrices of 16-bit elements. Lane i gives the address of the 16-byte row i % 8 of matrix i
// / 8. Lane 4·g + t gets elements 2·t and 2·t + 1 of row g of each matrix or, with `transpose`, of column g.
template <bool transpose>
__device__ __forceinline__ void ldmatrix_x4(std::uint32_t (&to)[4], const void* row) {
#if __CUDA_ARCH__ >= 800
  const std::uint32_t address = shared_address(row);
  if constexpr (transpose)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
#else
  (void)row;
  to[0] = to[1] = to[2] = to[3] = 0;
#endif
}

// Adds a·b to d, m16n8k16, rounded as a chain of fused multiply-adds. Compute capability 8.x has only m8n8k4
// for f64, so eight of them multiply the same register fragments.
__device__ __forceinline__ void mma_f64(double (&d)[4], const double (&a)[8], const double (&b)[4]) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, "
      "%11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]),
        "d"(b[1]), "d"(b[2]), "d"(b[3]));
#elif __CUDA_ARCH__ >= 800
#pragma unroll
  for (int i = 0; i < 8; ++i)
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(d[i % 2 * 2]), "+d"(d[i % 2 * 2 + 1])
                 : "d"(a[i]), "d"(b[i / 2]));
#else
  (void)d, (void)a, (void)b;
#endif
}

}  // namespace tessera::cuda::ptx
