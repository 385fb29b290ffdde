// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/result.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include "tessera/bench/compare.hpp"
#include "tessera/bench/machine.hpp"

namespace tessera::bench {

namespace {

auto& library_versions() {
  static std::map<std::string, std::string (*)()> all;
  return all;
}

const Row* fastest_baseline(const std::vector<Row>& rows, const Row& of, const std::string& versus) {
  const Row* best = nullptr;
  for (const Row& row : rows) {
    const bool named = versus.empty() ? row.variant->baseline
                                      : row.variant->name == versus ||
                                            row.variant->ladder + "/" + row.variant->name == versus;
    // A baseline on another device counts only if it is named.
    if (!named || !row.counts() || row.mode != of.mode ||
        (versus.empty() && label_of(row.device) != label_of(of.device)))
      continue;
    if (best == nullptr || row.median() < best->median()) best = &row;
  }
  return best;
}

}  // namespace

void register_library_version(std::string baseline, std::string (*version)()) {
  library_versions()[std::move(baseline)] = version;
}
std::string library_version(const Variant& baseline) {
  const auto found = library_versions().find(baseline.name);
  return found == library_versions().end() ? "" : found->second();
}

void Row::pool(const Row& more) {
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  append(seconds, more.seconds);
  append(clocks_mhz, more.clocks_mhz);
  append(powers_w, more.powers_w);
  append(fma_rates, more.fma_rates);
  throttled += more.throttled;
  other_load = std::max(other_load, more.other_load);
  error_over_bound = std::max(error_over_bound, more.error_over_bound);
  relative_l2 = std::max(relative_l2, more.relative_l2);
}

std::optional<double> Row::gflops() const {
  if (!counts() || flops == 0) return std::nullopt;
  return flops / median() * 1e-9;
}

std::optional<double> Row::gbps() const {
  if (!counts() || bytes == 0) return std::nullopt;
  return bytes / median() * 1e-9;
}

// Computes the roofline: a run takes at least the time of its arithmetic and of its memory traffic. On the
// CPU, the peak rate is that of the multiply-add loop measured beside the samples, which ran at the same
// clock.
std::optional<Roofline> Row::roofline() const {
  if (!counts() || !ceilings.bytes_per_second) return std::nullopt;
  // The element's peak rate does not apply to another arithmetic, such as tf32x3.
  const bool plain = element_name() == tessera::name_of(element);
  const auto known = plain ? ceilings.flops_per_second.find(element) : ceilings.flops_per_second.end();
  const double memory_seconds = bytes / *ceilings.bytes_per_second;
  double arithmetic_seconds = 0;
  if (flops > 0) {
    if (!fma_rates.empty()) arithmetic_seconds = flops / summarize(fma_rates).median;
    else if (known != ceilings.flops_per_second.end()) arithmetic_seconds = flops / known->second;
    else return std::nullopt;
  }
  const double least = std::max(memory_seconds, arithmetic_seconds);
  if (!(least > 0)) return std::nullopt;
  return Roofline{least / median(), memory_seconds > arithmetic_seconds};
}

std::optional<double> Row::clock_mhz() const {
  return clocks_mhz.empty() ? std::nullopt : std::optional(summarize(clocks_mhz).median);
}
std::optional<double> Row::power_w() const {
  std::vector<double> known;
  for (const auto& power : powers_w)
    if (power) known.push_back(*power);
  return known.empty() ? std::nullopt : std::optional(summarize(known).median);
}

std::optional<double> Row::picojoules_per_flop() const {
  if (!joules || !counts() || flops == 0) return std::nullopt;
  return *joules / flops * 1e12;
}

std::optional<double> Row::fma_fraction() const {
  if (!gflops() || fma_rates.empty()) return std::nullopt;
  return *gflops() * 1e9 / summarize(fma_rates).median;
}

namespace {

using Rows = std::vector<const Row*>;

const Row* fastest(const Rows& rows) {
  const auto found = std::ranges::min_element(rows, {}, [](const Row* r) { return r->median(); });
  return found == rows.end() ? nullptr : *found;
}

Rows chosen(const Rows& rows, const auto& fits) {
  Rows out;
  std::ranges::copy_if(rows, std::back_inserter(out), [&](const Row* r) { return fits(*r); });
  return out;
}

// Returns the fastest choice of the parent rung; by default the nearest given rung before it on its ladder.
const Row* rung_before(const Rows& rows, const Row& of) {
  const Variant& mine = *of.variant;
  const Variant* nearest = nullptr;
  for (const Row* row : rows) {
    const Variant& its = *row->variant;
    if (its.baseline || its.ladder != mine.ladder) continue;
    if (mine.parent ? its.name != *mine.parent : its.place >= mine.place) continue;
    if (nearest == nullptr || its.place >= nearest->place) nearest = &its;
  }
  return fastest(chosen(rows, [nearest](const Row& r) { return r.variant == nearest; }));
}

void fill_ratios(std::vector<Row>& rows, const std::string& versus, Mode mode) {
  const auto serial =
      std::ranges::find_if(rows, [mode](const Row& r) { return r.serial && r.mode == mode && r.counts(); });
  for (Row& row : rows) {
    if (!row.counts() || row.mode != mode) continue;
    const auto over = [&row](const Row& to) {
      return &to == &row ? 1 : judged_ratio(samples_of(to), samples_of(row));
    };
    if (serial != rows.end()) row.ratio_serial = over(*serial);
    if (const Row* baseline = fastest_baseline(rows, row, versus)) row.ratio_baseline = over(*baseline);
    if (row.variant->baseline) continue;
    Rows others;
    for (const Row& other : rows)
      if (other.counts() && other.mode == mode && label_of(other.device) == label_of(row.device))
        others.push_back(&other);
    if (const Row* before = rung_before(others, row)) {
      row.previous = before->variant->name;
      row.ratio_previous = over(*before);
    }
  }
}

}  // namespace

void fill_ratios(std::vector<Row>& rows, const std::string& versus) {
  for (const Mode mode : {Mode::burst, Mode::sustained}) fill_ratios(rows, versus, mode);
}

std::string_view name_of(Mode mode) { return mode == Mode::burst ? "burst" : "sustained"; }

std::string label_of(const Device& device) {
  const bool part = device.where != Where::cuda && device.threads != host_threads();
  return device.label() + (part ? ":threads=" + std::to_string(device.threads) : "");
}

// --- Summary and warnings ---

namespace {

constexpr double noisy_spread = 0.05, wandering_clock = 0.05, above_the_roof = 1.02;
constexpr std::size_t few_samples = 5;

std::string than(const Row& of, const Row& to) {
  const Verdict verdict = judge(samples_of(to), samples_of(of));
  if (verdict.change == Change::ambiguous)
    return fmt::format("faster or slower than {}: the samples do not tell ({})", to.variant->name,
                       verdict.why);
  const Ratio ratio = ratio_of(summarize(of.seconds), summarize(to.seconds));
  return fmt::format("{:.2f} ± {:.2f} times {} {}", ratio.value, ratio.error,
                     ratio.value >= 1 ? "faster than" : "as fast as", to.variant->name);
}

std::string sentence(const Rows& rows) {
  const Row* best = fastest(chosen(rows, [](const Row& r) { return !r.variant->baseline; }));
  if (best == nullptr) return {};
  const Row* before = rung_before(rows, *best);
  const Row* baseline = fastest(chosen(rows, [](const Row& r) { return r.variant->baseline; }));
  if (before == nullptr && baseline == nullptr) return {};
  std::string out = best->variant->name + " ran ";
  if (before != nullptr) out += than(*best, *before);
  if (baseline != nullptr) out += (before != nullptr ? ", " : "") + than(*best, *baseline);
  return out +
         fmt::format(" on {}{}.", label_of(best->device), best->mode == Mode::burst ? "" : ", sustained");
}

std::string who(const Row& row) {
  return row.variant->name + (row.tuning.empty() ? "" : " " + to_string(row.tuning)) + " on " +
         label_of(row.device) + (row.mode == Mode::burst ? "" : ", sustained");
}

// Warns once for all rows, because they have one cause.
void warn_of_spread(const std::vector<Row>& rows, std::vector<std::string>& out) {
  const Row* worst = nullptr;
  int count = 0;
  for (const Row& row : rows) {
    if (row.seconds.size() < few_samples || summarize(row.seconds).spread() <= noisy_spread) continue;
    ++count;
    if (worst == nullptr || summarize(row.seconds).spread() > summarize(worst->seconds).spread())
      worst = &row;
  }
  if (worst == nullptr) return;
  const double spread = 100 * summarize(worst->seconds).spread();
  const std::string others =
      count == 1 ? "" : fmt::format(" (and {} others by more than {:.0f} %)", count - 1, 100 * noisy_spread);
  out.push_back(
      fmt::format("{}: its samples spread by ±{:.0f} %{}: close what else uses the machine, or measure "
                  "longer with --time",
                  who(*worst), spread, others));
}

void warn_of_others(const std::vector<Row>& rows, std::vector<std::string>& out) {
  const Row* worst = nullptr;
  for (const Row& row : rows)
    if (row.device.where != Where::cuda && row.other_load.value_or(0) > quiet_load &&
        (worst == nullptr || *row.other_load > *worst->other_load))
      worst = &row;
  if (worst != nullptr)
    out.push_back(fmt::format(
        "other programs took {:.0f} % of the processors meanwhile: times are too long, and "
        "compare judges only differences beyond that; --processes 5 repeats them in fresh processes",
        100 * *worst->other_load));
}

// Warns once for all rows, because a sweep over tunings would repeat it.
void warn_of_launches(const std::vector<Row>& rows, std::vector<std::string>& out) {
  const auto exposed = [](const Row& row) { return row.exposed && !row.seconds.empty(); };
  const auto first = std::ranges::find_if(rows, exposed);
  if (first == rows.end()) return;
  const auto others = std::ranges::count_if(rows, exposed) - 1;
  out.push_back(
      fmt::format("{}{}: it waits for the device itself, so its time holds its launches: compare it with "
                  "others measured with --profile",
                  who(*first), others == 0 ? "" : fmt::format(" (and {} more)", others)));
}

void warn_of_clock(const Row& row, std::vector<std::string>& out) {
  if (row.throttled > 0)
    out.push_back(
        fmt::format("{}: {} samples were dropped because the clock had fallen: let the device cool, "
                    "or measure with --sustained what it holds",
                    who(row), row.throttled));
  if (row.clocks_mhz.size() < few_samples) return;
  const Summary clock = summarize(row.clocks_mhz);
  if (clock.spread() > wandering_clock)
    out.push_back(
        fmt::format("{}: its clock wandered by ±{:.0f} % around {:.0f} MHz: compare cycles, or measure with "
                    "--sustained",
                    who(row), 100 * clock.spread(), clock.median));
}

// True if at least one baseline on this kind of device was measured.
bool has_baseline(const std::vector<Row>& rows, Where where) {
  return std::ranges::any_of(
      rows, [where](const Row& r) { return r.variant->baseline && r.counts() && r.device.where == where; });
}

void warn_of(const Row& row, bool has_baseline, std::vector<std::string>& out) {
  if (row.seconds.empty()) {
    if (row.variant->baseline && row.reason && !has_baseline) {
      const bool is_missing = row.variant->unsupported_device && row.variant->unsupported_device(row.device);
      out.push_back(fmt::format("{}: no baseline: {}{}", who(row), *row.reason,
                                is_missing ? "; make baselines installs libraries that are missing" : ""));
    }
    return;
  }
  warn_of_clock(row, out);
  if (const auto roofline = row.roofline(); roofline && roofline->fraction > above_the_roof)
    out.push_back(fmt::format("{}: {:.0f} % of the measured {} ceiling: {}", who(row),
                              100 * roofline->fraction, roofline->memory ? "memory" : "arithmetic",
                              roofline->memory
                                  ? "its data stayed in a cache (--cold flushes it)"
                                  : "the ceiling was measured on a busy device (tessera devices --measure)"));
}

// Warns of missing values. CPUs never report power; a GPU should.
void warn_of_unavailable(const std::vector<Row>& rows, std::vector<std::string>& out) {
  const auto silent = std::ranges::find_if(rows, [](const Row& r) {
    return r.device.where == Where::cuda && !r.seconds.empty() && r.powers_w.empty();
  });
  if (silent == rows.end()) return;
  if (const std::string why = backend_of(silent->device).unavailable_reason(silent->device); !why.empty())
    out.push_back(fmt::format("{}: power and energy are n/a: {}", label_of(silent->device), why));
}

void warn_of_earlier(const std::vector<Row>& rows, std::vector<std::string>& out) {
  const auto kept = [](const Row& r) { return !r.kept_from.empty(); };
  const auto count = std::ranges::count_if(rows, kept);
  if (count == 0 || count == std::ssize(rows)) return;
  out.push_back(
      fmt::format("{} rows are of {}: ratios to the others are not of one run; measure without --resume for "
                  "those",
                  count, std::ranges::find_if(rows, kept)->kept_from));
}

void warn_of_few(const std::vector<Row>& rows, std::vector<std::string>& out) {
  const auto few = [](const Row& r) { return !r.seconds.empty() && r.seconds.size() < few_samples; };
  const auto count = std::ranges::count_if(rows, few);
  if (count == 0) return;
  out.push_back(fmt::format("{} has only {} sample{}{}: give it more with --time or --reps",
                            who(*std::ranges::find_if(rows, few)),
                            std::ranges::find_if(rows, few)->seconds.size(),
                            std::ranges::find_if(rows, few)->seconds.size() == 1 ? "" : "s",
                            count == 1   ? ""
                            : count == 2 ? ", and another has as few"
                                         : fmt::format(", and {} others have as few", count - 1)));
}

}  // namespace

// Takes each spread as one standard error.
Ratio ratio_of(const Summary& of, const Summary& to) {
  const double value = to.median / of.median;
  return {value, value * std::hypot(of.spread(), to.spread())};
}

std::vector<std::string> summary_of(const std::vector<Row>& rows) {
  std::vector<std::string> out;
  Rows left;
  for (const Row& row : rows)
    if (row.counts()) left.push_back(&row);
  while (!left.empty()) {
    const Row& first = *left.front();
    const auto together = [&first](const Row& r) {
      return r.mode == first.mode && label_of(r.device) == label_of(first.device);
    };
    if (std::string text = sentence(chosen(left, together)); !text.empty()) out.push_back(std::move(text));
    left = chosen(left, [&](const Row& r) { return !together(r); });
  }
  return out;
}

std::vector<std::string> warnings(const std::vector<Row>& rows) {
  std::vector<std::string> out;
  warn_of_unavailable(rows, out);
  warn_of_earlier(rows, out);
  for (const Row& row : rows) warn_of(row, has_baseline(rows, row.device.where), out);
  warn_of_spread(rows, out);
  warn_of_others(rows, out);
  warn_of_launches(rows, out);
  warn_of_few(rows, out);
  return out;
}

std::vector<std::string> build_warnings() {
  if (this_build().optimised) return {};
  return {"this program was built without optimisation: configure with -DCMAKE_BUILD_TYPE=Release"};
}

}  // namespace tessera::bench
