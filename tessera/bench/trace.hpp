// SPDX-License-Identifier: Apache-2.0
// Traces one plan on the executor: its kernel's memory requests, as a GPU counts them, and its errors.
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
  // Each schedule is searched for errors; counts are those of the first.
  std::vector<simt::Schedule> schedules = {{}};
  std::int64_t blocks = 0;              // blocks to run per launch, evenly spaced; 0: all, within `accesses`
  std::uint64_t accesses = 60'000'000;  // approximate limit on the accesses of the blocks run
  std::uint64_t seed = 1;               // seed of the data
  bool check = true;                    // look for races
  std::vector<SourceLocation> without;  // barriers to skip
  int compute_capability = 90;          // for the occupancy
  std::optional<std::int64_t> registers;  // per thread; nothing: from the code
  // The kernels' GPU code, by the shared object that registered the variant: kernels of two objects may have
  // the same name.
  std::map<std::string, std::vector<KernelCode>> code;
};

// The accesses of one source line to one array.
struct TracedLine {
  std::string file, text;  // text: "" if the file is missing
  std::string array;       // "": no name, e.g. shared memory
  int line = 0;
  simt::Space space = simt::Space::global;
  simt::Act act = simt::Act::read;
  unsigned width = 0;  // widest access
  simt::AccessCounts counts;
  simt::CostliestRequest costliest;  // the costliest access with the width `costliest_width`
  unsigned costliest_width = 0;
  Extents extents;                                            // the array's extents; empty: shared memory
  std::size_t array_bytes = 0, element_bytes = 0, start = 0;  // start: its offset in a line of 128 bytes
};

// Return sums over the arrays of each source line, or over the source lines of each array.
std::vector<TracedLine> by_place(const std::vector<TracedLine>& lines);
std::vector<TracedLine> by_array(const std::vector<TracedLine>& lines);

struct TracedFinding {
  simt::Finding::Kind kind = simt::Finding::Kind::race;
  std::string file, text, source;  // source: the line itself
  int line = 0;
  std::uint64_t times = 0;
  std::string schedule;  // first schedule that showed it
};

struct Traced {
  Plan plan;
  Dims dims;
  Element element = Element::f32;
  std::string elements;  // from Operation::element_name
  Reason absent;         // why it was not traced; `code` may be known nevertheless
  // The flops and bytes that the traced part of the problem requires: scaled by the share of the blocks that
  // ran, and by the share of the outputs' elements that were written.
  double flops = 0, bytes = 0;
  std::uint64_t threads = 0, warps = 0, blocks = 0, blocks_run = 0, launches = 0, barriers = 0;
  std::int64_t threads_per_block = 0, shared_bytes = 0;
  Occupancy occupancy;
  std::optional<KernelCode> code;  // compiled GPU code of the kernel
  bool registers_known = false;
  std::vector<TracedLine> lines;
  std::vector<simt::BarrierCounts> barrier_sites;
  std::vector<TracedFinding> findings;
  std::vector<std::string> schedules;

  simt::AccessCounts total(simt::Space space, simt::Act act) const;
  // Nothing: no block of the kernel ran.
  std::optional<double> occupancy_fraction() const {
    return threads_per_block > 0 ? std::optional(occupancy.fraction) : std::nullopt;
  }
};

Traced trace(const Operation& operation, Element element, const Case& problem, const Plan& plan,
             const Tracing& tracing);

// "global_load.sectors_per_request" → 2.5, in the order of the tables; nothing: undefined for this kernel.
using Counters = std::vector<std::pair<std::string, std::optional<double>>>;
Counters counters_of(const Traced& traced);
// Returns the counters of one access, under names without the first part: "sectors".
Counters counters_of(const simt::AccessCounts& counts, simt::Space space);
std::string name_of(simt::Space space, simt::Act act);  // "global_load"

nlohmann::ordered_json to_json(const Traced& row);

}  // namespace tessera::bench
