// SPDX-License-Identifier: Apache-2.0
// The hooks of a traced kernel record accesses here: a table of addresses for each warp, with a row for each
// access in order and a column for each lane. While the lanes follow one path, a row is one memory
// instruction of the warp and has one site; after divergence, every lane has its own column of sites.
#pragma once
#include <array>
#include <cstdint>
#include <memory>

namespace tessera::simt {

// Cost of one memory instruction of a warp: 32 addresses, counted like the hardware does.
//
// Global memory moves in sectors of 32 bytes; a cache looks up its lines of 128 bytes one after another.
// Shared memory has 32 banks of 4 bytes; each wavefront serves one word of every bank, broadcast to all lanes
// that read that word. Accesses of 8 and 16 bytes take two and four phases, of half and quarter warps.

inline constexpr int lanes_per_warp = 32;
using LaneAddresses = std::array<std::uint64_t, lanes_per_warp>;

struct RequestCost {
  std::uint32_t distinct_bytes = 0;
  std::uint32_t sectors = 0, ideal_sectors = 0;        // 32 bytes each; ideal: distinct bytes packed
  std::uint32_t lines = 0;                             // cache lines of 128 bytes that contain the sectors
  std::uint32_t wavefronts = 0, ideal_wavefronts = 0;  // ideal: each phase takes one
};

// `active`: mask of participating lanes, not 0; `width`: bytes of each access.
RequestCost global_cost(const LaneAddresses& address, std::uint32_t active, unsigned width);
RequestCost shared_cost(const LaneAddresses& address, std::uint32_t active, unsigned width);

enum class Act : std::uint8_t { read, write, atomic, collective, fence };

// Return address, kind and width of an access, packed into one word; 0: no access.
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
  std::array<std::uint64_t, rows> site{};  // 0: no access in this row yet
  bool diverged = false;
  std::unique_ptr<std::array<LaneAddresses, rows>> address =
      std::make_unique<std::array<LaneAddresses, rows>>();
  std::unique_ptr<std::array<LaneAddresses, rows>> own_site;  // null until lanes diverge
  // Hash of the value that a write stored.
  static constexpr std::uint32_t unknown = 0;
  using Values = std::array<std::uint32_t, lanes_per_warp>;
  std::unique_ptr<std::array<Values, rows>> value = std::make_unique<std::array<Values, rows>>();
  std::array<std::uint32_t, lanes_per_warp> count{};  // number of rows of each lane
};

struct LaneLog {
  std::uint64_t stack_low = 0, stack_bytes = 0;  // the thread's stack: accesses to it are not recorded
  WarpLog* warp = nullptr;
  std::uint32_t lane = 0;
  void (*flush_lane)(LaneLog&) = nullptr;  // called when the lane's column is full
  void* owner = nullptr;
  // The address of a write that was recorded just before it executes: its value is read at the next event.
  const volatile void* pending_write = nullptr;
  std::uint32_t pending_row = 0, pending_width = 0;
};

// The lane that this OS thread runs; null: it is not traced.
extern constinit thread_local LaneLog* recording __attribute__((tls_model("initial-exec")));

// The last access of this OS thread outside of traced kernels: the compiler may move the access itself to a
// later line than its hook.
struct HostAccess {
  std::uint64_t address = 0, site = 0;  // site: return address of the hook
};
extern constinit thread_local HostAccess last_host_access __attribute__((tls_model("initial-exec")));

void diverge(WarpLog& log);
void note_site(LaneLog& lane, std::uint32_t row, std::uint64_t site);
void flush_pending_write(LaneLog& lane);  // reads the value of the pending write

inline void record(LaneLog& lane, std::uint64_t address, SiteKey site) {
  WarpLog& log = *lane.warp;
  if (lane.pending_write != nullptr) flush_pending_write(lane);
  if (log.count[lane.lane] == WarpLog::rows) lane.flush_lane(lane);
  const std::uint32_t row = log.count[lane.lane];
  (*log.address)[row][lane.lane] = address;
  if (log.site[row] != site.bits) note_site(lane, row, site.bits);
  log.count[lane.lane] = row + 1;
}

}  // namespace tessera::simt
