// SPDX-License-Identifier: Apache-2.0
// `tessera OPERATION ARRAYS… -o OUT`: from files to a file. The flags come from the signature.
#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <filesystem>
#include "tessera/cli/command.hpp"
#include "tessera/cli/distributed.hpp"
#include "tessera/cli/files.hpp"
#include "tessera/cli/outcome.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/positionals.hpp"
#include "tessera/cli/ranks.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/cli/study.hpp"
#include "tessera/cli/terminal.hpp"
#include "tessera/cli/together.hpp"
#include "tessera/cli/words.hpp"
#include "tessera/core/contraction.hpp"
#include "tessera/io/atomic_file.hpp"
#include "tessera/run/run.hpp"

namespace tessera::cli {
namespace {

using Kind = Parameter::Kind;

struct Options {
  std::vector<std::string> positionals, outputs;
  std::string device = "auto", variant, tuning, element, json, study;
  bool check = false, no_cache = false, distributed = false;
  FileOptions files;
  TogetherOptions together;
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
  if (!arrays.empty()) out += "\nArrays (.npy files, pictures: PNG, JPEG, TIFF, PGM, PPM, PFM)\n" + arrays;
  out += "\nElements:";
  for (const Element element : operation.elements) out += " " + std::string(name_of(element));
  return out;
}

bool takes_pictures(const Operation& operation) {
  return std::ranges::any_of(operation.signature.parameters,
                             [](const Parameter& p) { return p.picture != Picture::no; });
}

void declare(Words& words, const Operation& operation, Options& options) {
  words.positionals("ARRAYS", options.positionals, "");
  if (!operation.signature.positional_texts().empty()) words.expressions();
  words.values("-o,--output", options.outputs, "where an output goes; once for each; - is standard output",
               "FILE");
  for (const Parameter& p : operation.signature.parameters)
    if (p.is_flag())
      declare_flag(words, p, options.flags[p.name], p.help + (p.value.empty() ? "" : " [" + p.value + "]"),
                   type_of(p));
  const bool divisible = find_division(operation.name) != nullptr;
  words.value("--device,--devices", options.device,
              std::string("auto, cpu, simt or cuda[:N]; cpu:threads=N") +
                  (divisible ? "; a list of these, or all" : "") + " [auto]",
              "WHERE");
  if (divisible) declare(words, options.together);
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
  }
  words.flag("--check", options.check, "verify the result; a wrong one is not written");
  if (const std::string known = studies_text(operation); !known.empty())
    words.value("--study", options.study, "instead of one run, tables that explain: " + known, "NAME");
  if (contraction_of(operation.name) != nullptr)
    words.flag("--distributed", options.distributed,
               "share it with the ranks that mpirun started; as found when there are several");
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
Array read_input(Files& files, const Parameter& p, const std::string& file, std::optional<Element> as) {
  try {
    return files.read(p, file, as);
  } catch (const Error& error) {
    if (!p.is_flag()) throw;
    throw Error(error.kind(), "--" + p.flag() + " " + error.what());
  }
}

std::map<std::string, Array> read_inputs(const Operation& operation, const Options& options, Files& files,
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
    const auto [read, _] = out.emplace(p->name, read_input(files, *p, file, as));
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
  if (names_several(options.device) && find_division(operation.name) == nullptr)
    throw Error("'" + options.device + "' may be several devices; " + operation.name +
                " runs on one (verify and bench take lists)");
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

void demand_room(const Operation& operation, const std::vector<std::string>& files,
                 const Arguments& arguments, const Files& known) {
  const auto outputs = operation.signature.of(Kind::output);
  for (std::size_t i = 0; i < files.size(); ++i)
    known.demand_room(*outputs[i], files[i], arguments.array(outputs[i]->name));
}

void write_outputs(std::FILE* to, const Operation& operation, const std::vector<std::string>& files,
                   const Arguments& arguments, const Files& known) {
  const auto outputs = operation.signature.of(Kind::output);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ArrayView& view = arguments.array(outputs[i]->name);
    if (i >= files.size() && outputs[i]->extents.empty()) continue;  // it has been printed
    const bool asked = i < files.size();
    const ArrayView held = asked ? known.write(*outputs[i], files[i], view) : view;
    if (to == nullptr) continue;
    fmt::print(to, "{}: {} of {}{}\n", outputs[i]->name, to_string(held.extents), name_of(held.element),
               asked ? ", written to " + files[i] : "; nothing was written: -o FILE writes it");
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

namespace {

using Places = std::map<std::string, std::string>;

DistributedWords words_for_ranks(const Options& options, const Request& request,
                                 const std::vector<std::string>& outputs) {
  return {request,       outputs,       options.json,
          options.study, options.check, names_several(options.device) || options.together.any()};
}

// From the files of one run to its own. `to` null: nothing is told.
int run_once(const Operation& operation, const Options& options, const Command& command,
             const Request& request, const Places& places, const std::vector<std::string>& outputs,
             std::FILE* to, Progress* progress = nullptr) {
  Files files(options.files);
  const auto arrays = read_inputs(operation, options, files, places);
  for (const std::string& note : files.notes()) {
    if (progress != nullptr) progress->clear();
    fmt::print(stderr, "{}\n", note);
  }
  Arguments arguments = arguments_of(operation, options, places, arrays);
  if (!options.study.empty() && Ranks::here().communicator() == nullptr)
    return study(operation, options.study, arguments, request, options.json, command);
  if (Ranks::here().communicator() != nullptr)
    return operate_on_ranks(operation, arguments, words_for_ranks(options, request, outputs), command);
  demand_room(operation, outputs, arguments, files);
  const auto finish = [&](const auto& outcome) {
    if (outcome.verdict && !outcome.verdict->passed) return exit_code::wrong;
    write_outputs(to, operation, outputs, arguments, files);
    return falls_short(outcome.values) ? exit_code::short_of_tolerance : exit_code::passed;
  };
  if (names_several(options.device) || options.together.any()) {
    const Spread spread = spread_of(options.together, computing_devices(options.device), request);
    const Together together = run_together(operation, arguments, spread, options.check);
    if (!together.complete) {
      fmt::print(stderr, "tessera: stopped; the same call goes on with what {} holds\n", spread.checkpoint);
      return exit_code::interrupted;
    }
    if (to != nullptr) {
      print(to, operation, together);
      write_json(options.json, json_of(command, operation, arguments, together));
      write_timeline(options.together.timeline, together);
    }
    const int code = finish(together);
    if (!spread.checkpoint.empty()) std::filesystem::remove(spread.checkpoint);
    return code;
  }
  const Outcome outcome = run(operation, arguments, request, options.check);
  if (to != nullptr) {
    print(to, operation, arguments, outcome);
    write_json(options.json, json_of(command, operation, arguments, outcome));
  }
  return finish(outcome);
}

// One after another; what fails is told and the others go on. The first failure's exit code is that of all.
int run_each(const Operation& operation, const Options& options, const Command& command,
             const Request& request, Places places, const std::string& name,
             const std::vector<std::string>& inputs) {
  if (!options.json.empty() || !options.study.empty())
    throw Error("--json and --study tell of one file, not of several");
  std::vector<std::vector<std::string>> outputs(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (const std::string& pattern : options.outputs) outputs[i].push_back(name_for(pattern, inputs[i], i));
  demand_apart(inputs, outputs);
  std::size_t done = 0;
  int code = exit_code::passed;
  Progress progress;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    progress.say(fmt::format("{} of {}: {}", i + 1, inputs.size(), inputs[i]));
    int one = exit_code::passed;
    std::string why = "a wrong result";
    try {
      places[name] = inputs[i];
      one = run_once(operation, options, command, request, places, outputs[i], nullptr, &progress);
    } catch (const Error& error) {
      one = exit_code_of(error.kind());
      why = error.what();
    }
    if (one == exit_code::passed) ++done;
    else {
      progress.clear();
      fmt::print(stderr, "{}: {}\n", inputs[i], why);
      if (code == exit_code::passed) code = one;
    }
  }
  progress.clear();
  fmt::print("{} of {} files done\n", done, inputs.size());
  return code;
}

}  // namespace

int operate(const Operation& operation, const Command& command) {
  Options options;
  Words words(operation.name,
              "tessera " + operation.name + " " + operation.signature.usage() + " [-o FILE] [FLAGS]",
              about(operation));
  declare(words, operation, options);
  Ranks& ranks = Ranks::here();
  if (!words.read(command.words)) {
    if (ranks.speaks()) fmt::print("{}\n", words.help());
    return exit_code::passed;
  }
  end_on_interrupt();
  ranks.join(options.distributed);
  if (contraction_of(operation.name) == nullptr) ranks.demand_alone("tessera " + operation.name);
  if (options.outputs.size() > operation.signature.of(Kind::output).size())
    throw Error("-o " + options.outputs.back() + " is one output too many");
  if (ranks.communicator() != nullptr) demand_of_ranks(words_for_ranks(options, {}, options.outputs));
  std::FILE* const to = stream_of(options);
  const Request request = request_of(operation, options);
  const auto places = places_of(operation, options);
  for (const auto& [name, word] : places)
    if (const Parameter& p = operation.signature.at(name); p.picture != Picture::no && !is_grid(p))
      if (const auto inputs = several(word); !inputs.empty())
        return run_each(operation, options, command, request, places, name, inputs);
  return run_once(operation, options, command, request, places, options.outputs, to);
}

}  // namespace tessera::cli
