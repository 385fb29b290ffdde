// SPDX-License-Identifier: Apache-2.0
// What is asked of a traced launch, and what it shows: for every access in the source its requests,
// counted as the hardware counts them, and what the kernel does that it must not.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>
#include "tessera/core/array.hpp"
#include "tessera/core/source_location.hpp"
#include "tessera/core/thread.hpp"
#include "tessera/simt/tracer/recorder.hpp"

namespace tessera::simt {

enum class Space : std::uint8_t { global, shared };

struct AccessCounts {
  std::uint64_t requests = 0;                          // memory instructions of warps
  std::uint64_t divergent = 0;                         // of these, by a part of the warp's lanes
  std::uint64_t accesses = 0, bytes = 0;               // of lanes
  std::uint64_t distinct_bytes = 0;                    // of each request
  std::uint64_t sectors = 0, ideal_sectors = 0;        // global memory
  std::uint64_t lines = 0;                             // of a cache, that these lie in
  std::uint64_t wavefronts = 0, ideal_wavefronts = 0;  // shared memory

  AccessCounts& operator+=(const AccessCounts& other);
  bool operator==(const AccessCounts&) const = default;
};

// The request of a place that cost most; of several the one of the lowest block, then warp, then the first.
struct DearestRequest {
  std::uint32_t cost = 0;    // sectors in global memory, wavefronts in shared memory; 0: none is kept
  std::uint32_t active = 0;  // its lanes
  std::int64_t block = 0, warp = 0;
  LaneAddresses offset{};  // of the active lanes, from where the array begins

  bool is_before(std::uint32_t other_cost, std::int64_t other_block, std::int64_t other_warp) const {
    if (cost != other_cost) return cost > other_cost;
    return block != other_block ? block < other_block : warp <= other_warp;
  }
};

// Accessible but forbidden bytes on both sides of a traced block's shared memory.
inline constexpr std::size_t shared_red_zone = 64 << 10;

// One place in the program that touches one array.
struct SiteCounts {
  SiteKey site;
  Space space = Space::global;
  AccessCounts counts;
  std::size_t array = 0;  // of global memory: its number; of shared memory: where the variable begins
  DearestRequest dearest;
};

// A part of an array, given out by itself: beside it lies nothing.
struct ArrayPart {
  char* data = nullptr;
  std::size_t bytes = 0;
  bool freed = false;
};

// An array in global memory with accessible but forbidden bytes on both sides.
struct TracedArray {
  std::string name;
  char* data = nullptr;
  std::size_t bytes = 0, red_zone_bytes = 0;
  Extents extents;                // row-major
  std::size_t element_bytes = 1;  // 0: not known
  bool input = false;             // must not be written
  // Given: a byte for each of its bytes, 1 where somebody has written, 2 where an atomic has updated what
  // nobody had written. A traced launch adds what it writes.
  std::uint8_t* written = nullptr;
  // Given: the part that holds an address or is nearest to it, and its name.
  std::function<std::optional<ArrayPart>(std::uint64_t address)> part_at = {};
  std::function<std::string(std::uint64_t address)> name_of_part = {};
};

// A read of bytes of a global array that nobody had written by then. It is a finding if nobody has at the end
// of the launch: other blocks' accesses are seen late.
struct UnwrittenRead {
  SiteKey site;
  std::size_t array = 0, offset = 0;
  std::int64_t block = 0, thread = 0;
};

// A variable in shared memory; what lies between two of them belongs to nobody.
struct SharedVariable {
  std::string name;
  std::size_t first = 0, bytes = 0;  // in the block's shared memory
  std::size_t element_bytes = 1;
  Extents extents;
};

struct Finding {
  enum class Kind : std::uint8_t {
    race,
    uninitialised,
    out_of_bounds,
    misaligned,
    writes_input,
    barrier,
    inactive_lane,  // a collective of a warp that a lane it names does not come to
    host_pointer,
    stopped,
    never_written
  };
  Kind kind = Kind::race;
  bool serious = true;             // false: on every GPU it goes well, as far as this run shows
  SiteKey site, other;             // where; a race has two places …
  SourceLocation location{"", 0};  // … and threads that wait in vain have this one
  std::string text;                // of the first: threads, blocks, what was touched
  std::int64_t block = 0;          // of the first
  bool of_blocks = false;          // a race of threads of different blocks
  std::uint64_t times = 1;
  std::string array;         // of the first, where there is one
  std::int64_t thread = -1;  // of the first, by rank; -1: of several
};
const char* name_of(Finding::Kind kind);

inline bool same(SourceLocation a, SourceLocation b) {
  return a.line == b.line && a.column == b.column &&
         (a.file == b.file || __builtin_strcmp(a.file, b.file) == 0);
}

// The order in which threads and blocks are run.
struct Schedule {
  enum class Order : std::uint8_t { ascending, descending, seeded };
  Order order = Order::ascending;
  std::uint64_t seed = 0;
};
std::string to_string(const Schedule& schedule);   // "ascending", "descending", "7"
Schedule parse_schedule(const std::string& word);  // throws Error

struct BarrierCounts {
  SourceLocation location;
  std::uint64_t times = 0;  // that a block passed it
};

struct Tracer {
  // Asked
  std::vector<TracedArray> arrays;
  Schedule schedule;
  std::int64_t sample = 0;              // blocks to run of each launch, evenly spread; 0: all
  std::int64_t watched = 0;             // of the blocks that are run, those to watch, evenly spread; 0: all
  bool check = true;                    // look for races and reads of what nobody wrote
  std::vector<SourceLocation> without;  // barriers that are left out, to see whether they are needed
  // The variable that holds a byte of shared memory. Not given: all of it is one.
  std::function<std::optional<SharedVariable>(std::size_t offset)> shared_variable_at;
  // Whether an address in no array is memory of the host. Not given: nobody asks.
  std::function<bool(std::uint64_t address)> is_host_memory;
  // What a faulting address is beside, such as "element 70000 of d_A, which has 100". Not given or "": not
  // known.
  std::function<std::string(std::uint64_t address, unsigned width)> place_of_fault;
  std::size_t words = 0;       // of global memory that each OS thread remembers the accesses to; 0: all
  bool early_returns = false;  // find barriers of a block that some of its threads returned before

  // Found, over all launches
  std::vector<SiteCounts> sites;
  std::vector<BarrierCounts> barriers;
  std::vector<Finding> findings;
  std::uint64_t threads = 0, warps = 0, blocks_run = 0, blocks = 0, launches = 0;
  std::int64_t shared_bytes = 0, threads_per_block = 0;  // the most of any launch
  bool explained = false;                                // why a kernel ended: it is among the findings
  bool blocks_communicate = false;  // by atomics or fences on global memory: their order matters

  std::vector<std::int64_t> blocks_to_run(std::int64_t of) const;
  bool watches(std::int64_t block, std::int64_t of) const {
    return watched == 0 || watched >= of || block * watched % of < watched;
  }
  void add(const SiteCounts& counts);
  void add(const BarrierCounts& counts);
  void add(const Finding& finding);
  bool race_table_full = false;                // races in global memory beyond `words` were not looked for
  std::vector<UnwrittenRead> unwritten_reads;  // during a launch; of each place and array some
  void find_unwritten_reads(const Launch& launch);
  AccessCounts total(Space space, Act act) const;
  std::string array_of(const SiteCounts& site) const;  // its name; "" when it has none
  std::mutex mutex;
};

// Whether the program leaves what an atomic of this place returns.
bool is_result_unused(SiteKey site);

// Why this build cannot trace; nothing: it can.
std::optional<std::string> tracing_absent();

// Who did what where, as messages say it.
// "thread (1, 0, 0) of block (0, 0, 0)"
std::string who(const Launch& launch, std::int64_t block, std::size_t thread);
std::string deed(SiteKey site);  // " reads 4 bytes"
// ", and nothing orders it with thread … of block …, which writes 4 bytes"
inline constexpr const char* wrote_the_same = "; both write the same value";
std::string race_with(const Launch& launch, std::int64_t block, std::size_t thread, SiteKey site);

std::string place_in_shared(std::uint64_t address, std::uint64_t first);
// "C[3, 4]", or "element -1 of C, which has 100". Where the size of an element is not known, it is the
// access's.
std::string place_in(const TracedArray& array, std::uint64_t address, unsigned width = 1);
// Of an address and of where the block's shared memory begins.
std::string place_in(const SharedVariable& variable, std::uint64_t address, std::uint64_t first);

}  // namespace tessera::simt
