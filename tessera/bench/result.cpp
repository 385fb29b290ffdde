// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/result.hpp"
#include <algorithm>

namespace tessera::bench {
namespace {

const Row* fastest_baseline(const std::vector<Row>& rows, const Row& of, const std::string& versus) {
  const Row* best = nullptr;
  for (const Row& row : rows) {
    const bool named = versus.empty() ? row.variant->baseline
                                      : row.variant->name == versus ||
                                            row.variant->ladder + "/" + row.variant->name == versus;
    // A baseline of another device is no opponent unless it is asked for.
    if (!named || !row.counts() || row.mode != of.mode ||
        (versus.empty() && label_of(row.device) != label_of(of.device)))
      continue;
    if (best == nullptr || row.median() < best->median()) best = &row;
  }
  return best;
}

}  // namespace

std::optional<double> Row::gflops() const {
  if (!counts() || flops == 0) return std::nullopt;
  return flops / median() * 1e-9;
}

std::optional<double> Row::gbps() const {
  if (!counts() || bytes == 0) return std::nullopt;
  return bytes / median() * 1e-9;
}

// A run cannot take less time than its arithmetic, nor less than its bytes. On processors the loop of
// multiply-adds measured beside the samples is the better witness: it saw the same clock.
std::optional<Roofline> Row::roofline() const {
  if (!counts() || !ceilings.bytes_per_second) return std::nullopt;
  // Multiply-adds of the plain element say nothing of another arithmetic.
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

void fill_ratios(std::vector<Row>& rows, const std::string& versus, Mode mode) {
  const auto serial =
      std::ranges::find_if(rows, [mode](const Row& r) { return r.serial && r.mode == mode && r.counts(); });
  struct Rung {
    const Variant* variant = nullptr;
    std::string device;
    double fastest = 0;
  };
  Rung current, previous;
  for (Row& row : rows) {
    if (!row.counts() || row.mode != mode) continue;
    const double median = row.median();
    if (serial != rows.end()) row.ratio_serial = serial->median() / median;
    if (const Row* baseline = fastest_baseline(rows, row, versus))
      row.ratio_baseline = baseline->median() / median;
    if (row.variant->baseline) continue;
    if (current.variant != row.variant || current.device != label_of(row.device)) {
      previous = current;
      current = {row.variant, label_of(row.device), median};
    }
    current.fastest = std::min(current.fastest, median);
    if (previous.variant != nullptr && previous.variant->ladder == row.variant->ladder &&
        previous.device == current.device)
      row.ratio_previous = previous.fastest / median;
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

}  // namespace tessera::bench
