// SPDX-License-Identifier: Apache-2.0
// One device's part of a plan, carried out: what its three threads enqueue, each to its own lanes.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <vector>
#include "tessera/dist/timeline.hpp"
#include "tessera/run/host_link.hpp"
#include "tessera/run/lane_memory.hpp"
#include "tessera/run/mark_board.hpp"
#include "tessera/run/ready_steps.hpp"

namespace tessera {

// What all devices of a call share. All of it must stay; between runs the arrays of `host`, and the division
// with them, may come to lie elsewhere in memory.
struct EngineCall {
  const Operation* operation;
  const Arguments* host;
  const Division* division;
  const dist::Plan* plan;
  const Request* request;
};

class EngineSeat {
 public:
  using Seats = std::vector<std::unique_ptr<EngineSeat>>;

  EngineSeat(const EngineCall& call, std::size_t device, Lanes& lanes);
  ~EngineSeat() { settle(); }  // what was enqueued before a failure still reads what goes with this
  EngineSeat(const EngineSeat&) = delete;
  EngineSeat& operator=(const EngineSeat&) = delete;

  // Takes the device's memory and settles its steps; `load` also does one of each kind, so that no code has
  // to be loaded later.
  void prepare();
  void load();
  void begin();  // forgets the run before

  // The threads: copies from the host; from peers, and computing; to the host, which waits for the end of
  // all.
  void bring_in();
  void compute(const Seats& seats);
  void take_out();

  void stop() { board_.stop(); }
  void settle() noexcept;  // waits for what is under way, whatever became of it
  // What was done when, in seconds since the lanes' clock was started.
  std::vector<dist::Span> spans();

  Lanes& lanes() { return *lanes_; }
  std::int64_t bytes() const;  // of the device's memory
  const Plan* first_plan() const { return ready_ && !part().steps.empty() ? (*ready_)[0].plan : nullptr; }

 private:
  struct Done {
    dist::Deed deed;
    std::size_t tile;
    MarkPtr first, last;
  };

  void see_host();
  const dist::Part& part() const { return call_.plan->parts[device_]; }
  const Slice& slice_of(std::size_t piece) const { return call_.plan->pieces[piece].slice; }
  // Enqueues between two marks, and returns the second.
  template <class Work>
  const Mark& noted(std::vector<Done>& done, Lane lane, dist::Deed deed, std::size_t tile, const Work& work);
  Rows rows_at(const dist::Place& place) const;
  void copy_from_peer(const dist::Copy& copy, const dist::Place& to, std::size_t tile, EngineSeat& peer);
  void enqueue_step(std::size_t s);

  EngineCall call_;
  std::size_t device_;
  Lanes* lanes_;
  dist::Layout layout_;
  std::map<std::string, bool> reached_;       // by array: copies reach its host memory
  std::map<std::size_t, std::size_t> homes_;  // a piece that came from the host → its place among such copies
  std::size_t host_copies_ = 0, tiles_ = 0;
  std::optional<LaneMemory> memory_, workspace_;
  std::optional<ReadySteps> ready_;
  Uploads uploads_;
  Downloads downloads_;
  MarkBoard board_;
  std::vector<Done> came_, made_, went_;  // by thread
};

}  // namespace tessera
