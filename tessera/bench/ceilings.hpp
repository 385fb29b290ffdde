// SPDX-License-Identifier: Apache-2.0
// What a device does at most, measured on it once and remembered: the roofs of the roofline.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>
#include "tessera/core/device.hpp"
#include "tessera/bench/reached.hpp"
#include "tessera/bench/result.hpp"

namespace tessera::bench {

// One of them, and how far it is to be trusted.
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

// Of each the higher one: what a device reached once it can do. Under load only where both were; the newer
// date.
MeasuredCeilings better_of(const MeasuredCeilings& known, const MeasuredCeilings& now);

// What has been measured on a device of this name, driver and threads. Nothing where the cache has
// no such device, or cannot be understood.
std::optional<MeasuredCeilings> known_ceilings(const Device& device);
std::string remember(const Device& device, const MeasuredCeilings& ceilings);  // why it could not, or ""

// Those known, else measured and remembered. What is known to have been measured under load is measured once
// more in each process, and the better of both kept.
Ceilings ceilings_of(const Device& device);

// Why percentages of these say less than they seem to, with the remedy; "": nothing is against them. `now`:
// as now_utc().
std::string doubt_about(const Device& device, const MeasuredCeilings& ceilings, const std::string& now);
// The same of the devices of rows that have a percentage, by what ceilings_of() has used.
std::vector<std::string> ceiling_doubts(const std::vector<Row>& rows);

// Of the processors: a copy or a triad over arrays that no cache holds, on as many threads, whichever
// moves more bytes a second.
Reached copy_reached(const Device& device);

}  // namespace tessera::bench
