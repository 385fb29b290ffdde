// SPDX-License-Identifier: Apache-2.0
// One call on several devices, as often as wanted: by a plan where the devices can follow one, else from a
// queue; from a queue, too, with those that are left, when one of a plan's devices has failed.
#pragma once
#include <map>
#include <optional>
#include <string>
#include "tessera/run/overlapped.hpp"

namespace tessera {

class Attempts {
 public:
  // All of it must stay. Outputs have memory. An operation that cannot be cut is one tile.
  Attempts(const Operation& operation, const Arguments& host, const Spread& spread);

  Together work();  // throws Error when no device is left

 private:
  Together once();
  Together planned();
  void choose_planned();
  Together with_those_left() const;
  Together work_of(Spread rest) const;
  void pin();

  const Operation* operation_;
  const Arguments* host_;
  const Spread* spread_;
  Division division_;
  std::map<std::size_t, std::string> lost_;      // devices, and why
  std::map<std::size_t, std::string> left_out_;  // likewise
  std::vector<std::size_t> at_work_;             // those that follow the plan
  Spread on_plan_;                               // with these alone
  bool unplanned_ = false;
  std::optional<Overlapped> overlapped_;
  std::optional<Pinned> pinned_;
};

}  // namespace tessera
