// SPDX-License-Identifier: Apache-2.0
#include "tessera/lab/result.hpp"
#include <nlohmann/json.hpp>
#include <algorithm>
#include <cmath>
#include "tessera/lab/machine.hpp"

namespace tessera::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_samples = 200;

// JSON has no NaN and no infinity: what is not a number is missing.
Json number(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}
Json text(const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); }

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

Json row_json(const Row& row) {
  Json out{{"dims", row.dims},
           {"element", std::string(tessera::name_of(row.element))},
           {"ladder", row.variant->ladder},
           {"place", row.variant->place},
           {"variant", row.variant->name},
           {"tuning", lab::to_json(row.tuning)},
           {"device", label_of(row.device)},
           {"threads", row.device.threads},
           {"yardstick", row.variant->yardstick},
           {"serial", row.serial}};
  if (!row.seconds.empty()) {
    const Summary summary = summarize(row.seconds);
    out["seconds"] = thinned(row.seconds, most_samples);
    out["samples"] = summary.count;
    out["median"] = summary.median;
    out["q1"] = summary.q1;
    out["q3"] = summary.q3;
    out["minimum"] = summary.minimum;
  }
  out["round_trip"] = number(row.round_trip);
  out["gflops"] = number(row.gflops());
  out["fma_fraction"] = number(row.fma_fraction());
  out["ratio_serial"] = number(row.ratio_serial);
  out["ratio_previous"] = number(row.ratio_previous);
  out["ratio_yardstick"] = number(row.ratio_yardstick);
  out["verified"] = word_for(row.verified);
  out["method"] = text(row.method);
  out["error_over_bound"] = number(row.error_over_bound);
  out["relative_l2"] = number(row.relative_l2);
  if (row.reason) out["reason"] = *row.reason;
  if (row.estimate) out["estimated_seconds"] = number(row.estimate);
  return out;
}

const Row* fastest_yardstick(const std::vector<Row>& rows, const Row& of, const std::string& versus) {
  const Row* best = nullptr;
  for (const Row& row : rows) {
    const bool named = versus.empty() ? row.variant->yardstick
                                      : row.variant->name == versus ||
                                            row.variant->ladder + "/" + row.variant->name == versus;
    // A yardstick of another device is no opponent unless it is asked for.
    if (!named || !row.counts() || (versus.empty() && label_of(row.device) != label_of(of.device))) continue;
    if (best == nullptr || row.median() < best->median()) best = &row;
  }
  return best;
}

}  // namespace

std::optional<double> Row::gflops() const {
  if (!counts() || flops == 0) return std::nullopt;
  return flops / median() * 1e-9;
}

std::optional<double> Row::fma_fraction() const {
  if (!gflops() || fma_rates.empty()) return std::nullopt;
  return *gflops() * 1e9 / summarize(fma_rates).median;
}

void fill_ratios(std::vector<Row>& rows, const std::string& versus) {
  const auto serial = std::ranges::find_if(rows, [](const Row& r) { return r.serial && r.counts(); });
  struct Rung {
    const Variant* variant = nullptr;
    std::string device;
    double fastest = 0;
  };
  Rung current, previous;
  for (Row& row : rows) {
    if (!row.counts()) continue;
    const double median = row.median();
    if (serial != rows.end()) row.ratio_serial = serial->median() / median;
    if (const Row* yardstick = fastest_yardstick(rows, row, versus))
      row.ratio_yardstick = yardstick->median() / median;
    if (row.variant->yardstick) continue;
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

std::string label_of(const Device& device) {
  const bool part = device.where != Where::cuda && device.threads != host_threads();
  return device.label() + (part ? ":threads=" + std::to_string(device.threads) : "");
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
          {"machine",
           {{"processor", machine.processor},
            {"system", machine.system},
            {"threads", machine.threads},
            {"memory_bytes", machine.memory_bytes}}}};
}

Json to_json(const Session& session) {
  Json out{{"schema", 1}, {"kind", "bench"}, {"operation", session.operation}};
  out.update(provenance(session.argv, session.date));
  out["seed"] = session.seed;
  out["distribution"] = session.distribution;
  out["caches"] = session.caches;
  out["devices"] = Json::array();
  std::vector<std::string> seen;
  for (const Row& row : session.rows)
    if (std::ranges::find(seen, label_of(row.device)) == seen.end()) {
      seen.push_back(label_of(row.device));
      out["devices"].push_back(to_json(row.device));
    }
  out["rows"] = Json::array();
  for (const Row& row : session.rows) out["rows"].push_back(row_json(row));
  return out;
}

}  // namespace tessera::lab
