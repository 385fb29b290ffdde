// SPDX-License-Identifier: Apache-2.0
// `tessera OPERATION ARRAYS… -o OUT`: from files to a file. The flags come from the signature.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include "tessera/bench/ceilings.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/cli/command.hpp"
#include "tessera/cli/files.hpp"
#include "tessera/cli/option_parser.hpp"
#include "tessera/cli/outcome.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/ranks.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/core/operation/partition.hpp"
#include "tessera/io/atomic_file.hpp"
#include "tessera/io/picture.hpp"
#include "tessera/run/multi_device/dispatch.hpp"
#include "tessera/run/study.hpp"

namespace tessera::cli {
namespace {

using Kind = Parameter::Kind;

// The flags of a call on several devices.
struct DeviceFlags {
  std::string split, memory, timeline, faults, limit, repeat;
  bool protect = false, verbose = false;

  bool shares() const {
    return !split.empty() || !memory.empty() || !faults.empty() || !limit.empty() || !repeat.empty() ||
           protect;
  }
};

struct CallOptions {
  std::vector<std::string> positionals, outputs;
  std::string device = "auto", variant, tuning, element, json, study;
  bool check = false, no_cache = false, distributed = false;
  FileOptions files;
  DeviceFlags sharing;
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
  return p.options.empty() ? "TEXT" : fmt::format("{}", fmt::join(p.options, "|"));
}

// Returns another name if the operation has a parameter of this name.
std::string protect_flag(const Operation& operation) {
  const bool taken = std::ranges::any_of(operation.signature.parameters, [](const Parameter& p) {
    return p.is_flag() && p.flag() == "protect";
  });
  return taken ? "--protect-run" : "--protect";
}

// `in_parts`: devices can share one result; otherwise only many files, a file each. `protect`: the flag's
// name.
void declare(OptionParser& words, DeviceFlags& flags, bool in_parts, const std::string& protect) {
  const std::string part = in_parts ? "part" : "picture";
  words.value("--timeline", flags.timeline, "who copied and computed when, as a trace for a browser", "FILE");
  words.flag(protect, flags.protect,
             "each device in a process of its own, and each " + part +
                 " checked by the processors: a device that dies, hangs or errs loses nothing");
  words.value("--limit", flags.limit, "the longest that a " + part + " may take, protected [300]", "SECONDS");
  words.value("--fault", flags.faults, "kills the device's process amid its first, second, … " + part,
              "kill:DEVICE@PART,…");
  words.value("--split", flags.split,
              std::string(in_parts ? "of the result's rows, or " : "") +
                  "of files, over several devices: dynamic (each takes the next part when it is done) or "
                  "shares [dynamic]",
              "dynamic|A:B:…");
  if (!in_parts) return;
  words.value("--repeat", flags.repeat, "so often, one after another; the median counts [1]", "N");
  words.flag("-v,--verbose", flags.verbose,
             "the time that several GPUs should take, before it is measured; needs what devices --measure "
             "remembers");
  words.value("--memory", flags.memory,
              "the most that a device's part may take there: 500M, 8G [what is free]", "BYTES");
}

MultiDeviceOptions options_of(const DeviceFlags& flags, const std::vector<Device>& devices,
                              const Request& request) {
  MultiDeviceOptions out;
  out.devices = devices;
  out.request = request;
  out.split = parse_split(flags.split);
  if (!flags.memory.empty()) out.memory_bytes = bytes_named("--memory", flags.memory);
  if (!flags.repeat.empty())
    out.repeat = static_cast<std::size_t>(count_named("--repeat", flags.repeat, 1, 1'000'000));
  out.pin = out.repeat > 1;
  out.protect = flags.protect;
  out.faults = parse_faults(flags.faults);
  out.rates = bench::known_links(devices);
  if (flags.verbose)
    out.predicted = [](const Prediction& p) { fmt::print(stderr, "predicted: {}\n", p.text()); };
  if (flags.verbose && !out.rates)
    warn({"no time is predicted: devices --measure --devices LIST has measured no links of these devices"});
  if (!flags.limit.empty()) out.limit_seconds = number_named("--limit", "seconds", flags.limit, 1e-9, 1e6);
  return out;
}

// Returns " [--study precision]" for help; "" where the operation has none.
std::string studies_text(const Operation& operation) {
  std::string out;
  for (const Study* study : studies_of(operation.name))
    out += (out.empty() ? "" : "; ") + study->name + ": " + study->summary;
  return out;
}

bool takes_pictures(const Operation& operation) {
  return std::ranges::any_of(operation.signature.parameters,
                             [](const Parameter& p) { return p.picture != Picture::no; });
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
                      : p.kind == Kind::value ? " (reported)"
                                              : "");
  }
  if (!others.empty()) out += "\n" + others;
  if (!arrays.empty()) out += "\nArrays (.npy files, pictures: PNG, JPEG, TIFF, PGM, PPM, PFM)\n" + arrays;
  out += "\nElements:";
  for (const Element element : operation.elements) out += " " + std::string(name_of(element));
  return out;
}

void declare_parameters(OptionParser& words, const Operation& operation, CallOptions& options) {
  for (const Parameter& p : operation.signature.parameters)
    if (p.is_flag())
      declare_flag(words, p, options.flags[p.name], p.help + (p.value.empty() ? "" : " [" + p.value + "]"),
                   type_of(p));
}

void declare(OptionParser& words, const Operation& operation, CallOptions& options) {
  words.positionals("ARRAYS", options.positionals, "");
  if (!operation.signature.positional_texts().empty()) words.expressions();
  words.values("-o,--output", options.outputs, "where an output goes; once for each; - is standard output",
               "FILE");
  declare_parameters(words, operation, options);
  const bool divisible = find_partition(operation.name) != nullptr || takes_pictures(operation);
  words.value("--device,--devices", options.device,
              std::string("auto, cpu, simt or cuda[:N]; cpu:threads=N") +
                  (divisible ? "; a list of these, or all" : "") + " [auto]",
              "WHERE");
  if (divisible)
    declare(words, options.sharing, find_partition(operation.name) != nullptr, protect_flag(operation));
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
  if (takes_pictures(operation)) {
    words.value("--alpha", options.files.alpha,
                "of pictures: aside (given back to pictures of the same size), channel or drop", "WHAT");
    if (std::ranges::any_of(operation.signature.parameters, is_grid))
      words.value("--tiles", options.files.tiles, "of one picture that holds all of them: 17x17, rows first",
                  "ROWSxCOLS");
    words.value("--most-pixels", options.files.most_pixels, "a larger picture is refused [2^29]", "N");
    words.value("--quality", options.files.quality, "of JPEG files, 1 to 100 [95]", "N");
    words.value("--png-level", options.files.png_level,
                "zlib's level for PNG files, 0 to 9: smaller and slower [a fast one]", "N");
  }
  words.flag("--check", options.check, "verify the result; a wrong one is not written");
  if (const std::string known = studies_text(operation); !known.empty())
    words.value("--study", options.study, "instead of one run, tables that explain: " + known, "NAME");
  if (contraction_of(operation.name) != nullptr)
    words.flag("--distributed", options.distributed,
               "share it with the ranks that mpirun started; as found when there are several");
  words.flag("--no-cache", options.no_cache, "leave aside what `tune` has found");
  words.value("--json", options.json, "what was done, as JSON; - is standard output", "FILE");
}

// Returns the options of one call for each input; a flag that names files gets the input's own.
std::vector<CallOptions> options_for_each(const Operation& operation, const CallOptions& options,
                                          const std::vector<std::string>& inputs,
                                          const std::vector<std::vector<std::string>>& outputs) {
  std::vector<CallOptions> out(inputs.size(), options);
  std::vector<std::string> written;
  for (const auto& of_one : outputs) written.insert(written.end(), of_one.begin(), of_one.end());
  for (const Parameter* p : operation.signature.of(Kind::input)) {
    if (!p->is_flag() || options.flags.at(p->name).empty()) continue;
    const auto files = paired_files(p->flag(), options.flags.at(p->name), inputs);
    const std::string flag = "--" + p->flag();
    for (const std::string& file : std::set<std::string>(files.begin(), files.end()))
      require_files_of_their_own({{flag.c_str(), file}}, {}, written);
    for (std::size_t i = 0; i < inputs.size(); ++i) out[i].flags[p->name] = files[i];
  }
  return out;
}

Error missing(const Operation& operation, const std::string& what) {
  return Error(what + " is missing; usage: tessera " + operation.name + " " + operation.signature.usage());
}

// Returns the positional words by parameter, in the order of the signature.
std::map<std::string, std::string> places_of(const Operation& operation, const CallOptions& options) {
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

Arguments::Words words_of(const Operation& operation, const CallOptions& options,
                          const std::map<std::string, std::string>& positionals) {
  Arguments::Words words;
  for (const Parameter& p : operation.signature.parameters)
    if (p.is_flag() && !p.is_array() && !options.flags.at(p.name).empty())
      words[p.name] = options.flags.at(p.name);
  for (const Parameter* p : operation.signature.positional_texts())
    if (const auto found = positionals.find(p->name); found != positionals.end())
      words[p->name] = found->second;
  return words;
}

// Reads an input. Errors name the flag of a file, because "--x" may have been meant as a formula.
Array read_input(Files& files, const Parameter& p, const std::string& file, std::optional<Element> as) {
  try {
    return files.read(p, file, as);
  } catch (const Error& error) {
    if (!p.is_flag()) throw;
    throw Error(error.kind(), "--" + p.flag() + " " + error.what());
  }
}

std::map<std::string, Array> read_inputs(const Operation& operation, const CallOptions& options, Files& files,
                                         const std::map<std::string, std::string>& positionals) {
  std::optional<Element> element;
  if (!options.element.empty()) element = element_named(operation, options.element);
  // The first file determines all that follows from the operation's element; a type that was not requested is
  // better refused by name later, beside the other arrays.
  std::optional<Element> first = element;
  const Arguments::Words words = words_of(operation, options, positionals);
  std::map<std::string, Array> out;
  for (const Parameter* p : operation.signature.of(Kind::input)) {
    const std::string& file = p->is_flag() ? options.flags.at(p->name) : positionals.at(p->name);
    if (file.empty()) continue;
    std::optional<Element> as = p->element ? p->element : element;
    if (p->element_from && first && (element || p->element_with(*first, words) != *first))
      as = p->element_with(*first, words);
    const auto [read, _] = out.emplace(p->name, read_input(files, *p, file, as));
    if (!first && !p->element) first = read->second.element();
  }
  return out;
}

Arguments arguments_of(const Operation& operation, const CallOptions& options,
                       const std::map<std::string, std::string>& positionals,
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
          std::move(views), words_of(operation, options, positionals)};
}

bool is_shared(const CallOptions& options) {
  return names_several(options.device) || (options.sharing.shares() || !options.sharing.timeline.empty());
}

// `whole`: each device computes entire results, not parts of one.
Request request_of(const Operation& operation, const CallOptions& options, bool whole) {
  Request request;
  request.device = options.device;
  request.cached = !options.no_cache;
  const bool in_parts = is_shared(options) && !whole && find_partition(operation.name) != nullptr;
  if (names_several(options.device) && !whole && !in_parts)
    throw Error("'" + options.device + "' may be several devices; " + operation.name +
                " runs on one (verify and bench take lists)");
  if (!options.variant.empty()) {
    const auto named = variants_named(operation, options.variant);
    request.variant = named.front()->name;
    // A ladder's name may imply a place: then only that place is meant.
    const bool one_place =
        std::ranges::all_of(named, [&](const Variant* v) { return v->where == named.front()->where; });
    if (options.device == "auto" && one_place) request.device = std::string(name_of(named.front()->where));
    if (const auto where = parse_where(request.device.substr(0, request.device.find(':'))))
      (void)variant_on(named, *where);
  }
  if (!options.tuning.empty()) request.tuning = parse_tuning(options.tuning);
  return request;
}

// Replaces {name} in outputs if one file is read.
std::vector<std::string> outputs_after(const Operation& operation, const std::vector<std::string>& outputs,
                                       const std::map<std::string, std::string>& positionals) {
  std::vector<std::string> out = outputs;
  for (const auto& [name, input] : positionals) {
    const Parameter& p = operation.signature.at(name);
    if (p.picture == Picture::no) continue;
    for (std::string& output : out) {
      const std::string named = named_after(output, input);
      if (named != output && is_grid(p) && picture::names_grid(input))
        throw Error("-o " + output + ": " + name + " are many files, none of which {name} could mean");
      output = named;
    }
  }
  return out;
}

// Returns the stream for tables; obstacles to writing the outputs are reported before the computation.
std::FILE* stream_of(const CallOptions& options) {
  std::FILE* to = table_stream(options.json);
  for (const std::string& output : options.outputs) {
    if (output != standard_output) {
      require_writable(output);
      continue;
    }
    if (to == stderr) throw Error("standard output can take one thing: -o - or --json -");
    if (isatty(STDOUT_FILENO) != 0) throw Error("-o - would write an array to the terminal");
    to = stderr;
  }
  return to;
}

void require_room(const Operation& operation, const std::vector<std::string>& files,
                  const Arguments& arguments, const Files& known) {
  const auto outputs = operation.signature.of(Kind::output);
  for (std::size_t i = 0; i < files.size(); ++i)
    known.require_room(*outputs[i], files[i], arguments.array(outputs[i]->name));
}

std::string write_outputs(const Operation& operation, const std::vector<std::string>& files,
                          const Arguments& arguments, const Files& known) {
  std::string lines;
  const auto outputs = operation.signature.of(Kind::output);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ArrayView& view = arguments.array(outputs[i]->name);
    if (i >= files.size() && outputs[i]->extents.empty()) continue;  // it has been printed
    const bool has_file = i < files.size();
    const ArrayView held = has_file ? known.write(*outputs[i], files[i], view) : view;
    lines += fmt::format("{}: {} of {}{}\n", outputs[i]->name, to_string(held.extents), name_of(held.element),
                         has_file ? ", written to " + files[i] : "; nothing was written: -o FILE writes it");
  }
  return lines;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Operations with a tolerance give a reason, which is "converged" if it was reached, and begins with "as
// asked" if none was set.
bool falls_short(const Values& values) {
  const auto found = values.find("reason");
  if (found == values.end()) return false;
  const std::string& reason = std::get<std::string>(found->second);
  return reason != "converged" && !reason.starts_with("as asked");
}

using Positionals = std::map<std::string, std::string>;

std::vector<std::string> inputs_of(const Operation& operation, const CallOptions& options,
                                   const Positionals& positionals) {
  std::vector<std::string> out;
  for (const Parameter* p : operation.signature.of(Kind::input)) {
    const std::string& file = p->is_flag() ? options.flags.at(p->name) : positionals.at(p->name);
    if (is_grid(*p) && picture::names_grid(file))
      for (const std::string& one : picture::find_grid(file).paths) out.push_back(one);
    else out.push_back(file);
  }
  return out;
}

// One call, without its files.
struct Call {
  const Operation& operation;
  const CallOptions& options;
  const Command& command;
  Request request;

  Reporting reporting(std::FILE* to) const {
    return {command, operation, to, options.json, options.sharing.timeline};
  }
};

// The files of one call, after reading.
struct Loaded {
  Files files;
  std::map<std::string, Array> arrays;
  Arguments arguments;
  FileTimes times = {};
};

// Cuts the alpha if the operation's result is a region of its picture.
void cut_alpha(const Operation& operation, const Arguments& arguments, Files& files) {
  const Signature& s = operation.signature;
  if (s.find("roi_x") == nullptr || s.find("roi_y") == nullptr || s.of(Kind::output).empty()) return;
  const Extents& e = arguments.array(s.of(Kind::output).front()->name).extents;
  files.cut_alpha(arguments.integer("roi_y"), arguments.integer("roi_x"), e[1], e[2]);
}

Loaded read_call(const Call& call, const Positionals& positionals) {
  const auto start = std::chrono::steady_clock::now();
  Files files(call.options.files);
  auto arrays = read_inputs(call.operation, call.options, files, positionals);
  Arguments arguments = arguments_of(call.operation, call.options, positionals, arrays);
  cut_alpha(call.operation, arguments, files);
  const FileTimes times{.read = arrays.empty() ? 0 : seconds_since(start)};
  return {std::move(files), std::move(arrays), std::move(arguments), times};
}

// Puts the outputs into the arguments; `outcome` keeps their memory.
template <class Outcome>
void take_outputs(Loaded& loaded, const Outcome& outcome) {
  for (const auto& [name, array] : outcome.outputs) loaded.arguments.set_array(name, array.view());
}

// Writes the outputs unless they are wrong; `lines` says where they are.
template <class Outcome>
int finish(const Call& call, Loaded& loaded, const std::vector<std::string>& outputs, const Outcome& outcome,
           std::string& lines) {
  if (outcome.verdict && !outcome.verdict->passed) return exit_code::wrong;
  const auto start = std::chrono::steady_clock::now();
  lines = write_outputs(call.operation, outputs, loaded.arguments, loaded.files);
  if (!outputs.empty()) loaded.times.write = seconds_since(start);
  return falls_short(outcome.values) ? exit_code::short_of_tolerance : exit_code::passed;
}

// Runs on several devices, a part of the result each; a result that cannot be cut runs on one.
int run_in_parts(const Call& call, Loaded& loaded, const std::vector<std::string>& outputs, std::FILE* to) {
  const CallOptions& options = call.options;
  MultiDeviceOptions shared = options_of(options.sharing, computing_devices(options.device), call.request);
  shared.whole = find_partition(call.operation.name) == nullptr;
  const MultiDeviceOutcome outcome = run_on_devices(call.operation, loaded.arguments, shared, options.check);
  take_outputs(loaded, outcome);
  report_outcome(call.reporting(to), &loaded.arguments, outcome);
  warn(missed_faults(shared.faults, outcome.devices));
  std::string lines;
  const int code = finish(call, loaded, outputs, outcome, lines);
  fmt::print(to, "{}", lines);
  return code;
}

// Runs on several ranks: each calls this, and rank 0 reports.
int run_on_ranks(const Call& call, const Loaded& loaded, const std::vector<std::string>& outputs) {
  const CallOptions& options = call.options;
  DistributedRequest request{call.request, options.check, {}, outputs.empty() ? "" : outputs[0]};
  if (names_several(options.device) || options.sharing.shares())
    request.devices = options_of(options.sharing, computing_devices(options.device), call.request);
  Ranks& ranks = Ranks::here();
  const DistributedOutcome outcome =
      run_distributed(call.operation, loaded.arguments, *ranks.communicator(), request);
  if (ranks.speaks())
    report_outcome(call.reporting(options.json == "-" ? stderr : stdout), loaded.arguments, outcome,
                   request.output, request.devices.has_value());
  return outcome.passed ? exit_code::passed : exit_code::wrong;
}

void require_of_ranks(const CallOptions& options) {
  if (!options.sharing.repeat.empty()) throw Error("--repeat is for one process, not for ranks");
  if (!options.study.empty()) throw Error("--study runs in one process, not on ranks");
  if (options.outputs.empty()) return;
  const std::string& output = options.outputs[0];
  if (output == standard_output)
    throw Error("-o -: ranks write to one file together, not to standard output");
  if (picture::named_as_picture(output)) throw Error(output + ": ranks write .npy files, no pictures");
}

// Runs a study, whose results are its tables.
int run_study(const Call& call, const Loaded& loaded) {
  const CallOptions& options = call.options;
  if (options.check) throw Error("--check would be ignored: --study makes tables, and no result to verify");
  if (!options.outputs.empty())
    throw Error("--output " + options.outputs.front() +
                " would be ignored: --study makes tables; --json FILE keeps them");
  report_study(call.reporting(table_stream(options.json)), options.study, loaded.arguments, call.request);
  return exit_code::passed;
}

// Throws Error if a report would overwrite the call's files.
void require_apart_from_reports(const CallOptions& options, const std::vector<std::string>& inputs,
                                const std::vector<std::string>& outputs) {
  require_files_of_their_own({{"--json", options.json}, {"--timeline", options.sharing.timeline}}, inputs,
                             outputs);
}

// Runs one call from its input files to its output files. `to` null: nothing is printed.
int run_once(const Call& call, const Positionals& positionals, const std::vector<std::string>& outputs,
             std::FILE* to, Progress* progress = nullptr) {
  const CallOptions& options = call.options;
  require_apart_from_reports(options, inputs_of(call.operation, options, positionals), outputs);
  Loaded loaded = read_call(call, positionals);
  for (const std::string& note : loaded.files.notes()) {
    if (progress != nullptr) progress->clear();
    fmt::print(stderr, "{}\n", note);
  }
  if (!options.study.empty()) return run_study(call, loaded);
  if (Ranks::here().communicator() != nullptr) return run_on_ranks(call, loaded, outputs);
  require_room(call.operation, outputs, loaded.arguments, loaded.files);
  if (is_shared(options)) return run_in_parts(call, loaded, outputs, to);
  Outcome outcome;
  std::optional<Error> unchecked;
  try {
    outcome = run(call.operation, loaded.arguments, call.request, options.check);
  } catch (const Error& error) {  // a check that cannot be made leaves the result as it is
    if (!options.check) throw;
    outcome = run(call.operation, loaded.arguments, call.request, false);
    unchecked = error;
  }
  take_outputs(loaded, outcome);
  std::string lines;
  const int code = finish(call, loaded, outputs, outcome, lines);
  if (to != nullptr) report_outcome(call.reporting(to), loaded.arguments, outcome, loaded.times, lines);
  if (unchecked) throw Error(unchecked->kind(), std::string("not checked: ") + unchecked->what());
  return code;
}

// Progress over several files. Thread-safe.
class Tally {
 public:
  explicit Tally(const std::vector<std::string>& inputs) : inputs_(&inputs) {}

  Progress& progress() { return progress_; }

  void begin(std::size_t file) {
    const std::lock_guard lock(mutex_);
    progress_.say(fmt::format("{} of {}: {}", ++begun_, inputs_->size(), (*inputs_)[file]));
  }

  // Runs one(); an Error for which `is_files` holds is the file's, others propagate to the caller.
  template <class One, class IsFiles>
  void add(std::size_t file, const One& one, const IsFiles& is_files) {
    int code = exit_code::passed;
    std::string why = "a wrong result";
    try {
      code = one();
    } catch (const Error& error) {
      if (!is_files(error)) throw;
      code = exit_code_of(error.kind());
      why = error.what();
    }
    const std::lock_guard lock(mutex_);
    if (code == exit_code::passed) {
      ++done_;
      return;
    }
    progress_.clear();
    const std::string of = (*inputs_)[file] + ": ";
    fmt::print(stderr, "{}{}\n", why.starts_with(of) ? "" : of, why);
    if (code_ == exit_code::passed) code_ = code;
  }

  int finish(std::FILE* to) {
    progress_.clear();
    fmt::print(to, "{} of {} files done\n", done_, inputs_->size());
    return code_;
  }

 private:
  const std::vector<std::string>* inputs_;
  std::mutex mutex_;
  Progress progress_;
  std::size_t begun_ = 0, done_ = 0;
  int code_ = exit_code::passed;
};

// Estimates the work of files by their sizes.
std::vector<double> work_of(const std::vector<std::string>& inputs) {
  std::vector<double> out;
  for (const std::string& input : inputs) {
    std::error_code none;
    const auto bytes = std::filesystem::file_size(input, none);
    out.push_back(none || bytes == 0 ? 1 : static_cast<double>(bytes));
  }
  return out;
}

// Runs one call for each file, one after another on one device, or distributed over several. Failures are
// reported, and the other files continue. Returns the first failure's exit code.
int run_each(const Call& call, const Positionals& positionals, const std::string& name,
             const std::vector<std::string>& inputs) {
  const CallOptions& options = call.options;
  if (!options.json.empty() && !is_shared(options)) throw Error("--json tells of one file, not of several");
  if (!options.study.empty()) throw Error("--study tells of one file, not of several");
  std::vector<std::vector<std::string>> outputs(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (const std::string& pattern : options.outputs) outputs[i].push_back(name_for(pattern, inputs[i], i));
  require_apart(inputs, outputs);
  const std::vector<CallOptions> own = options_for_each(call.operation, options, inputs, outputs);
  const auto call_for = [&](std::size_t i) {
    return Call{call.operation, own[i], call.command, call.request};
  };
  const auto places_for = [&](std::size_t i) {
    Positionals out = positionals;
    out[name] = inputs[i];
    return out;
  };
  for (std::size_t i = 0; i < inputs.size(); ++i)
    require_apart_from_reports(options, inputs_of(call.operation, own[i], places_for(i)), outputs[i]);
  Tally tally(inputs);
  if (!is_shared(options)) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      tally.begin(i);
      tally.add(
          i, [&] { return run_once(call_for(i), places_for(i), outputs[i], nullptr, &tally.progress()); },
          [](const Error&) { return true; });
    }
    return tally.finish(stdout);
  }
  const MultiDeviceOptions shared =
      options_of(options.sharing, computing_devices(options.device), call.request);
  const auto make = [&](std::size_t i, const MultiDeviceOptions& on) {
    MultiDeviceOutcome out;
    tally.begin(i);
    tally.add(
        i,
        [&] {
          Loaded loaded = read_call(call_for(i), places_for(i));
          for (const std::string& note : loaded.files.notes()) fmt::print(stderr, "{}\n", note);
          require_room(call.operation, outputs[i], loaded.arguments, loaded.files);
          out = run_on_devices(call.operation, loaded.arguments, on, options.check);
          take_outputs(loaded, out);
          std::string lines;
          return finish(call, loaded, outputs[i], out, lines);
        },
        // Any other error is the device's failure, and another one gets the file.
        [](const Error& error) { return error.kind() == Error::Kind::user; });
    return out;
  };
  std::FILE* const to = table_stream(options.json);
  MultiDeviceOutcome outcome;
  try {
    outcome = dispatch(shared, {.work = work_of(inputs), .make = make});
  } catch (...) {
    (void)tally.finish(stderr);
    throw;
  }
  const int code = tally.finish(to);
  report_outcome(call.reporting(to), nullptr, outcome);
  warn(missed_faults(shared.faults, outcome.devices));
  return code;
}

}  // namespace

int operate(const Operation& operation, const Command& command) {
  CallOptions options;
  OptionParser words(operation.name,
                     "tessera " + operation.name + " " + operation.signature.usage() + " [-o FILE]",
                     about(operation));
  declare(words, operation, options);
  Ranks& ranks = Ranks::here();
  if (!words.read(command.words)) return exit_code::passed;
  end_on_interrupt();
  ranks.join(options.distributed);
  if (contraction_of(operation.name) == nullptr) ranks.require_alone("tessera " + operation.name);
  if (options.outputs.size() > operation.signature.of(Kind::output).size())
    throw Error("-o " + options.outputs.back() + " is one output too many");
  if (ranks.communicator() != nullptr) require_of_ranks(options);
  std::FILE* const to = stream_of(options);
  const auto positionals = places_of(operation, options);
  for (const auto& [name, word] : positionals)
    if (const Parameter& p = operation.signature.at(name); p.picture != Picture::no && !is_grid(p)) {
      if (const auto inputs = several(word); !inputs.empty())
        return run_each({operation, options, command, request_of(operation, options, true)}, positionals,
                        name, inputs);
      options = options_for_each(operation, options, {word}, {}).front();
    }
  return run_once({operation, options, command, request_of(operation, options, false)}, positionals,
                  outputs_after(operation, options.outputs, positionals), to);
}

// The operation whose result has C's dimensions examines it; the one of most dimensions has the flags of all.
int check(const Command& command) {
  std::map<std::size_t, const Operation*> able;
  for (const Operation& one : operations())
    if (one.examine) able[one.signature.at(one.output).extents.size()] = &one;
  const Operation* operation = able.rbegin()->second;
  const Parameter& output = operation->signature.at(operation->output);
  CallOptions options;
  std::string arithmetic;
  OptionParser words(
      "check", "tessera check C.npy A.npy B.npy [FLAGS]",
      "Says of a matrix product that any library computed if it is as right as its arithmetic allows, and\n"
      "what an error looks like. Three dimensions are a batch. docs/check.md says what is promised.");
  words.positionals("FILES", options.positionals, "");
  declare_parameters(words, *operation, options);
  words.value("--arithmetic", arithmetic,
              "how C was computed: the products' type (tf32, bf16, … of f32 operands), sums=f16, parts=N "
              "(split-K rounds N parts of k to 16 bits), fast [as tessera computes it]",
              "TYPE,…");
  words.value("--element", options.element, "the operands' type [that of the first file]", "TYPE");
  words.value("--json", options.json, "the same as JSON; - is standard output", "FILE");
  if (!words.read(command.words)) return exit_code::passed;
  if (options.positionals.size() != 3) throw Error("tessera check needs three files: C.npy A.npy B.npy");
  require_apart_from_reports(options, options.positionals, {});
  const std::string file = options.positionals[0];
  options.positionals.erase(options.positionals.begin());
  std::FILE* const to = table_stream(options.json);

  Files files(options.files);
  const Element a =
      options.element.empty()
          ? read_input(files, operation->signature.at("A"), options.positionals[0], {}).element()
          : element_named(*operation, options.element);
  std::string& named = options.flags["output-element"];
  const Element usual = output.element_with(a, words_of(*operation, options, {}));
  const bool given = !named.empty() || !options.element.empty();
  const Array c = files.read(output, file, given ? std::optional(usual) : std::nullopt);
  if (!given && c.element() != usual) named = name_of(c.element());
  if (const auto found = able.find(c.extents().size()); found != able.end()) operation = found->second;
  const auto positionals = places_of(*operation, options);
  const auto arrays = read_inputs(*operation, options, files, positionals);
  Arguments arguments = arguments_of(*operation, options, positionals, arrays);
  const Extents& extents = arguments.array(operation->output).extents;
  if (extents != c.extents())
    throw Error(
        fmt::format("{} is {}, but the product is {}", file, to_string(c.extents()), to_string(extents)));
  arguments.set_array(operation->output, c.view());
  const Finding found = operation->examine(arguments, arithmetic, nullptr);
  fmt::print(to, "{}\n", found.text);
  nlohmann::ordered_json out = json_head(command, "check");
  out.update(bench::to_json(found));
  write_json(options.json, out);
  return found.right ? exit_code::passed : exit_code::wrong;
}

}  // namespace tessera::cli
