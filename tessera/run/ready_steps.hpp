// SPDX-License-Identifier: Apache-2.0
// The steps of a plan's part, ready to be enqueued: arguments that lie in the device's memory, and the
// variant for each. Made before the clock starts; steps of the same shape share a choice.
#pragma once
#include <functional>
#include <map>
#include <vector>
#include "tessera/dist/layout.hpp"
#include "tessera/run/enqueue.hpp"

namespace tessera {

struct ReadyStep {
  Arguments arguments;
  const Plan* plan = nullptr;
  std::string in_place = {};  // the input that lies where the output does: the sum so far
};

// The step's arguments, each slice of what it reads and its tile writes where these views are.
ReadyStep ready_step(const Operation& operation, const Arguments& host, const Division& division,
                     const Tile& step, const Tile& tile,
                     const std::function<ArrayView(const Slice&, bool writes, std::size_t)>& view);

class ReadySteps {
 public:
  // `memory`: the block that the layout is of. Throws Error where nothing computes a step there.
  ReadySteps(const Operation& operation, const Arguments& host, const Division& division,
             const dist::Part& part, const std::vector<Tile>& tiles, const dist::Layout& layout,
             const Device& device, const Request& request, void* memory);

  const ReadyStep& operator[](std::size_t s) const { return steps_[s]; }
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  // One step for each choice: who has done these has loaded all code that will run.
  std::vector<std::size_t> kinds() const { return kinds_; }

 private:
  using Shape = std::vector<std::int64_t>;

  const Plan& plan_for(const Arguments& arguments, bool begins, std::size_t step);

  const Operation* operation_;
  Device device_;
  Request request_;
  std::vector<ReadyStep> steps_;
  std::map<Shape, Plan> plans_;
  std::vector<std::size_t> kinds_;
  std::size_t workspace_bytes_ = 0;
};

}  // namespace tessera
