// SPDX-License-Identifier: Apache-2.0
// A call whose arrays lie in the memories of several devices of this process already, in blocks: each device
// computes its own blocks of the result where they lie, and copies what it needs of the others' blocks, from
// memory to memory, while it computes with what is there. Nothing passes through the host. One of these can
// do the same call again and again.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include "tessera/core/lanes.hpp"
#include "tessera/core/operation.hpp"
#include "tessera/dist/resident.hpp"
#include "tessera/dist/timeline.hpp"
#include "tessera/run/choose.hpp"

namespace tessera {

class ResidentSeat;

struct ResidentArray {
  dist::Distribution spread;
  std::vector<ArrayView>
      blocks;  // parallel to its blocks; all of rows, or all of columns, of consecutive elements
};

struct ResidentCall {
  const Operation* operation;
  Arguments whole;  // sizes and words; arrays without memory, whose strides tell how blocks lie
  std::map<std::string, ResidentArray> arrays;  // both operands, and the output
  std::string in_place = {};                    // an input that is what the output's blocks hold before
  std::vector<Device> devices;
  Request request = {};  // its device does not count
  std::int64_t panel_bytes = dist::usual_panel_bytes;
};

// A view without memory of an array whose blocks lie by rows, or by columns.
ArrayView whole_of_blocks(Element element, std::int64_t rows, std::int64_t cols, bool by_columns);

class Resident {
 public:
  using Open = std::function<std::unique_ptr<Lanes>(const Device&)>;

  // The start-up: streams, room for copies, choices. `open`: how lanes are opened, where not as their kind
  // registered. Throws Error where a device does one thing after another, blocks do not fit, lie elsewhere or
  // overlap, or nothing computes a step.
  explicit Resident(ResidentCall call, const Open& open = {});
  ~Resident();
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;

  struct Run {
    std::chrono::steady_clock::time_point started;
    double seconds = 0;  // from the first piece of work enqueued to the end of the last
    dist::Timeline timeline;
  };
  // Finds all blocks ready, and returns when the result is there. Throws what a device says; the result is
  // not whole then.
  Run run();

  const dist::ResidentPlan& plan() const { return plan_; }
  const Division& division() const { return division_; }
  bool peers() const { return peers_; }              // every device copies straight from the others' memory
  std::int64_t bytes(std::size_t device) const;      // of memory besides the blocks
  const Plan* first_plan(std::size_t device) const;  // null: the device has nothing to compute

 private:
  void meet_peers();
  void enqueue_step(ResidentSeat& seat, std::size_t s);

  ResidentCall call_;
  Division division_;
  dist::ResidentPlan plan_;
  std::vector<std::unique_ptr<ResidentSeat>> seats_;
  bool peers_ = true;
};

}  // namespace tessera
