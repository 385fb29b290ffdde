// SPDX-License-Identifier: Apache-2.0
// CUDA's streams for callers who bring their own. Spare memory comes from a pool of ours in stream order: the
// driver knows when a stream is done with it, also after the stream's end, and hands it on without waiting;
// memory kept for each stream would be found again under the handle of another. Within a graph it is the
// graph's own, so that launches of the graph meet nobody else's.
#include "tessera/core/streams.hpp"
#include <memory>
#include <mutex>
#include <vector>
#include "tessera/cuda/gpus.hpp"

namespace tessera::cuda {
namespace {

cudaStream_t stream_of(const Run& run) { return static_cast<cudaStream_t>(run.stream); }

// What is given back stays in the pool, up to a part of the device's memory: more is returned to the device
// when somebody waits for it.
constexpr std::size_t kept_part = 16;

struct Pool {
  std::once_flag made;
  cudaMemPool_t pool = nullptr;  // until the process ends, for work may still use what it lent

  void make(const Device& device) {
    cudaMemPoolProps props{};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = device.index;
    check(cudaMemPoolCreate(&pool, &props));
    std::uint64_t kept = static_cast<std::uint64_t>(device.memory_bytes) / kept_part;
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
    int no = 0;  // else one stream may be made to wait for another
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &no));
  }
};

class CudaInOrder : public InOrder {
 public:
  std::optional<int> holder_of(const void* address) override {
    cudaPointerAttributes attributes{};
    if (cudaPointerGetAttributes(&attributes, address) != cudaSuccess) {
      (void)cudaGetLastError();
      return std::nullopt;
    }
    if (attributes.type != cudaMemoryTypeDevice && attributes.type != cudaMemoryTypeManaged)
      return std::nullopt;
    return attributes.device;
  }

  std::optional<std::string> refuses_stream(const Device& device, void* stream) override {
    const OnDevice on_device(device.index);  // whose are the streams that have no handle
    // A stream that is captured may not be asked for its device: that ends the capture.
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    cudaError_t status = cudaStreamIsCapturing(static_cast<cudaStream_t>(stream), &capture);
    const bool is_free = status == cudaSuccess && capture == cudaStreamCaptureStatusNone;
    int index = device.index;
    if (is_free) status = cudaStreamGetDevice(static_cast<cudaStream_t>(stream), &index);
    (void)cudaGetLastError();  // a driver that cannot tell refuses nothing
    if (status == cudaErrorInvalidResourceHandle || status == cudaErrorContextIsDestroyed)
      return "this is no stream";
    if (index != device.index)
      return "the stream is of cuda:" + std::to_string(index) + ", not of " + device.label();
    return std::nullopt;
  }

  bool is_noting(const Run& run) override {
    const OnDevice on_device(run.device->index);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream_of(run), &status));
    return status != cudaStreamCaptureStatusNone;
  }

  void* borrow(const Run& run, std::size_t bytes) override {
    const OnDevice on_device(run.device->index);
    void* address = nullptr;
    // While a stream is captured, any pool gives the graph's own memory.
    const cudaError_t status =
        is_noting(run) ? cudaMallocAsync(&address, bytes, stream_of(run))
                       : cudaMallocFromPoolAsync(&address, bytes, pool_of(*run.device), stream_of(run));
    if (status == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      throw Error("the GPU is out of memory: a workspace of " + std::to_string(bytes) + " bytes is wanted");
    }
    check(status);
    return address;
  }

  void give_back(const Run& run, void* address) noexcept override try {
    const OnDevice on_device(run.device->index);
    (void)cudaFreeAsync(address, stream_of(run));
  } catch (const Error&) {  // the device is gone, and its memory with it
  }

 private:
  cudaMemPool_t pool_of(const Device& device) {
    Pool* pool = nullptr;
    {
      const std::lock_guard lock(mutex_);
      const auto at = static_cast<std::size_t>(device.index);
      while (pools_.size() <= at) pools_.push_back(std::make_unique<Pool>());
      pool = pools_[at].get();
    }
    std::call_once(pool->made, [&] { pool->make(device); });
    return pool->pool;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Pool>> pools_;  // by a device's index
};

[[maybe_unused]] const bool in_order_registered =
    (register_in_order(Where::cuda, std::make_unique<CudaInOrder>()), true);

}  // namespace
}  // namespace tessera::cuda
