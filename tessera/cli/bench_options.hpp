// SPDX-License-Identifier: Apache-2.0
// The flags that `bench`, `sweep`, `tune` and `trace` share: which variants, with which tunings, on which
// devices and sizes, and how they are measured.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>
#include "tessera/bench/measure.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/cli/option_parser.hpp"
#include "tessera/tune/space.hpp"

namespace tessera::cli {

struct Selection {
  std::vector<Device> devices;
  std::vector<std::string> variants;  // none: the whole ladder of each device, with its baselines
  std::string versus;                 // a variant that every row is compared with
  Tuning tuning;             // keeps the choices that have these values; who has no such parameter is kept
  bool all_tunings = false;  // every choice, not only a variant's first that fits
  bool serial = true;        // the first rung on the processors, to compare with
};

// In the order of the devices, then of the ladders, or of the variants as named; the serial rung is
// first where it would not come anyway. Throws Error for names that do not exist.
std::vector<bench::Candidate> candidates(const Operation& operation, const Selection& selection);

// The flags of `bench`, and the sizes, candidates and effort that they mean.

struct BenchOptions {
  std::vector<std::string> positionals;
  std::string device = "auto", variants, versus, element, tuning, tunings, time = "10", samples, seed = "1",
              json, csv, junit, pivot, shard, sustained, spread = "0.5", least_clock = "60", pause = "0";
  bool cold = false, rotate = false, profile = false, graph = false, resume = false, no_verify = false,
       no_serial = false;
  std::map<std::string, std::string> flags;  // scalars of the signature
  std::map<std::string, bool> optional;      // inputs that are given when asked for
};

// What one table is made of.
struct Point {
  Element element;
  Case problem;
};

// `operation`: adds its own flags; null: not known yet.
void declare(OptionParser& parser, BenchOptions& options, const Operation* operation);
// Only the operation's own: its scalars and optional inputs.
void declare_flags(OptionParser& parser, BenchOptions& options, const Operation* operation);
extern const char* const about_bench;

// The value of a flag. Throws Error "FLAG needs WHAT, not 'word'" or that it is out of range.
double number_named(const std::string& flag, const std::string& what, const std::string& word, double least,
                    double most);
std::int64_t count_named(const std::string& flag, const std::string& word, std::int64_t least,
                         std::int64_t most);

bench::Measuring measuring_of(const BenchOptions& options);
// What a result says of its run, before there are rows.
bench::Session session_of(const Operation& operation, const BenchOptions& options,
                          const std::vector<std::string>& argv);
// With --resume, what --json FILE holds already; nothing: no such file yet. Throws Error where it is not of
// `kind`, or of another session than `now`.
std::optional<bench::Earlier> earlier_of(const BenchOptions& options, const bench::Session& now,
                                         const std::string& kind);
Selection selection_of(const BenchOptions& options);
// Of one call: the variant and the tuning that were named.
Request request_of(const BenchOptions& options);
// The head of a table that is measured here and not by a session, with no rows yet.
nlohmann::ordered_json sweep_json(const Operation& operation, const std::vector<std::string>& argv);
std::vector<Point> points_of(const Operation& operation, const BenchOptions& options);
std::vector<std::string> size_names(const Operation& operation);  // in the order of their titles

// The flags of `sweep` and `tune`: those of bench, and those that span a space of configurations.

struct SearchOptions : BenchOptions {
  std::vector<std::string> over, where;
};

// The flags that both have. `operation`: adds its own; null: not known yet.
void declare_search(OptionParser& parser, SearchOptions& options, const Operation* operation);

// The variants to look at on one device.
struct Subject {
  Device device;
  std::vector<const Variant*> variants;
};

// Those named, or the whole ladders of the devices without baselines. Throws Error for one that no device
// named has.
std::vector<Subject> subjects_of(const Operation& operation, const SearchOptions& options);

// The space to walk for one problem. `open_ranges`: see tune::SpaceOptions.
tune::SpaceOptions space_options(const SearchOptions& options, const Case& problem, bool open_ranges);

// The operation that is the first of a verb's words; null where that is a flag.
const Operation* operation_first(const std::vector<std::string>& words);

}  // namespace tessera::cli
