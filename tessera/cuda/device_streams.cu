// SPDX-License-Identifier: Apache-2.0
// A GPU's three streams and the events between them. Copies from and to the host use the copy engines, beside
// the kernels.
#include "tessera/core/streams.hpp"
#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>
#include "tessera/cuda/gpus.hpp"
#include "tessera/cuda/resources.hpp"

namespace tessera::cuda {
namespace {

// Making an event takes longer than recording one: those that are given back are used again.
class Events {
 public:
  std::unique_ptr<Event> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!spare_.empty()) {
        auto out = std::move(spare_.back());
        spare_.pop_back();
        return out;
      }
    }
    return std::make_unique<Event>();
  }
  void give_back(std::unique_ptr<Event> event) {
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(event));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Event>> spare_;
};

class CudaEvent final : public StreamEvent {
 public:
  CudaEvent(std::shared_ptr<Events> events, int device, cudaStream_t stream)
      : events_(std::move(events)), device_(device), event_(events_->take()) {
    event_->record(stream);
  }
  ~CudaEvent() override { events_->give_back(std::move(event_)); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  void wait() const override {
    const OnDevice on_device(device_);
    event_->synchronize();
  }
  const Event& event() const { return *event_; }

 private:
  std::shared_ptr<Events> events_;
  int device_;
  std::unique_ptr<Event> event_;
};

const Event& event_of(const StreamEvent& event) { return static_cast<const CudaEvent&>(event).event(); }

class CudaStreams final : public Streams {
 public:
  explicit CudaStreams(const Device& device) : device_(device) {
    const OnDevice on_device(device.index);
    // Copies take no multiprocessors: only what is computed is bound to a part's.
    for (std::size_t kind = 0; kind < stream_count; ++kind)
      streams_.push_back(kind == static_cast<std::size_t>(StreamKind::compute) ? stream_on(device)
                                                                               : Stream());
    start_ = std::make_unique<Event>();
  }

  const Device& device() const override { return device_; }

  void* allocate(std::size_t bytes) override {
    const OnDevice on_device(device_.index);
    return allocate_device(bytes);
  }
  void free(void* address) noexcept override { (void)cudaFree(address); }

  std::shared_ptr<void> pinned(std::size_t bytes) override {
    const OnDevice on_device(device_.index);
    const auto buffer = std::make_shared<PinnedBuffer>(bytes);
    return {buffer, buffer->get()};
  }

  // Memory that begins and ends in pinned memory counts as pinned: whether it was registered in several parts
  // cannot be asked.
  bool is_pinned(const void* data, std::size_t bytes) override {
    if (bytes == 0) return true;
    return lies_pinned(data) && lies_pinned(static_cast<const char*>(data) + bytes - 1);
  }

  EventPtr record(StreamKind kind) override {
    const OnDevice on_device(device_.index);
    return std::make_unique<CudaEvent>(events_, device_.index, stream(kind));
  }
  void wait_for(StreamKind kind, const StreamEvent& event) override {
    const OnDevice on_device(device_.index);
    event_of(event).hold(stream(kind));
  }

  void copy(StreamKind kind, const Rows& to, const Rows& from, const RowShape& shape) override {
    if (shape.total() == 0) return;
    const OnDevice on_device(device_.index);
    const auto direction = kind == StreamKind::out ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice;
    if (to.pitch == shape.bytes && from.pitch == shape.bytes)
      return check(cudaMemcpyAsync(to.data, from.data, shape.total(), direction, stream(kind)));
    check(cudaMemcpy2DAsync(to.data, pitch(to, shape), from.data, pitch(from, shape), shape.bytes, shape.rows,
                            direction, stream(kind)));
  }

  void compute(std::function<void(void* stream)> enqueue) override {
    const OnDevice on_device(device_.index);
    enqueue(stream(StreamKind::compute));
  }

  void synchronize() override {
    const OnDevice on_device(device_.index);
    for (const Stream& stream : streams_) stream.synchronize();
  }

  void start_clock() override {
    synchronize();
    const OnDevice on_device(device_.index);
    start_->record(stream(StreamKind::in));
    start_->synchronize();
  }
  double seconds(const StreamEvent& event) override {
    const OnDevice on_device(device_.index);
    return event_of(event).seconds_since(*start_);
  }

 private:
  cudaStream_t stream(StreamKind kind) const { return streams_[static_cast<std::size_t>(kind)].get(); }

  // Of a single row nobody asks for a pitch, but the copy wants one that holds the row.
  static std::size_t pitch(const Rows& rows, const RowShape& shape) {
    return std::max(rows.pitch, shape.bytes);
  }

  static bool lies_pinned(const void* address) {
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, address));
    return attributes.type == cudaMemoryTypeHost;
  }

  Device device_;
  std::vector<Stream> streams_;
  std::unique_ptr<Event> start_;
  std::shared_ptr<Events> events_ = std::make_shared<Events>();
};

struct Unregister {
  void operator()(void* data) const noexcept { (void)cudaHostUnregister(data); }
};

class CudaStreamFactory final : public StreamFactory {
 public:
  std::unique_ptr<Streams> open(const Device& device) override {
    return std::make_unique<CudaStreams>(device);
  }

  std::shared_ptr<void> pin(void* data, std::size_t bytes) override {
    if (bytes == 0) return nullptr;
    if (cudaHostRegister(data, bytes, cudaHostRegisterPortable) != cudaSuccess) {
      (void)cudaGetLastError();
      return nullptr;
    }
    return {data, Unregister{}};
  }
};

[[maybe_unused]] const bool streams_registered =
    (register_streams(Where::cuda, std::make_unique<CudaStreamFactory>()), true);

// CUDA's streams for callers who bring their own. Spare memory comes from a pool of ours in stream order: the
// driver knows when a stream is done with it, also after the stream's end, and hands it on without waiting;
// memory kept for each stream would be found again under the handle of another. Within a graph it is the
// graph's own, so that launches of the graph meet nobody else's.

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
