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
#include "tessera/cli/command.hpp"
#include "tessera/cli/option_parser.hpp"
#include "tessera/tune/space.hpp"

namespace tessera::cli {

struct Selection {
  std::vector<Device> devices;
  std::vector<std::string> variants;  // none: the whole ladder of each device, with its baselines
  std::string versus;                 // a variant that every row is compared with
  Tuning tuning;             // keeps the choices with these values, and variants without such a parameter
  bool all_tunings = false;  // every choice, not only a variant's first that fits
  bool serial = true;        // the first rung on the CPU, to compare with
};

// Ordered by device, then by ladder, or by variant as named; the serial rung comes first if it would not come
// anyway. Throws Error for unknown names.
std::vector<bench::Candidate> candidates(const Operation& operation, const Selection& selection);

// The flags of `bench`, and the sizes, candidates and effort that they mean.

struct BenchOptions {
  std::vector<std::string> positionals;
  std::string device = "auto", variants, versus, element, tuning, tunings, time = "10", samples, seed = "1",
              json, sustained, pause = "0", processes = "1";
  bool cold = false, rotate = false, profile = false, graph = false, resume = false, no_verify = false,
       no_serial = false, call = false;
  std::map<std::string, std::string> flags;  // scalars of the signature
  std::map<std::string, bool> optional;      // inputs that exist only on request
};

// The subject of one table.
struct Point {
  Element element;
  Case problem;
};

// `operation`: adds its own flags; null: not known yet.
void declare(OptionParser& parser, BenchOptions& options, const Operation* operation);
// Declares only the operation's own: its scalars and optional inputs.
void declare_flags(OptionParser& parser, BenchOptions& options, const Operation* operation);
extern const char* const about_bench;

bench::Measuring measuring_of(const BenchOptions& options);
Selection selection_of(const BenchOptions& options);
std::vector<Point> points_of(const Operation& operation, const BenchOptions& options);
// The description of the run in a result, before there are rows.
bench::Session session_of(const Operation& operation, const BenchOptions& options, const Command& command);

// The measurements of a command, and the file of --json that holds them.
class Results {
 public:
  // With --resume, `measuring` recalls the rows in the file. Throws Error if the file is of another kind or
  // session.
  Results(const Operation& operation, const BenchOptions& options, const Command& command, std::string kind,
          bench::Measuring& measuring);

  const bench::Session& session() const { return session_; }
  const std::vector<bench::Row>& rows() const { return session_.rows; }
  void add(const std::vector<bench::Row>& rows);  // rewrites the file
  void finish() const;                            // writes the file if it is standard output

 private:
  void write() const;

  std::string json_, kind_;
  bench::Session session_;
  std::optional<bench::Earlier> earlier_;
};

// `measured`: true if anything was measured that counts.
int exit_of(const std::vector<bench::Row>& rows, bool measured);

// The flags of `sweep` and `tune`: those of bench, and those that span a space of configurations.

struct SearchOptions : BenchOptions {
  std::vector<std::string> over, where;
};

// Declares the flags that both have. `operation`: adds its own; null: not known yet.
void declare_search(OptionParser& parser, SearchOptions& options, const Operation* operation);

// The variants to examine on one device.
struct Subject {
  Device device;
  std::vector<const Variant*> variants;
};

// Returns the named variants, or the whole ladders of the devices without baselines. Throws Error for a name
// that none of the devices has.
std::vector<Subject> subjects_of(const Operation& operation, const SearchOptions& options);

// Returns the space to walk for one problem. `open_ranges`: see tune::SpaceOptions.
tune::SpaceOptions space_options(const SearchOptions& options, const Case& problem, bool open_ranges);

// Returns the operation named by the first of a verb's words; null if that is a flag.
const Operation* operation_first(const std::vector<std::string>& words);

}  // namespace tessera::cli
