// SPDX-License-Identifier: Apache-2.0
// One device's part of a call whose arrays lie on several devices: its steps, ready to be enqueued, and the
// room for what it copies.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include "tessera/dist/timeline.hpp"
#include "tessera/run/engine_seat.hpp"
#include "tessera/run/resident.hpp"

namespace tessera {

// What all devices of a call share. All of it must stay.
struct ResidentPlanned {
  const ResidentCall* call;
  const Division* division;
  const dist::ResidentPlan* plan;
};

// That part of an array, which lies in one of its blocks.
ArrayView part_of_block(const ResidentArray& array, std::size_t block, const std::vector<Interval>& box);

// Throws Error where the call has not a block's memory for each block, or the operation cannot be cut.
dist::Distributions distributions_of(const ResidentCall& call);
const Divide& divide_of(const Operation& operation);
// Throws Error where a block is not what it says, or the result's overlap anything. `here`: only that
// device's memory can be looked at.
void check_blocks(const ResidentCall& call, std::optional<std::size_t> here);

class ResidentSeat {
 public:
  ResidentSeat(const ResidentPlanned& all, std::size_t device, std::unique_ptr<Lanes> lanes)
      : all_(all), device_(device), lanes_(std::move(lanes)) {}

  void prepare();  // room, choices, workspace
  void begin();    // forgets the run before, and starts the lanes' clock

  // All of a device's steps in turn, first the one, then the other. `copies` enqueues to the lane `peer` what
  // brings the step's arrivals: after what they overwrite has been read, and before the step is computed.
  void bring_in(std::size_t s, const std::function<void()>& copies);
  void compute(std::size_t s);
  // From a block of a device whose memory these lanes can copy from, to where the panel is read.
  void copy(const dist::ResidentPanel& panel, const dist::ResidentPanel::Source& source, const Lanes& from,
            const ArrayView& there);

  const dist::ResidentPart& part() const { return all_.plan->parts[device_]; }
  const ResidentArray& array(const std::string& name) const { return all_.call->arrays.at(name); }
  Lanes& lanes() { return *lanes_; }
  std::size_t steps() const { return steps_.size(); }
  const Mark* copied(std::size_t s) const { return copied_[s]; }  // null: the step had nothing to copy
  std::int64_t bytes() const { return part().bytes + static_cast<std::int64_t>(workspace_bytes_); }
  const Plan* first_plan() const { return steps_.empty() ? nullptr : &steps_[0].plan; }

  void add_spans(dist::Timeline& timeline, double late);  // `late`: when the lanes' clock was started
  void settle() noexcept;  // waits for what is under way, whatever became of it

 private:
  struct Ready {
    Arguments arguments;
    Plan plan = {};
    std::string in_place = {};
  };
  struct Done {
    dist::Deed deed;
    std::size_t step;
    MarkPtr first, last;
  };

  Ready ready_for(const dist::ResidentStep& step) const;
  ArrayView view_of(const dist::ResidentPanel& panel) const;
  // Enqueues between two marks, and returns the second.
  const Mark& noted(Lane lane, dist::Deed deed, std::size_t step, const std::function<void()>& work);

  ResidentPlanned all_;
  std::size_t device_;
  std::unique_ptr<Lanes> lanes_;
  std::optional<LaneMemory> room_, workspace_;
  std::vector<Ready> steps_;
  std::size_t workspace_bytes_ = 0;
  std::vector<const Mark*> computed_, copied_;  // of each step
  std::vector<Done> done_;
};

}  // namespace tessera
