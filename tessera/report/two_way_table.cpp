// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/two_way_table.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <map>
#include "tessera/report/row_words.hpp"
#include "tessera/report/table.hpp"

namespace tessera::report {
namespace {

using bench::Row;
using Align = Table::Align;
using Key = std::vector<std::string>;

// The row's value of a name; "-" where it has none.
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

// Numbers by their value, words in the order of the rows.
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

// The notes below a table; cells refer to them by number.
class Notes {
 public:
  std::string refer(const std::string& text) {
    auto found = std::ranges::find(texts_, text);
    if (found == texts_.end()) found = texts_.insert(texts_.end(), text);
    return fmt::format("({})", found - texts_.begin() + 1);
  }
  std::string text() const {
    std::string out;
    for (std::size_t i = 0; i < texts_.size(); ++i) out += fmt::format("({}) {}\n", i + 1, texts_[i]);
    return out;
  }

 private:
  std::vector<std::string> texts_;
};

// One table: the rows that differ only in what is down and across.
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
    // With one name down, its values stand against those across; with more, each needs its title.
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

  // Beside the speed of all cells, how right they are.
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
    if (found == cells_.end()) return "n/a " + notes_.refer("not among the configurations");
    const Row& row = *found->second;
    if (row.verified == bench::Verified::wrong) return "WRONG";
    if (row.seconds.empty()) return "n/a " + notes_.refer(why_not(row));
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
  Notes notes_;
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

}  // namespace tessera::report
