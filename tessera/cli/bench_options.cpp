// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/bench_options.hpp"
#include <nlohmann/json.hpp>
#include <algorithm>
#include <filesystem>
#include "tessera/bench/machine.hpp"
#include "tessera/cli/command.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/sizes.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/run/choose.hpp"

namespace tessera::cli {

namespace {

bool is_serial(const Variant& variant) { return variant.where == Where::cpu && variant.place == 1; }

// Returns the choice's values overridden by `wanted`; nothing if they contradict.
std::optional<Tuning> fitted(const Variant& variant, const Choice& choice, const Tuning& wanted) {
  Tuning out = choice.defaults();
  for (const auto& [name, value] : wanted) {
    if (const auto fixed = choice.tuning.find(name); fixed && *fixed != value) return std::nullopt;
    if (tune::has_parameter(choice, name)) out.set(name, value);
    else if (tune::has_parameter(variant, name)) return std::nullopt;
  }
  return out;
}

void add_choices(const Variant& variant, const Device& device, const Selection& selection,
                 std::vector<bench::Candidate>& out) {
  const std::size_t before = out.size();
  for (const Choice& choice : variant.choices) {
    const auto tuning = fitted(variant, choice, selection.tuning);
    if (!tuning) continue;
    const Plan plan{&variant, &choice, *tuning, device};
    if (selection.all_tunings || out.size() == before) out.push_back({.plan = plan});
    else out.back().instead.push_back(plan);
  }
  if (out.size() == before)
    out.push_back({.plan = {&variant, &variant.choices.at(0), selection.tuning, device},
                   .absent = no_choice_with(variant, selection.tuning)});
}

bool runs_on_one_of(const std::vector<const Variant*>& variants, const std::vector<Device>& devices) {
  return std::ranges::any_of(devices,
                             [&](const Device& d) { return variant_on(variants, d.where) != nullptr; });
}

// Adds each device's own ladder, or those named that it has. A name that none of the devices has keeps a row
// with the reason, unless it is the serial rung, which is added anyway.
void add_device(const Operation& operation, const Device& device, const Selection& selection,
                std::vector<bench::Candidate>& out) {
  if (selection.variants.empty())
    for (const Variant* variant : ladder_of(operation.name))
      if (variant->where == device.where) add_choices(*variant, device, selection, out);
  auto names = selection.variants;
  if (!selection.versus.empty()) names.push_back(selection.versus);
  for (const std::string& name : names) {
    const auto named = variants_named(operation, name);
    const Variant* variant = variant_on(named, device.where);
    if (variant == nullptr && !runs_on_one_of(named, selection.devices))
      variant = selection.serial && is_serial(*named.front()) ? nullptr : named.front();
    const bool known = std::ranges::any_of(out, [&](const bench::Candidate& c) {
      return c.plan.variant == variant && bench::label_of(c.plan.device) == bench::label_of(device);
    });
    if (variant != nullptr && !known) add_choices(*variant, device, selection, out);
  }
}

void mark_serial(const Operation& operation, std::vector<bench::Candidate>& out) {
  const auto listed = std::ranges::find_if(out, [&](const bench::Candidate& c) {
    return is_serial(*c.plan.variant) && c.plan.device.where == Where::cpu;
  });
  if (listed != out.end()) {
    listed->serial = true;
    return;
  }
  const auto ladder = ladder_of(operation.name);
  const auto found = std::ranges::find_if(ladder, [](const Variant* v) { return is_serial(*v); });
  if (found == ladder.end()) return;
  const Choice& choice = (*found)->choices.at(0);
  out.insert(out.begin(), {.plan = {*found, &choice, choice.defaults(), find_device("cpu")}, .serial = true});
}

}  // namespace

std::vector<bench::Candidate> candidates(const Operation& operation, const Selection& selection) {
  std::vector<bench::Candidate> out;
  for (const Device& device : selection.devices) add_device(operation, device, selection, out);
  if (selection.serial) mark_serial(operation, out);
  std::vector<const Variant*> variants;
  for (const bench::Candidate& candidate : out) variants.push_back(candidate.plan.variant);
  for (const auto& [name, value] : selection.tuning) tune::require_parameter(variants, name);
  return out;
}

using Kind = Parameter::Kind;

const char* const about_bench =
    "Times variants of an operation in turn on random data, and verifies what they computed.\n\n"
    "Sizes are words such as m=256:1024:x2 n=m k=64,128: lists of expressions over the other sizes, and\n"
    "inclusive ranges first:last:step or first:last:x2, which multiplies. Every combination is measured.\n\n"
    "kernel time   median on the device, copies and launches excluded; p90: the 90th percentile\n"
    "mode          burst: in turn with the others; sustained: alone, run after run, the second half counts\n"
    "round trip    from host arrays to a host result, copies included\n"
    "GFLOP/s, GB/s what the problem needs, however a variant computes it; each array counts once\n"
    "roofline      share of what the device reaches in a copy, or in multiply-adds, whichever binds; both "
    "are\n"
    "              measured on it (tessera devices)\n"
    "× serial      times as fast as the first rung of the processors' ladder\n"
    "× previous    times as fast as the rung that it changes, by default the one before it (its fastest "
    "tuning here)\n"
    "× baseline   times as fast as --vs NAME, else as the fastest baseline on the same device\n"
    "ambiguous     instead of a ratio: the samples do not tell which is slower (tessera compare)";

void declare_flags(OptionParser& parser, BenchOptions& options, const Operation* operation) {
  if (operation == nullptr) return;
  if (!operation->signature.positional_texts().empty()) parser.expressions();
  for (const Parameter& p : operation->signature.parameters) {
    if (!p.is_flag()) continue;
    if (p.is_array())
      parser.flag("--" + p.flag(), options.optional[p.name], "give a random " + p.name + ": " + p.help);
    else if (p.kind == Kind::integer)
      parser.value("--" + p.flag(), options.flags[p.name], p.help + "; also as " + p.name + "=…", "RANGE");
    else declare_flag(parser, p, options.flags[p.name], p.help + " [" + p.value + "]", "VALUE");
  }
}

namespace {

// Options shared by bench, sweep and tune: where to run and how to measure.
void declare_measuring(OptionParser& parser, BenchOptions& options) {
  parser.positionals("OPERATION SIZES", options.positionals, "");
  parser.value("--device,--devices", options.device,
               "cpu, simt, cuda[:N], a list of these, or all [a GPU, else cpu]", "WHERE");
  parser.value("--element", options.element, "a list [the operation's first]", "TYPE,…");
  parser.value("--time", options.time, "the most that a candidate may take at one size [10]", "SECONDS");
  parser.value("--reps", options.samples,
               "samples of each [9 to 200, for 0.3 s and until their spread is settled]", "N");
  parser.flag("--cold", options.cold, "flush the caches before each sample");
  parser.flag("--no-verify", options.no_verify, "leave the results unverified");
  parser.value("--seed", options.seed, "of the random data [1]", "N");
  parser.value("--json", options.json, "the results, rewritten as they come; - is standard output", "FILE");
}

}  // namespace

void declare(OptionParser& parser, BenchOptions& options, const Operation* operation) {
  declare_measuring(parser, options);
  parser.value("--variant", options.variants, "these only; a list [the devices' whole ladders]", "NAME,…");
  parser.value("--vs", options.versus, "the variant to compare with", "NAME");
  parser.value("--tuning", options.tuning, "keep the choices with these values", "NAME=N,…");
  parser.value("--tunings", options.tunings, "all: every choice, not each variant's default", "all");
  parser.value("--pause", options.pause, "rest before each sample, in which devices cool [0]", "SECONDS");
  parser.value("--processes", options.processes,
               "pool the samples of so many fresh processes: each has a layout of memory of its own [1]",
               "N");
  parser.value_or("--sustained", options.sustained, "3",
                  "then each alone, run after run, for so long [3]: what heat and power allow", "[SECONDS]");
  parser.flag(
      "--rotate", options.rotate,
      "each launch takes the next of sets of inputs and outputs, 2.5 times the last-level cache together");
  parser.flag("--profile", options.profile, "launch plainly, for a profiler: launches are not hidden");
  parser.flag("--graph", options.graph, "launch the runs of a sample as one graph");
  parser.flag("--call", options.call,
              "measure what a program gets of the public call: the host's time, in a stream, in a graph");
  parser.flag("--no-serial", options.no_serial, "do without the serial rung");
  parser.flag("--resume", options.resume, "keep what --json FILE holds already, and measure the rest");
  declare_flags(parser, options, operation);
}

bench::Measuring measuring_of(const BenchOptions& options) {
  bench::Measuring out;
  constexpr double shortest = 1e-6, longest = 1e6;
  out.effort.seconds = number_named("--time", "seconds", options.time, shortest, longest);
  out.effort.pause = number_named("--pause", "seconds", options.pause, 0, longest);
  if (!options.sustained.empty())
    out.sustained_seconds = number_named("--sustained", "seconds", options.sustained, shortest, longest);
  out.profile = options.profile;
  out.graph = options.graph;
  if (options.graph && options.profile) throw Error("--profile launches plainly, --graph does not");
  if (!options.samples.empty())
    out.effort.samples = static_cast<std::size_t>(count_named("--reps", options.samples, 1, 1'000'000));
  out.cold = options.cold;
  out.rotate = options.rotate;
  if (options.cold && options.rotate)
    throw Error("--cold flushes the caches, --rotate launches past them: one of the two");
  out.verify = !options.no_verify;
  out.seed = static_cast<std::uint64_t>(count_named("--seed", options.seed, 0, std::int64_t{1} << 62));
  out.interrupted = interrupted;
  return out;
}

namespace {

// --call takes other inputs each time, which the CPU may still hold in its caches.
bool calls_on_gpu(const BenchOptions& options) {
  return options.call && std::ranges::any_of(devices_named(options.device),
                                             [](const Device& d) { return d.where == Where::cuda; });
}

}  // namespace

bench::Session session_of(const Operation& operation, const BenchOptions& options, const Command& command) {
  bench::Session out;
  out.argv = command.argv;
  out.operation = operation.name;
  out.caches = options.cold ? "cold" : options.rotate || calls_on_gpu(options) ? "rotated" : "hot";
  out.launches = options.profile || options.call ? "plain" : options.graph ? "graph" : "queued";
  out.date = bench::now_utc();
  out.seed = measuring_of(options).seed;
  return out;
}

Results::Results(const Operation& operation, const BenchOptions& options, const Command& command,
                 std::string kind, bench::Measuring& measuring)
    : json_(options.json), kind_(std::move(kind)), session_(session_of(operation, options, command)) {
  if (!options.resume) return;
  if (json_.empty() || json_ == "-") throw Error("--resume needs --json FILE");
  if (!std::filesystem::exists(json_)) return;
  earlier_.emplace(read_json(json_), json_, session_, kind_);
  measuring.known = [this](const bench::Row& blank) { return earlier_->find(blank); };
}

void Results::add(const std::vector<bench::Row>& rows) {
  session_.rows.insert(session_.rows.end(), rows.begin(), rows.end());
  if (json_ != "-") write();
}

void Results::finish() const {
  if (json_ == "-") write();
}

void Results::write() const {
  if (json_.empty()) return;
  nlohmann::ordered_json out = bench::to_json(session_);
  out["kind"] = kind_;
  write_json(json_, earlier_ ? earlier_->merged(std::move(out)) : out);
}

int exit_of(const std::vector<bench::Row>& rows, bool measured) {
  if (std::ranges::any_of(rows, [](const bench::Row& r) { return !r.guard_violation.empty(); }))
    return exit_code::memory;
  if (std::ranges::any_of(rows, [](const bench::Row& r) { return r.verified == bench::Verified::wrong; }))
    return exit_code::wrong;
  if (interrupted()) return exit_code::interrupted;
  return measured ? exit_code::passed : exit_code::no_device;
}

Selection selection_of(const BenchOptions& options) {
  Selection out;
  out.devices = devices_named(options.device);
  out.variants = split(options.variants, ',');
  out.versus = options.versus;
  out.tuning = parse_tuning(options.tuning);
  if (!options.tunings.empty() && options.tunings != "all") unknown("--tunings", options.tunings, {"all"});
  out.all_tunings = options.tunings == "all";
  out.serial = !options.no_serial;
  return out;
}

std::vector<Point> points_of(const Operation& operation, const BenchOptions& options) {
  Positionals given = positionals_of(operation, options.positionals);
  Case base;
  base.words = given.words;
  for (const auto& [name, word] : options.flags) {
    if (word.empty()) continue;
    if (operation.signature.at(name).kind == Kind::integer) given.sizes.push_back(name + "=" + word);
    else base.words[name] = word;
  }
  for (const auto& [name, is_given] : options.optional)
    if (is_given) base.optional_inputs.push_back(name);
  auto elements = split(options.element, ',');
  if (elements.empty()) elements.emplace_back();
  std::vector<Point> out;
  for (const std::string& element : elements)
    for (Case& problem : problems_of(operation, given.sizes, base))
      out.push_back({element_named(operation, element), std::move(problem)});
  return out;
}

void declare_search(OptionParser& parser, SearchOptions& options, const Operation* operation) {
  declare_measuring(parser, options);
  parser.value("--variant", options.variants, "the variants to look at; a list", "NAME,…");
  parser.values(
      "--over", options.over,
      "values of a parameter: x=1:32:x2, or of several that go together: '(x,y)=(32,8),(16,16)'; once for "
      "each",
      "NAME=RANGE");
  parser.values("--where", options.where,
                "a condition on parameters and sizes, such as 'x*y<=1024'; once for each", "EXPR");
  parser.value("--tuning", options.tuning, "fixes parameters", "NAME=N,…");
  declare_flags(parser, options, operation);
}

std::vector<Subject> subjects_of(const Operation& operation, const SearchOptions& options) {
  std::vector<Subject> out;
  for (Device& device : devices_named(options.device)) out.push_back({std::move(device), {}});
  const auto names = split(options.variants, ',');
  for (const std::string& name : names) {
    const auto named = variants_named(operation, name);
    bool any = false;
    for (Subject& subject : out) {
      const Variant* variant = variant_on(named, subject.device.where);
      any = any || variant != nullptr;
      if (variant != nullptr && std::ranges::find(subject.variants, variant) == subject.variants.end())
        subject.variants.push_back(variant);
    }
    if (!any)
      throw Error("the variant " + name + " does not run on " + out[0].device.label() +
                  ": --device says where");
  }
  if (names.empty())
    for (Subject& subject : out)
      for (const Variant* variant : ladder_of(operation.name))
        if (variant->where == subject.device.where && !variant->baseline) subject.variants.push_back(variant);
  std::erase_if(out, [](const Subject& subject) { return subject.variants.empty(); });
  return out;
}

tune::SpaceOptions space_options(const SearchOptions& options, const Case& problem, bool open_ranges) {
  tune::SpaceOptions out{
      .fixed = parse_tuning(options.tuning), .open_ranges = open_ranges, .where = options.where};
  if (!options.over.empty()) out.over = combinations(options.over, names_given(options.over));
  out.sizes = problem.dims;
  return out;
}

const Operation* operation_first(const std::vector<std::string>& words) {
  const bool named = !words.empty() && !words[0].starts_with('-');
  return named ? &operation_named(words[0]) : nullptr;
}

}  // namespace tessera::cli
