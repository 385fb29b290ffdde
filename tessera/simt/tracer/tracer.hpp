// SPDX-License-Identifier: Apache-2.0
// Options and results of a traced launch: the memory requests of every access in the source, as the hardware
// counts them, and mistakes of the kernel.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>
#include "tessera/core/array/array.hpp"
#include "tessera/core/text/source_location.hpp"
#include "tessera/core/device/thread.hpp"
#include "tessera/simt/tracer/recorder.hpp"

namespace tessera::simt {

enum class Space : std::uint8_t { global, shared };

struct AccessCounts {
  std::uint64_t requests = 0;                          // memory instructions issued by warps
  std::uint64_t divergent = 0;                         // requests by only a part of the warp's lanes
  std::uint64_t spaced = 0;                            // … that are equally spaced, but not neighbours
  std::uint64_t accesses = 0, bytes = 0;               // summed over lanes
  std::uint64_t distinct_bytes = 0;                    // distinct within a request, summed
  std::uint64_t sectors = 0, ideal_sectors = 0;        // global memory
  std::uint64_t lines = 0;                             // cache lines that contain the sectors
  std::uint64_t wavefronts = 0, ideal_wavefronts = 0;  // shared memory

  AccessCounts& operator+=(const AccessCounts& other);
  bool operator==(const AccessCounts&) const = default;
};

// The costliest request of a site; ties go to the lowest block, then the lowest warp, then the first request.
struct CostliestRequest {
  std::uint32_t cost = 0;    // sectors in global memory, wavefronts in shared memory; 0: no request
  std::uint32_t active = 0;  // lane mask
  std::int64_t block = 0, warp = 0;
  LaneAddresses offset{};  // bytes from the start of the array, for active lanes

  bool is_before(std::uint32_t other_cost, std::int64_t other_block, std::int64_t other_warp) const {
    if (cost != other_cost) return cost > other_cost;
    return block != other_block ? block < other_block : warp <= other_warp;
  }
};

// Bytes of the accessible but forbidden zone on each side of a traced block's shared memory.
inline constexpr std::size_t shared_red_zone = 64 << 10;

// One access in the program to one array.
struct SiteCounts {
  SiteKey site;
  Space space = Space::global;
  AccessCounts counts;
  std::size_t array = 0;  // global memory: index of the array; shared memory: offset of the variable
  CostliestRequest costliest;
};

// A suballocation of an array; accesses beside it are out of bounds.
struct ArrayPart {
  char* data = nullptr;
  std::size_t bytes = 0;
  bool freed = false;
};

// An array in global memory between two accessible but forbidden zones.
struct TracedArray {
  std::string name;
  char* data = nullptr;
  std::size_t bytes = 0, red_zone_bytes = 0;
  Extents extents;                // row-major
  std::size_t element_bytes = 1;  // 0: not known
  bool input = false;             // must not be written
  bool zeros = false;             // unwritten bytes are 0
  // Null, or a mark for each byte; 0: unwritten. A traced launch adds its own marks.
  std::uint8_t* written = nullptr;
  // Return the part that holds an address or is nearest to it, and its name; empty: the array has no parts.
  std::function<std::optional<ArrayPart>(std::uint64_t address)> part_at = {};
  std::function<std::string(std::uint64_t address)> name_of_part = {};
};

// A read of bytes of a global array before any write to them was seen. It becomes a finding if they are still
// unwritten at the end of the launch, because other blocks' writes are recorded late.
struct UnwrittenRead {
  SiteKey site;
  std::size_t array = 0, offset = 0;
  std::int64_t block = 0, thread = 0;
  bool then_written = false;  // its thread wrote the bytes before any other thread did
};

// Marks of TracedArray::written.
enum Mark : std::uint8_t {
  unwritten,
  written,
  updated,     // by an atomic, while it was unwritten
  overwritten  // first written by a thread that had read it before, and by no other block
};

// A variable in shared memory; bytes between two variables belong to neither.
struct SharedVariable {
  std::string name;
  std::size_t first = 0, bytes = 0;  // first: offset in the block's shared memory
  std::size_t element_bytes = 1;
  Extents extents;
};

// The threads that race, from the widest occurrence of a finding: a barrier that orders the lanes of a warp
// does not order a block.
enum class RaceScope : std::uint8_t { warp, block, grid };

struct Finding {
  enum class Kind : std::uint8_t {
    race,
    uninitialised,
    out_of_bounds,
    misaligned,
    writes_input,
    barrier,
    inactive_lane,  // a collective of a warp that a named lane does not reach
    host_pointer,
    stopped,
    never_written
  };
  Kind kind = Kind::race;
  bool serious = true;             // false: harmless on every GPU, as far as this run shows
  SiteKey site, other;             // the accesses; only a race has two …
  SourceLocation location{"", 0};  // … and a deadlock has a location instead
  std::string text;                // first occurrence: threads, blocks, memory accessed
  std::int64_t block = 0;          // first occurrence
  RaceScope scope = RaceScope::warp;
  // Races: in some occurrence the access at `site`, or the other one, comes first in its thread's program.
  bool site_is_first = false, other_is_first = false;
  std::uint32_t steps_to_write = ~0u;  // the fewest steps from a read to the other thread's write after it
  // The occurrences in which both threads write the word, though perhaps at other sites, and those of them at
  // the same step of both: many writers, and not an order that is missing.
  std::uint64_t both_write = 0, together = 0;
  // Races of blocks that atomics would order if there were fences: the other thread's atomic after its
  // access, and the one before it if it holds a lock.
  SiteKey release, lock;
  std::uint64_t times = 1;
  std::string array;          // array of the first occurrence; "": none
  std::int64_t thread = -1;   // rank, first occurrence; -1: several threads
  std::uint64_t address = 0;  // memory accessed by the first occurrence
};
const char* name_of(Finding::Kind kind);
// Merges an equal finding: keeps the text of the widest race, and of its lowest block.
void merge(Finding& known, const Finding& more);

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
  std::uint64_t times = 0;  // number of times that a block passed it
};

struct Tracer {
  // Options
  std::vector<TracedArray> arrays;
  Schedule schedule;
  std::int64_t sample = 0;              // number of blocks of each launch to run, evenly spaced; 0: all
  std::int64_t watched = 0;             // number of these blocks to trace, evenly spaced; 0: all
  std::int64_t accesses = 0;            // after so many on an OS thread, some blocks are traced; 0: no limit
  bool check = true;                    // look for races and reads of unwritten memory
  std::vector<SourceLocation> without;  // barriers to skip, to test whether they are needed
  // Returns the variable that holds a byte of shared memory; empty: all of it is one variable.
  std::function<std::optional<SharedVariable>(std::size_t offset)> shared_variable_at;
  // Returns true if an address outside of all arrays is host memory; empty: not checked.
  std::function<bool(std::uint64_t address)> is_host_memory;
  // Describes a faulting address by the nearest array, such as "element 70000 of d_A, which has 100"; empty
  // or returns "": not known.
  std::function<std::string(std::uint64_t address, unsigned width)> place_of_fault;
  std::size_t words = 0;       // words of global memory whose accesses each OS thread records; 0: all
  bool early_returns = false;  // report barriers of a block before which some of its threads returned

  // Results, over all launches
  std::vector<SiteCounts> sites;
  std::vector<BarrierCounts> barriers;
  std::vector<Finding> findings;
  std::uint64_t threads = 0, warps = 0, blocks_run = 0, blocks = 0, launches = 0;
  std::int64_t shared_bytes = 0, threads_per_block = 0;  // maximum over launches
  bool explained = false;                                // the findings say why a kernel was stopped
  bool cut_short = false;                                // `accesses` left blocks, or the rest of one, out
  bool blocks_communicate = false;  // through global memory, by atomics or fences: their order matters

  std::vector<std::int64_t> blocks_to_run(std::int64_t of) const;
  bool watches(std::int64_t block, std::int64_t of) const {
    return watched == 0 || watched >= of || block * watched % of < watched;
  }
  void add(const SiteCounts& counts);
  void add(const BarrierCounts& counts);
  void add(const Finding& finding);
  bool race_table_full = false;                // races in global memory beyond `words` were not checked
  std::vector<UnwrittenRead> unwritten_reads;  // during a launch; a limited number for each site
  void find_unwritten_reads(const Launch& launch);
  AccessCounts total(Space space, Act act) const;
  std::string array_of(const SiteCounts& site) const;  // the array's name; "": none
  std::mutex mutex;
};

// True if the program ignores the value that the atomic at this site returns.
bool is_result_unused(SiteKey site);

// Returns the reason why this build cannot trace, or nothing.
std::optional<std::string> tracing_absent();

// Parts of messages: thread, access and location.
// "thread (1, 0, 0) of block (0, 0, 0)"
std::string thread_text(const Launch& launch, std::int64_t block, std::size_t thread);
std::string access_text(SiteKey site);  // " reads 4 bytes"
// ", and nothing orders it with thread … of block …, which writes 4 bytes"
inline constexpr const char* wrote_the_same = "; both write the same value";
std::string race_with(const Launch& launch, std::int64_t block, std::size_t thread, SiteKey site);

std::string place_in_shared(std::uint64_t address, std::uint64_t first);
// Returns "C[3, 4]", or "element -1 of C, which has 100". If the element size is not known, uses the access's
// width.
std::string place_in(const TracedArray& array, std::uint64_t address, unsigned width = 1);
// `first`: address of the block's shared memory.
std::string place_in(const SharedVariable& variable, std::uint64_t address, std::uint64_t first);

}  // namespace tessera::simt
