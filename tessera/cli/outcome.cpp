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
#include "tessera/cli/select.hpp"
#include "tessera/run/verify.hpp"

namespace tessera::cli {
namespace {

using Kind = Parameter::Kind;

// What is no array: outputs of a single value, then what is reported besides, in the order of the signature.
using Named = std::vector<std::pair<std::string, std::variant<float, double, std::int64_t, std::string>>>;

Named named_values(const Operation& operation, const Arguments& arguments, const Values& values) {
  Named out;
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

// An estimate whose error is not finite is no estimate.
bool lacks_value(const Values& values) {
  const auto error = values.find("error");
  const double* const number = error == values.end() ? nullptr : std::get_if<double>(&error->second);
  return number != nullptr && !std::isfinite(*number);
}

// Whether arrays go to the device and back: then a round trip is more than the computation.
bool is_copied_to(const Device& device) { return !backend_of(device).shares_host_memory(); }

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
  if (lacks_value(values)) {
    const auto reason = values.find("reason");
    const std::string* const text =
        reason == values.end() ? nullptr : std::get_if<std::string>(&reason->second);
    return fmt::print(to, "no value: {}\n", text == nullptr ? "no error could be estimated" : *text);
  }
  const Named named = named_values(operation, arguments, values);
  std::size_t width = 0;
  for (const auto& [name, value] : named) width = std::max(width, name.size());
  for (const auto& [name, value] : named)
    std::visit([&, &n = name](const auto& v) { fmt::print(to, "{:<{}}  {}\n", n, width, unsigned_nan(v)); },
               value);
  if (!named.empty()) fmt::print(to, "\n");
}

void add_values(nlohmann::ordered_json& to, const Operation& operation, const Arguments& arguments,
                const Values& values) {
  const Named named = named_values(operation, arguments, values);
  if (named.empty()) return;
  auto& object = to["values"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : named) std::visit([&, &n = name](const auto& v) { object[n] = v; }, value);
  if (!lacks_value(values)) return;
  for (const Parameter* p : operation.signature.of(Kind::output))
    if (p->extents.empty()) object[p->name] = nullptr;
}

nlohmann::ordered_json json_of(const Command& command, const Operation& operation, const Arguments& arguments,
                               const Outcome& outcome, const FileTimes& files) {
  nlohmann::ordered_json out{{"schema", 1}, {"kind", "run"}, {"operation", operation.name}};
  out.update(bench::provenance(command.argv, bench::now_utc()));
  out["dims"] = arguments.dims();
  out["element"] = operation.element_name(arguments);
  auto& given = out["arguments"] = nlohmann::ordered_json::object();
  for (const Parameter& p : operation.signature.parameters)
    if (const auto found = arguments.words().find(p.name); found != arguments.words().end())
      given[p.name] = found->second;
  out["ladder"] = outcome.plan.variant->ladder;
  out["variant"] = outcome.plan.variant->name;
  out["tuning"] = bench::to_json(outcome.plan.tuning);
  out["tuned"] = outcome.plan.tuned;
  out["device"] = bench::to_json(outcome.plan.device);
  const auto optional = [](double seconds, bool there) {
    return there ? nlohmann::ordered_json(seconds) : nlohmann::ordered_json(nullptr);
  };
  out["seconds"] = {{"read", optional(files.read, files.read > 0)},
                    {"kernel", outcome.kernel_seconds},
                    {"round_trip", optional(outcome.round_trip_seconds, is_copied_to(outcome.plan.device))},
                    {"write", optional(files.write, files.write > 0)}};
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

// The first run of a program is cold: threads start, kernels are loaded, memory is touched first.
void print(std::FILE* to, const Operation& operation, const Arguments& arguments, const Outcome& outcome,
           const FileTimes& files) {
  print_values(to, operation, arguments, outcome.values);
  if (lacks_value(outcome.values)) return;
  using Align = report::Table::Align;
  report::Table table({{"variant", Align::left},
                       {"tuning", Align::left, true},
                       {"device", Align::left},
                       {"read", Align::right, true},
                       {"compute (cold)"},
                       {"round trip", Align::right, true},
                       {"write", Align::right, true},
                       {"GFLOP/s", Align::right, true}});
  const Device& device = outcome.plan.device;
  const double flops = operation.flops ? operation.flops(arguments) : 0;
  const auto time = [](double seconds, bool there) { return there ? report::seconds(seconds) : ""; };
  table.add(
      {full_name(*outcome.plan.variant), to_string(outcome.plan.tuning),
       bench::label_of(device) + (device.where == Where::simt ? " (executor wall time)" : ""),
       time(files.read, files.read > 0), report::seconds(outcome.kernel_seconds),
       time(outcome.round_trip_seconds, is_copied_to(device)), time(files.write, files.write > 0),
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
