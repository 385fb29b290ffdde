// SPDX-License-Identifier: Apache-2.0
// The runtime API, and in CUDA files what kernels call.
#pragma once
#define __CUDA_RUNTIME_H__
#include "cuda_runtime_api.h"
#include "texture_calls.h"
#include "vector_functions.h"
#if defined(__CUDACC__)
#include "device_functions.h"
#include "math_functions.h"
#include "simd_functions.h"
#include "texture_functions.h"
#endif
