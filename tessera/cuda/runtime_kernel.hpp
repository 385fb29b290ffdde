// SPDX-License-Identifier: Apache-2.0
// A kernel that is compiled at run time, loaded by the driver and launched. The driver's library is loaded on
// first use, through our own declarations.
#pragma once
#include <memory>
#include <string>
#include "tessera/core/device/thread.hpp"
#include "tessera/core/operation/variant.hpp"

namespace tessera::cuda {

// Run-time compilation of CUDA source. NVRTC is loaded on first use, through our own declarations; its output
// is cached on disk, because compiling takes thousands of times as long as a small kernel.

Reason no_nvrtc();            // the reason why nothing can be compiled here; std::nullopt: it can
std::string nvrtc_version();  // "13.0"; empty without NVRTC

// Returns "sm_90" for a device of compute capability 9.0.
std::string architecture_of(int compute_capability);

struct Cubin {
  std::string code;     // in the format that the driver loads
  bool cached = false;  // true: nothing was compiled
};

// Compiles an `extern "C" __global__` kernel. No contraction to FMA, IEEE division and square root,
// subnormals kept, so results are bitwise identical everywhere. The cache folder's key is the source, the
// architecture and NVRTC's version; any number of processes may compile at once. Throws Error with the
// compiler's messages for source that does not compile.
Cubin compile(const std::string& source, const std::string& architecture);

Reason no_driver();  // the reason why nothing can be launched here; std::nullopt: it can

// Returns a rung whose kernels are compiled at run time.
Variant compiled_variant(std::string idea, Choice choice);

class RuntimeKernel {
 public:
  // Compiles (or takes from the cache folder, or from this process's loaded libraries) and loads. `name` is
  // an extern "C" __global__ of the source. Throws Error.
  RuntimeKernel(const std::string& source, const std::string& name, int compute_capability);

  bool cached() const { return cached_; }  // true: nothing was compiled
  // Registers per thread, and the largest block, on the calling thread's device.
  int registers() const;
  int max_threads_per_block() const;

  // Launches on the calling thread's device (cudaSetDevice), in the order of the stream, a cudaStream_t. The
  // arguments have exactly the kernel's parameter types; they are copied before this returns.
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
