// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/compare.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include "tessera/bench/sample.hpp"

namespace tessera::bench {
namespace {

struct Side {
  double low = 0, centre = 0, high = 0;
  double error = 0;  // relative standard error of the centre
};

// `least_load`: of both sides. Other programs may have lengthened this one's samples more than the other's,
// by as much as they left less of the processors.
Side side_of(const Samples& samples, double least_load) {
  const Summary summary = summarize(samples.seconds);
  // For normal noise, the quartiles are at ±0.674 σ and the standard error of a median is 1.253 σ/√n.
  constexpr double per_spread = 1.253 / 0.674;
  const double error = per_spread * summary.spread() / std::sqrt(static_cast<double>(summary.count));
  if (samples.other_load <= quiet_load) return {summary.minimum, summary.median, summary.q3, error};
  return {summary.minimum * (1 - samples.other_load) / (1 - least_load), summary.median, summary.p90, error};
}

std::vector<double> cycles(const Record& record) {
  std::vector<double> out;
  for (std::size_t i = 0; i < record.clocks_mhz.size(); ++i)
    out.push_back(record.seconds[i] * record.clocks_mhz[i]);
  return out;
}

// `factor`: minimum ratio between the intervals. `ambiguous`: they do not confirm the difference.
Change change_of(const Side& before, const Side& now, double threshold, double factor = 1) {
  const double ratio = now.centre / before.centre;
  if (std::abs(ratio - 1) <= threshold)
    return std::hypot(before.error, now.error) <= threshold ? Change::same : Change::ambiguous;
  if (ratio < 1 && factor * now.high < before.low) return Change::faster;
  if (ratio > 1 && factor * before.high < now.low) return Change::slower;
  return Change::ambiguous;
}

// Withdraws the verdict unless the cycle counts confirm it: a time may differ because the clock did.
void confirm_in_cycles(Pair& pair, const Judging& judging) {
  if (pair.before->clocks_mhz.empty() || pair.now->clocks_mhz.empty()) return;
  const Side before = side_of(cycles(*pair.before), 0), now = side_of(cycles(*pair.now), 0);
  pair.times_fewer_cycles = before.centre / now.centre;
  if (pair.change != Change::faster && pair.change != Change::slower) return;
  if (change_of(before, now, judging.threshold) == pair.change) return;
  pair.change = Change::ambiguous;
  pair.why = "the clock changed: its cycles do not confirm it";
}

double load_of(bool gpu, const std::optional<double>& other_load) {
  constexpr double most = 0.99;
  return gpu ? 0 : std::clamp(other_load.value_or(0), 0.0, most);
}

bool measured(const Record& record) { return !record.seconds.empty(); }

Pair missing(const Record* before, const Record* now) {
  Pair out{.before = before,
           .now = now,
           .change = now != nullptr && measured(*now) ? Change::added : Change::gone};
  if (now != nullptr && now->verified == "wrong") out.change = Change::wrong;
  const Record* silent = out.change == Change::added ? before : now;
  out.why = out.change == Change::wrong ? "its result is wrong"
            : silent == nullptr         ? "has no row"
            : silent->reason.empty()    ? "was not measured"
                                        : silent->reason;
  return out;
}

}  // namespace

std::string_view name_of(Change change) {
  constexpr std::string_view names[] = {"same", "faster", "slower", "ambiguous", "gone", "added", "wrong"};
  return names[static_cast<std::size_t>(change)];
}

double between_repeats(const std::vector<double>& samples) {
  constexpr std::size_t repeats = 5, least = 4;  // minimum number of samples of each
  if (samples.size() < repeats * least) return 0;
  std::vector<double> medians;
  for (std::size_t i = 0; i < repeats; ++i) {
    const auto at = [&](std::size_t part) {
      return samples.begin() + static_cast<std::ptrdiff_t>(samples.size() * part / repeats);
    };
    medians.push_back(summarize({at(i), at(i + 1)}).median);
  }
  const auto [low, high] = std::ranges::minmax(medians);
  return (high - low) / summarize(samples).median;
}

Samples samples_of(const Row& row) {
  return {row.seconds, load_of(row.device.where == Where::cuda, row.other_load)};
}
Samples samples_of(const Record& record) {
  return {record.seconds, load_of(record.device.starts_with("cuda"), record.other_load)};
}

Verdict judge(const Samples& before, const Samples& now, const Judging& judging) {
  const std::size_t fewest = std::min(before.seconds.size(), now.seconds.size());
  const bool few = fewest < judging.fewest;
  const bool busy = std::max(before.other_load, now.other_load) > quiet_load;
  Change change = Change::ambiguous;
  if (fewest > 0) {
    const double least_load = std::min(before.other_load, now.other_load);
    const double apart = fewest == 1 ? judging.plainly : few ? judging.clearly : 1;
    change = change_of(side_of(before, least_load), side_of(now, least_load), judging.threshold, apart);
  }
  if (change == Change::same && (few || busy)) change = Change::ambiguous;
  if (change == Change::ambiguous && few)
    return {change, fmt::format("too few samples: {}, {} are needed", fewest, judging.fewest)};
  if (change == Change::ambiguous && busy) {
    const bool then = before.other_load > quiet_load;
    return {change,
            fmt::format("the machine was not quiet {}: other programs took {:.0f} % of its processors",
                        then ? "then" : "now", 100 * (then ? before : now).other_load)};
  }
  if (change == Change::ambiguous) return {change, "too noisy to tell"};
  const double ratio = summarize(before.seconds).median / summarize(now.seconds).median;
  const double repeats = between_repeats(before.seconds) + between_repeats(now.seconds);
  if (change == Change::same || std::max(ratio, 1 / ratio) - 1 > repeats) return {change, ""};
  return {Change::ambiguous, fmt::format("repeats of the same differ by {:.1f} %", 100 * repeats)};
}

double judged_ratio(const Samples& before, const Samples& now) {
  if (judge(before, now).change == Change::ambiguous) return std::numeric_limits<double>::quiet_NaN();
  return summarize(before.seconds).median / summarize(now.seconds).median;
}

Pair judge(const Record& before, const Record& now, const Judging& judging) {
  if (now.verified == "wrong" || !measured(before) || !measured(now)) return missing(&before, &now);
  Pair out{.before = &before, .now = &now};
  out.times_faster = summarize(before.seconds).median / summarize(now.seconds).median;
  const Verdict verdict = judge(samples_of(before), samples_of(now), judging);
  out.change = verdict.change;
  out.why = verdict.why;
  confirm_in_cycles(out, judging);
  return out;
}

std::vector<Pair> compare(const Document& before, const Document& now, const Judging& judging) {
  std::multimap<std::string, const Record*> open;
  for (const Record& record : before.records) open.emplace(record.key(), &record);
  std::vector<Pair> out;
  for (const Record& record : now.records) {
    const auto same = open.lower_bound(record.key());
    if (same == open.end() || same->first != record.key()) {
      if (measured(record)) out.push_back(missing(nullptr, &record));
      continue;
    }
    const Record& old = *same->second;
    open.erase(same);
    if (measured(old) || measured(record)) out.push_back(judge(old, record, judging));
  }
  // Appends gone records in the order of their document, which the map does not keep.
  for (const Record& record : before.records)
    for (const auto& [key, left] : open)
      if (left == &record && measured(record)) out.push_back(missing(&record, nullptr));
  return out;
}

std::optional<std::string> incomparable(const Document& before, const Document& now) {
  const auto differ = [](const char* what, const std::string& a, const std::string& b) {
    return fmt::format("{} differs: {} then, {} now", what, a.empty() ? "unknown" : a,
                       b.empty() ? "unknown" : b);
  };
  if (before.operation != now.operation) return differ("the operation", before.operation, now.operation);
  if (before.processor != now.processor)
    return differ("the machine's processor", before.processor, now.processor);
  bool any = before.drivers.empty() || now.drivers.empty();
  for (const Driver& driver : now.drivers) {
    const auto old = std::ranges::find(before.drivers, driver.device_name, &Driver::device_name);
    if (old == before.drivers.end()) continue;
    any = true;
    if (old->cuda != driver.cuda) return differ("the driver", old->cuda, driver.cuda);
    // Older files lack the driver's version.
    if (!old->version.empty() && !driver.version.empty() && old->version != driver.version)
      return differ("the driver", old->version, driver.version);
  }
  if (!any) return differ("the device", before.drivers.front().device_name, now.drivers.front().device_name);
  if (before.caches != now.caches) return differ("the caches' state", before.caches, now.caches);
  if (before.launches != now.launches) return differ("how runs are launched", before.launches, now.launches);
  if (before.distribution != now.distribution)
    return differ("the data's distribution", before.distribution, now.distribution);
  return std::nullopt;
}

}  // namespace tessera::bench
