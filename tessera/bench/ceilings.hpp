// SPDX-License-Identifier: Apache-2.0
// What a device can do at most, measured on it once and remembered: the roofs of the roofline.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>
#include "tessera/bench/result.hpp"
#include "tessera/core/device.hpp"
#include "tessera/core/element.hpp"

namespace tessera::bench {

struct Reached {
  double rate = 0;  // of work, in units a second
  double waited =
      0;  // 0 to 1: the share of the time in which the thread that worked longest had no processor
};

double thread_seconds();  // the processor time that this thread has had

// work(part), of `units` in all, on as many threads at once. What a thread waited is the wall clock's time
// less its own processor time, so whatever takes the processors away shows, also where the machine tells
// nothing of its load.
Reached reach(int threads, double units, const std::function<void(int)>& work);

// The best of several short runs: what can be reached, not what a busy machine leaves. At least `fewest`,
// then until the best has stood for as many, and no more than `most`.
Reached best_of(int fewest, int most, const std::function<Reached()>& run);

// What the arithmetic of this machine's processors can do at most, measured: multiply-adds from
// registers to registers, fused for floating point, as many at a time as the widest vectors hold.

// Counts a multiply-add as two. Element::f32, f64 or i32; takes a few milliseconds.
Reached fma_reached(Element element, int threads);
double fma_flops_per_second(Element element, int threads);

// One thing that a device does at most, and how far that is to be trusted.
struct Ceiling {
  double rate = 0;               // bytes or flop a second
  std::string date;              // when it was measured last
  std::optional<double> waited;  // as Reached tells it; nothing: the device does not tell

  bool under_load() const;
  bool operator==(const Ceiling&) const = default;
};

struct MeasuredCeilings {
  std::optional<Ceiling> copy;
  std::map<Element, Ceiling> arithmetic;

  Ceilings rates() const;
  bool empty() const { return !copy && arithmetic.empty(); }
  bool under_load() const;   // any of them
  std::string date() const;  // of the oldest
};

// The best of several short runs. Empty: the executor has none.
MeasuredCeilings measure_ceilings(const Device& device);

// The higher rate of each. It counts as measured under load only if both were. The newer date.
MeasuredCeilings better_of(const MeasuredCeilings& known, const MeasuredCeilings& now);

// What the cache folder holds for a device of this name, driver and number of threads.
std::optional<MeasuredCeilings> known_ceilings(const Device& device);
std::string remember(const Device& device, const MeasuredCeilings& ceilings);  // why it could not, or ""

// The known ones; otherwise measures and remembers them. Ceilings that were measured under load are measured
// once more in each process, and the better ones are kept.
Ceilings ceilings_of(const Device& device);

// Why percentages of these say less than they seem to, with the remedy; "": nothing is against them.
std::string doubt_about(const Device& device, const MeasuredCeilings& ceilings);
// The same of the devices of rows that have a percentage, by what ceilings_of() has used.
std::vector<std::string> ceiling_doubts(const std::vector<Row>& rows);

// Of the processors: a copy or a triad over arrays that no cache holds, on as many threads, whichever
// moves more bytes a second.
Reached copy_reached(const Device& device);

}  // namespace tessera::bench
