// SPDX-License-Identifier: Apache-2.0
// A GPU's lanes: streams, and events between them. Copies from and to the host go through the copy engines
// beside the kernels; from a peer they cross NVLink or the bus, where the driver lets one see the other.
#include "tessera/core/lanes.hpp"
#include <algorithm>
#include <mutex>
#include <vector>
#include "tessera/cuda/resources.hpp"
#include "tessera/cuda/gpus.hpp"

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

class CudaMark final : public Mark {
 public:
  CudaMark(std::shared_ptr<Events> events, int device, cudaStream_t stream)
      : events_(std::move(events)), device_(device), event_(events_->take()) {
    event_->record(stream);
  }
  ~CudaMark() override { events_->give_back(std::move(event_)); }
  CudaMark(const CudaMark&) = delete;
  CudaMark& operator=(const CudaMark&) = delete;

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

const Event& event_of(const Mark& mark) { return static_cast<const CudaMark&>(mark).event(); }

// The driver knows the error already where one GPU has been shown the other before.
bool let_see(int device, int other) {
  if (device == other) return true;
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, device, other));
  if (can == 0) return false;
  const OnDevice on_device(device);
  const cudaError_t status = cudaDeviceEnablePeerAccess(other, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled || status == cudaErrorTooManyPeers) {
    (void)cudaGetLastError();
    return status == cudaErrorPeerAccessAlreadyEnabled;
  }
  check(status);
  return true;
}

class CudaLanes final : public Lanes {
 public:
  explicit CudaLanes(const Device& device) : device_(device) {
    const OnDevice on_device(device.index);
    // Copies take no multiprocessors: only what is computed is bound to a part's.
    for (std::size_t lane = 0; lane < lane_count; ++lane)
      streams_.push_back(lane == static_cast<std::size_t>(Lane::compute) ? stream_on(device) : Stream());
    start_ = std::make_unique<Event>();
  }

  const Device& device() const override { return device_; }

  void* allocate(std::size_t bytes) override {
    const OnDevice on_device(device_.index);
    return allocate_device(bytes);
  }
  void free(void* address) noexcept override { (void)cudaFree(address); }

  std::shared_ptr<void> staging(std::size_t bytes) override {
    const OnDevice on_device(device_.index);
    const auto buffer = std::make_shared<PinnedBuffer>(bytes);
    return {buffer, buffer->get()};
  }

  // Memory that was registered in parts is reached only where no copy crosses from one part into the next,
  // which nobody here can tell: what begins and ends in pinned memory counts as such.
  bool reaches(const void* data, std::size_t bytes) override {
    if (bytes == 0) return true;
    return is_pinned(data) && is_pinned(static_cast<const char*>(data) + bytes - 1);
  }

  bool sees(const Lanes& other) override { return let_see(device_.index, other.device().index); }

  MarkPtr mark(Lane lane) override {
    const OnDevice on_device(device_.index);
    return std::make_unique<CudaMark>(events_, device_.index, stream(lane));
  }
  void after(Lane lane, const Mark& mark) override {
    const OnDevice on_device(device_.index);
    event_of(mark).hold(stream(lane));
  }

  void copy(Lane lane, const Rows& to, const Rows& from, const RowShape& shape) override {
    if (shape.total() == 0) return;
    const OnDevice on_device(device_.index);
    const auto kind = lane == Lane::out ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice;
    if (to.pitch == shape.bytes && from.pitch == shape.bytes)
      return check(cudaMemcpyAsync(to.data, from.data, shape.total(), kind, stream(lane)));
    check(cudaMemcpy2DAsync(to.data, pitch(to, shape), from.data, pitch(from, shape), shape.bytes, shape.rows,
                            kind, stream(lane)));
  }

  void copy_peer(const Rows& to, const Lanes& other, const Rows& from, const RowShape& shape) override {
    if (shape.total() == 0) return;
    const OnDevice on_device(device_.index);
    if (to.pitch == shape.bytes && from.pitch == shape.bytes)
      return check(cudaMemcpyPeerAsync(to.data, device_.index, from.data, other.device().index, shape.total(),
                                       stream(Lane::peer)));
    if (other.device().index == device_.index)
      return check(cudaMemcpy2DAsync(to.data, pitch(to, shape), from.data, pitch(from, shape), shape.bytes,
                                     shape.rows, cudaMemcpyDeviceToDevice, stream(Lane::peer)));
    cudaMemcpy3DPeerParms parms{};
    parms.srcDevice = other.device().index;
    parms.dstDevice = device_.index;
    parms.srcPtr = make_cudaPitchedPtr(from.data, pitch(from, shape), shape.bytes, shape.rows);
    parms.dstPtr = make_cudaPitchedPtr(to.data, pitch(to, shape), shape.bytes, shape.rows);
    parms.extent = make_cudaExtent(shape.bytes, shape.rows, 1);
    check(cudaMemcpy3DPeerAsync(&parms, stream(Lane::peer)));
  }

  void compute(std::function<void(void* stream)> enqueue) override {
    const OnDevice on_device(device_.index);
    enqueue(stream(Lane::compute));
  }

  void synchronize() override {
    const OnDevice on_device(device_.index);
    for (const Stream& stream : streams_) stream.synchronize();
  }

  void start_clock() override {
    synchronize();
    const OnDevice on_device(device_.index);
    start_->record(stream(Lane::in));
    start_->synchronize();
  }
  double seconds(const Mark& mark) override {
    const OnDevice on_device(device_.index);
    return event_of(mark).seconds_since(*start_);
  }

 private:
  cudaStream_t stream(Lane lane) const { return streams_[static_cast<std::size_t>(lane)].get(); }

  // Of a single row nobody asks for a pitch, but the copy wants one that holds the row.
  static std::size_t pitch(const Rows& rows, const RowShape& shape) {
    return std::max(rows.pitch, shape.bytes);
  }

  static bool is_pinned(const void* address) {
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

class CudaLaneMaker final : public LaneMaker {
 public:
  std::unique_ptr<Lanes> open(const Device& device) override { return std::make_unique<CudaLanes>(device); }

  std::shared_ptr<void> pin(void* data, std::size_t bytes) override {
    if (bytes == 0) return nullptr;
    if (cudaHostRegister(data, bytes, cudaHostRegisterPortable) != cudaSuccess) {
      (void)cudaGetLastError();
      return nullptr;
    }
    return {data, Unregister{}};
  }
};

[[maybe_unused]] const bool lanes_registered =
    (register_lanes(Where::cuda, std::make_unique<CudaLaneMaker>()), true);

}  // namespace
}  // namespace tessera::cuda
