// SPDX-License-Identifier: Apache-2.0
// A kernel that is compiled while the program runs, loaded by the driver and launched. The driver's library
// is loaded when it is first asked, through declarations of our own.
#pragma once
#include <memory>
#include <string>
#include "tessera/core/thread.hpp"
#include "tessera/core/variant.hpp"

namespace tessera::cuda {

// CUDA text compiled while the program runs. NVRTC is loaded when it is first asked, through declarations of
// our own; what it has compiled is kept on disk, for it takes thousands of times as long as a small kernel.

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

Reason no_driver();  // why nothing can be launched here; nothing: it can

// A rung whose kernels are compiled while the program runs.
Variant compiled_variant(std::string idea, Choice choice);

class RuntimeKernel {
 public:
  // Compiles (or takes from the cache folder, or from what this process has loaded already) and loads. `name`
  // is an extern "C" __global__ of the source. Throws Error.
  RuntimeKernel(const std::string& source, const std::string& name, int compute_capability);

  bool cached() const { return cached_; }  // nothing was compiled
  // Of a thread, and the largest block, on the calling thread's device.
  int registers() const;
  int max_threads_per_block() const;

  // On the calling thread's device (cudaSetDevice), in the order of the stream, a cudaStream_t. The arguments
  // are of exactly the kernel's parameter types; they are copied before this returns.
  template <class... Argument>
  void launch(const Launch& launch, std::size_t shared_bytes, void* stream,
              const Argument&... arguments) const {
    void* pointers[sizeof...(Argument) + 1] = {const_cast<void*>(static_cast<const void*>(&arguments))...,
                                               nullptr};
    launch_with(launch, shared_bytes, stream, pointers);
  }

 private:
  void launch_with(const Launch& launch, std::size_t shared_bytes, void* stream, void** arguments) const;
  int attribute(int which) const;

  std::shared_ptr<void> library_;  // a CUlibrary
  void* kernel_ = nullptr;         // a CUkernel
  bool cached_ = false;
};

}  // namespace tessera::cuda
