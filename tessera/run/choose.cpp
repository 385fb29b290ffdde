// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/choose.hpp"
#include <algorithm>
#include <cstdlib>
#include "tessera/core/operation/promise.hpp"
#include "tessera/core/text/suggest.hpp"
#include "tessera/run/heuristics.hpp"
#include "tessera/run/place.hpp"
#include "tessera/run/tuned.hpp"
#include <optional>
#include "tessera/core/text/expression.hpp"
#include "tessera/core/device/device.hpp"
#include <map>
#include <set>

namespace tessera {
namespace {

// Tuning parameters of several choices, both those fixed at compile time and those left to the run.
struct TuningParameters {
  std::vector<std::string> names;
  std::map<std::string, std::set<int>> fixed;

  void add(const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
};

TuningParameters parameters_of(const std::vector<const Choice*>& choices) {
  TuningParameters out;
  for (const Choice* choice : choices) {
    for (const auto& [name, value] : choice->tuning) {
      out.add(name);
      out.fixed[name].insert(value);
    }
    for (const Range& range : choice->ranges) out.add(range.name);
  }
  return out;
}

std::string first_choices(const std::vector<const Choice*>& choices) {
  constexpr std::size_t most = 4;
  std::string out;
  for (std::size_t i = 0; i < std::min(most, choices.size()); ++i)
    out += (i == 0 ? "" : "; ") + to_string(choices[i]->defaults());
  return choices.size() > most ? out + "; …" : out;
}

// Returns the part of the message that lists what is available. If every value exists but not in this
// combination, lists the first few valid combinations.
std::string alternatives(const std::vector<const Choice*>& choices, const Tuning& wanted) {
  const TuningParameters known = parameters_of(choices);
  if (known.names.empty()) return "; it takes no tuning";
  std::string out;
  for (const auto& [name, value] : wanted) {
    if (std::ranges::find(known.names, name) == known.names.end())
      return ": '" + name + "' is none of its parameters" + suggestion(name, known.names);
    const auto fixed = known.fixed.find(name);
    if (fixed == known.fixed.end() || fixed->second.contains(value)) continue;
    out += (out.empty() ? "; it has " : "; ") + name + "=";
    for (const int allowed : fixed->second)
      out += (allowed == *fixed->second.begin() ? "" : ", ") + std::to_string(allowed);
  }
  return out.empty() ? "; it has " + first_choices(choices) : out;
}

}  // namespace

std::string no_choice_with(const Variant& variant, const Tuning& wanted, std::optional<Element> element) {
  std::vector<const Choice*> choices;
  for (const Choice& choice : variant.choices)
    if (!element || choice.prepare.contains(*element)) choices.push_back(&choice);
  if (element && choices.empty()) return "does not compute " + std::string(name_of(*element));
  const bool another = element && variant.find(wanted) != nullptr;  // compiled for another element type
  return "has no choice with " + to_string(wanted) +
         (another ? " for " + std::string(name_of(*element)) : "") + alternatives(choices, wanted);
}

namespace {

struct DeviceWords {
  Where where;
  int index = 0;
  std::optional<int> threads;
  std::string part = {};  // multiprocessors of a GPU: "44" or "44-131"
};

// `what` names the number in messages, `whole` is the whole word.
int whole_number(const std::string& word, const std::string& what, const std::string& whole, int least) {
  constexpr int most = 1 << 20;
  std::optional<std::int64_t> value;
  try {
    value = evaluate(word);
  } catch (const Error&) {  // its message is about expressions, which the user did not type
  }
  if (!value || *value < least || *value > most)
    throw Error("--device " + whole + ": " + what + " needs a whole number from " + std::to_string(least) +
                (word.empty() ? "" : ", not '" + word + "'"));
  return static_cast<int>(*value);
}

// Parses "cuda:1", "cuda:1:sms=44", "cpu:threads=2".
DeviceWords parse_device(const std::string& word) {
  const std::size_t colon = word.find(':');
  const std::string name = word.substr(0, colon);
  const auto where = parse_where(name);
  if (!where)
    throw Error("no device is called '" + name + "'" + suggestion(name, {"auto", "cpu", "simt", "cuda"}));
  DeviceWords out{*where, 0, {}};
  if (colon == std::string::npos) return out;
  std::string rest = word.substr(colon + 1);
  const std::string threads = "threads=", part = ":sms=";
  if (const auto at = rest.find(part); *where == Where::cuda && at != std::string::npos) {
    out.part = rest.substr(at + part.size());
    if (out.part.empty())
      throw Error("--device " + word + " names no multiprocessors: write sms=44 or sms=44-131");
    rest.resize(at);
  }
  if (*where == Where::cuda) out.index = whole_number(rest, name + ":", word, 0);
  else if (rest.starts_with(threads))
    out.threads = whole_number(rest.substr(threads.size()), threads, word, 1);
  else throw Error("'" + word + "' is not a device: write " + name + ":threads=NUMBER");
  return out;
}

// Returns a part of a GPU. "44": the first 44 multiprocessors; "44-131": multiprocessors 44 to 131.
Device named_part(const Device& gpu, const std::string& words, const std::string& whole) {
  const std::size_t dash = words.find('-');
  const std::string what = "sms=";
  if (dash == std::string::npos) return as_part(gpu, 0, whole_number(words, what, whole, 1));
  const int first = whole_number(words.substr(0, dash), what, whole, 0);
  return as_part(gpu, first, whole_number(words.substr(dash + 1), what, whole, first) - first + 1);
}

Error no_device(const std::string& label, const std::string& reason) {
  return Error(Error::Kind::no_device, label + " cannot be used: " + reason);
}

}  // namespace

Device find_device(const std::string& word) {
  const DeviceWords words = parse_device(word);
  Backend* backend = find_backend(words.where);
  if (backend == nullptr)
    throw no_device(word.starts_with("gpu") ? "cuda" + word.substr(3) : word,
                    words.where == Where::cuda ? "this build has no CUDA; simt runs kernels without a GPU"
                                               : "this build lacks it");
  const auto& devices = backend->devices();
  if (devices.empty()) throw no_device(word, backend->unusable());
  const auto index = static_cast<std::size_t>(words.index);
  if (index >= devices.size())
    throw no_device(word, "there " + std::string(devices.size() == 1 ? "is" : "are") + " only " +
                              std::to_string(devices.size()));
  Device device = devices[index];
  constexpr int most_per_processor = 16;
  if (words.threads && *words.threads / most_per_processor > host_threads())
    throw Error("--device " + word + ": this machine has " + std::to_string(host_threads()) + " processors");
  if (words.threads) device.threads = *words.threads;
  return words.part.empty() ? device : named_part(device, words.part, word);
}

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

// True if a GPU finishes sooner, transfers included. The figures are deliberately rough and on the GPU's
// conservative side: the ratio of arithmetic to bytes decides, and between the two extremes either choice is
// good.
bool transfer_pays(const Operation& operation, const Arguments& arguments, const Device& cpu,
                   const Device& gpu) {
  constexpr double bus_bytes = 10e9, start_seconds = 50e-6;       // a PCIe 4 bus, launches and waiting
  constexpr double gpu_flops = 128 * 2 * 1.4e9 * 0.5;             // per multiprocessor: 128 lanes, half used
  constexpr double cpu_flops = 16 * 2 * 2.5e9, cpu_bytes = 20e9;  // per core: two 256-bit units, one fused
  const double flops = operation.flops(arguments), bytes = operation.bytes(arguments);
  const double gpu_time = start_seconds + bytes / bus_bytes + flops / (gpu_flops * gpu.multiprocessors);
  const double cpu_time = std::max(bytes / cpu_bytes, flops / (cpu_flops * cpu.threads));
  return gpu_time < cpu_time;
}

// Sets the plan to the first choice that fits the tuning and accepts the arguments, or returns why none does.
Reason prepare_plan(Plan& plan, const Variant& variant, const Arguments& device_arguments,
                    const Request& request) {
  Reason first_reason;
  const Element element = device_arguments.element();
  const auto computes = [element](const Choice& c) { return c.prepare.contains(element); };
  const bool computed = std::ranges::any_of(variant.choices, computes);
  for (const Choice& choice : variant.choices) {
    if (request.tuning && computed && !computes(choice)) continue;  // its tuning is of another element type
    Tuning tuning = choice.defaults();
    if (request.tuning) {
      if (!choice.allows(*request.tuning)) continue;
      for (const auto& [name, value] : *request.tuning) tuning.set(name, value);
    }
    const Plan tried{&variant, &choice, std::move(tuning), plan.device};
    const Reason reason = refuses_in_place(tried, device_arguments);
    if (!reason) {
      plan = tried;
      return std::nullopt;
    }
    if (!first_reason) first_reason = reason;
  }
  if (first_reason) return first_reason;
  return no_choice_with(variant, request.tuning.value_or(Tuning{}), element);
}

// Explains why `name` is not a rung of this device's ladder.
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
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return Error("no variant of " + operation.name + " is called '" + name + "'" + suggestion(name, names));
}

bool may_use_cache(const Request& request) {
  const char* no = std::getenv("TESSERA_NO_CACHE");
  const bool forbidden = no != nullptr && *no != '\0' && std::string_view(no) != "0";
  return request.cached && !forbidden && !request.variant && !request.tuning;
}

// Returns the device's rungs, highest place first: the requested variant's, or all but baselines.
std::vector<const Variant*> rungs_of(const Device& device, const Operation& operation,
                                     const Request& request) {
  auto out = ladder_of(operation.name);
  std::erase_if(out, [&](const Variant* v) {
    return v->where != device.where || (request.variant ? v->name != *request.variant : v->baseline);
  });
  if (out.empty() && request.variant) throw unknown_variant(*request.variant, operation, device);
  std::ranges::stable_sort(out, std::ranges::greater{}, &Variant::place);
  return out;
}

// True if a finding may be taken. One of other sizes may name another rung, whose bits differ: where the
// arguments ask for a promise, a finding sets the tuning only.
bool may_be_taken(const Plan& found, const Operation& operation, const Arguments& device_arguments,
                  Request request) {
  if (requested_promise(operation.name, device_arguments).empty()) return true;
  request.cached = false;
  return choose_in_place(found.device, operation, device_arguments, request).variant == found.variant;
}

}  // namespace

Plan choose_in_place(const Device& device, const Operation& operation, const Arguments& device_arguments,
                     const Request& request) {
  if (operation.check) operation.check(device_arguments);
  if (may_use_cache(request))
    if (auto found = tuned_plan(tuning_file(), device, operation, device_arguments))
      if (may_be_taken(*found, operation, device_arguments, request)) return *found;
  Plan plan;
  plan.device = device;
  Reason highest;
  bool highest_computes = false;
  std::optional<Plan> slower;  // the first one held back, taken if no other variant computes this
  for (const Variant* variant : rungs_of(device, operation, request)) {
    const Reason reason = prepare_plan(plan, *variant, device_arguments, request);
    if (!reason) {
      if (request.variant || !held_back(*variant, device_arguments, device)) return plan;
      if (!slower) slower = plan;
      continue;
    }
    // The reason of a rung that has the element type tells more than a missing element type.
    const bool computes = std::ranges::any_of(variant->choices, [&](const Choice& choice) {
      return choice.prepare.contains(device_arguments.element());
    });
    if (!highest || (computes && !highest_computes)) {
      highest = variant->name + ": " + *reason;
      highest_computes = computes;
    }
  }
  if (slower) return *slower;
  throw Error("no variant of " + operation.name + " can compute this on " + device.label() +
              (highest ? "; " + *highest : std::string(": this build has none")));
}

std::vector<Considered> consider(const Device& device, const Operation& operation,
                                 const Arguments& device_arguments) {
  std::vector<Considered> out;
  Plan plan;
  plan.device = device;
  for (const Variant* variant : rungs_of(device, operation, {})) {
    Considered& one =
        out.emplace_back(Considered{variant, prepare_plan(plan, *variant, device_arguments, {}), {}});
    if (!one.cannot) one.slower = held_back(*variant, device_arguments, device);
  }
  if (std::ranges::none_of(out, [](const Considered& one) { return !one.cannot; })) return out;
  const Plan taken = choose_in_place(device, operation, device_arguments, {});
  auto own = std::ranges::find(out, taken.variant, &Considered::variant);
  if (own == out.end()) own = out.insert(out.end(), Considered{taken.variant, {}, {}});
  own->taken = true;
  own->tuned = taken.tuned;
  return out;
}

Plan Plan::without_names() const {
  Plan out;
  out.variant = variant;
  out.choice = choice;
  if (!tuning.empty()) out.tuning = tuning;
  out.tuned = tuned;
  out.device.where = device.where;
  out.device.index = device.index;
  out.device.threads = device.threads;
  out.device.multiprocessors = device.multiprocessors;
  out.device.memory_bytes = device.memory_bytes;
  out.device.cache_bytes = device.cache_bytes;
  return out;
}

Reason refuses_in_place(const Plan& plan, const Arguments& device_arguments) {
  return plan.variant->refuses(*plan.choice, device_arguments, plan.tuning, plan.device);
}

Reason refuses(const Plan& plan, const Arguments& host) {
  return refuses_in_place(plan, placed_arguments(host, plan.device));
}

Device choose_device(const Operation& operation, const Arguments& arguments, const Request& request) {
  if (request.device != "auto") return find_device(request.device);
  const bool on_cpu = has_variant(operation, request.variant, Where::cpu);
  const bool on_gpu = is_usable(Where::cuda) && has_variant(operation, request.variant, Where::cuda);
  if (on_cpu && on_gpu) {
    const Device cpu = find_device("cpu"), gpu = find_device("cuda");
    if (!requested_promise(operation.name, arguments).empty()) return gpu;  // for any sizes
    return transfer_pays(operation, arguments, cpu, gpu) ? gpu : cpu;
  }
  if (on_gpu) return find_device("cuda");
  // The executor is for inspecting kernels: only naming a kernel that nothing else here can run selects it.
  if (!on_cpu && request.variant && is_usable(Where::simt) &&
      has_variant(operation, request.variant, Where::simt))
    return find_device("simt");
  return find_device("cpu");
}

// The CPU tries first for as long as a GPU's start and the compilation of a formula take, so the total is at
// most twice the time of the right choice. The budget counts work, not time, so that the same call on one
// machine gives bitwise identical results.
std::optional<Fallback> choose_fallback(const Plan& chosen, const Operation& operation,
                                        const Arguments& arguments, const Request& request) {
  constexpr double start_seconds = 0.25,
                   core_per_second = 1e9;  // formula operators per second, on an H200's host
  if (request.device != "auto" || request.variant || request.tuning || chosen.device.where != Where::cpu)
    return std::nullopt;
  if (!is_usable(Where::cuda) || !has_variant(operation, std::nullopt, Where::cuda)) return std::nullopt;
  if (operation.flops(arguments) != 0) return std::nullopt;
  try {
    return Fallback{choose_on(find_device("cuda"), operation, arguments, request),
                    start_seconds * core_per_second * chosen.device.threads};
  } catch (const Error&) {  // no variant of the GPU accepts these arguments
    return std::nullopt;
  }
}

Plan choose(const Operation& operation, const Arguments& arguments, const Request& request) {
  return choose_on(choose_device(operation, arguments, request), operation, arguments, request);
}

Plan choose_on(const Device& device, const Operation& operation, const Arguments& arguments,
               const Request& request) {
  return choose_in_place(device, operation, placed_arguments(arguments, device), request);
}

}  // namespace tessera
