// SPDX-License-Identifier: Apache-2.0
// Traces the blocks of one OS thread: holds the warps' tables, and reads a table as soon as no lane of its
// warp can add to it: each has returned, waits at the block's barrier, or has a full column.
//
// While lanes follow one path, a row of the table is one memory instruction. Accesses of diverged lanes are
// matched by site and by the number of earlier visits to it, as if the lanes reconverged as soon as possible.
#pragma once
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>
#include "tessera/simt/tracer/shadow.hpp"
#include "tessera/simt/executor/fiber.hpp"
#include "tessera/simt/executor/executor.hpp"
#include "tessera/simt/tracer/tracer.hpp"

namespace tessera::simt {

class BlockTrace {
 public:
  enum class Stop { at_barrier, returned, full };

  // A lane whose column is full calls `flush_lane`, which finds `owner` in the LaneLog and returns once the
  // column is empty.
  BlockTrace(const Task& task, const char* shared, void (*flush_lane)(LaneLog&), void* owner);
  ~BlockTrace();  // adds the counts and findings to the tracer
  BlockTrace(const BlockTrace&) = delete;
  BlockTrace& operator=(const BlockTrace&) = delete;
  WorkerShadow take_shadow();  // after the last block

  void begin(std::int64_t block);
  void resume(int rank, const Stack& stack);  // records for this GPU thread from now on
  static void pause() {
    if (recording != nullptr && recording->pending_write != nullptr) flush_pending_write(*recording);
    abandon();
  }
  static void abandon() { recording = nullptr; }  // the last write may have faulted: its value is not read

  bool is_skipped(SourceLocation location) const;
  // Makes this lane stop recording for now. Returns the lanes of its warp whose full columns were emptied.
  std::uint32_t stop(int rank, Stop why);
  // Reads the table although other lanes of the warp may still add to it. Returns the lanes whose full
  // columns were emptied.
  std::uint32_t empty_full(std::size_t warp);
  // Reads the table of a warp that is not traced further. Returns the lanes that were full.
  std::uint32_t empty_table(std::size_t warp) {
    read_table(warp);
    return std::exchange(warps_[warp].full, 0);
  }
  std::size_t warps() const { return warps_.size(); }
  // True if the budget of accesses allows a block: the first blocks take it, the others spread as much again.
  bool can_afford(std::int64_t block, std::int64_t of) {
    const std::int64_t budget = tracer_.accesses;
    const bool can = budget == 0 || accesses_ <= budget + budget * block / of || block == of - 1;
    cut_short_ = cut_short_ || !can;
    return can;
  }
  // True if this block alone has exceeded it.
  bool is_too_long() {
    constexpr std::int64_t most = std::int64_t{1} << 25;
    const bool is = tracer_.accesses != 0 && accesses_ - accesses_before_ > most;
    cut_short_ = cut_short_ || is;
    return is;
  }
  void passed_barrier(SourceLocation location);
  // Notes that a warp's collective or a barrier was passed after some of its threads had returned; `text`
  // names them.
  void passed_without_all(SourceLocation location, bool collective, const std::function<std::string()>& text);
  void warp_synced(std::size_t warp, std::uint32_t lanes);
  void fault(int rank, std::uint64_t address);  // the thread's last access stopped the block
  void communicate() { communicates_ = true; }  // the block synchronizes with others, in an unknown order
  // Notes a deadlock at a collective of a warp, or at a barrier.
  void report_deadlock(SourceLocation location, bool collective, const std::string& text);

 private:
  // Caches the last request of a site, because most have the same pattern.
  struct Pattern {
    std::uint32_t active = 0;
    std::uint64_t alignment = 0;
    LaneAddresses offset{};  // relative to the first active lane
    std::int64_t low = 0, high = 0;
    RequestCost cost;
  };
  struct Site {
    SiteKey key;
    struct ArrayCounts {
      std::size_t array;  // see SiteCounts::array
      AccessCounts counts;
      CostliestRequest costliest;
    };
    std::vector<ArrayCounts> counts[2];  // indexed by Space; most have one element
    Pattern pattern[2];
    std::size_t array = 0;                           // index of the last array accessed
    std::size_t shared_first = 0, shared_bytes = 0;  // last variable accessed
    std::uint32_t number = 0;
    int unwritten_reads = 0;              // number of unwritten reads recorded so far
    ArrayCounts& counts_of(Space space);  // for the last array or variable accessed
  };
  struct WarpState {
    WarpLog log;
    std::uint32_t rows_read = 0;  // in this block
    std::uint32_t present = 0, returned = 0, running = 0, full = 0;
  };
  // The array, part or variable of an address; bytes == 0: not in traced memory.
  struct Region {
    Space space = Space::global;
    std::size_t array = 0;
    std::uint64_t first = 0, bytes = 0;
    bool freed = false;
  };

  Site& site_of(std::uint64_t key, std::uint32_t row);
  void read_table(std::size_t warp);
  void read_rows(std::size_t warp);
  void read_diverged(std::size_t warp);
  // `values`: null if nothing is to be checked.
  void request(std::size_t warp, Site& site, LaneAddresses& address, std::uint32_t active,
               const WarpLog::Values* values);
  void order(std::size_t warp, Act act, const LaneAddresses& lanes, std::uint32_t active);
  void check_diverged(std::size_t warp);
  std::uint32_t pass_collectives(std::size_t warp, LaneAddresses& row);
  void check(std::size_t warp, Site& site, Space space, const LaneAddresses& address, std::uint32_t active,
             const WarpLog::Values& values);
  void check_lane(std::size_t warp, Site& site, std::size_t lane, std::uint64_t address,
                  const WarpLog::Values& values);
  void report_race(const Conflict& conflict, const Site& site, std::size_t warp, std::size_t lane,
                   std::uint64_t address);
  void describe_race(Finding& finding, const Conflict& conflict) const;
  void note_race_with_atomic(std::size_t finding, const Site& site, int thread, std::uint64_t address,
                             const Conflict& conflict);
  void note_update(int thread, std::uint64_t address);
  void check_written(Site& site, std::size_t warp, std::uint32_t lanes, const LaneAddresses& address);
  bool as_before(Site& site, Space space, const LaneAddresses& address, std::uint32_t active) const;
  void request_by_lane(std::size_t warp, Site& site, const LaneAddresses& address, std::uint32_t active,
                       const WarpLog::Values* values);
  // `costliest`: true if the request may be kept as the costliest, because all its lanes touch one array.
  void count(std::size_t warp, Site& site, Space space, const LaneAddresses& address, std::uint32_t active,
             const RequestCost& cost, bool costliest);
  void keep_costliest(CostliestRequest& costliest, std::size_t warp, const Site& site, Space space,
                      const LaneAddresses& address, std::uint32_t active, std::uint32_t cost) const;
  Region region_of(std::uint64_t address, const Site& site) const;
  Region part_of(const Region& array, std::uint64_t address) const;
  Region shared_region_of(std::uint64_t address, const Site& site) const;
  std::string place_of(std::uint64_t address, const Region& region, unsigned width) const;
  std::string array_of(const Region& region) const;
  void find(Finding::Kind kind, const Site& site, std::size_t warp, std::size_t lane, std::uint64_t address,
            const Conflict& conflict = {});

  const Task& task_;
  Tracer& tracer_;
  std::uint64_t shared_;  // its address
  std::vector<WarpState> warps_;
  std::vector<LaneLog> lanes_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Site>> sites_;
  std::vector<Site*> by_number_;
  std::unique_ptr<Shadow> shadow_;                                 // null: races are not checked
  std::vector<Site*> by_row_ = std::vector<Site*>(WarpLog::rows);  // last site of each row
  std::vector<BarrierCounts> barriers_;
  std::int64_t block_ = 0;
  std::uint64_t blocks_ = 0;
  std::int64_t accesses_ = 0, accesses_before_ = 0;  // recorded; before this block
  bool communicates_ = false, cut_short_ = false;
  std::vector<UnwrittenRead> unwritten_;
  std::unordered_map<std::uint64_t, std::size_t> unwritten_of_;  // this block's, by address / 4: the last one
  // A plain read that races with an atomic is no mistake if its thread then updates the word by an atomic
  // that compares it, e.g. in an atomicCAS loop. Holds the number of such races of each finding.
  std::vector<std::uint64_t> harmless_;
  std::map<std::pair<int, std::uint64_t>, std::vector<std::size_t>> may_update_;  // by thread and address
  std::vector<Finding> findings_;  // merged here first: a mistake in a loop can occur a million times
};

}  // namespace tessera::simt
