// SPDX-License-Identifier: Apache-2.0
// Sums of strips on the processors stop when their time is over: between pieces, whatever rung cuts them.
#pragma once
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include "asked.hpp"
#include "integrate.hpp"
#include "tessera/rung.hpp"

namespace tessera::integration {

// Asked by several threads at once; the first to find the time over tells the others.
class Clock {
 public:
  Clock() = default;  // never over
  explicit Clock(double seconds) : seconds_(seconds), start_(std::chrono::steady_clock::now()) {}

  bool over() const {
    if (seconds_ == std::numeric_limits<double>::infinity()) return false;
    if (over_.load(std::memory_order_relaxed)) return true;
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    if (!(spent.count() > seconds_)) return false;
    over_.store(true, std::memory_order_relaxed);
    return true;
  }

 private:
  double seconds_ = std::numeric_limits<double>::infinity();
  std::chrono::steady_clock::time_point start_{};
  mutable std::atomic<bool> over_{false};
};

// Throws Error where so many strips take far longer than was allowed on so many threads.
void check_time(const Setting& setting, int operators, int threads);

// What is told of a sum that was not finished.
Values told_of_unfinished();

// A choice of f(problem, run, clock), which returns the sum, or anything once the clock is over.
template <class F>
Choice choice_within_time(F f) {
  Choice out;
  const auto bind = [&]<class T>(T) {
    out.run[element_of<T>] = [f](const Arguments& arguments, const Tuning&, Run& run) {
      const Setting setting = setting_of(arguments);
      const Problem<T> p = Problem<T>::of(arguments);
      check_time(setting, 1 + p.integrand.step_count, run.device->threads);
      const Clock clock(setting.most_seconds.value_or(std::numeric_limits<double>::infinity()));
      *p.result = f(p, run, clock);
      run.values = clock.over() ? told_of_unfinished() : Values{};
      if (clock.over()) *p.result = std::numeric_limits<T>::quiet_NaN();
    };
  };
  bind(double());
  bind(float());
  return out;
}

}  // namespace tessera::integration
