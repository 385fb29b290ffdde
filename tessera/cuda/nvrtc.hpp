// SPDX-License-Identifier: Apache-2.0
// CUDA text compiled while the program runs. NVRTC is loaded when it is first asked, through declarations of
// our own; what it has compiled is kept on disk, for it takes thousands of times as long as a small kernel.
#pragma once
#include <string>
#include "tessera/core/variant.hpp"

namespace tessera::cuda {

Reason no_nvrtc();            // why nothing can be compiled here; nothing: it can
std::string nvrtc_version();  // "13.0"; empty without NVRTC

// "sm_90" for a device of compute capability 9.0.
std::string architecture_of(int compute_capability);

struct Cubin {
  std::string code;     // as the driver loads it
  bool cached = false;  // nothing was compiled
};

// A kernel is `extern "C" __global__`. Never fused, IEEE division and roots, subnormals kept: the same bits
// as everywhere. Kept by source, architecture and NVRTC's version in the cache folder; any number of
// processes may compile at once. Throws Error with the compiler's words for text that does not compile.
Cubin compile(const std::string& source, const std::string& architecture);

}  // namespace tessera::cuda
