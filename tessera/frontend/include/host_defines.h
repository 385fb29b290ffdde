// SPDX-License-Identifier: Apache-2.0
// CUDA keywords that map to g++'s. Those that the front end itself reads (__global__, __device__, __shared__
// and so on) are not macros.
#pragma once
#if !defined(__CUDACC__)
// A C++ file is not rewritten.
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#endif
#define __forceinline__ inline __attribute__((always_inline))
#define __inline_hint__
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __grid_constant__
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __nv_pure__ __attribute__((pure))
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define CUDART_CB
#define __cudart_builtin__
#define __device_builtin__
