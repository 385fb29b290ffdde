// SPDX-License-Identifier: Apache-2.0
#include "tessera/tune/conclusion.hpp"
#include <fmt/format.h>
#include <algorithm>
#include "tessera/bench/remarks.hpp"

namespace tessera::tune {
namespace {

using bench::Row;
using Rows = std::vector<const Row*>;

bool same_rung(const Row& a, const Row& b) {
  return a.variant == b.variant && bench::label_of(a.device) == bench::label_of(b.device);
}

std::string sentence(const Rows& rows) {
  const Row& first = *rows[0];
  const std::string who =
      fmt::format("{}/{} on {}", first.variant->ladder, first.variant->name, bench::label_of(first.device));
  const Row *best = nullptr, *plain = nullptr;
  const Tuning defaults = first.variant->choices.at(0).defaults();
  for (const Row* row : rows) {
    if (!row->counts()) continue;
    if (best == nullptr || row->median() < best->median()) best = row;
    if (row->tuning == defaults) plain = row;
  }
  if (best == nullptr) return who + ": no configuration could be measured.";
  if (best == plain) return fmt::format("{}: its default {} is the fastest.", who, to_string(best->tuning));
  std::string out = fmt::format("{}: {} ", who, to_string(best->tuning));
  if (plain == nullptr) return out + "is the fastest.";
  const std::size_t fewest = std::min(best->seconds.size(), plain->seconds.size());
  const bench::Ratio ratio =
      bench::ratio_of(bench::summarize(best->seconds), bench::summarize(plain->seconds));
  const std::string than = " times faster than its default " + to_string(defaults);
  if (fewest < 2)  // no spread is known
    return fmt::format("{}ran {:.2f}{}; one sample does not settle it.", out, ratio.value, than);
  const bool settled = ratio.value - ratio.error > 1;
  return fmt::format("{}{} {:.2f} ± {:.2f}{}{}.", out, settled ? "is the fastest," : "ran", ratio.value,
                     ratio.error, than, settled ? "" : "; that does not settle it");
}

}  // namespace

std::vector<std::string> conclusion(const std::vector<Row>& rows) {
  std::vector<Rows> rungs;
  for (const Row& row : rows) {
    if (row.serial) continue;
    const auto known =
        std::ranges::find_if(rungs, [&row](const Rows& rung) { return same_rung(*rung[0], row); });
    if (known != rungs.end()) known->push_back(&row);
    else rungs.push_back({&row});
  }
  std::vector<std::string> out;
  for (const Rows& rung : rungs)
    if (rung.size() > 1) out.push_back(sentence(rung));
  return out;
}

}  // namespace tessera::tune
