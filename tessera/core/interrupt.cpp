// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/interrupt.hpp"
#include <utility>

namespace tessera {
namespace {
thread_local const std::atomic<bool>* flag_here = nullptr;
}

Interruptible::Interruptible(const std::atomic<bool>* flag) : before_(std::exchange(flag_here, flag)) {}
Interruptible::~Interruptible() { flag_here = before_; }
const std::atomic<bool>* Interruptible::flag() { return flag_here; }

void leave_if_interrupted() {
  if (flag_here != nullptr && flag_here->load(std::memory_order_relaxed)) throw Interrupted();
}

}  // namespace tessera
