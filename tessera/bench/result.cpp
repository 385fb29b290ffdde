// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/result.hpp"
#include <nlohmann/json.hpp>
#include <algorithm>
#include <cmath>
#include "tessera/bench/machine.hpp"

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

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_samples = 1000;

// JSON has no NaN and no infinity: what is not a number is missing.
Json number(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}
Json numbers(const std::vector<std::optional<double>>& values) {
  std::vector<double> all;
  for (const auto& value : values) all.push_back(value.value_or(std::nan("")));
  Json out = Json::array();
  for (const double value : thinned(all, most_samples)) out.push_back(number(value));
  return out;
}
Json text(const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); }

// What built the kernels for GPUs; nothing: this build has none.
Json cuda_of(const Build& build) {
  if (build.cuda_compiler.empty()) return nullptr;
  return {{"compiler", build.cuda_compiler},
          {"architectures", build.cuda_architectures},
          {"flags", build.cuda_flags}};
}

const char* word_for(Verified verified) {
  switch (verified) {
    case Verified::ok:
      return "ok";
    case Verified::wrong:
      return "wrong";
    case Verified::unchecked:
      break;
  }
  return "unchecked";
}

}  // namespace

Json to_json(const Row& row) {
  Json out{{"dims", row.dims},
           {"element", row.element_name()},
           {"mode", std::string(name_of(row.mode))},
           {"ladder", row.variant->ladder},
           {"place", row.variant->place},
           {"variant", row.variant->name},
           {"tuning", bench::to_json(row.tuning)},
           {"device", label_of(row.device)},
           {"threads", row.device.threads},
           {"baseline", row.variant->baseline},
           {"serial", row.serial}};
  if (!row.words.empty()) out["words"] = row.words;
  if (!row.optional_inputs.empty()) out["optional_inputs"] = row.optional_inputs;
  if (!row.seconds.empty()) {
    const Summary summary = summarize(row.seconds);
    out["seconds"] = thinned(row.seconds, most_samples);
    out["samples"] = summary.count;
    out["median"] = summary.median;
    out["q1"] = summary.q1;
    out["q3"] = summary.q3;
    out["minimum"] = summary.minimum;
  }
  if (!row.clocks_mhz.empty()) out["clocks_mhz"] = thinned(row.clocks_mhz, most_samples);
  if (!row.powers_w.empty()) out["powers_w"] = numbers(row.powers_w);
  out["launches"] = row.launches;
  if (row.sets > 0) out["sets"] = row.sets;
  out["throttled"] = row.throttled;
  out["clock_mhz"] = number(row.clock_mhz());
  out["power_w"] = number(row.power_w());
  out["joules"] = number(row.joules);
  out["picojoules_per_flop"] = number(row.picojoules_per_flop());
  out["round_trip"] = number(row.round_trip);
  out["flops"] = number(row.flops);
  out["bytes"] = number(row.bytes);
  out["gflops"] = number(row.gflops());
  out["gbps"] = number(row.gbps());
  const auto roofline = row.roofline();
  out["roofline"] = roofline ? number(roofline->fraction) : Json(nullptr);
  out["ceiling"] = roofline ? Json(roofline->memory ? "memory" : "arithmetic") : Json(nullptr);
  out["fma_fraction"] = number(row.fma_fraction());
  out["fma_rate"] = row.fma_rates.empty() ? Json(nullptr) : number(summarize(row.fma_rates).median);
  out["ratio_serial"] = number(row.ratio_serial);
  out["ratio_previous"] = number(row.ratio_previous);
  out["ratio_baseline"] = number(row.ratio_baseline);
  out["verified"] = word_for(row.verified);
  out["method"] = text(row.method);
  out["error_over_bound"] = number(row.error_over_bound);
  out["relative_l2"] = number(row.relative_l2);
  if (!row.harm.empty()) out["harm"] = row.harm;
  if (row.exposed) out["exposed"] = true;
  if (!row.kept_from.empty()) out["kept_from"] = row.kept_from;
  if (row.reason) out["reason"] = *row.reason;
  if (row.estimate) out["estimated_seconds"] = number(row.estimate);
  return out;
}

Json to_json(const Tuning& tuning) {
  Json out = Json::object();
  for (const auto& [name, value] : tuning) out[name] = value;
  return out;
}

Json to_json(const Device& device) {
  return {{"label", label_of(device)},
          {"name", device.name},
          {"threads", device.threads},
          {"processors", device.processors},
          {"memory_bytes", device.memory_bytes},
          {"cache_bytes", device.cache_bytes},
          {"compute_capability", device.compute_capability},
          {"driver", text(device.driver)}};
}

Json provenance(const std::vector<std::string>& argv, const std::string& date) {
  const Machine machine = this_machine();
  const Build build = this_build();
  return {{"date", date},
          {"argv", argv},
          {"version", text(build.version)},
          {"git", text(build.git)},
          {"compiler", build.compiler},
          {"flags", text(build.flags)},
          {"cuda", cuda_of(build)},
          {"machine",
           {{"processor", machine.processor},
            {"system", machine.system},
            {"threads", machine.threads},
            {"memory_bytes", machine.memory_bytes}}}};
}

Json to_json(const Ceilings& ceilings) {
  Json out{{"memory_gbps", Json(nullptr)}, {"gflops", Json::object()}};
  if (ceilings.bytes_per_second) out["memory_gbps"] = number(*ceilings.bytes_per_second * 1e-9);
  for (const auto& [element, rate] : ceilings.flops_per_second)
    out["gflops"][std::string(tessera::name_of(element))] = number(rate * 1e-9);
  return out;
}

Json to_json(const Session& session) {
  Json out{{"schema", 1}, {"kind", "bench"}, {"operation", session.operation}};
  out.update(provenance(session.argv, session.date));
  out["seed"] = session.seed;
  out["distribution"] = session.distribution;
  out["caches"] = session.caches;
  out["launches"] = session.launches;
  out["devices"] = Json::array();
  std::vector<std::string> seen;
  for (const Row& row : session.rows)
    if (std::ranges::find(seen, label_of(row.device)) == seen.end()) {
      seen.push_back(label_of(row.device));
      out["devices"].push_back(to_json(row.device));
      if (!row.ceilings.empty()) out["devices"].back()["ceilings"] = to_json(row.ceilings);
    }
  out["rows"] = Json::array();
  for (const Row& row : session.rows) out["rows"].push_back(to_json(row));
  return out;
}

}  // namespace tessera::bench
