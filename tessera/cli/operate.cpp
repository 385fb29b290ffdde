// SPDX-License-Identifier: Apache-2.0
// `tessera OPERATION ARRAYS… -o OUT`: from files to a file. The flags come from the signature.
#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <cmath>
#include "tessera/cli/command.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/cli/study.hpp"
#include "tessera/cli/terminal.hpp"
#include "tessera/cli/words.hpp"
#include "tessera/io/atomic_file.hpp"
#include "tessera/io/npy.hpp"
#include "tessera/lab/machine.hpp"
#include "tessera/lab/result.hpp"
#include "tessera/report/table.hpp"
#include "tessera/run/run.hpp"

namespace tessera::cli {
namespace {

using Kind = Parameter::Kind;

struct Options {
  std::vector<std::string> positionals, outputs;
  std::string device = "auto", variant, tuning, element, json, study;
  bool check = false, no_cache = false;
  std::map<std::string, std::string> flags;  // by the parameter's name; empty: not given
};

std::string type_of(const Parameter& p) {
  switch (p.kind) {
    case Kind::input:
      return "FILE";
    case Kind::real:
      return "NUMBER";
    case Kind::integer:
      return "WHOLE_NUMBER";
    default:
      break;
  }
  std::string out;
  for (const auto& option : p.options) out += (out.empty() ? "" : "|") + option;
  return out.empty() ? "TEXT" : out;
}

std::string about(const Operation& operation) {
  std::string out = operation.summary + "\n", arrays, others;
  std::size_t array_width = 6;
  for (const Parameter& p : operation.signature.parameters)
    if (!p.is_flag() && p.is_array() && !p.extents.empty())
      array_width = std::max(array_width, p.name.size() + 2);
  for (const Parameter& p : operation.signature.parameters) {
    if (p.is_flag()) continue;
    std::string& to = p.is_array() && !p.extents.empty() ? arrays : others;
    to += fmt::format("  {:<{}}{}{}\n", p.name, p.is_array() && !p.extents.empty() ? array_width : 12, p.help,
                      p.kind == Kind::output  ? " (output)"
                      : p.kind == Kind::value ? " (told)"
                                              : "");
  }
  if (!others.empty()) out += "\n" + others;
  if (!arrays.empty()) out += "\nArrays (.npy files)\n" + arrays;
  out += "\nElements:";
  for (const Element element : operation.elements) out += " " + std::string(name_of(element));
  return out;
}

void declare(Words& words, const Operation& operation, Options& options) {
  words.positionals("ARRAYS", options.positionals, "");
  if (!operation.signature.positional_texts().empty()) words.expressions();
  words.values("-o,--output", options.outputs, "where an output goes; once for each; - is standard output",
               "FILE");
  for (const Parameter& p : operation.signature.parameters)
    if (p.is_flag())
      words.value("--" + p.flag(), options.flags[p.name],
                  p.help + (p.value.empty() ? "" : " [" + p.value + "]"), type_of(p));
  words.value("--device,--devices", options.device, "auto, cpu, simt or cuda[:N]; cpu:threads=N [auto]",
              "WHERE");
  words.value("--variant", options.variant, "the rung to use; tessera list shows them", "NAME");
  words.value("--tuning", options.tuning, "its parameters", "NAME=N,…");
  const bool files = !operation.signature.of(Kind::input).empty();
  const bool needed = std::ranges::any_of(operation.signature.of(Kind::input),
                                          [](const Parameter* p) { return !p->optional; });
  const std::string usual(name_of(operation.elements.front()));
  words.value("--element", options.element,
              needed  ? "the arrays' type [that of the first file]"
              : files ? "the type of the result, and of files [that of the first file, else " + usual + "]"
                      : "the type of the result [" + usual + "]",
              "TYPE");
  words.flag("--check", options.check, "verify the result; a wrong one is not written");
  if (const std::string known = studies_text(operation); !known.empty())
    words.value("--study", options.study, "instead of one run, tables that explain: " + known, "NAME");
  words.flag("--no-cache", options.no_cache, "leave aside what `tune` has found");
  words.value("--json", options.json, "what was done, as JSON; - is standard output", "FILE");
  words.closing(exit_codes);
}

Error missing(const Operation& operation, const std::string& what) {
  return Error(what + " is missing; usage: tessera " + operation.name + " " + operation.signature.usage());
}

// The words without a flag, by the parameters that they are for, in the order of the signature.
std::map<std::string, std::string> places_of(const Operation& operation, const Options& options) {
  std::map<std::string, std::string> out;
  std::size_t next = 0;
  for (const Parameter& p : operation.signature.parameters) {
    const bool file = p.kind == Kind::input && !p.optional;
    if (!file && !p.positional) continue;
    if (next == options.positionals.size())
      throw missing(operation, (file ? "the file for " : "the ") + p.name);
    out[p.name] = options.positionals[next++];
  }
  for (const Parameter& p : operation.signature.parameters)
    for (; p.rest && next < options.positionals.size(); ++next)
      out[p.name] += (out[p.name].empty() ? "" : " ") + options.positionals[next];
  if (next < options.positionals.size())
    throw Error("'" + options.positionals[next] + "' is one " +
                (operation.signature.of(Kind::input).empty() ? "word" : "file") + " too many");
  return out;
}

Arguments::Words words_of(const Operation& operation, const Options& options,
                          const std::map<std::string, std::string>& places) {
  Arguments::Words words;
  for (const Parameter& p : operation.signature.parameters)
    if (p.is_flag() && !p.is_array() && !options.flags.at(p.name).empty())
      words[p.name] = options.flags.at(p.name);
  for (const Parameter* p : operation.signature.positional_texts())
    if (const auto found = places.find(p->name); found != places.end()) words[p->name] = found->second;
  return words;
}

// A file that came by a flag is told with it: "--x" may have been meant for a formula.
Array read_input(const Parameter& p, const std::string& file, std::optional<Element> as) {
  try {
    return npy::read(file, as);
  } catch (const Error& error) {
    if (!p.is_flag()) throw;
    throw Error(error.kind(), "--" + p.flag() + " " + error.what());
  }
}

std::map<std::string, Array> read_inputs(const Operation& operation, const Options& options,
                                         const std::map<std::string, std::string>& places) {
  std::optional<Element> element;
  if (!options.element.empty()) element = element_named(operation, options.element);
  // The first file settles what follows from the operation's element; a type that was not asked for is
  // better refused by name later, beside the other arrays.
  std::optional<Element> first = element;
  const Arguments::Words words = words_of(operation, options, places);
  std::map<std::string, Array> out;
  for (const Parameter* p : operation.signature.of(Kind::input)) {
    const std::string& file = p->is_flag() ? options.flags.at(p->name) : places.at(p->name);
    if (file.empty()) continue;
    std::optional<Element> as = p->element ? p->element : element;
    if (p->element_from && first && (element || p->element_with(*first, words) != *first))
      as = p->element_with(*first, words);
    const auto [read, _] = out.emplace(p->name, read_input(*p, file, as));
    if (!first && !p->element) first = read->second.element();
  }
  return out;
}

Arguments arguments_of(const Operation& operation, const Options& options,
                       const std::map<std::string, std::string>& places,
                       const std::map<std::string, Array>& arrays) {
  std::map<std::string, ArrayView> views;
  std::optional<Element> first;
  for (const Parameter* p : operation.signature.of(Kind::input))
    if (const auto found = arrays.find(p->name); found != arrays.end()) {
      views.emplace(p->name, found->second.view());
      if (!first && !p->element) first = found->second.element();
    }
  const std::string name = first ? std::string(name_of(*first)) : "";
  return {operation.signature, element_named(operation, options.element.empty() ? name : options.element),
          std::move(views), words_of(operation, options, places)};
}

Request request_of(const Operation& operation, const Options& options) {
  Request request;
  request.device = options.device;
  request.cached = !options.no_cache;
  if (options.device == "all" || options.device.find(',') != std::string::npos)
    throw Error("'" + options.device +
                "' may be several devices; an operation runs on one (verify and bench take lists)");
  if (!options.variant.empty()) {
    const auto named = variants_named(operation, options.variant);
    request.variant = named.front()->name;
    // A ladder's name may say where: then only that is meant.
    const bool one_place =
        std::ranges::all_of(named, [&](const Variant* v) { return v->where == named.front()->where; });
    if (options.device == "auto" && one_place) request.device = std::string(name_of(named.front()->where));
    if (const auto where = parse_where(request.device.substr(0, request.device.find(':'))))
      (void)variant_on(named, *where);
  }
  if (!options.tuning.empty()) request.tuning = parse_tuning(options.tuning);
  return request;
}

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

nlohmann::ordered_json json_of(const Command& command, const Operation& operation, const Arguments& arguments,
                               const Outcome& outcome) {
  nlohmann::ordered_json out{{"schema", 1}, {"kind", "run"}, {"operation", operation.name}};
  out.update(lab::provenance(command.argv, lab::now_utc()));
  out["dims"] = arguments.dims();
  out["element"] = operation.element_name(arguments);
  auto& asked = out["arguments"] = nlohmann::ordered_json::object();
  for (const Parameter& p : operation.signature.parameters)
    if (const auto found = arguments.words().find(p.name); found != arguments.words().end())
      asked[p.name] = found->second;
  out["ladder"] = outcome.plan.variant->ladder;
  out["variant"] = outcome.plan.variant->name;
  out["tuning"] = lab::to_json(outcome.plan.tuning);
  out["tuned"] = outcome.plan.tuned;
  out["device"] = lab::to_json(outcome.plan.device);
  out["seconds"] = {{"kernel", outcome.kernel_seconds}, {"round_trip", outcome.round_trip_seconds}};
  const Told told = told_of(operation, arguments, outcome.values);
  if (!told.empty()) {
    auto& values = out["values"] = nlohmann::ordered_json::object();
    for (const auto& [name, value] : told) std::visit([&](const auto& v) { values[name] = v; }, value);
  }
  out["check"] = nullptr;
  if (const auto& verdict = outcome.verdict)
    out["check"] = {
        {"passed", verdict->passed},
        {"method", verdict->method},
        {"error_over_bound",
         std::isfinite(verdict->largest_ratio) ? nlohmann::ordered_json(verdict->largest_ratio) : nullptr},
        {"relative_l2", verdict->norm_error ? nlohmann::ordered_json(*verdict->norm_error) : nullptr}};
  return out;
}

void print(std::FILE* to, const Operation& operation, const Arguments& arguments, const Outcome& outcome) {
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
       lab::label_of(device) + (device.where == Where::simt ? " (executor wall time)" : ""),
       report::seconds(outcome.kernel_seconds), report::seconds(outcome.round_trip_seconds),
       flops > 0 && outcome.kernel_seconds > 0 ? report::number(flops / outcome.kernel_seconds * 1e-9) : ""});
  fmt::print(to, "{}", table.text());
  if (outcome.plan.tuned) fmt::print(to, "as tune has found; --no-cache leaves that aside\n");
  if (outcome.verdict) {
    const std::string text = describe(*outcome.verdict);
    fmt::print(to, "{}{}", text, text.ends_with('\n') ? "" : "\n");
  }
}

constexpr const char* standard_output = "-";

// Where tables go; what stands in the way of writing the outputs is told before they are computed.
std::FILE* stream_of(const Options& options) {
  std::FILE* to = table_stream(options.json);
  for (const std::string& output : options.outputs) {
    if (output != standard_output) {
      demand_writable(output);
      continue;
    }
    if (to == stderr) throw Error("standard output can take one thing: -o - or --json -");
    if (isatty(STDOUT_FILENO) != 0) throw Error("-o - would write an array to the terminal");
    to = stderr;
  }
  return to;
}

void write(const std::string& output, const ArrayView& view) {
  if (output == standard_output) npy::write(STDOUT_FILENO, "standard output", view);
  else npy::write(output, view);
}

void write_outputs(std::FILE* to, const Operation& operation, const Options& options,
                   const Arguments& arguments) {
  const auto outputs = operation.signature.of(Kind::output);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ArrayView& view = arguments.array(outputs[i]->name);
    if (i >= options.outputs.size() && outputs[i]->extents.empty()) continue;  // it has been printed
    const std::string what =
        outputs[i]->name + ": " + to_string(view.extents) + " of " + std::string(name_of(view.element));
    if (i < options.outputs.size()) write(options.outputs[i], view);
    if (i < options.outputs.size()) fmt::print(to, "{}, written to {}\n", what, options.outputs[i]);
    else fmt::print(to, "{}; nothing was written: -o FILE writes it\n", what);
  }
}

// Of operations that work to a tolerance: they tell a reason, which is "converged" where it was reached, and
// begins with "as asked" where none was set.
bool falls_short(const Values& values) {
  const auto found = values.find("reason");
  if (found == values.end()) return false;
  const std::string& reason = std::get<std::string>(found->second);
  return reason != "converged" && !reason.starts_with("as asked");
}

}  // namespace

int operate(const Operation& operation, const Command& command) {
  Options options;
  Words words(operation.name,
              "tessera " + operation.name + " " + operation.signature.usage() + " [-o FILE] [FLAGS]",
              about(operation));
  declare(words, operation, options);
  if (!words.read(command.words)) return fmt::print("{}\n", words.help()), exit_code::passed;
  end_on_interrupt();
  if (options.outputs.size() > operation.signature.of(Kind::output).size())
    throw Error("-o " + options.outputs.back() + " is one output too many");
  std::FILE* const to = stream_of(options);
  const Request request = request_of(operation, options);
  const auto places = places_of(operation, options);
  const auto arrays = read_inputs(operation, options, places);
  Arguments arguments = arguments_of(operation, options, places, arrays);
  if (!options.study.empty())
    return study(operation, options.study, arguments, request, options.json, command);
  const Outcome outcome = run(operation, arguments, request, options.check);
  print_values(to, operation, arguments, outcome.values);
  print(to, operation, arguments, outcome);
  write_json(options.json, json_of(command, operation, arguments, outcome));
  if (outcome.verdict && !outcome.verdict->passed) return exit_code::wrong;
  write_outputs(to, operation, options, arguments);
  if (falls_short(outcome.values)) return exit_code::short_of_tolerance;
  return exit_code::passed;
}

}  // namespace tessera::cli
