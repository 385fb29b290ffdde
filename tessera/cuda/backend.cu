// SPDX-License-Identifier: Apache-2.0
// CUDA GPUs as a Backend. Registering it touches no driver: the first question for devices does.
#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>
#include "tessera/core/device/device.hpp"
#include "tessera/cuda/gpus.hpp"
#include "tessera/cuda/probe.hpp"
#include "tessera/cuda/resources.hpp"
#include "tessera/cuda/staging.hpp"

namespace tessera::cuda {

void* allocate_device(std::size_t bytes) {
  void* address = nullptr;
  const cudaError_t status = cudaMalloc(&address, bytes);
  if (status != cudaErrorMemoryAllocation) {
    check(status);
    return address;
  }
  (void)cudaGetLastError();
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total));
  throw Error("the GPU is out of memory: " + std::to_string(bytes) + " bytes wanted, " +
              std::to_string(free) + " of " + std::to_string(total) + " free");
}

namespace {

class CudaMemory : public Memory {
 public:
  explicit CudaMemory(int index) : index_(index) {}

  void* allocate(std::size_t bytes) override {
    const OnDevice on_device(index_);
    return allocate_device(std::max<std::size_t>(bytes, 1));
  }
  void release(void* address) noexcept override { (void)cudaFree(address); }

 private:
  int index_;
};

// Resources of one device for all runs, made on first use.
struct Spare {
  std::once_flag staging_made, flush_made, probe_made;
  std::unique_ptr<Staging> staging;
  std::unique_ptr<Probe> probe;
  DeviceBuffer flush;
};

cudaStream_t stream_of(const Run& run) { return static_cast<cudaStream_t>(run.stream); }

// The kind of memory at an address, as far as a copy must know.
enum class Home { device, pinned, pageable };

Home home_of(const void* address) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, address));
  switch (attributes.type) {
    case cudaMemoryTypeDevice:
    case cudaMemoryTypeManaged:
      return Home::device;
    case cudaMemoryTypeHost:
      return Home::pinned;
    default:
      return Home::pageable;
  }
}

class CudaBackend : public Backend {
 public:
  Where where() const override { return Where::cuda; }
  bool shares_host_memory() const override { return false; }

  const std::vector<Device>& devices() override { return found().devices; }
  std::string unusable() override { return found().unusable; }

  Memory& memory(const Device& device) override {
    (void)found();
    return *memories_.at(static_cast<std::size_t>(device.index));
  }

  // Reports all memory of a GPU that a failed kernel left unusable for this process, because it may still
  // serve another.
  std::int64_t free_memory(const Device& device) override {
    return ask_device(device.index, device.memory_bytes, [] {
      std::size_t free = 0, total = 0;
      check(cudaMemGetInfo(&free, &total));
      return static_cast<std::int64_t>(free);
    });
  }

  void* make_stream(const Device& device) override {
    const OnDevice on_device(device.index);
    return stream_on(device).release();
  }
  void release_stream(const Device&, void* stream) noexcept override {
    if (stream != nullptr) (void)cudaStreamDestroy(static_cast<cudaStream_t>(stream));
  }

  void copy(const Run& run, void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    const OnDevice on_device(run.device->index);
    const Home target = home_of(to), source = home_of(from);
    constexpr std::size_t small = 256 * 1024;  // the driver stages small copies itself, just as fast
    const bool stage = bytes > small && (target == Home::pageable) != (source == Home::pageable) &&
                       (target == Home::device || source == Home::device);
    if (stage && source == Home::pageable) return staging(run).upload(stream_of(run), to, from, bytes);
    if (stage) return staging(run).download(stream_of(run), to, from, bytes);
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of(run)));
    if (target != Home::device || source != Home::device) check(cudaStreamSynchronize(stream_of(run)));
  }

  void fill(const Run& run, void* to, unsigned char byte, std::size_t bytes) override {
    if (bytes == 0) return;
    const OnDevice on_device(run.device->index);
    check(cudaMemsetAsync(to, byte, bytes, stream_of(run)));
  }

  void synchronize(const Run& run) override {
    const OnDevice on_device(run.device->index);
    check(cudaStreamSynchronize(stream_of(run)));
  }

  // Writes twice the size of the L2: whatever the replacement policy, no older lines remain.
  void flush_caches(const Run& run) override {
    const OnDevice on_device(run.device->index);
    Spare& spare = spare_of(run);
    std::call_once(spare.flush_made, [&] {
      spare.flush = DeviceBuffer(
          2 * static_cast<std::size_t>(std::max<std::int64_t>(run.device->cache_bytes, 1 << 20)));
    });
    check(cudaMemsetAsync(spare.flush.get(), 0, spare.flush.bytes(), stream_of(run)));
  }

  double seconds(const Run& run, const std::function<void()>& work) override {
    const OnDevice on_device(run.device->index);
    Event begin, end;
    begin.record(stream_of(run));
    work();
    end.record(stream_of(run));
    end.synchronize();
    return end.seconds_since(begin);
  }

  Reading read(const Run& run, const std::function<void()>& work, bool hide_launches) override {
    const OnDevice on_device(run.device->index);
    return probe(*run.device).read(stream_of(run), work, hide_launches);
  }
  std::function<void()> capture(const Run& run, const std::function<void()>& work) override {
    const OnDevice on_device(run.device->index);
    return [graph = std::make_shared<Graph>(stream_of(run), work), stream = stream_of(run)] {
      graph->launch(stream);
    };
  }
  std::optional<double> joules(const Device& device) override { return probe(device).nvml().joules(); }
  std::string unavailable_reason(const Device& device) override {
    return probe(device).nvml().unavailable_reason();
  }
  Ceilings measure_ceilings(const Device& device) override { return cuda::measure_ceilings(device); }

 private:
  const Found& found() {
    std::call_once(looked_, [this] {
      found_ = find_devices();
      for (const Device& device : found_.devices) {
        memories_.push_back(std::make_unique<CudaMemory>(device.index));
        spares_.push_back(std::make_unique<Spare>());
      }
    });
    return found_;
  }

  Spare& spare_of(const Device& device) {
    (void)found();
    return *spares_.at(static_cast<std::size_t>(device.index));
  }
  Spare& spare_of(const Run& run) { return spare_of(*run.device); }
  Probe& probe(const Device& device) {
    Spare& spare = spare_of(device);
    std::call_once(spare.probe_made, [&] {
      const OnDevice on_device(device.index);
      spare.probe = std::make_unique<Probe>(device);
    });
    return *spare.probe;
  }
  Staging& staging(const Run& run) {
    Spare& spare = spare_of(run);
    std::call_once(spare.staging_made, [&] { spare.staging = std::make_unique<Staging>(); });
    return *spare.staging;
  }

  std::once_flag looked_;
  Found found_;
  std::vector<std::unique_ptr<CudaMemory>> memories_;  // indexed by device
  std::vector<std::unique_ptr<Spare>> spares_;
};

[[maybe_unused]] const Backend& backend_registered = register_backend(std::make_unique<CudaBackend>());

}  // namespace

}  // namespace tessera::cuda
