// SPDX-License-Identifier: Apache-2.0
// A device in a process of its own: a program that is executed, not forked, because the caller may hold CUDA,
// threads or an interpreter. A failing device may take that process down, but not this one. Operands and
// result are in memory that all processes map; other arrays are copied there, once for all processes.
#pragma once
#include <chrono>
#include <deque>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include "tessera/core/array/array.hpp"
#include "tessera/run/multi_device/device_worker.hpp"

namespace tessera {

// A child process and a channel of whole messages to it. It shares only the files passed with messages, so
// its failure cannot affect this process.
class WorkerProcess {
 public:
  // Runs the program with the channel's other end as file descriptor 3; it inherits nothing else but the
  // standard streams. Throws Error if it cannot be started.
  explicit WorkerProcess(const std::string& program);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Throws Error with how the process ended, if it did. `files`, open in this process, are passed with the
  // message.
  void send(const std::string& message, const std::vector<int>& files = {});
  // Likewise if no answer comes within `seconds`, after which the process is killed.
  std::string receive(double seconds);

  void stop() noexcept;  // immediately; on return the process does nothing any more

  int id() const { return process_; }

 private:
  std::string end();  // kills it, unless it has ended; returns how it ended

  int channel_ = -1, process_ = -1;
};

// A call's arrays in shared memory.
class SharedCall {
 public:
  // Throws Error if memory does not hold the copies.
  SharedCall(const Operation& operation, const Arguments& host);
  SharedCall(const SharedCall&) = delete;
  SharedCall& operator=(const SharedCall&) = delete;
  ~SharedCall();

  const std::vector<int>& files() const { return files_; }
  const nlohmann::ordered_json& description() const { return *description_; }
  std::int64_t copied_bytes() const { return copied_bytes_; }
  void fetch(const std::vector<Slice>& written) const;  // copies what a tile wrote to the caller's arrays

 private:
  void check_memory() const;
  void add(const Parameter& parameter);

  const Arguments* host_;
  std::vector<int> files_;
  std::unique_ptr<nlohmann::ordered_json> description_;
  std::map<std::string, Array> copies_;
  std::int64_t copied_bytes_ = 0;
};

class ProcessWorker final : public DeviceWorker {
 public:
  struct Options {
    double limit_seconds = 300;               // the longest that a tile may take
    std::optional<std::size_t> kill_at = {};  // the process is killed at this tile, counted from 1
    std::int64_t memory_bytes = 0;            // streamed: limit on the device's memory
    std::optional<Tile> largest = {};         // streamed: the largest tile; nothing: no overlap
    std::size_t tiles_at_once = 2;            // streamed
    bool pin = false;                         // streamed: pins the arrays
  };

  // `process`: from release(), of the same device; null: a new one is started.
  ProcessWorker(const SharedCall& call, const Partition& partition, const Plan& plan, Options options,
                std::unique_ptr<WorkerProcess> process = nullptr);
  // Hands over the process for another call, when all tiles of this one are finished.
  std::unique_ptr<WorkerProcess> release() { return std::move(process_); }
  void make_ready() override;
  void begin(const Tile& tile) override;
  std::vector<TimelineSpan> finish() override;
  std::size_t max_in_flight() const override { return options_.largest ? options_.tiles_at_once : 1; }
  void stop() noexcept override { process_->stop(); }

 private:
  struct Begun {
    Tile tile;
    std::chrono::steady_clock::time_point at;
  };

  nlohmann::ordered_json receive(double seconds);
  std::vector<TimelineSpan> compute(const Tile& tile) override;

  const SharedCall* call_;
  const Partition* partition_;
  Options options_;
  std::deque<Begun> under_way_;
  std::unique_ptr<WorkerProcess> process_;
};

// Returns the program: TESSERA_WORKER, otherwise `tessera-worker` beside this program, this library, or the
// folder above. Throws Error if there is none.
std::string worker_program();

// Runs the program's main loop, one call after another. Returns when the other end of its channel is closed.
void serve_worker();

}  // namespace tessera
