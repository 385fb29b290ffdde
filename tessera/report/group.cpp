// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/group.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <tuple>
#include "tessera/report/charts.hpp"

namespace tessera::report {

std::string Group::device_name() const {
  if (executor()) return "the SIMT executor";
  const DeviceFacts* facts = document->device(device);
  if (facts == nullptr || facts->name.empty()) return device.empty() ? "an unnamed device" : device;
  return facts->name;
}

bool Group::executor() const { return device.starts_with("simt"); }

std::vector<Group> groups_of(const Document& document) {
  std::vector<Group> out;
  for (const Entry& row : document.rows) {
    const auto same = std::ranges::find_if(out, [&](const Group& g) {
      return g.element == row.element && g.device == row.device && g.mode == row.mode;
    });
    Group& group =
        same == out.end() ? out.emplace_back(Group{&document, row.element, row.device, row.mode, {}}) : *same;
    group.rows.push_back(&row);
  }
  return out;
}

Number Metric::of(const Entry& entry) const {
  const Number value = entry.*field;
  if (!entry.counts() || !value || !(*value > 0)) return std::nullopt;
  return *value * factor;
}

std::string Metric::text(const Entry& entry) const {
  const Number value = of(entry);
  return value ? figure(*value) + " " + unit : "n/a";
}

bool Metric::better(const Entry& a, const Entry& b) const {
  return more_is_better ? *of(a) > *of(b) : *of(a) < *of(b);
}

Metric metric_for(const Entries& rows) {
  const auto all_have = [&rows](Number Entry::*field) {
    bool any = false;
    for (const Entry* row : rows) {
      if (row->counts() && !((row->*field).value_or(0) > 0)) return false;
      any = any || row->counts();
    }
    return any;
  };
  const auto most = [&rows](Number Entry::*field) {
    double out = 0;
    for (const Entry* row : rows) out = std::max(out, (row->*field).value_or(0));
    return out;
  };
  if (all_have(&Entry::gflops)) {
    const bool tera = most(&Entry::gflops) >= 1000;
    return {tera ? "TFLOP/s" : "GFLOP/s", &Entry::gflops, tera ? 1e-3 : 1.0, true};
  }
  if (all_have(&Entry::gbps)) return {"GB/s", &Entry::gbps, 1, true};
  const double longest = most(&Entry::median);
  const bool seconds = longest >= 1, milli = longest >= 1e-3;
  return {seconds ? "s" : milli ? "ms" : "µs", &Entry::median, seconds ? 1 : milli ? 1e3 : 1e6, false};
}

std::vector<Dims> problems_of(const Entries& rows) {
  std::vector<std::pair<double, Dims>> found;
  for (const Entry* row : rows) {
    double size = 1;
    for (const auto& [name, value] : row->dims) size *= static_cast<double>(std::max<std::int64_t>(value, 1));
    if (std::ranges::find(found, row->dims, &std::pair<double, Dims>::second) == found.end())
      found.emplace_back(size, row->dims);
  }
  std::ranges::stable_sort(found, {}, &std::pair<double, Dims>::first);
  std::vector<Dims> out;
  for (auto& [size, dims] : found) out.push_back(std::move(dims));
  return out;
}

Entries at_problem(const Entries& rows, const Dims& dims) {
  Entries out;
  std::ranges::copy_if(rows, std::back_inserter(out), [&](const Entry* row) { return row->dims == dims; });
  return out;
}

bool same_rung(const Entry& a, const Entry& b) {
  return std::tie(a.ladder, a.place, a.variant) == std::tie(b.ladder, b.place, b.variant);
}

Entries choices_of(const Entries& rows, const Entry& rung) {
  Entries out;
  std::ranges::copy_if(rows, std::back_inserter(out),
                       [&](const Entry* row) { return same_rung(*row, rung); });
  return out;
}

const Entry* best_of(const Entries& rows, const Metric& metric) {
  const Entry* best = nullptr;
  for (const Entry* row : rows)
    if (metric.of(*row) && (best == nullptr || metric.better(*row, *best))) best = row;
  return best;
}

Entries rivals_of(const Entries& rows, const Entry& best) {
  Entries out;
  std::ranges::copy_if(rows, std::back_inserter(out), [&](const Entry* row) {
    return row != &best && row->counts() && !is_faster(*row, best);
  });
  return out;
}

const Entry* winner_of(const Entries& rows, const Metric& metric) {
  const Entry* best = best_of(rows, metric);
  return best != nullptr && rivals_of(rows, *best).empty() ? best : nullptr;
}

Entries best_choices(const Entries& rows, const Metric& metric) {
  Entries out;
  for (const Entry* row : rows) {
    if (std::ranges::any_of(out, [&](const Entry* seen) { return same_rung(*seen, *row); })) continue;
    out.push_back(row);
  }
  std::ranges::stable_sort(out, [](const Entry* a, const Entry* b) {
    return std::tie(a->ladder, a->place) < std::tie(b->ladder, b->place);
  });
  for (const Entry*& rung : out)
    if (const Entry* best = best_of(choices_of(rows, *rung), metric)) rung = best;
  return out;
}

std::string where(const Group& group) {
  return (group.element.empty() ? "" : group.element + " on ") + group.device_name() +
         (group.mode.empty() || group.mode == "burst" ? "" : ", " + group.mode);
}

std::string tip_of(const Entry& entry, const Metric& metric) {
  std::string out = entry.rung();
  if (!entry.tuning.empty()) out += "\n" + tessera::to_string(entry.tuning);
  out += "\n" + to_string(entry.dims);
  if (entry.wrong()) return out + "\nwrong result";
  if (!entry.counts()) return out + "\nnot run" + (entry.reason.empty() ? "" : ": " + entry.reason);
  out += "\n" + metric.text(entry);
  out += "\n" + entry.time();
  if (entry.ratio_baseline) out += "\n" + figure(*entry.ratio_baseline) + " × the baseline";
  if (entry.roofline) out += fmt::format("\n{:.1f} % of the roofline", 100 * *entry.roofline);
  return out;
}

}  // namespace tessera::report
