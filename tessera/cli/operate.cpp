// SPDX-License-Identifier: Apache-2.0
// `tessera OPERATION ARRAYS… -o OUT`: from files to a file. The flags come from the signature.
#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <mutex>
#include <utility>
#include "tessera/cli/command.hpp"
#include "tessera/cli/device_flags.hpp"
#include "tessera/cli/ranks_run.hpp"
#include "tessera/cli/file_names.hpp"
#include "tessera/cli/files.hpp"
#include "tessera/cli/operate_options.hpp"
#include "tessera/cli/outcome.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/positionals.hpp"
#include "tessera/cli/ranks.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/cli/study_tables.hpp"
#include "tessera/cli/option_parser.hpp"
#include "tessera/core/division.hpp"
#include "tessera/io/atomic_file.hpp"
#include "tessera/io/picture.hpp"
#include "tessera/run/multi_device/dispatch.hpp"
#include "tessera/run/run.hpp"

namespace tessera::cli {
namespace {

using Kind = Parameter::Kind;
using Options = OperateOptions;

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

bool is_shared(const Options& options) { return names_several(options.device) || options.sharing.any(); }

// `whole`: each device computes whole results, not parts of one.
Request request_of(const Operation& operation, const Options& options, bool whole) {
  Request request;
  request.device = options.device;
  request.cached = !options.no_cache;
  const bool in_parts = is_shared(options) && !whole && find_division(operation.name) != nullptr;
  if (names_several(options.device) && !whole && !in_parts)
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

// Of an operation on pictures: an empty word, which would be as if it had not been typed; names with fields
// that nobody fills; and what only JPEG files have use for.
void demand_used(const Operation& operation, const Options& options, const std::vector<std::string>& words) {
  for (const Parameter& p : operation.signature.parameters)
    for (std::size_t i = 0; i < words.size() && p.is_flag() && !p.value.empty(); ++i)
      if (i > 0 && words[i].empty() && words[i - 1] == "--" + p.flag())
        throw Error("--" + p.flag() + " has an empty value");
  for (const std::string& output : options.outputs) demand_known_fields(output);
  if (!options.files.quality.empty() && std::ranges::none_of(options.outputs, picture::named_as_jpeg))
    throw Error("--quality " + options.files.quality + " is only for JPEG files");
}

// {name} in outputs, where one file is read.
std::vector<std::string> outputs_after(const Operation& operation, const std::vector<std::string>& outputs,
                                       const std::map<std::string, std::string>& places) {
  std::vector<std::string> out = outputs;
  for (const auto& [name, input] : places) {
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

// Returns a line for each output.
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

// Operations that work to a tolerance give a reason, which is "converged" where it was reached, and
// begins with "as asked" where none was set.
bool falls_short(const Values& values) {
  const auto found = values.find("reason");
  if (found == values.end()) return false;
  const std::string& reason = std::get<std::string>(found->second);
  return reason != "converged" && !reason.starts_with("as asked");
}

using Places = std::map<std::string, std::string>;

std::vector<std::string> inputs_of(const Operation& operation, const Options& options, const Places& places) {
  std::vector<std::string> out;
  for (const Parameter* p : operation.signature.of(Kind::input)) {
    const std::string& file = p->is_flag() ? options.flags.at(p->name) : places.at(p->name);
    if (is_grid(*p) && picture::names_grid(file))
      for (const std::string& one : picture::find_grid(file).paths) out.push_back(one);
    else out.push_back(file);
  }
  return out;
}

DistributedWords words_for_ranks(const Options& options, const Request& request,
                                 const std::vector<std::string>& outputs) {
  DistributedWords out{request, outputs, options.json, options.study, options.check};
  out.timeline = options.sharing.timeline;
  DeviceFlags sharing = options.sharing;
  sharing.timeline.clear();
  if (names_several(options.device) || sharing.any())
    out.devices = options_of(options.sharing, computing_devices(options.device), request);
  return out;
}

// What one call is, but for its files.
struct Call {
  const Operation& operation;
  const Options& options;
  const Command& command;
  Request request;
};

// One call's files, as they were read.
struct Loaded {
  Files files;
  std::map<std::string, Array> arrays;
  Arguments arguments;
  FileTimes times = {};
};

// The result of an operation with these arguments is a region of its picture.
void cut_alpha(const Operation& operation, const Arguments& arguments, Files& files) {
  const Signature& s = operation.signature;
  if (s.find("roi_x") == nullptr || s.find("roi_y") == nullptr || s.of(Kind::output).empty()) return;
  const Extents& e = arguments.array(s.of(Kind::output).front()->name).extents;
  files.cut_alpha(arguments.integer("roi_y"), arguments.integer("roi_x"), e[1], e[2]);
}

Loaded load(const Call& call, const Places& places) {
  const auto start = std::chrono::steady_clock::now();
  Files files(call.options.files);
  auto arrays = read_inputs(call.operation, call.options, files, places);
  Arguments arguments = arguments_of(call.operation, call.options, places, arrays);
  cut_alpha(call.operation, arguments, files);
  const FileTimes times{.read = arrays.empty() ? 0 : seconds_since(start)};
  return {std::move(files), std::move(arrays), std::move(arguments), times};
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

// By several devices, a part of the result each; what cannot be cut by one.
int run_in_parts(const Call& call, Loaded& loaded, const std::vector<std::string>& outputs, std::FILE* to) {
  const Options& options = call.options;
  MultiDeviceOptions shared = options_of(options.sharing, computing_devices(options.device), call.request);
  shared.whole = find_division(call.operation.name) == nullptr;
  const MultiDeviceOutcome outcome = run_on_devices(call.operation, loaded.arguments, shared, options.check);
  print(to, call.operation, loaded.arguments, outcome);
  warn(missed_faults(shared.faults, outcome.devices));
  write_json(options.json, json_of(call.command, call.operation, loaded.arguments, outcome));
  write_timeline(options.sharing.timeline, outcome);
  std::string lines;
  const int code = finish(call, loaded, outputs, outcome, lines);
  fmt::print(to, "{}", lines);
  return code;
}

// From the files of one run to its own. `to` null: nothing is printed.
int run_once(const Call& call, const Places& places, const std::vector<std::string>& outputs, std::FILE* to,
             Progress* progress = nullptr) {
  const Options& options = call.options;
  demand_apart_from_reports(options, inputs_of(call.operation, options, places), outputs);
  Loaded loaded = load(call, places);
  for (const std::string& note : loaded.files.notes()) {
    if (progress != nullptr) progress->clear();
    fmt::print(stderr, "{}\n", note);
  }
  if (!options.study.empty()) demand_tables_alone(options.check, options.outputs);
  if (!options.study.empty() && Ranks::here().communicator() == nullptr)
    return study(call.operation, options.study, loaded.arguments, call.request, options.json, call.command);
  if (Ranks::here().communicator() != nullptr)
    return operate_on_ranks(call.operation, loaded.arguments, words_for_ranks(options, call.request, outputs),
                            call.command);
  demand_room(call.operation, outputs, loaded.arguments, loaded.files);
  if (is_shared(options)) return run_in_parts(call, loaded, outputs, to);
  const Outcome outcome = run(call.operation, loaded.arguments, call.request, options.check);
  std::string lines;
  const int code = finish(call, loaded, outputs, outcome, lines);
  if (to != nullptr) {
    print(to, call.operation, loaded.arguments, outcome, loaded.times);
    fmt::print(to, "{}", lines);
    write_json(options.json, json_of(call.command, call.operation, loaded.arguments, outcome, loaded.times));
  }
  return code;
}

// How far several files have come. Its functions may be called by several threads at once.
class Tally {
 public:
  explicit Tally(const std::vector<std::string>& inputs) : inputs_(&inputs) {}

  Progress& progress() { return progress_; }

  void begin(std::size_t file) {
    const std::lock_guard lock(mutex_);
    progress_.say(fmt::format("{} of {}: {}", ++begun_, inputs_->size(), (*inputs_)[file]));
  }

  // Runs one(); an Error for which `is_files` holds is the file's, others go on to the caller.
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

// A file's size stands for the work that it is.
std::vector<double> work_of(const std::vector<std::string>& inputs) {
  std::vector<double> out;
  for (const std::string& input : inputs) {
    std::error_code none;
    const auto bytes = std::filesystem::file_size(input, none);
    out.push_back(none || bytes == 0 ? 1 : static_cast<double>(bytes));
  }
  return out;
}

// The outputs of each input, by patterns. Throws Error where one would be written over another.
std::vector<std::vector<std::string>> outputs_for(const std::vector<std::string>& inputs,
                                                  const std::vector<std::string>& patterns) {
  std::vector<std::vector<std::string>> out(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (const std::string& pattern : patterns) out[i].push_back(name_for(pattern, inputs[i], i));
  demand_apart(inputs, out);
  return out;
}

// What fails is reported and the others go on. Returns the first failure's exit code.
int run_files(const std::vector<std::string>& inputs,
              const std::function<int(std::size_t file, Progress&)>& run) {
  Tally tally(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    tally.begin(i);
    tally.add(
        i, [&] { return run(i, tally.progress()); }, [](const Error&) { return true; });
  }
  return tally.finish(stdout);
}

// `make` is called by several threads at once: the call of a file, on the device of the options. An Error of
// kind user is the file's; any other is the device's failure, and another one gets the file.
using MakeFile =
    std::function<int(std::size_t file, const MultiDeviceOptions& on, MultiDeviceOutcome& outcome)>;
std::pair<int, MultiDeviceOutcome> dispatch_files(std::FILE* to, const std::vector<std::string>& inputs,
                                                  const MultiDeviceOptions& options, const MakeFile& make) {
  Tally tally(inputs);
  DispatchedCalls calls{.work = work_of(inputs), .make = {}};
  calls.make = [&](std::size_t file, const MultiDeviceOptions& on) {
    tally.begin(file);
    MultiDeviceOutcome out;
    tally.add(
        file, [&] { return make(file, on, out); },
        [](const Error& error) { return error.kind() == Error::Kind::user; });
    return out;
  };
  try {
    MultiDeviceOutcome outcome = dispatch(options, calls);
    const int code = tally.finish(to);
    return {code, std::move(outcome)};
  } catch (...) {
    (void)tally.finish(stderr);
    throw;
  }
}

int run_each(const Call& call, const Places& places, const std::string& name,
             const std::vector<std::string>& inputs) {
  const Options& options = call.options;
  if (!options.json.empty() && !is_shared(options)) throw Error("--json tells of one file, not of several");
  if (!options.study.empty()) throw Error("--study tells of one file, not of several");
  const auto outputs = outputs_for(inputs, options.outputs);
  const std::vector<Options> own = options_for_each(call.operation, options, inputs, outputs);
  const auto call_for = [&](std::size_t i) {
    return Call{call.operation, own[i], call.command, call.request};
  };
  const auto places_for = [&](std::size_t i) {
    Places out = places;
    out[name] = inputs[i];
    return out;
  };
  for (std::size_t i = 0; i < inputs.size(); ++i)
    demand_apart_from_reports(options, inputs_of(call.operation, own[i], places_for(i)), outputs[i]);
  if (!is_shared(options))
    return run_files(inputs, [&](std::size_t i, Progress& progress) {
      return run_once(call_for(i), places_for(i), outputs[i], nullptr, &progress);
    });
  const MultiDeviceOptions shared =
      options_of(options.sharing, computing_devices(options.device), call.request, Split::How::dynamic);
  const auto make = [&](std::size_t i, const MultiDeviceOptions& on, MultiDeviceOutcome& outcome) {
    Loaded loaded = load(call_for(i), places_for(i));
    for (const std::string& note : loaded.files.notes()) fmt::print(stderr, "{}\n", note);
    demand_room(call.operation, outputs[i], loaded.arguments, loaded.files);
    outcome = run_on_devices(call.operation, loaded.arguments, on, options.check);
    std::string lines;
    return finish(call, loaded, outputs[i], outcome, lines);
  };
  std::FILE* const to = table_stream(options.json);
  const auto [code, outcome] = dispatch_files(to, inputs, shared, make);
  print_devices(to, call.operation, outcome);
  warn(missed_faults(shared.faults, outcome.devices));
  write_json(options.json, json_of(call.command, call.operation, outcome));
  write_timeline(options.sharing.timeline, outcome);
  return code;
}

}  // namespace

int operate(const Operation& operation, const Command& command) {
  Options options;
  OptionParser words(operation.name,
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
  if (ranks.communicator() != nullptr)
    demand_of_ranks({{}, options.outputs, options.json, options.study}, options.sharing);
  if (takes_pictures(operation)) demand_used(operation, options, command.words);
  std::FILE* const to = stream_of(options);
  const auto places = places_of(operation, options);
  for (const auto& [name, word] : places)
    if (const Parameter& p = operation.signature.at(name); p.picture != Picture::no && !is_grid(p)) {
      if (const auto inputs = several(word); !inputs.empty())
        return run_each({operation, options, command, request_of(operation, options, true)}, places, name,
                        inputs);
      options = options_for_each(operation, options, {word}, {}).front();
    }
  return run_once({operation, options, command, request_of(operation, options, false)}, places,
                  outputs_after(operation, options.outputs, places), to);
}

}  // namespace tessera::cli
