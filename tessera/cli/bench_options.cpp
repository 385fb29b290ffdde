// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/bench_options.hpp"
#include <algorithm>
#include <charconv>
#include <filesystem>
#include "tessera/cli/command.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/positionals.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/bench/machine.hpp"

namespace tessera::cli {
namespace {

using Kind = Parameter::Kind;

double number_named(const std::string& flag, const std::string& what, const std::string& word, double least,
                    double most) {
  double out = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (failed != std::errc() || end != word.data() + word.size() || !(out >= least && out <= most))
    throw Error(flag + " needs " + what + ", not '" + word + "'");
  return out;
}

std::int64_t count_named(const std::string& flag, const std::string& word, std::int64_t least,
                         std::int64_t most) {
  const std::int64_t out = evaluate(word);
  if (out < least || out > most)
    throw Error(flag + " " + word + " is not within " + std::to_string(least) + " to " +
                std::to_string(most));
  return out;
}

// "2/3" keeps every third point, from the second.
template <class T>
void keep_shard(std::vector<T>& points, const std::string& shard) {
  if (shard.empty()) return;
  const auto parts = split(shard, '/');
  if (parts.size() != 2) throw Error("--shard needs I/N, not '" + shard + "'");
  const std::int64_t of = count_named("--shard", parts[1], 1, 1'000'000),
                     which = count_named("--shard", parts[0], 1, of);
  std::vector<T> kept;
  for (auto i = which - 1; i < std::ssize(points); i += of)
    kept.push_back(points[static_cast<std::size_t>(i)]);
  if (kept.empty()) throw Error("--shard " + shard + " leaves no size");
  points = std::move(kept);
}

}  // namespace

const char* const about_bench =
    "Times variants of an operation in turn on random data, and verifies what they computed.\n\n"
    "Sizes are words such as m=256:1024:x2 n=m k=64,128: lists of expressions over the other sizes, and\n"
    "inclusive ranges first:last:step or first:last:x2, which multiplies. Every combination is measured.\n\n"
    "kernel time   median on the device, copies and launches excluded; spread: half the quartiles' distance\n"
    "mode          burst: in turn with the others; sustained: alone, run after run, the second half counts\n"
    "round trip    from host arrays to a host result, copies included\n"
    "GFLOP/s, GB/s what the problem needs, however a variant computes it; each array counts once\n"
    "roofline      share of what the device reaches in a copy, or in multiply-adds, whichever binds; both "
    "are\n"
    "              measured on it (tessera devices)\n"
    "× serial      times as fast as the first rung of the processors' ladder\n"
    "× previous    times as fast as the rung before it (its fastest tuning here)\n"
    "× baseline   times as fast as --vs NAME, else as the fastest baseline on the same device";

void declare_flags(OptionParser& words, BenchOptions& options, const Operation* operation) {
  if (operation == nullptr) return;
  if (!operation->signature.positional_texts().empty()) words.expressions();
  for (const Parameter& p : operation->signature.parameters) {
    if (!p.is_flag()) continue;
    if (p.is_array())
      words.flag("--" + p.flag(), options.optional[p.name], "give a random " + p.name + ": " + p.help);
    else if (p.kind == Kind::integer)
      words.value("--" + p.flag(), options.flags[p.name], p.help + "; also as " + p.name + "=…", "RANGE");
    else declare_flag(words, p, options.flags[p.name], p.help + " [" + p.value + "]", "VALUE");
  }
}

void declare(OptionParser& words, BenchOptions& options, const Operation* operation) {
  words.positionals("OPERATION SIZES", options.positionals, "");
  words.value("--device,--devices", options.device,
              "cpu, simt, cuda[:N], a list of these, or all [a GPU, else cpu]", "WHERE");
  words.value("--variant", options.variants, "these only; a list [the devices' whole ladders]", "NAME,…");
  words.value("--vs", options.versus, "the variant to compare with", "NAME");
  words.value("--element", options.element, "a list [the operation's first]", "TYPE,…");
  words.value("--tuning", options.tuning, "keep the choices with these values", "NAME=N,…");
  words.value("--tunings", options.tunings, "all: every choice, not each variant's default", "all");
  words.value("--pivot", options.pivot, "GFLOP/s with this tuning (or \"variant\") across", "NAME");
  words.value("--time", options.time, "the most that a candidate may take at one size [10]", "SECONDS");
  words.value("--reps", options.samples,
              "samples of each [9 to 200, for 0.3 s and until their spread is settled]", "N");
  words.value("--spread", options.spread, "of the samples, enough to stop at [0.5]", "PERCENT");
  words.value("--least-clock", options.least_clock,
              "samples below this share of the device's highest clock are dropped [60]", "PERCENT");
  words.value("--pause", options.pause, "rest before each sample, in which devices cool [0]", "SECONDS");
  words.value_or("--sustained", options.sustained, "3",
                 "then each alone, run after run, for so long [3]: what heat and power allow", "[SECONDS]");
  words.flag("--cold", options.cold, "flush the caches before each sample");
  words.flag(
      "--rotate", options.rotate,
      "each launch takes the next of sets of inputs and outputs, 2.5 times the last-level cache together");
  words.flag("--profile", options.profile, "launch plainly, for a profiler: launches are not hidden");
  words.flag("--graph", options.graph, "launch the runs of a sample as one graph");
  words.flag("--no-verify", options.no_verify, "leave the results unverified");
  words.flag("--no-serial", options.no_serial, "do without the serial rung");
  words.value("--seed", options.seed, "of the random data [1]", "N");
  words.value("--shard", options.shard, "the i-th of n parts of the sizes, from 1", "I/N");
  words.value("--json", options.json, "the results, rewritten after each size; - is standard output", "FILE");
  words.flag("--resume", options.resume, "keep what --json FILE holds already, and measure the rest");
  words.value("--csv", options.csv, "the results as lines of comma-separated values", "FILE");
  words.value("--junit", options.junit,
              "a test case for each choice: wrong fails, what cannot run is skipped", "FILE");
  declare_flags(words, options, operation);
  words.closing(exit_codes);
}

bench::Measuring measuring_of(const BenchOptions& options) {
  bench::Measuring out;
  constexpr double shortest = 1e-6, longest = 1e6;
  out.effort.seconds = number_named("--time", "seconds", options.time, shortest, longest);
  out.effort.spread = number_named("--spread", "a percentage", options.spread, 0, 100) / 100;
  out.effort.least_clock = number_named("--least-clock", "a percentage", options.least_clock, 0, 100) / 100;
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

bench::Session session_of(const Operation& operation, const BenchOptions& options,
                          const std::vector<std::string>& argv) {
  bench::Session out;
  out.argv = argv;
  out.operation = operation.name;
  out.distribution = "standard normal, full mantissas; integers: every bit random";
  out.caches = options.cold ? "cold" : options.rotate ? "rotated" : "hot";
  out.launches = options.profile ? "plain" : options.graph ? "graph" : "queued";
  out.date = bench::now_utc();
  out.seed = measuring_of(options).seed;
  return out;
}

std::optional<bench::Earlier> earlier_of(const BenchOptions& options, const bench::Session& now,
                                         const std::string& kind) {
  if (!options.resume) return std::nullopt;
  if (options.json.empty() || options.json == "-") throw Error("--resume needs --json FILE");
  if (!std::filesystem::exists(options.json)) return std::nullopt;
  return bench::Earlier(read_json(options.json), options.json, now, kind);
}

Selection selection_of(const BenchOptions& options) {
  Selection out;
  out.devices = devices_named(options.device);
  out.variants = split(options.variants, ',');
  out.versus = options.versus;
  out.tuning = parse_tuning(options.tuning);
  if (!options.tunings.empty() && options.tunings != "all") unknown("--tunings", options.tunings, {"all"});
  out.all_tunings = options.tunings == "all" || !options.pivot.empty();
  out.serial = !options.no_serial;
  return out;
}

std::vector<std::string> size_names(const Operation& operation) {
  auto out = operation.signature.dimensions();
  for (const Parameter* p : operation.signature.of(Kind::integer)) out.push_back(p->name);
  return out;
}

Request request_of(const BenchOptions& options) {
  Request out;
  if (!options.variants.empty()) out.variant = options.variants;
  if (!options.tuning.empty()) out.tuning = parse_tuning(options.tuning);
  return out;
}

nlohmann::ordered_json sweep_json(const Operation& operation, const std::vector<std::string>& argv) {
  nlohmann::ordered_json out{{"schema", 1}, {"kind", "sweep"}, {"operation", operation.name}};
  out.update(bench::provenance(argv, bench::now_utc()));
  out["rows"] = nlohmann::ordered_json::array();
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
  keep_shard(out, options.shard);
  return out;
}

}  // namespace tessera::cli
