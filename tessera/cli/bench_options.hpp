// SPDX-License-Identifier: Apache-2.0
// What `bench` was asked: its flags, and the sizes, candidates and effort that they mean.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>
#include "tessera/cli/candidates.hpp"
#include "tessera/cli/option_parser.hpp"
#include "tessera/bench/measure.hpp"
#include "tessera/bench/resume.hpp"

namespace tessera::cli {

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
void declare(OptionParser& words, BenchOptions& options, const Operation* operation);
// Only the operation's own: its scalars and optional inputs.
void declare_flags(OptionParser& words, BenchOptions& options, const Operation* operation);
extern const char* const about_bench;

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

}  // namespace tessera::cli
