// SPDX-License-Identifier: Apache-2.0
// What can be said of a configuration before it runs on a GPU: whether a block fits, what it asks of memory
// (counted by tracing some blocks of a small problem), and so which of two should be faster.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include "tessera/bench/trace.hpp"
#include "tessera/core/operation.hpp"
#include "tessera/tune/space.hpp"

namespace tessera::tune {

struct Prediction {
  Reason rejected = {};                  // no block of it fits on a multiprocessor
  std::optional<double> occupancy = {};  // of the warps that a multiprocessor can hold
  std::optional<double> cost = {};       // what is smaller should be faster; with counted work, cycles
  std::optional<double> uncounted = {};  // the cost that occupancy alone gives
};

// What all of a problem asks of a GPU's multiprocessors together, in cycles of each unit.
struct Work {
  double cache = 0;       // the first cache: a line for each request, or a wavefront of shared memory
  double sectors = 0;     // what brings sectors to it
  double issue = 0;       // instructions to begin: multiply-adds and requests
  double arithmetic = 0;  // multiply-adds
  double requests = 0;    // no cycles: how often a warp asks global memory for something

  double busiest() const;
};

// Nothing: not counted, or it could not be.
using Counted = std::function<std::optional<Work>(const Config&)>;

// Nothing but an empty Prediction for what is no kernel. With `counted`, the cost is how long the fullest
// multiprocessor's busiest unit works, or its warps wait for memory, if that is longer; what has not been
// counted has no cost. Without it, the lanes at work at a time and how evenly the blocks fill the device tell
// one launch shape from another. On the executor the GPU meant is `model_gpu`.
Prediction predict(const Config& config, const Arguments& arguments, const Device& device,
                   const Counted& counted = {});

Device model_gpu();  // what predictions on the executor are made for

// Counts what configurations ask of a GPU before any of them runs there: some blocks of a small problem,
// traced on the executor. The search then knows more than which of them fill the device.

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

// How well one order fits another.

// Of as many pairs as both have, equal values sharing their rank. Nothing below 3 pairs, or where one
// of the two is the same everywhere.
std::optional<double> spearman(const std::vector<double>& a, const std::vector<double>& b);
std::optional<double> kendall(const std::vector<double>& a, const std::vector<double>& b);  // tau-b

struct Fit {
  std::optional<double> spearman, kendall;
  std::size_t count = 0;
};
Fit fit_of(const std::vector<double>& predicted, const std::vector<double>& measured);
std::string describe(const Fit& fit);  // "Spearman 0.71, Kendall 0.55, n = 37"

}  // namespace tessera::tune
