// SPDX-License-Identifier: Apache-2.0
// Which devices of a call are to stop at the part that they are at: for good, or for the one that shall have
// it. Their threads look at a flag (core/interrupt.hpp).
#pragma once
#include <atomic>
#include <deque>
#include <vector>
#include "tessera/core/arguments.hpp"

namespace tessera {

class Leaving {
 public:
  explicit Leaving(std::size_t devices) : flags_(devices), heirs_(devices) {}

  const std::atomic<bool>* flag(std::size_t device) const { return &flags_[device]; }
  // Nothing is asked of a part that is just begun, unless all were told to stop: looked at after, for it may
  // be now.
  void begin(std::size_t device) {
    flags_[device] = false;
    if (all_) flags_[device] = true;
  }
  void ask(std::size_t device, std::size_t heir) {
    heirs_[device] = heir;
    flags_[device] = true;
  }
  bool is_asked(std::size_t device) const { return flags_[device]; }
  std::size_t heir(std::size_t device) const { return heirs_[device]; }
  void stop_all() {
    all_ = true;
    for (auto& flag : flags_) flag = true;
  }

 private:
  std::atomic<bool> all_{false};
  std::deque<std::atomic<bool>> flags_;
  std::vector<std::size_t> heirs_;
};

// What was written of a part that is left is written over: not so where it was also read.
inline bool reads_what_it_writes(const Arguments& arguments) {
  std::vector<const void*> read, written;
  for (const Parameter& p : arguments.signature().parameters)
    if (p.is_array() && arguments.has(p.name))
      (p.kind == Parameter::Kind::output ? written : read).push_back(arguments.array(p.name).data);
  for (const void* const at : written)
    for (const void* const other : read)
      if (at == other) return true;
  return false;
}

}  // namespace tessera
