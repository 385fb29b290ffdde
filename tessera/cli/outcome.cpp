// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/outcome.hpp"
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <cmath>
#include <limits>
#include <variant>
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/report/table.hpp"
#include "tessera/run/verify.hpp"

namespace tessera::cli {
namespace {

using Kind = Parameter::Kind;

// What is no array: outputs of a single value, then what is told besides, in the order of the signature.
using Told = std::vector<std::pair<std::string, std::variant<float, double, std::int64_t, std::string>>>;

Told told_of(const Operation& operation, const Arguments& arguments, const Values& values) {
  Told out;
  for (const Parameter& p : operation.signature.parameters) {
    if (p.kind == Kind::output && p.extents.empty()) {
      const ArrayView& view = arguments.array(p.name);
      const double value = load_as_double(view.element, view.data);
      if (view.element == Element::f32) out.emplace_back(p.name, static_cast<float>(value));
      else out.emplace_back(p.name, value);
    }
    const auto found = values.find(p.name);
    if (p.kind == Kind::value && found != values.end())
      std::visit([&](const auto& v) { out.emplace_back(p.name, v); }, found->second);
  }
  return out;
}

// Every digit that tells a number from its neighbours.
// The sign of a NaN says nothing of the result.
template <class T>
const T& unsigned_nan(const T& value) {
  if constexpr (std::is_same_v<T, double>) {
    static constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    if (std::isnan(value)) return nan;
  }
  return value;
}

}  // namespace

void print_values(std::FILE* to, const Operation& operation, const Arguments& arguments,
                  const Values& values) {
  const Told told = told_of(operation, arguments, values);
  std::size_t width = 0;
  for (const auto& [name, value] : told) width = std::max(width, name.size());
  for (const auto& [name, value] : told)
    std::visit([&, &n = name](const auto& v) { fmt::print(to, "{:<{}}  {}\n", n, width, unsigned_nan(v)); },
               value);
  if (!told.empty()) fmt::print(to, "\n");
}

void add_values(nlohmann::ordered_json& to, const Operation& operation, const Arguments& arguments,
                const Values& values) {
  const Told told = told_of(operation, arguments, values);
  if (told.empty()) return;
  auto& named = to["values"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : told) std::visit([&, &n = name](const auto& v) { named[n] = v; }, value);
}

nlohmann::ordered_json json_of(const Command& command, const Operation& operation, const Arguments& arguments,
                               const Outcome& outcome) {
  nlohmann::ordered_json out{{"schema", 1}, {"kind", "run"}, {"operation", operation.name}};
  out.update(bench::provenance(command.argv, bench::now_utc()));
  out["dims"] = arguments.dims();
  out["element"] = operation.element_name(arguments);
  auto& asked = out["arguments"] = nlohmann::ordered_json::object();
  for (const Parameter& p : operation.signature.parameters)
    if (const auto found = arguments.words().find(p.name); found != arguments.words().end())
      asked[p.name] = found->second;
  out["ladder"] = outcome.plan.variant->ladder;
  out["variant"] = outcome.plan.variant->name;
  out["tuning"] = bench::to_json(outcome.plan.tuning);
  out["tuned"] = outcome.plan.tuned;
  out["device"] = bench::to_json(outcome.plan.device);
  out["seconds"] = {{"kernel", outcome.kernel_seconds}, {"round_trip", outcome.round_trip_seconds}};
  add_values(out, operation, arguments, outcome.values);
  out["check"] = outcome.verdict ? json_of(*outcome.verdict) : nlohmann::ordered_json(nullptr);
  return out;
}

nlohmann::ordered_json json_of(const Verdict& verdict) {
  return {{"passed", verdict.passed},
          {"method", verdict.method},
          {"error_over_bound",
           std::isfinite(verdict.largest_ratio) ? nlohmann::ordered_json(verdict.largest_ratio) : nullptr},
          {"relative_l2", verdict.norm_error ? nlohmann::ordered_json(*verdict.norm_error) : nullptr}};
}

void print(std::FILE* to, const Operation& operation, const Arguments& arguments, const Outcome& outcome) {
  print_values(to, operation, arguments, outcome.values);
  using Align = report::Table::Align;
  report::Table table({{"variant", Align::left},
                       {"tuning", Align::left},
                       {"device", Align::left},
                       {"kernel time"},
                       {"round trip"},
                       {"GFLOP/s"}});
  const Device& device = outcome.plan.device;
  const double flops = operation.flops ? operation.flops(arguments) : 0;
  const std::string tuning = to_string(outcome.plan.tuning);
  table.add(
      {outcome.plan.variant->ladder + "/" + outcome.plan.variant->name, tuning.empty() ? "-" : tuning,
       bench::label_of(device) + (device.where == Where::simt ? " (executor wall time)" : ""),
       report::seconds(outcome.kernel_seconds), report::seconds(outcome.round_trip_seconds),
       flops > 0 && outcome.kernel_seconds > 0 ? report::number(flops / outcome.kernel_seconds * 1e-9) : ""});
  fmt::print(to, "{}", table.text());
  if (outcome.plan.tuned)
    fmt::print(to,
               "chosen because an earlier `tessera tune` chose it for sizes like these; --no-cache leaves "
               "that aside\n");
  if (outcome.verdict) {
    const std::string text = describe(*outcome.verdict);
    fmt::print(to, "{}{}", text, text.ends_with('\n') ? "" : "\n");
  }
}

}  // namespace tessera::cli
