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
#include "tessera/bench/trace.hpp"
#include "tessera/cli/command.hpp"
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
              json, sustained, pause = "0";
  bool cold = false, rotate = false, profile = false, graph = false, resume = false, no_verify = false,
       no_serial = false, call = false;
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

bench::Measuring measuring_of(const BenchOptions& options);
Selection selection_of(const BenchOptions& options);
std::vector<Point> points_of(const Operation& operation, const BenchOptions& options);
// What a result says of its run, before there are rows.
bench::Session session_of(const Operation& operation, const BenchOptions& options, const Command& command);

// What a command has measured, and the file of --json that holds it.
class Results {
 public:
  // With --resume `measuring` knows what the file holds already. Throws Error where that is not of `kind`, or
  // of another session.
  Results(const Operation& operation, const BenchOptions& options, const Command& command, std::string kind,
          bench::Measuring& measuring);

  const bench::Session& session() const { return session_; }
  const std::vector<bench::Row>& rows() const { return session_.rows; }
  void add(const std::vector<bench::Row>& rows);  // rewrites the file
  void finish() const;                            // where standard output is the file

 private:
  void write() const;

  std::string json_, kind_;
  bench::Session session_;
  std::optional<bench::Earlier> earlier_;
};

void write_json(const std::string& json, const bench::TraceSession& session);

// `measured`: whether anything was that counts.
int exit_of(const std::vector<bench::Row>& rows, bool measured);

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
