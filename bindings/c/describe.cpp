// SPDX-License-Identifier: Apache-2.0
// Operations, devices, outcomes and choices as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>
#include "bindings/c/handle.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/run/typed_call.hpp"

namespace tessera::c {
namespace {

using Json = nlohmann::ordered_json;
using Kind = Parameter::Kind;

const char* name_of(Kind kind) {
  constexpr const char* names[] = {"input", "output", "real", "integer", "text", "choice", "value"};
  return names[static_cast<int>(kind)];
}

Json json_of(const Parameter& p) {
  Json out{{"name", p.name}, {"kind", name_of(p.kind)}, {"help", without_flags(p.help)}};
  if (p.is_array()) out["extents"] = p.extents;
  if (p.kind == Kind::input) out["optional"] = p.optional;
  if (p.picture != Picture::no) out["picture"] = p.picture == Picture::colour ? "colour" : "whole";
  if (p.is_array() || p.kind == Kind::value) return out;
  out["default"] = p.value;
  if (p.kind == Kind::choice) out["options"] = p.options;
  if (p.positional || p.rest) out["positional"] = true;
  const Parameter none;
  if (p.minimum != none.minimum) out["minimum"] = p.minimum;
  if (p.maximum != none.maximum) out["maximum"] = p.maximum;
  return out;
}

// NaN and infinities are null.
Json json_of(const Values& values) {
  Json out = Json::object();
  for (const auto& [name, value] : values) std::visit([&, &n = name](const auto& v) { out[n] = v; }, value);
  return out;
}

Json optional_text(const Reason& reason) { return reason ? Json(*reason) : Json(nullptr); }

// Returns the largest bound of the output's first row; null: the arrays have no data here.
Json bound_of(const Operation& operation, const PlannedCall& planned) {
  const Arguments& arguments = planned.arguments();
  if (planned.on_gpu() || !operation.reference || arguments.array(operation.output).count() == 0)
    return nullptr;
  for (const Parameter* p : operation.signature.of(Kind::input))
    if (arguments.has(p->name) && arguments.array(p->name).data == nullptr) return nullptr;
  const std::int64_t rows[] = {0};
  Expected expected;
  operation.reference(arguments, rows, Data::any, expected);
  return expected.bound.empty() ? Json(nullptr) : Json(*std::ranges::max_element(expected.bound));
}

}  // namespace

std::string operations_as_json() {
  Json out = Json::array();
  for (const Operation& operation : operations()) {
    Json parameters = Json::array(), elements = Json::array();
    for (const Parameter& p : operation.signature.parameters) parameters.push_back(json_of(p));
    for (const Element element : operation.elements) elements.push_back(tessera::name_of(element));
    out.push_back({{"name", operation.name},
                   {"summary", operation.summary},
                   {"elements", elements},
                   {"output", operation.output},
                   {"usage", operation.signature.usage()},
                   {"parameters", parameters}});
  }
  return out.dump();
}

std::string devices_as_json() {
  Json out = Json::array();
  for (const Where where : {Where::cpu, Where::simt, Where::cuda})
    if (Backend* const backend = find_backend(where))
      for (const Device& device : backend->devices()) out.push_back(bench::to_json(device));
  return out.dump();
}

std::string outcome_as_json(const Operation& operation, const Arguments* arguments, const Outcome& outcome) {
  Json out{{"operation", operation.name}, {"values", json_of(outcome.values)}};
  for (const auto& [name, array] : outcome.outputs)
    if (array.extents().empty()) out["values"][name] = load_as_double(array.element(), array.view().data);
  if (arguments != nullptr) {
    out["dims"] = arguments->dims();
    out["element"] = operation.element_name(*arguments);
    out["arguments"] = arguments->words();
  }
  if (const Variant* const variant = outcome.plan.variant) {
    out["ladder"] = variant->ladder;
    out["variant"] = variant->name;
    out["tuning"] = bench::to_json(outcome.plan.tuning);
    out["tuned"] = outcome.plan.tuned;
    out["device"] = outcome.plan.device.label();
  }
  out["seconds"] = {{"kernel", outcome.kernel_seconds}, {"total", outcome.round_trip_seconds}};
  out["check"] = nullptr;
  if (outcome.verdict)
    out["check"] = {{"passed", outcome.verdict->passed}, {"description", describe(*outcome.verdict)}};
  return out.dump();
}

std::string choice_as_json(const Operation& operation, const PlannedCall& planned) {
  const Plan& plan = planned.plan();
  if (plan.variant == nullptr) throw Error(operation.name + " chooses while it runs");
  Json rungs = Json::array();
  for (const Considered& one : consider(plan.device, operation, planned.arguments()))
    rungs.push_back({{"variant", one.variant->name},
                     {"ladder", one.variant->ladder},
                     {"place", one.variant->place},
                     {"idea", one.variant->idea},
                     {"taken", one.variant == plan.variant},
                     {"tuned", one.tuned},
                     {"cannot", optional_text(one.cannot)},
                     {"slower", optional_text(one.slower)}});
  return Json{{"operation", operation.name},
              {"dims", planned.arguments().dims()},
              {"element", operation.element_name(planned.arguments())},
              {"variant", plan.variant->name},
              {"idea", plan.variant->idea},
              {"device", plan.device.label()},
              {"tuning", bench::to_json(plan.tuning)},
              {"tuned", plan.tuned},
              {"bound", bound_of(operation, planned)},
              {"rungs", rungs}}
      .dump();
}

}  // namespace tessera::c
