// SPDX-License-Identifier: Apache-2.0
// One call on several devices, as often as wanted, or calls of one kind one after another: by a plan where
// the devices can follow one, else from a queue; from a queue, too, with those that are left, when one of a
// plan's devices has failed.
#pragma once
#include <map>
#include <optional>
#include <string>
#include "tessera/run/crew.hpp"
#include "tessera/run/overlapped.hpp"

namespace tessera {

// Throws Error for faults that are none of these devices, or that such results cannot have.
void check_faults(const Spread& spread, const Arguments& host);

class Attempts {
 public:
  // Operation, spread and arrays must stay. Outputs have memory. An operation that cannot be cut is one tile.
  Attempts(const Operation& operation, const Arguments& host, const Spread& spread);
  Attempts(const Attempts&) = delete;
  Attempts& operator=(const Attempts&) = delete;

  Together work();  // throws Error when no device is left
  // From now on another call on the same devices, which stay as they were made ready: where its arrays only
  // lie elsewhere all that was planned serves it, too, else what a trial found.
  void go_on_with(const Arguments& host);
  void keep_workers() {
    kept_.workers = true;
  }  // processes of devices stay, too; repeated calls start them anew

 private:
  Together once();
  Together planned();
  void choose_planned();
  Together with_those_left() const;
  Together work_of(Spread rest) const;
  void pin();

  const Operation* operation_;
  Arguments host_;
  const Spread* spread_;
  Division division_;
  std::map<std::size_t, std::string> lost_;      // devices, and why
  std::map<std::size_t, std::string> left_out_;  // likewise
  std::vector<std::size_t> at_work_;             // those that follow the plan
  Spread on_plan_;                               // with these alone
  bool unplanned_ = false, ready_ = true;        // ready_: what the plan is for is what the call is
  std::optional<Overlapped> overlapped_;
  std::optional<Pinned> pinned_;
  KeptDevices kept_;  // of those that take tiles from a queue
};

}  // namespace tessera
