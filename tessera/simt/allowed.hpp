// SPDX-License-Identifier: Apache-2.0
// How long the launches of a stretch of host code may take on the executor.
#pragma once
#include "tessera/core/error.hpp"

namespace tessera::simt {

// What a launch throws that was stopped then.
class OutOfTime : public Error {
 public:
  using Error::Error;
};

// For the calling thread, as long as it lives.
class Allowed {
 public:
  explicit Allowed(double seconds);  // 0: any time
  ~Allowed();
  Allowed(const Allowed&) = delete;
  Allowed& operator=(const Allowed&) = delete;

  static double seconds();  // of the latest on this thread; 0: any time

 private:
  double before_;
};

}  // namespace tessera::simt
