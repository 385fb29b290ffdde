// SPDX-License-Identifier: Apache-2.0
// A device in a process of its own: a program that is executed, not forked, for the caller may hold CUDA,
// threads or an interpreter. A device that fails may take that process with it; it does not take this one.
// Operands and result lie in memory that all of them map: what does not is copied there, once for all
// workers.
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>
#include "tessera/dist/process.hpp"
#include "tessera/io/mapped_file.hpp"
#include "tessera/run/fault.hpp"
#include "tessera/run/hand.hpp"

namespace tessera {

// A call's arrays as workers see them.
class SharedCall {
 public:
  // `files_as_read`: inputs that lie in mapped files (io/mapped_file.hpp) are what these hold, and need no
  // copy. Throws Error where memory does not hold the copies.
  SharedCall(const Operation& operation, const Arguments& host, bool files_as_read = false);
  SharedCall(const SharedCall&) = delete;
  SharedCall& operator=(const SharedCall&) = delete;
  ~SharedCall();

  const Arguments& host() const { return *host_; }
  const std::vector<int>& files() const { return files_; }
  const nlohmann::ordered_json& description() const { return *description_; }
  std::int64_t copied_bytes() const { return copied_bytes_; }
  std::int64_t mapped_bytes() const { return mapped_bytes_; }  // of inputs, from their files
  // What a tile wrote, to where the caller has it.
  void fetch(const std::vector<Slice>& written) const;

 private:
  void open_files();
  void check_room() const;
  bool is_copied(const Parameter& parameter) const;
  void add(const Parameter& parameter);

  const Arguments* host_;
  std::vector<int> files_;
  std::map<std::string, FilePlace> opened_;
  std::unique_ptr<nlohmann::ordered_json> description_;
  std::map<std::string, Array> copies_;
  std::int64_t copied_bytes_ = 0, mapped_bytes_ = 0;
};

class Worker final : public Hand {
 public:
  // How a device that can copies behind computing: the most to take of its memory, and the largest of the
  // tiles.
  struct OnLanes {
    std::int64_t memory_bytes = 0;
    Tile largest;
  };

  struct Limits {
    double seconds = 300;                // the longest that a part may take
    std::function<bool()> stopped = {};  // optional: from then on no answer is waited for
  };

  // `watched`: each part is looked at before it leaves the device. Without `lanes` it does one thing after
  // another. `process`: one that release() gave, of the same device; null: one is started.
  Worker(const SharedCall& call, const Division& division, const Plan& plan, const std::vector<Fault>& faults,
         Limits limits, bool watched, const std::optional<OnLanes>& lanes = {},
         std::unique_ptr<dist::Process> process = nullptr);
  // For another call, when all of this one's parts are finished: nothing more is asked of this one.
  std::unique_ptr<dist::Process> release() { return std::move(process_); }
  void make_ready() override;
  void begin(const Tile& tile) override;
  std::vector<dist::Span> finish() override;
  std::size_t most_under_way() const override { return most_; }
  void settle() noexcept override { process_->stop(); }
  const Finding* finding() const override { return finding_ ? &*finding_ : nullptr; }

 private:
  struct Begun {
    Tile tile;
    std::chrono::steady_clock::time_point at;
  };

  std::vector<dist::Span> compute(const Tile& tile) override;

  const SharedCall* call_;
  const Division* division_;
  Limits limits_;
  std::size_t most_;
  std::deque<Begun> under_way_;
  std::unique_ptr<dist::Process> process_;
  std::optional<Finding> finding_;
};

// The program: TESSERA_WORKER, else `tessera-worker` beside this program, this library, or the folder above.
// Throws Error where there is none.
std::string worker_program();

// All that the program does, one call after another; `channel` is its end. Returns when the other end is
// closed.
void serve_worker(int channel);

}  // namespace tessera
