// SPDX-License-Identifier: Apache-2.0
// When a search that no result depends on in the usual time must end all the same.
#pragma once
#include <chrono>

namespace tessera::quadrature {

class Deadline {
 public:
  explicit Deadline(double seconds) : start_(Clock::now()), seconds_(seconds) {}

  double spent() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool passed() const { return !(spent() < seconds_); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_;
  double seconds_;
};

}  // namespace tessera::quadrature
