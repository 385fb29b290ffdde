// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/bench_tables.hpp"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include "tessera/bench/sample.hpp"
#include "tessera/report/table.hpp"

namespace tessera::report {

using bench::Row;

std::string device_of(const Row& row) {
  return row.device.where == Where::simt ? bench::label_of(row.device) + " (executor wall time)"
                                         : bench::label_of(row.device);
}

std::string name_of(const Row& row) {
  return row.variant->ladder + "/" + row.variant->name + (row.serial ? " (serial)" : "");
}

std::string choice_of(const Row& row) {
  return name_of(row) + (row.tuning.empty() ? "" : " " + to_string(row.tuning));
}

std::string why_not(const Row& row) {
  const std::string reason = row.reason.value_or("not measured");
  if (!row.estimate) return reason;
  return fmt::format("{} (one run: about {})", reason, seconds_in_text(*row.estimate));
}

namespace {

constexpr std::size_t max_listed = 4;  // configurations a line

struct Refused {
  std::string why, who;
};

// Messages that differ only in numbers are one reason: "needs 2048 threads, the limit is 1024" and "needs
// 4096 threads, …".
std::string without_numbers(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) out += c;
    else if (out.empty() || out.back() != '#') out += '#';
  }
  return out;
}

std::string line_of(const std::vector<Refused>& alike) {
  std::vector<std::string> names;  // each once, for all sizes
  for (const Refused& refused : alike)
    if (std::ranges::find(names, refused.who) == names.end()) names.push_back(refused.who);
  const std::size_t listed = std::min(names.size(), max_listed);
  std::string out = fmt::format(
      "not run: {}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(listed), "; "));
  if (names.size() > listed) out += fmt::format("; and {} more", names.size() - listed);
  const bool same = std::ranges::all_of(alike, [&](const Refused& r) { return r.why == alike[0].why; });
  return out + ": " + alike[0].why + (same ? "" : ", and the like") + "\n";
}

void add(std::vector<std::vector<Refused>>& groups, Refused refused, bool by_kind) {
  const auto key = [by_kind](const std::string& why) { return by_kind ? without_numbers(why) : why; };
  const auto same = std::ranges::find_if(
      groups, [&](const std::vector<Refused>& group) { return key(group[0].why) == key(refused.why); });
  if (same == groups.end()) groups.push_back({std::move(refused)});
  else same->push_back(std::move(refused));
}

}  // namespace

std::string reasons_of(const std::vector<Row>& rows) {
  std::vector<std::vector<Refused>> kinds;
  for (const Row& row : rows)
    if (row.seconds.empty()) add(kinds, {why_not(row), choice_of(row)}, true);
  std::string out;
  for (const std::vector<Refused>& kind : kinds) {
    std::vector<std::vector<Refused>> groups{kind};
    if (kind.size() <= max_listed) {
      groups.clear();
      for (const Refused& refused : kind) add(groups, refused, false);
    }
    for (const std::vector<Refused>& group : groups) out += line_of(group);
  }
  return out;
}

std::string findings_of(const std::vector<Row>& rows) {
  std::string out;
  for (const Row& row : rows)
    if (row.verified == bench::Verified::wrong)
      out += "WRONG: " + name_of(row) + " " + to_string(row.tuning) + " on " + bench::label_of(row.device) +
             "\n" + row.finding;
  return out;
}

const char* const executor_note =
    "simt: the SIMT executor runs GPU threads on this machine's processors; its wall time says nothing of a "
    "GPU's.\n";

std::string executor_note_of(const std::vector<Row>& rows) {
  const bool used = std::ranges::any_of(rows, [](const Row& r) { return r.device.where == Where::simt; });
  return used ? executor_note : "";
}

namespace {

using Align = Table::Align;

std::string tuning_of(const Row& row) { return row.tuning.empty() ? "-" : to_string(row.tuning); }

std::string verdict(const Row& row) {
  switch (row.verified) {
    case bench::Verified::ok:
      return "ok";
    case bench::Verified::wrong:
      return "WRONG";
    case bench::Verified::unchecked:
      break;
  }
  return "-";
}

std::string roofline_of(const Row& row) {
  const auto roofline = row.roofline();
  return roofline
             ? fmt::format("{:.1f} % of {}", 100 * roofline->fraction, roofline->memory ? "copy" : "arith.")
             : "";
}

std::string judged(std::optional<double> value) {
  return value && std::isnan(*value) ? std::string(name_of(bench::Change::ambiguous)) : number(value);
}

std::string rounded(std::optional<double> value) { return value ? fmt::format("{:.0f}", *value) : ""; }

std::vector<std::string> cells_of(const Row& row, bool modes) {
  const bool measured = !row.seconds.empty();
  const bench::Summary summary = measured ? bench::summarize(row.seconds) : bench::Summary{};
  const auto when = [measured](std::string text) { return measured ? text : "not run"; };
  return {device_of(row),
          name_of(row),
          tuning_of(row),
          modes ? std::string(name_of(row.mode)) : "",
          when(seconds(summary.minimum)),
          when(seconds(summary.median)),
          when(seconds(summary.p90)),
          seconds(row.round_trip),
          number(row.gflops()),
          number(row.gbps()),
          roofline_of(row),
          rounded(row.clock_mhz()),
          rounded(row.power_w()),
          number(row.picojoules_per_flop()),
          judged(row.ratio_serial),
          judged(row.ratio_previous),
          judged(row.ratio_baseline),
          number(row.error_over_bound),
          verdict(row)};
}

}  // namespace

std::string ladder_table(const std::vector<Row>& rows) {
  const bool one_device = std::ranges::all_of(
      rows, [&](const Row& r) { return bench::label_of(r.device) == bench::label_of(rows[0].device); });
  Table table({{"device", Align::left, false, one_device ? 6 : 0},
               {"variant", Align::left},
               {"tuning", Align::left},
               {"mode", Align::left, true},
               {"least", Align::right, false, 4},
               {"kernel time"},
               {"p90", Align::right, false, 4},
               {"round trip", Align::right, true, 7},
               {"GFLOP/s"},
               {"GB/s", Align::right, false, 5},
               {"roofline", Align::right, true, 2},
               {"MHz", Align::right, true, 8},
               {"W", Align::right, true, 9},
               {"pJ/flop", Align::right, true, 10},
               {"× serial", Align::right, true, 3},
               {"× previous", Align::right, true, 2},
               {"× baseline", Align::right, true, 1},
               {"error/bound", Align::right, false, 5},
               {"verified", Align::left}});
  const bool modes = std::ranges::any_of(rows, [](const Row& r) { return r.mode != bench::Mode::burst; });
  std::string group;
  for (const Row& row : rows) {
    const std::string its =
        bench::label_of(row.device) + "/" + row.variant->ladder + std::string(name_of(row.mode));
    if (!group.empty() && group != its) table.add_rule();
    group = its;
    table.add(cells_of(row, modes));
  }
  return table.text() + reasons_of(rows) + findings_of(rows) + executor_note_of(rows);
}

namespace {

std::optional<double> call_seconds(const Row& row, const char* kind) {
  const auto found = row.calls.find(kind);
  if (found == row.calls.end()) return std::nullopt;
  return bench::summarize(found->second).median;
}

bench::Samples call_samples(const Row& row, const char* kind) {
  return {row.calls.at(kind), bench::samples_of(row).other_load};
}

// The speedup of `call` over the baseline.
std::optional<double> call_ratio(const Row& call, const Row& baseline, const char* kind) {
  const auto ours = call_seconds(call, kind), its = call_seconds(baseline, kind);
  return ours && its ? std::optional(*its / *ours) : std::nullopt;
}

constexpr std::array compared_calls{"host", "stream", "graph"};

}  // namespace

std::string call_table(const std::vector<Row>& rows) {
  Table table({{"call", Align::left},
               {"tuning", Align::left},
               {"host"},
               {"host, prepared", Align::right, true},
               {"empty launch", Align::right, true, 1},
               {"stream", Align::right, true},
               {"stream, prepared", Align::right, true, 1},
               {"graph", Align::right, true},
               {"× host", Align::right, true},
               {"× stream", Align::right, true},
               {"× graph", Align::right, true},
               {"verified", Align::left, false, 2}});
  for (const Row& row : rows) {
    std::vector<std::string> cells{name_of(row), tuning_of(row)};
    for (const char* kind : {"host", "host_prepared", "host_empty", "stream", "stream_prepared", "graph"})
      cells.push_back(seconds(call_seconds(row, kind)));
    for (const char* kind : compared_calls)
      cells.push_back(
          &row == &rows[0] || !call_ratio(rows[0], row, kind)
              ? ""
              : judged(bench::judged_ratio(call_samples(row, kind), call_samples(rows[0], kind))));
    cells.push_back(verdict(row));
    table.add(std::move(cells));
  }
  return table.text() + reasons_of(rows) + findings_of(rows);
}

std::string call_means(const std::vector<Row>& rows) {
  struct Mean {
    double logarithms = 0, lowest = 0;
    int count = 0, near = 0;
    std::string where;
  };
  std::map<std::array<std::string, 4>, Mean> means;  // keys: device, element, baseline, kind
  const Row* call = nullptr;                         // precedes the baselines of its problem
  for (const Row& row : rows) {
    if (!row.variant->baseline) call = &row;
    if (call == nullptr || call == &row) continue;
    for (const char* kind : compared_calls) {
      const auto ratio = call_ratio(*call, row, kind);
      if (!ratio) continue;
      Mean& mean = means[{bench::label_of(row.device), row.element_name(), choice_of(row), kind}];
      mean.logarithms += std::log(*ratio);
      constexpr double near = 0.9;
      mean.near += *ratio >= near;
      if (mean.count++ > 0 && mean.lowest <= *ratio) continue;
      mean.lowest = *ratio;
      mean.where.clear();
      for (const auto& [name, size] : row.dims)
        mean.where += fmt::format("{}{}={}", mean.where.empty() ? "" : " ", name, size);
    }
  }
  std::string out;
  for (const auto& [of, mean] : means)
    if (mean.count > 1)
      out += fmt::format(
          "{}, {}, {} of the call against {}: {:.3f} times as fast in the mean of {}, at least 0.9 in {:.1f} "
          "%, "
          "lowest {:.3f} ({})\n",
          of[0], of[1], of[3], of[2], std::exp(mean.logarithms / mean.count), mean.count,
          100.0 * mean.near / mean.count, mean.lowest, mean.where);
  return out;
}

std::string mean_table(const std::vector<std::vector<Row>>& sizes) {
  if (sizes.size() < 2) return {};
  const auto same = [](const Row& a, const Row& b) {
    return a.variant == b.variant && a.tuning == b.tuning &&
           bench::label_of(a.device) == bench::label_of(b.device);
  };
  bool any = false;
  Table table({{"device", Align::left},
               {"variant", Align::left},
               {"tuning", Align::left},
               {"mean × serial of the last two sizes"}});
  for (const Row& last : sizes.back()) {
    const auto& before = sizes[sizes.size() - 2];
    const auto other = std::ranges::find_if(before, [&](const Row& r) { return same(r, last); });
    const bool known = other != before.end() && other->ratio_serial && last.ratio_serial;
    any = any || known;
    table.add({device_of(last), name_of(last), tuning_of(last),
               known ? judged((*other->ratio_serial + *last.ratio_serial) / 2) : ""});
  }
  return any ? table.text() : std::string();
}

namespace {

using Key = std::vector<std::string>;

std::string value_of(const Row& row, const std::string& name) {
  if (const auto value = row.tuning.find(name)) return std::to_string(*value);
  if (name == "variant") return row.variant->name;
  if (name == "device") return bench::label_of(row.device);
  return "-";
}

Key key_of(const Row& row, const std::vector<std::string>& names) {
  Key out;
  for (const std::string& name : names) out.push_back(value_of(row, name));
  return out;
}

// Orders numbers by value and keeps words in the order of the rows.
bool precedes(const std::string& a, const std::string& b) {
  const auto number = [](const std::string& text) {
    double out = -1;
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
  };
  return number(a) < number(b);
}

void add_once(std::vector<Key>& keys, Key key) {
  if (std::ranges::find(keys, key) == keys.end()) keys.push_back(std::move(key));
}

void sort(std::vector<Key>& keys) {
  std::ranges::stable_sort(
      keys, [](const Key& a, const Key& b) { return std::ranges::lexicographical_compare(a, b, precedes); });
}

enum class Unit { gflops, gbps, time };

Unit unit_of(const std::vector<Row>& rows) {
  const auto all = [&rows](auto has) {
    return std::ranges::all_of(rows, [&](const Row& row) { return !row.counts() || has(row); });
  };
  if (all([](const Row& row) { return row.gflops().has_value(); })) return Unit::gflops;
  return all([](const Row& row) { return row.gbps().has_value(); }) ? Unit::gbps : Unit::time;
}

constexpr const char* title_of(Unit unit) {
  return unit == Unit::gflops ? "GFLOP/s" : unit == Unit::gbps ? "GB/s" : "kernel time";
}

// One table: the rows that differ only in the parameters down and across.
class TwoWay {
 public:
  TwoWay(const std::vector<const Row*>& rows, const std::vector<std::string>& down, const std::string& across,
         Unit unit)
      : down_(&down), across_(&across), unit_(unit) {
    for (const Row* row : rows) {
      const Key line = key_of(*row, down), column{value_of(*row, across)};
      add_once(lines_, line);
      add_once(columns_, column);
      const Row*& cell = cells_[{line, column}];
      if (cell == nullptr || better(*row, *cell)) cell = row;
      if (row->counts() && (fastest_ == nullptr || row->median() < fastest_->median())) fastest_ = row;
    }
    sort(lines_);
    sort(columns_);
  }

  std::string text() {
    // With one parameter down, the corner names both axes; with more, each column needs its title.
    const bool corner = down_->size() == 1;
    std::vector<Table::Column> heads;
    for (const std::string& name : *down_)
      heads.push_back({corner ? fmt::format("{} \\ {}", name, *across_) : name, Align::left});
    for (const Key& column : columns_)
      heads.push_back(
          {corner || *across_ == "variant" || *across_ == "device" ? column[0] : *across_ + "=" + column[0]});
    Table table(heads);
    for (const Key& line : lines_) {
      std::vector<std::string> cells = line;
      for (const Key& column : columns_) cells.push_back(cell(line, column));
      table.add(std::move(cells));
    }
    return table.text() + (fastest_ != nullptr ? "* the fastest\n" : "") + accuracy() + notes_.text();
  }

 private:
  static bool better(const Row& a, const Row& b) {
    return a.counts() && (!b.counts() || a.median() < b.median());
  }

  std::string accuracy() const {
    std::size_t measured = 0, verified = 0;
    double largest = 0;
    for (const auto& [place, row] : cells_) {
      measured += row->seconds.empty() ? 0 : 1;
      if (row->verified != bench::Verified::ok) continue;
      ++verified;
      largest = std::max(largest, row->error_over_bound.value_or(0));
    }
    if (measured == 0) return {};
    if (verified == 0) return "none was verified\n";
    return fmt::format("{} of {} verified; largest error/bound {:.3g}\n", verified, measured, largest);
  }

  std::string cell(const Key& line, const Key& column) {
    const auto found = cells_.find({line, column});
    if (found == cells_.end()) return "not run " + notes_.refer("not among the configurations");
    const Row& row = *found->second;
    if (row.verified == bench::Verified::wrong) return "WRONG";
    if (row.seconds.empty()) return "not run " + notes_.refer(why_not(row));
    return (&row == fastest_ ? "*" : "") + (unit_ == Unit::gflops ? number(row.gflops())
                                            : unit_ == Unit::gbps ? number(row.gbps())
                                                                  : seconds(row.median()));
  }

  const std::vector<std::string>* down_;
  const std::string* across_;
  Unit unit_;
  std::vector<Key> lines_, columns_;
  std::map<std::pair<Key, Key>, const Row*> cells_;
  const Row* fastest_ = nullptr;
  Notes notes_{"()"};
};

std::string title_of(Unit unit, const std::vector<std::string>& names, const Key& key) {
  std::string out = title_of(unit);
  for (std::size_t i = 0; i < names.size(); ++i) out += fmt::format(", {} {}", names[i], key[i]);
  return out + "\n";
}

}  // namespace

std::vector<std::string> differing(const std::vector<Row>& rows, const std::string& across) {
  std::vector<std::string> names{"device", "variant"}, out;
  for (const Row& row : rows)
    for (const auto& [name, value] : row.tuning)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  for (const std::string& name : names) {
    if (name == across) continue;
    const auto other = [&](const Row& row) { return value_of(row, name) != value_of(rows[0], name); };
    if (std::ranges::any_of(rows, other)) out.push_back(name);
  }
  return out;
}

std::string two_way_table(const std::vector<Row>& rows, const std::vector<std::string>& down,
                          const std::string& across, bool times) {
  if (rows.empty()) return {};
  std::vector<std::string> others = differing(rows, across);
  std::erase_if(others, [&](const std::string& name) { return std::ranges::find(down, name) != down.end(); });
  std::vector<Key> groups;
  for (const Row& row : rows) add_once(groups, key_of(row, others));
  const Unit unit = times ? Unit::time : unit_of(rows);
  std::string out;
  for (const Key& group : groups) {
    std::vector<const Row*> own;
    for (const Row& row : rows)
      if (key_of(row, others) == group) own.push_back(&row);
    out += (out.empty() ? "" : "\n") + title_of(unit, others, group) + TwoWay(own, down, across, unit).text();
  }
  return out + findings_of(rows) + executor_note_of(rows);
}

namespace {

// Adds the cells of one side: median, least and 90th percentile.
void add_times(std::vector<std::string>& cells, const bench::Record* record) {
  const bool measured = record != nullptr && !record->seconds.empty();
  const bench::Summary summary = measured ? bench::summarize(record->seconds) : bench::Summary{};
  for (const double value : {summary.median, summary.minimum, summary.p90})
    cells.push_back(measured ? seconds(value) : "");
}

std::string ratio(std::optional<double> value) { return value ? fmt::format("{:.3f}", *value) : ""; }

}  // namespace

std::string compare_table(const std::vector<bench::Pair>& pairs) {
  Table table({{"device", Align::left, false, 3},
               {"problem", Align::left},
               {"element", Align::left, false, 1},
               {"variant", Align::left},
               {"tuning", Align::left},
               {"mode", Align::left, false, 4},
               {"then"},
               {"least", Align::right, false, 5},
               {"p90", Align::right, false, 5},
               {"now"},
               {"least", Align::right, false, 5},
               {"p90", Align::right, false, 5},
               {"× faster"},
               {"× fewer cycles", Align::right, true, 2},
               {"verdict", Align::left}});
  std::map<bench::Change, int> counts;
  for (const bench::Pair& pair : pairs) {
    const bench::Record& record = pair.now != nullptr ? *pair.now : *pair.before;
    ++counts[pair.change];
    std::vector<std::string> cells{record.device,
                                   record.problem,
                                   record.element,
                                   record.variant,
                                   record.tuning.empty() ? "-" : record.tuning,
                                   record.mode};
    add_times(cells, pair.before);
    add_times(cells, pair.now);
    cells.push_back(ratio(pair.times_faster));
    cells.push_back(ratio(pair.times_fewer_cycles));
    cells.push_back(std::string(name_of(pair.change)) + (pair.why.empty() ? "" : ": " + pair.why));
    table.add(std::move(cells));
  }
  std::string summary;
  for (const auto& [change, count] : counts)
    summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", count, name_of(change));
  return table.text() + summary + "\n";
}

}  // namespace tessera::report
