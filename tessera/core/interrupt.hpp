// SPDX-License-Identifier: Apache-2.0
// A way out of work that takes long and is wanted no more. Whoever waits for it raises a flag; what computes
// looks at it now and then and leaves by an exception. The result is then not whole.
#pragma once
#include <atomic>
#include "tessera/core/error.hpp"

namespace tessera {

class Interrupted : public Error {
 public:
  Interrupted() : Error("it was interrupted") {}
};

// For the calling thread, and for those that parallel() and the executor lend it, as long as it lives. Null:
// nothing interrupts.
class Interruptible {
 public:
  explicit Interruptible(const std::atomic<bool>* flag);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  static const std::atomic<bool>* flag();  // of the latest on this thread

 private:
  const std::atomic<bool>* before_;
};

void leave_if_interrupted();  // throws Interrupted

}  // namespace tessera
