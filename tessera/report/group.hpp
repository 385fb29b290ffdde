// SPDX-License-Identifier: Apache-2.0
// Rows that may be compared: one element on one device, seen as a ladder, and the unit in which they
// are told apart.
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
  bool gpu() const;
};

std::vector<Group> groups_of(const Document& document);

// What is drawn: arithmetic where the operation counts any, else traffic, else time.
struct Metric {
  std::string name, unit;
  Number Entry::*field = nullptr;
  double factor = 1;
  bool more_is_better = true;

  Number of(const Entry& entry) const;  // nothing for what failed
  std::string text(const Entry& entry) const;
  bool better(const Entry& a, const Entry& b) const;  // both have a value
};

Metric metric_for(const Entries& rows);

std::vector<Dims> problems_of(const Entries& rows);  // ascending by work
Entries at_problem(const Entries& rows, const Dims& dims);

// One for each rung, in the ladder's order: its best choice, or its first where none counts.
Entries best_choices(const Entries& rows, const Metric& metric);
// Every choice of that rung.
Entries choices_of(const Entries& rows, const Entry& rung);
bool same_rung(const Entry& a, const Entry& b);
const Entry* best_of(const Entries& rows, const Metric& metric);  // null where none counts

std::string where(const Group& group);                         // "f32 on NVIDIA H200"
std::string tip_of(const Entry& entry, const Metric& metric);  // what hovering tells

}  // namespace tessera::report
