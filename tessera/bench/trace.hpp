// SPDX-License-Identifier: Apache-2.0
// Traces one plan of the executor: what its kernel asks of memory, counted as a GPU counts it, and what
// it does that it must not.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include "tessera/bench/code.hpp"
#include "tessera/run/choose.hpp"
#include "tessera/simt/tracer/tracer.hpp"

namespace tessera::bench {

struct Tracing {
  // Mistakes are looked for under each; counts are those of the first.
  std::vector<simt::Schedule> schedules = {{}};
  std::int64_t blocks = 0;                // of each launch, evenly spread; 0: all, if they are not too many
  std::uint64_t accesses = 60'000'000;    // too many is what does more than about this
  std::uint64_t seed = 1;                 // of the data
  bool check = true;                      // look for races
  bool places = true;                     // tell the lines of source; else all accesses of a kind are one
  std::vector<SourceLocation> without;    // barriers to leave out
  int compute_capability = 90;            // whose occupancy is told
  std::optional<std::int64_t> registers;  // of a thread, if not what the code says
  // Where the kernels' GPU code is looked for, by the shared object that brought the variant: two objects
  // may call their kernels alike.
  std::map<std::string, std::vector<KernelCode>> code;
};

// A line of source: what it asks of one array.
struct TracedLine {
  std::string file, text;  // text: "" where the file is not there
  std::string array;       // "": it has no name, as shared memory
  int line = 0;
  simt::Space space = simt::Space::global;
  simt::Act act = simt::Act::read;
  unsigned width = 0;  // the widest access
  simt::AccessCounts counts;
};

// Each place's lines added up, of whatever arrays; or each array's, of whatever places.
std::vector<TracedLine> by_place(const std::vector<TracedLine>& lines);
std::vector<TracedLine> by_array(const std::vector<TracedLine>& lines);

struct TracedFinding {
  simt::Finding::Kind kind = simt::Finding::Kind::race;
  std::string file, text, source;  // source: the line itself
  int line = 0;
  std::uint64_t times = 0;
  std::string schedule;  // the first that showed it
};

struct Traced {
  Plan plan;
  Dims dims;
  Element element = Element::f32;
  std::string elements;  // as Operation::element_name tells
  Reason absent;         // why it was not traced; its code may be known nevertheless
  // What the problem needs, of the part that was traced: of some blocks their share, of all blocks the share
  // of the outputs' elements that were written.
  double flops = 0, bytes = 0;
  std::uint64_t threads = 0, warps = 0, blocks = 0, blocks_run = 0, launches = 0, barriers = 0;
  std::int64_t threads_per_block = 0, shared_bytes = 0;
  Occupancy occupancy;
  std::optional<KernelCode> code;  // what the GPU's compiler made of the kernel
  bool registers_known = false;
  std::vector<TracedLine> lines;
  std::vector<simt::BarrierCounts> barrier_sites;
  std::vector<TracedFinding> findings;
  std::vector<std::string> schedules;

  simt::AccessCounts total(simt::Space space, simt::Act act) const;
  // Nothing is known of a kernel of which no block ran.
  std::optional<double> occupancy_fraction() const {
    return threads_per_block > 0 ? std::optional(occupancy.fraction) : std::nullopt;
  }
};

Traced trace(const Operation& operation, Element element, const Case& problem, const Plan& plan,
             const Tracing& tracing);

// Traces as named numbers and as JSON; tables and files are made from these.

// "global_load.sectors_per_request" → 2.5, in the order of the tables; nothing: it has no meaning here.
using Counters = std::vector<std::pair<std::string, std::optional<double>>>;
Counters counters_of(const Traced& traced);
// Of one place, under names without the first part: "sectors".
Counters counters_of(const simt::AccessCounts& counts, simt::Space space);
std::string name_of(simt::Space space, simt::Act act);  // "global_load"

struct TraceSession {
  std::vector<std::string> argv;
  std::string operation, date;
  std::uint64_t seed = 0;
  std::vector<Traced> rows;
};
nlohmann::ordered_json to_json(const TraceSession& session);

}  // namespace tessera::bench
