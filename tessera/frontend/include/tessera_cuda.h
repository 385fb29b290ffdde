// SPDX-License-Identifier: Apache-2.0
// The calls of a rewritten CUDA file, included before its first line. The front end turns CUDA's own syntax
// into these calls; libtessera_cuda.so implements them with the executor.
//
//   k<<<grid, block, bytes, stream>>>(x)   (tessera_cuda::configure(grid, block, bytes, stream), k(x))
//   __global__ void k(P) { body }          void k(P) { tessera_cuda::kernel("k", [=]() mutable { body }); }
//   __shared__ float a[8], b;              struct S { float a[8], b; };
//                                          auto& a = tessera_cuda::shared("a", &S::a); …
//   extern __shared__ float s[];           float* s = (float*)tessera_cuda::dynamic_shared("s");
//   threadIdx                              tessera_cuda::built_in(threadIdx)
//   atomicAdd(p, 1);                       atomicAdd(p, 1), tessera_cuda::result_is_unused();
//   __constant__ float c[9];               float c[9]; static const tessera_cuda::Variable …("c", c,
//   constant);
//
// C++17, and light: it is compiled with every student's file.
#pragma once
#pragma GCC system_header  // exempts this and what it includes from rewriting and --set
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 4
#define __CUDACC_VER_BUILD__ 0

// In a kernel these call the executor, elsewhere the C library.
extern "C" {
int printf(const char* __restrict__ format, ...) __asm__("tessera_cuda_printf")
    __attribute__((__format__(__printf__, 1, 2)));
void __assert_fail(const char* text, const char* file, unsigned int line, const char* function) noexcept
    __asm__("tessera_cuda_assert_fail") __attribute__((__noreturn__));
}

// nvcc includes these, too.
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>
#include "tessera_calls.h"
#include "cuda_runtime.h"

inline constexpr tessera_cuda::ThreadIdx threadIdx{};
inline constexpr tessera_cuda::BlockIdx blockIdx{};
inline constexpr tessera_cuda::BlockDim blockDim{};
inline constexpr tessera_cuda::GridDim gridDim{};
