// SPDX-License-Identifier: Apache-2.0
// Rows that may be compared: one element on one device, as a ladder, with the metric for comparing them.
#pragma once
#include <string>
#include <vector>
#include "tessera/report/document.hpp"

namespace tessera::report {

using Entries = std::vector<const Entry*>;

struct Group {
  const Document* document = nullptr;
  std::string element, device, mode;  // bursts are not compared with sustained runs
  Entries rows;

  std::string device_name() const;  // "NVIDIA H200", or the label
  bool executor() const;            // times of the executor, not of a GPU
};

std::vector<Group> groups_of(const Document& document);

// The quantity to draw: arithmetic if the operation counts any, else traffic, else time.
struct Metric {
  std::string unit;
  Number Entry::*field = nullptr;
  double factor = 1;
  bool more_is_better = true;

  Number of(const Entry& entry) const;  // std::nullopt for failures
  std::string text(const Entry& entry) const;
  bool better(const Entry& a, const Entry& b) const;  // both have a value
};

Metric metric_for(const Entries& rows);

std::vector<Dims> problems_of(const Entries& rows);  // ascending by work
Entries at_problem(const Entries& rows, const Dims& dims);

// Returns one row for each rung, in the ladder's order: its best choice, or its first if none counts.
Entries best_choices(const Entries& rows, const Metric& metric);
// Every choice of the rung.
Entries choices_of(const Entries& rows, const Entry& rung);
bool same_rung(const Entry& a, const Entry& b);
const Entry* best_of(const Entries& rows, const Metric& metric);  // null if none counts
// Returns the rows that the best one is not clearly faster than.
Entries rivals_of(const Entries& rows, const Entry& best);
// Returns the best one if it has no rivals; otherwise null.
const Entry* winner_of(const Entries& rows, const Metric& metric);

std::string where(const Group& group);                         // "f32 on NVIDIA H200"
std::string tip_of(const Entry& entry, const Metric& metric);  // the text of the tooltip

}  // namespace tessera::report
