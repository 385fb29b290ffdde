// SPDX-License-Identifier: Apache-2.0
// Checked CUDA calls, and RAII owners of streams, events, graphs and memory.
#pragma once
#include <cuda_runtime_api.h>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include "tessera/core/text/error.hpp"
#include "tessera/core/text/source_location.hpp"

namespace tessera::cuda {

// Throws if a CUDA call failed. A function, not a macro: SourceLocation gives the caller's place.
inline void check(cudaError_t status, SourceLocation where = SourceLocation::current()) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // a non-sticky error must not surface again in the next call
  const bool bad_access = status == cudaErrorIllegalAddress || status == cudaErrorMisalignedAddress;
  throw Error(bad_access ? Error::Kind::memory : Error::Kind::internal,
              std::string(where.file) + ":" + std::to_string(where.line) +
                  ": CUDA: " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")" +
                  (status == cudaErrorNoKernelImageForDevice
                       ? "; TESSERA_CUDA_ARCHITECTURES names the GPUs to build for"
                       : ""));
}

// Owns a stream of the current device. All others use get().
class Stream {
 public:
  Stream() {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    stream_.reset(stream);
  }
  explicit Stream(cudaStream_t made) : stream_(made) {}
  cudaStream_t get() const { return stream_.get(); }
  void synchronize() const { check(cudaStreamSynchronize(get())); }
  cudaStream_t release() { return stream_.release(); }  // to an owner that must hold it as void*

 private:
  struct Destroy {
    void operator()(cudaStream_t stream) const noexcept { (void)cudaStreamDestroy(stream); }
  };
  std::unique_ptr<CUstream_st, Destroy> stream_;
};

// An event of the current device: to wait for, and to time the interval between two.
class Event {
 public:
  Event() {
    cudaEvent_t event = nullptr;
    check(cudaEventCreate(&event));
    event_.reset(event);
  }
  void record(cudaStream_t stream) { check(cudaEventRecord(event_.get(), stream)); }
  // Work enqueued to the stream afterwards, even on another device, waits for the event.
  void hold(cudaStream_t stream) const { check(cudaStreamWaitEvent(stream, event_.get(), 0)); }
  void synchronize() const { check(cudaEventSynchronize(event_.get())); }  // at once if never recorded

  // Requires that both have been recorded and that this one has been reached.
  double seconds_since(const Event& earlier) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, earlier.event_.get(), event_.get()));
    return milliseconds * 1e-3;
  }

 private:
  struct Destroy {
    void operator()(cudaEvent_t event) const noexcept { (void)cudaEventDestroy(event); }
  };
  std::unique_ptr<CUevent_st, Destroy> event_;
};

// Owns an executable graph, captured from a stream.
class Graph {
 public:
  // Captures everything that `work` enqueues to the stream instead of running it. Throws Error if `work`
  // waits for the stream or does anything else that cannot be captured; the stream remains usable.
  Graph(cudaStream_t stream, const std::function<void()>& work) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    cudaGraph_t captured = nullptr;
    try {
      work();
    } catch (...) {
      (void)cudaStreamEndCapture(stream, &captured);
      if (captured != nullptr) (void)cudaGraphDestroy(captured);
      (void)cudaGetLastError();
      throw;
    }
    check(cudaStreamEndCapture(stream, &captured));
    cudaGraphExec_t graph = nullptr;
    const cudaError_t status = cudaGraphInstantiate(&graph, captured, 0);
    (void)cudaGraphDestroy(captured);
    check(status);
    graph_.reset(graph);
    check(cudaGraphUpload(graph, stream));
  }

  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(graph_.get(), stream)); }

 private:
  struct Destroy {
    void operator()(cudaGraphExec_t graph) const noexcept { (void)cudaGraphExecDestroy(graph); }
  };
  std::unique_ptr<CUgraphExec_st, Destroy> graph_;
};

// Owners of device memory and of pinned host memory. Empty buffers have no address.
namespace detail {
struct FreeDevice {
  void operator()(void* address) const noexcept { (void)cudaFree(address); }
};
struct FreePinned {
  void operator()(void* address) const noexcept { (void)cudaFreeHost(address); }
};
}  // namespace detail

// Allocates on the current device; cudaFree releases. Throws Error with the bytes wanted and the bytes free.
void* allocate_device(std::size_t bytes);

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t bytes) : memory_(allocate_device(bytes)), bytes_(bytes) {}
  void* get() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<void, detail::FreeDevice> memory_;
  std::size_t bytes_ = 0;
};

class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::size_t bytes) : bytes_(bytes) {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable));
    memory_.reset(memory);
  }
  void* get() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<void, detail::FreePinned> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace tessera::cuda
