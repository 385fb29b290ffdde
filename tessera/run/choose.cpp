// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/choose.hpp"
#include <algorithm>
#include <cstdlib>
#include "tessera/core/suggest.hpp"
#include "tessera/run/enqueue.hpp"
#include "tessera/run/known_tunings.hpp"
#include "tessera/run/place.hpp"
#include "tessera/run/tuned.hpp"

namespace tessera {
namespace {

bool is_usable(Where where) {
  Backend* backend = find_backend(where);
  return backend != nullptr && !backend->devices().empty();
}

bool has_variant(const Operation& operation, const std::optional<std::string>& name, Where where) {
  return std::ranges::any_of(ladder_of(operation.name), [&](const Variant* v) {
    return v->where == where && (name ? v->name == *name : !v->baseline);
  });
}

// Whether a GPU finishes sooner although its arrays must travel. The figures are deliberately rough
// and on the GPU's conservative side: what decides is the ratio of arithmetic to bytes, and between
// the two extremes, either choice is good.
bool transfer_pays(const Operation& operation, const Arguments& arguments, const Device& cpu,
                   const Device& gpu) {
  constexpr double bus_bytes = 10e9, start_seconds = 50e-6;  // a PCIe 4 bus, launches and waiting
  constexpr double gpu_flops = 128 * 2 * 1.4e9 * 0.5;        // of one multiprocessor: 128 lanes, half used
  constexpr double cpu_flops = 16 * 2 * 2.5e9, cpu_bytes = 20e9;  // of one core: two 256-bit units, one fused
  const double flops = operation.flops(arguments), bytes = operation.bytes(arguments);
  const double there = start_seconds + bytes / bus_bytes + flops / (gpu_flops * gpu.processors);
  const double here = std::max(bytes / cpu_bytes, flops / (cpu_flops * cpu.threads));
  return there < here;
}

// Whether a Plan can run the arguments, by where they lie now.
using Refusing = Reason (*)(const Plan&, const Arguments&);

Reason refuses_in_place(const Plan& plan, const Arguments& there) {
  return plan.variant->refuses(*plan.choice, there, plan.tuning, plan.device);
}

// The first choice that fits the tuning and accepts the arguments; or why none does.
Reason settle(Plan& plan, const Variant& variant, const Arguments& arguments, const Request& request,
              Refusing refusing) {
  Reason first_reason;
  const Element element = arguments.element();
  const auto computes = [element](const Choice& c) { return c.run.contains(element); };
  const bool computed = std::ranges::any_of(variant.choices, computes);
  for (const Choice& choice : variant.choices) {
    if (request.tuning && computed && !computes(choice)) continue;  // its tuning is another element's
    Tuning tuning = choice.defaults();
    if (request.tuning) {
      if (!choice.allows(*request.tuning)) continue;
      for (const auto& [name, value] : *request.tuning) tuning.set(name, value);
    }
    const Plan tried{&variant, &choice, std::move(tuning), plan.device};
    const Reason reason = refusing(tried, arguments);
    if (!reason) {
      plan = tried;
      return std::nullopt;
    }
    if (!first_reason) first_reason = reason;
  }
  if (first_reason) return first_reason;
  return no_choice_with(variant, request.tuning.value_or(Tuning{}), element);
}

// Why `name` is no rung of this device's ladder.
Error unknown_variant(const std::string& name, const Operation& operation, const Device& device) {
  for (const Variant* v : ladder_of(operation.name))
    if (v->name == name)
      return Error("the variant " + name + " runs on " + std::string(name_of(v->where)) + ", not on " +
                   device.label());
  for (const CatalogueEntry& entry : catalogue())
    if (entry.operation == operation.name && entry.name == name && !entry.absent.empty())
      return Error(Error::Kind::no_device, "the variant " + name + " is not here: " + entry.absent);
  std::vector<std::string> names;
  for (const Variant* v : ladder_of(operation.name)) names.push_back(v->name);
  for (const CatalogueEntry& entry : catalogue())
    if (entry.operation == operation.name) names.push_back(entry.name);
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return Error("no variant of " + operation.name + " is called '" + name + "'" + suggestion(name, names));
}

bool may_use_cache(const Request& request) {
  const char* no = std::getenv("TESSERA_NO_CACHE");
  const bool forbidden = no != nullptr && std::string_view(no) != "" && std::string_view(no) != "0";
  return request.cached && !forbidden && !request.variant && !request.tuning;
}

Plan chosen_on(const Device& device, const Operation& operation, const Arguments& arguments,
               const Request& request, Refusing refusing) {
  if (may_use_cache(request))
    if (auto found = tuned_plan(tuning_file(), device, operation, arguments, refusing)) return *found;
  Plan plan;
  plan.device = device;
  auto ladder = ladder_of(operation.name);
  std::erase_if(ladder, [&](const Variant* v) {
    return v->where != device.where || (request.variant ? v->name != *request.variant : v->baseline);
  });
  if (ladder.empty() && request.variant) throw unknown_variant(*request.variant, operation, device);
  std::ranges::stable_sort(ladder, std::ranges::greater{}, &Variant::place);
  Reason highest;
  for (const Variant* variant : ladder) {
    const Reason reason = settle(plan, *variant, arguments, request, refusing);
    if (!reason) return plan;
    if (!highest) highest = variant->name + ": " + *reason;
  }
  throw Error("no variant of " + operation.name + " can compute this on " + device.label() +
              (highest ? "; " + *highest : std::string(": this build has none")));
}

}  // namespace

Reason refuses(const Plan& plan, const Arguments& host) {
  return plan.variant->refuses(*plan.choice, as_placed(host, plan.device), plan.tuning, plan.device);
}

Device choose_device(const Operation& operation, const Arguments& arguments, const Request& request) {
  if (request.device != "auto") return find_device(request.device);
  const bool on_cpu = has_variant(operation, request.variant, Where::cpu);
  const bool on_gpu = is_usable(Where::cuda) && has_variant(operation, request.variant, Where::cuda);
  if (on_cpu && on_gpu) {
    const Device cpu = find_device("cpu"), gpu = find_device("cuda");
    return transfer_pays(operation, arguments, cpu, gpu) ? gpu : cpu;
  }
  if (on_gpu) return find_device("cuda");
  // The executor is for looking at kernels: naming a kernel that nothing else here can run asks for it.
  if (!on_cpu && request.variant && is_usable(Where::simt) &&
      has_variant(operation, request.variant, Where::simt))
    return find_device("simt");
  return find_device("cpu");
}

// What a GPU's start and the compilation of a formula take is spent on trying without: together that is at
// most twice the time of whichever would have been right. By work, not by the clock, so that on one machine
// the same call gives the same bits.
std::optional<Relief> choose_relief(const Plan& chosen, const Operation& operation,
                                    const Arguments& arguments, const Request& request) {
  constexpr double start_seconds = 0.25,
                   core_per_second = 1e9;  // on an H200's host; of a formula's operators
  if (request.device != "auto" || request.variant || request.tuning || chosen.device.where != Where::cpu)
    return std::nullopt;
  if (!is_usable(Where::cuda) || !has_variant(operation, std::nullopt, Where::cuda)) return std::nullopt;
  if (operation.flops(arguments) != 0) return std::nullopt;
  try {
    return Relief{choose_on(find_device("cuda"), operation, arguments, request),
                  start_seconds * core_per_second * chosen.device.threads};
  } catch (const Error&) {  // none of its variants is for these arguments
    return std::nullopt;
  }
}

Plan choose(const Operation& operation, const Arguments& arguments, const Request& request) {
  return choose_on(choose_device(operation, arguments, request), operation, arguments, request);
}

Plan choose_on(const Device& device, const Operation& operation, const Arguments& arguments,
               const Request& request) {
  return chosen_on(device, operation, arguments, request, refuses);
}

Plan choose_in_place(const Device& device, const Operation& operation, const Arguments& there,
                     const Request& request) {
  return chosen_on(device, operation, there, request, refuses_in_place);
}

}  // namespace tessera
