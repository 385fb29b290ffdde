// SPDX-License-Identifier: Apache-2.0
// Where the hooks of a traced kernel leave what they see: for each warp a table of addresses, a row
// for each access in turn and a column for each lane. While the lanes follow one path, a row is one
// memory instruction of the warp and its site is noted once; when a lane leaves the path, every lane
// gets a column of sites too.
#pragma once
#include <array>
#include <cstdint>
#include <memory>

namespace tessera::simt {

// What one memory instruction of a warp costs: 32 addresses, counted as the hardware counts them.
//
// Global memory moves in sectors of 32 bytes, whoever wants them; a cache looks its lines of 128 bytes up one
// after another. Shared memory has 32 banks of 4 bytes; each wavefront gives one word of every bank, to as
// many lanes as want that word. Accesses of 8 and 16 bytes take two and four phases, of half and quarter
// warps.

inline constexpr int lanes_per_warp = 32;
using LaneAddresses = std::array<std::uint64_t, lanes_per_warp>;

struct RequestCost {
  std::uint32_t distinct_bytes = 0;
  std::uint32_t sectors = 0, ideal_sectors = 0;        // of 32 bytes; ideal: distinct bytes packed
  std::uint32_t lines = 0;                             // of 128 bytes, that the sectors lie in
  std::uint32_t wavefronts = 0, ideal_wavefronts = 0;  // ideal: each phase takes one
};

// `active`: the lanes that take part, at least one, as bits; `width`: bytes of each access.
RequestCost global_cost(const LaneAddresses& address, std::uint32_t active, unsigned width);
RequestCost shared_cost(const LaneAddresses& address, std::uint32_t active, unsigned width);

enum class Act : std::uint8_t { read, write, atomic, collective, fence };

// Where in the program, what, and how wide, in one word that is never 0 for an access.
struct SiteKey {
  std::uint64_t bits = 0;

  static SiteKey of(const void* return_address, Act act, unsigned width) {
    return {reinterpret_cast<std::uint64_t>(return_address) | std::uint64_t{width} << 48 |
            static_cast<std::uint64_t>(act) << 56 | std::uint64_t{1} << 63};
  }
  std::uint64_t address() const { return bits & ((std::uint64_t{1} << 48) - 1); }
  unsigned width() const { return static_cast<unsigned>(bits >> 48 & 0xff); }
  Act act() const { return static_cast<Act>(bits >> 56 & 0x7f); }
};

struct WarpLog {
  static constexpr std::uint32_t rows = 512;
  std::array<std::uint64_t, rows> site{};  // 0: nobody was here yet
  bool diverged = false;
  std::unique_ptr<std::array<LaneAddresses, rows>> address =
      std::make_unique<std::array<LaneAddresses, rows>>();
  std::unique_ptr<std::array<LaneAddresses, rows>> own_site;  // once lanes diverged
  // What a write left, folded.
  static constexpr std::uint32_t unknown = 0;
  using Values = std::array<std::uint32_t, lanes_per_warp>;
  std::unique_ptr<std::array<Values, rows>> value = std::make_unique<std::array<Values, rows>>();
  std::array<std::uint32_t, lanes_per_warp> count{};  // rows of each lane
};

struct LaneLog {
  std::uint64_t stack_low = 0, stack_bytes = 0;  // its own: what it does there stays out
  WarpLog* warp = nullptr;
  std::uint32_t lane = 0;
  void (*flush_lane)(LaneLog&) = nullptr;  // called when the table is full
  void* owner = nullptr;
  // A write that has been recorded and is about to happen: its value is looked at before anything else does.
  const volatile void* owed = nullptr;
  std::uint32_t owed_row = 0, owed_width = 0;
};

// The lane that this OS thread runs, if it is being traced.
extern constinit thread_local LaneLog* recording __attribute__((tls_model("initial-exec")));

void diverge(WarpLog& log);
void note_site(LaneLog& lane, std::uint32_t row, std::uint64_t site);
void settle(LaneLog& lane);  // the write that is owed

inline void record(LaneLog& lane, std::uint64_t address, SiteKey site) {
  WarpLog& log = *lane.warp;
  if (lane.owed != nullptr) settle(lane);
  if (log.count[lane.lane] == WarpLog::rows) lane.flush_lane(lane);
  const std::uint32_t row = log.count[lane.lane];
  (*log.address)[row][lane.lane] = address;
  if (log.site[row] != site.bits) note_site(lane, row, site.bits);
  log.count[lane.lane] = row + 1;
}

}  // namespace tessera::simt
