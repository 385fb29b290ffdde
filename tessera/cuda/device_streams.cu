// SPDX-License-Identifier: Apache-2.0
// A GPU's streams and the events between them. Copies use the copy engines, concurrently with kernels.
#include "tessera/core/device/streams.hpp"
#include <algorithm>
#include <bit>
#include <compare>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>
#include "tessera/cuda/gpus.hpp"
#include "tessera/cuda/resources.hpp"

namespace tessera::cuda {
namespace {

// Creating an event takes longer than recording one, so returned events are reused.
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
    // Copies use no multiprocessors: only the compute stream is bound to a part's.
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

  // True if the range begins and ends in pinned memory, because CUDA cannot tell whether it was registered in
  // several parts.
  bool is_pinned(const void* data, std::size_t bytes) override {
    if (bytes == 0) return true;
    return lies_pinned(data) && lies_pinned(static_cast<const char*>(data) + bytes - 1);
  }

  EventPtr record(StreamKind kind) override {
    const OnDevice on_device(device_.index);
    return std::make_shared<CudaEvent>(events_, device_.index, stream(kind));
  }
  void wait_for(StreamKind kind, const StreamEvent& event) override {
    const OnDevice on_device(device_.index);
    event_of(event).hold(stream(kind));
  }

  bool reaches(const Streams& other) override {
    const int peer = other.device().index;
    if (peer == device_.index) return true;
    const auto [reached, unknown] = reached_.emplace(peer, false);
    if (!unknown) return reached->second;
    const OnDevice on_device(device_.index);
    int can = 0;
    check(cudaDeviceCanAccessPeer(&can, device_.index, peer));
    if (can == 0) return false;
    const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
    if (status != cudaSuccess) (void)cudaGetLastError();
    return reached->second = status == cudaSuccess || status == cudaErrorPeerAccessAlreadyEnabled;
  }

  void copy(StreamKind kind, const Rows& to, const Rows& from, const RowShape& shape) override {
    if (shape.total() == 0) return;
    const OnDevice on_device(device_.index);
    constexpr auto direction = cudaMemcpyDefault;
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

  // Returns a pitch that holds a row, as the copy requires; a single row may come with any.
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
  std::map<int, bool> reached_;  // by the index of the other GPU
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

// Memory for callers' own CUDA streams, from our own pool in stream order: the driver knows when a stream is
// done with it, even after the stream is destroyed, and reuses it without waiting. Memory cached by stream
// handle could be found under another stream's reused handle. Memory of a captured graph belongs to the
// graph, so that its launches do not conflict with other work.

cudaStream_t stream_of(const Run& run) { return static_cast<cudaStream_t>(run.stream); }

// Freed memory up to this fraction of the device's memory stays in the pool; the rest returns to the device
// at the next synchronization.
constexpr std::size_t kept_part = 16;

struct Pool {
  std::once_flag made;
  cudaMemPool_t pool = nullptr;  // lives until the process ends: work may still use its memory

  void make(const Device& device) {
    cudaMemPoolProps props{};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = device.index;
    check(cudaMemPoolCreate(&pool, &props));
    std::uint64_t kept = static_cast<std::uint64_t>(device.memory_bytes) / kept_part;
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
    int no = 0;  // otherwise one stream may be made to wait for another
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &no));
  }
};

// The memory that a stream keeps: first zeros, then the bytes of its size class.
constexpr std::size_t kept_zeros = 64 * 1024, max_kept = std::size_t{64} << 20;

cudaError_t capture_info(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                         cudaGraph_t* graph) {
#if CUDART_VERSION >= 13000
  return cudaStreamGetCaptureInfo(stream, status, id, graph);
#else
  return cudaStreamGetCaptureInfo_v2(stream, status, id, graph);
#endif
}

// The owner of a block. Stream and capture IDs are unique and never reused.
struct Owner {
  int device = 0;
  int size_class = 0;                          // 2^class times kept_zeros
  unsigned long long stream = 0, capture = 0;  // capture 0: enqueued work runs, not captured

  auto operator<=>(const Owner&) const = default;
};

class KeptBlocks {
 public:
  // `graph`: the graph being captured; it owns the block until it and all its instances are destroyed. Null:
  // the blocks' share of the device's memory is used up.
  void* of(const Owner& owner, cudaGraph_t graph, const Device& device) {
    // A repeated call finds its block without a lock.
    constexpr std::size_t remembered = 16;
    thread_local std::pair<Owner, void*> last[remembered];
    auto& [known, block] =
        last[(owner.stream * 7 + owner.capture * 5 + static_cast<unsigned>(owner.size_class)) % remembered];
    if (block == nullptr || known != owner) {
      block = found(owner, graph, device);
      known = owner;
    }
    return block;
  }

 private:
  struct Held {
    KeptBlocks* blocks;
    Owner owner;
    void* block;
  };

  void* found(const Owner& owner, cudaGraph_t graph, const Device& device) {
    const std::lock_guard lock(mutex_);
    void*& block = blocks_[owner];
    if (block != nullptr) return block;
    auto& spare = spare_[{owner.device, owner.size_class}];
    if (owner.capture != 0 && !spare.empty()) {
      block = spare.back();
      spare.pop_back();
    } else {
      std::size_t& taken = taken_[owner.device];
      const std::size_t bytes = bytes_of(owner);
      if (taken + bytes > static_cast<std::size_t>(device.memory_bytes) / kept_part) return nullptr;
      block = made(bytes);
      taken += bytes;
    }
    if (owner.capture == 0) return block;
    // The graph returns its block when it is destroyed.
    cudaUserObject_t object = nullptr;
    check(cudaUserObjectCreate(&object, new Held{this, owner, block}, &KeptBlocks::give_back, 1,
                               cudaUserObjectNoDestructorSync));
    check(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    return block;
  }

  static void CUDART_CB give_back(void* held) {
    const std::unique_ptr<Held> at(static_cast<Held*>(held));
    const std::lock_guard lock(at->blocks->mutex_);
    at->blocks->blocks_.erase(at->owner);
    at->blocks->spare_[{at->owner.device, at->owner.size_class}].push_back(at->block);
  }

  // Allows this thread to allocate while another stream is being captured.
  static void* made(std::size_t bytes) {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    check(cudaThreadExchangeStreamCaptureMode(&mode));
    void* out = nullptr;
    cudaError_t status = cudaMalloc(&out, bytes);
    if (status == cudaSuccess) {
      const Stream own;
      status = cudaMemsetAsync(out, 0, kept_zeros, own.get());
      if (status == cudaSuccess) status = cudaStreamSynchronize(own.get());
    }
    check(cudaThreadExchangeStreamCaptureMode(&mode));
    if (status == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      throw Error("the GPU is out of memory: a workspace of " + std::to_string(bytes) + " bytes is wanted");
    }
    check(status);
    return out;
  }

  static std::size_t bytes_of(const Owner& owner) { return kept_zeros + (kept_zeros << owner.size_class); }

  std::mutex mutex_;
  std::map<Owner, void*> blocks_;
  std::map<int, std::size_t> taken_;                         // bytes taken on each device
  std::map<std::pair<int, int>, std::vector<void*>> spare_;  // by device and class; their zeros are intact
};

class CudaStreamOrderedMemory : public StreamOrderedMemory {
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
    const OnDevice on_device(device.index);  // streams without a handle belong to the current device
    // Asking a stream that is being captured for its device would end the capture.
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    cudaError_t status = cudaStreamIsCapturing(static_cast<cudaStream_t>(stream), &capture);
    const bool is_free = status == cudaSuccess && capture == cudaStreamCaptureStatusNone;
    int index = device.index;
    if (is_free) status = cudaStreamGetDevice(static_cast<cudaStream_t>(stream), &index);
    (void)cudaGetLastError();  // a driver that cannot tell refuses nothing
    if (status == cudaErrorInvalidResourceHandle || status == cudaErrorContextIsDestroyed)
      return "this is not a CUDA stream";
    if (index != device.index)
      return "the stream is of cuda:" + std::to_string(index) + ", not of " + device.label();
    return std::nullopt;
  }

  bool is_capturing(const Run& run) override {
    const OnDevice on_device(run.device->index);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream_of(run), &status));
    return status != cudaStreamCaptureStatusNone;
  }

  void* keep(const Run& run, std::size_t zeros, std::size_t bytes) override {
    if (zeros > kept_zeros || bytes > max_kept) return nullptr;
    const OnDevice on_device(run.device->index);
    Owner owner{.device = run.device->index,
                .size_class = static_cast<int>(std::bit_width((bytes - 1) / kept_zeros))};
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t graph = nullptr;
    check(capture_info(stream_of(run), &status, &owner.capture, &graph));
    if (status == cudaStreamCaptureStatusNone) {
      owner.capture = 0;
      check(cudaStreamGetId(stream_of(run), &owner.stream));
    } else {  // a capturing stream cannot be asked for its ID; during one capture the handle is unique
      owner.stream = reinterpret_cast<std::uintptr_t>(run.stream);
    }
    auto* const front = static_cast<char*>(kept_.of(owner, graph, *run.device));
    // Returns the last of the zeros, because the bytes after them may be written.
    return front == nullptr ? nullptr : front + (kept_zeros - zeros) / 256 * 256;
  }

  void* borrow(const Run& run, std::size_t bytes) override {
    const OnDevice on_device(run.device->index);
    void* address = nullptr;
    // During capture, any pool gives memory that the graph owns.
    const cudaError_t status =
        is_capturing(run) ? cudaMallocAsync(&address, bytes, stream_of(run))
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
  } catch (const Error&) {  // the device is lost, and its memory with it
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
  std::vector<std::unique_ptr<Pool>> pools_;  // indexed by device
  KeptBlocks& kept_ = *new KeptBlocks;        // lives until the process ends: work may still use the blocks
};

[[maybe_unused]] const bool stream_ordered_memory_registered =
    (register_stream_ordered_memory(Where::cuda, std::make_unique<CudaStreamOrderedMemory>()), true);

}  // namespace

}  // namespace tessera::cuda
