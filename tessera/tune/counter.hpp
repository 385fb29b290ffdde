// SPDX-License-Identifier: Apache-2.0
// Counts what configurations ask of a GPU before any of them runs there: some blocks of a small problem,
// traced on the executor. The search then knows more than which of them fill the device.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include "tessera/bench/trace.hpp"
#include "tessera/tune/predict.hpp"

namespace tessera::tune {

// So much is counted, and no more.
struct Bounds {
  std::int64_t side = 256;  // of the small problem: no dimension is larger
  std::int64_t blocks = 4;  // of each configuration, evenly spread; fewer where they are large
  double flops = 2e7;       // of each one's blocks; where one block has more, the problem is smaller
  double bytes = 6.4e7;     // of the small problem's inputs
  // Of all; what comes behind is not counted.
  double steps = 3e8;  // accesses, or flops where a configuration has more of them
  std::size_t configurations = 500;
};

class Counter {
 public:
  explicit Counter(const Operation& operation, Bounds bounds = {}, std::function<bool()> interrupted = {});
  ~Counter();

  // Of one problem, for a GPU of that capability; the counter must stay. Empty where this build cannot trace.
  // What was counted for a problem that is alike when it is small is not counted again.
  Counted of(Element element, const Case& problem, const Arguments& arguments, int compute_capability);

  struct Totals {
    // Configurations: traced, that could not be, and beyond the bounds.
    std::size_t counted = 0, failed = 0, left = 0;
    std::uint64_t accesses = 0;
    double seconds = 0;
  };
  // Since they were taken last.
  Totals take_totals() { return std::exchange(totals_, {}); }

 private:
  struct Small;  // a problem cut down
  const std::vector<std::unique_ptr<Small>>& small_problems(Element element, const Case& problem);
  std::optional<bench::Traced> trace(const Config& config, const Small& small);
  const std::optional<bench::Traced>& traced(const Config& config, Element element, const Case& problem);

  const Operation* operation_;
  Bounds bounds_;
  std::function<bool()> interrupted_;
  std::map<std::string, std::vector<std::unique_ptr<Small>>> small_;  // the largest first
  std::map<std::string, std::optional<bench::Traced>> known_;
  Totals totals_;
  double steps_ = 0;  // since the beginning
};

// "counted beforehand, on the executor: 36 configurations, 9.2 million accesses in 0.9 s"; "": nothing was.
std::string describe(const Counter::Totals& totals);

// Of what was traced, as if it were all of a problem that needs `flops` and, where it needs none, `bytes`.
// Nothing where it needs neither, or the kernel did not come to its end.
std::optional<Work> work_of(const bench::Traced& traced, double flops, double bytes, int compute_capability);

}  // namespace tessera::tune
