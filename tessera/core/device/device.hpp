// SPDX-License-Identifier: Apache-2.0
// The devices that a run may use, and the one interface for copies to them and for timing. The CPU, the SIMT
// executor and CUDA each register a Backend; core does not depend on CUDA.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>
#include "tessera/core/array/array.hpp"

namespace tessera {

namespace simt {
struct Tracer;
}

enum class Where { cpu, simt, cuda };  // the CPU, the executor on it, a CUDA GPU

std::string_view name_of(Where where);                                  // spelled as in --device
[[nodiscard]] std::optional<Where> parse_where(std::string_view name);  // "gpu" is cuda

struct Device {
  Where where = Where::cpu;
  int index = 0;
  std::string name;            // the vendor's name
  int threads = 1;             // cpu, simt: OS threads that a run may use
  int multiprocessors = 1;     // a CPU has cores
  int compute_capability = 0;  // 90 for 9.0; 0: no GPU
  std::int64_t memory_bytes = 0;
  std::int64_t cache_bytes = 0;  // the last level's
  int max_threads_per_block = 1024;
  std::int64_t max_shared_bytes = 48 * 1024;  // for one block
  std::string driver;                         // cuda: the driver's and the toolkit's versions

  std::string label() const;  // "cuda:0"
};

// Results besides the outputs, by the signature's names: an error estimate, a reason.
using Values = std::map<std::string, std::variant<double, std::int64_t, std::string>>;

// The context of a run: device, stream, workspace.
struct Run {
  const Device* device = nullptr;
  void* stream = nullptr;     // cuda: a cudaStream_t
  void* workspace = nullptr;  // in the device's memory; all zeros before the first run
  std::size_t workspace_bytes = 0;
  simt::Tracer* tracer = nullptr;  // simt: the observer of a traced kernel
  double reported_seconds = -1;    // time reported by a variant that works in another process
  Values values = {};              // reported by the variant about its result
  // The work that the variant may spend, counted like Operation::flops, if its cost is not known in advance
  // and a GPU is available for larger problems. A variant that exceeds it throws OutOfBudget, and the GPU
  // starts anew.
  double work_budget = std::numeric_limits<double>::infinity();
  double elapsed_seconds = 0;  // spent by the earlier run that exceeded its budget; 0: there was none
};

// Run::work_budget is spent.
struct OutOfBudget {};

// A timing, and the device's clock and power during it; std::nullopt: not reported.
struct Reading {
  double seconds = 0;
  std::optional<double> clock_mhz = {}, power_w = {};
  bool gave_up = false;  // no timing: the work waits for the device, so its launches cannot be hidden
};

// The best measured rates of a device; rates that could not be measured are missing.
struct Ceilings {
  std::optional<double> bytes_per_second;      // a copy's bytes read plus bytes written
  std::map<Element, double> flops_per_second;  // multiply-adds, counted as two

  bool empty() const { return !bytes_per_second && flops_per_second.empty(); }
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual Where where() const = 0;
  virtual const std::vector<Device>& devices() = 0;  // empty: unusable() says why
  virtual std::string unusable() = 0;
  virtual bool shares_host_memory() const = 0;  // arrays then need no copies
  virtual Memory& memory(const Device& device) = 0;
  // Returns the number of bytes that can still be allocated on the device.
  virtual std::int64_t free_memory(const Device& device) { return device.memory_bytes; }
  virtual void* make_stream(const Device& device) = 0;
  virtual void release_stream(const Device& device, void* stream) noexcept = 0;
  // Copies between host memory and the device's, in either direction, in stream order. On return the host's
  // buffer may be reused.
  virtual void copy(const Run& run, void* to, const void* from, std::size_t bytes) = 0;
  virtual void fill(const Run& run, void* to, unsigned char byte, std::size_t bytes) = 0;
  virtual void synchronize(const Run& run) = 0;   // throws errors of the work before it
  virtual void flush_caches(const Run& run) = 0;  // the next run then finds its inputs uncached
  // Returns the time in seconds that `work`, which may only enqueue, takes on the device.
  virtual double seconds(const Run& run, const std::function<void()>& work) = 0;
  // Times `work`, and reads clock and power. `hide_launches`: if the backend can, no work starts before all
  // of it is enqueued.
  virtual Reading read(const Run& run, const std::function<void()>& work, bool hide_launches) {
    (void)hide_launches;
    return {.seconds = seconds(run, work)};
  }
  // Captures `work`, which may only enqueue, to a graph if the backend has graphs, and returns a function
  // that launches it. Throws Error if the work cannot be captured.
  virtual std::function<void()> capture(const Run&, const std::function<void()>& work) { return work; }
  // Returns the energy that the device has used since some fixed moment, in joules; std::nullopt: not
  // reported.
  virtual std::optional<double> joules(const Device&) { return std::nullopt; }
  // The reason why clock, power or energy are missing.
  virtual std::string unavailable_reason(const Device&) { return {}; }
  // Takes about a second or less. Empty: this backend's timings say nothing about the device.
  virtual Ceilings measure_ceilings(const Device&) { return {}; }
};

Backend& register_backend(std::unique_ptr<Backend> backend);
Backend* find_backend(Where where);  // the last registered; null: this build has none
Backend& backend_of(const Device& device);

// Returns the number of CPU threads that the process may use.
int host_threads();

// For backends on the host: plain memory, a wall clock, and a cache flush by reading.
class HostBackend : public Backend {
 public:
  bool shares_host_memory() const override { return true; }
  std::string unusable() override { return {}; }
  Memory& memory(const Device&) override { return host_memory(); }
  void* make_stream(const Device&) override { return nullptr; }
  void release_stream(const Device&, void*) noexcept override {}
  void copy(const Run& run, void* to, const void* from, std::size_t bytes) override;
  void fill(const Run& run, void* to, unsigned char byte, std::size_t bytes) override;
  void synchronize(const Run&) override {}
  void flush_caches(const Run& run) override;
  double seconds(const Run& run, const std::function<void()>& work) override;
};

// Returns a Device that stands for this machine's CPU.
[[nodiscard]] Device host_device(Where where);

// The parts of Device::driver for a GPU. Older results have no version.
struct Driver {
  std::string cuda, version;  // "driver for CUDA 13.0, runtime 13.0", "580.1"; "": unknown
};
std::string driver_text(const Driver& driver);
[[nodiscard]] Driver driver_of(const std::string& text);

// `count` of a GPU's `all` multiprocessors, beginning with `first`.
struct Part {
  int first = 0, count = 0, all = 0;

  bool operator==(const Part&) const = default;
};

// Returns the part that the device is, read from its name; std::nullopt: an entire device.
[[nodiscard]] std::optional<Part> part_of(const Device& device);

// Returns a device for that part of an entire GPU, with a name that says so. Throws Error if the GPU has no
// such multiprocessors.
[[nodiscard]] Device as_part(Device gpu, int first, int count);

// The reason why a kind of device does not support this part of one of its devices; empty: it does.
using RefusesPart = std::function<std::string(const Device& part)>;

void register_parts(Where where, RefusesPart refuses);
// Throws Error if the device is a part that is not supported.
void check_part(const Device& device);

}  // namespace tessera
