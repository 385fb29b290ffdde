// SPDX-License-Identifier: Apache-2.0
// The tracer's side of one OS thread's blocks: it holds the warps' tables, and reads a table as soon as
// no lane of its warp can add to it: each has returned, waits at the block's barrier, or has a full
// column.
//
// Lanes that follow one path make a row of the table one memory instruction. Lanes that parted are
// joined by the place in the program and how often they were there, as if they met again as soon as
// they can.
#pragma once
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>
#include "tessera/simt/tracer/shadow.hpp"
#include "tessera/simt/executor/fiber.hpp"
#include "tessera/simt/executor/executor.hpp"
#include "tessera/simt/tracer/tracer.hpp"

namespace tessera::simt {

class BlockTrace {
 public:
  enum class Stop { at_barrier, returned, full };

  // `flush_lane` is called by a lane whose column is full, with `owner`, and returns when it has room.
  BlockTrace(const Task& task, const char* shared, void (*flush_lane)(LaneLog&), void* owner);
  ~BlockTrace();  // hands over what was counted
  BlockTrace(const BlockTrace&) = delete;
  BlockTrace& operator=(const BlockTrace&) = delete;
  WorkerShadow take_shadow();  // at the end

  void begin(std::int64_t block);
  void resume(int rank, const Stack& stack);  // this GPU thread goes on
  static void pause() {
    if (recording != nullptr && recording->owed != nullptr) settle(*recording);
    abandon();
  }
  static void abandon() { recording = nullptr; }  // its last access may have failed

  bool leaves_out(SourceLocation location) const;
  // This lane adds nothing for now. Gives the lanes of its warp that have room again.
  std::uint32_t stop(int rank, Stop why);
  // The lanes with a full column, made empty although others of the warp may still come.
  std::uint32_t empty_full(std::size_t warp);
  std::size_t warps() const { return warps_.size(); }
  void passed_barrier(SourceLocation location);
  // At a collective of a warp, or at a barrier, while others have returned; `text` says which.
  void passed_without_all(SourceLocation location, bool collective, const std::function<std::string()>& text);
  void warp_synced(std::size_t warp, std::uint32_t lanes);
  void fault(int rank, std::uint64_t address);  // its last access ended the block
  void communicate() { communicates_ = true; }  // with other blocks, in an order that is not looked at
  // At a collective of a warp, or at a barrier.
  void wait_in_vain(SourceLocation location, bool collective, const std::string& text);

 private:
  // What the last request from a place looked like: most look alike.
  struct Pattern {
    std::uint32_t active = 0;
    std::uint64_t alignment = 0;
    LaneAddresses offset{};  // from the first active lane's
    std::int64_t low = 0, high = 0;
    RequestCost cost;
  };
  struct Site {
    SiteKey key;
    struct ArrayCounts {
      std::size_t array;  // as in SiteCounts
      AccessCounts counts;
      DearestRequest dearest;
    };
    std::vector<ArrayCounts> counts[2];  // by Space; of most there is one
    Pattern pattern[2];
    std::size_t array = 0;                           // the one that it touched last
    std::size_t shared_first = 0, shared_bytes = 0;  // the variable in shared memory
    std::uint32_t number = 0;
    int unwritten_reads = 0;              // kept of it
    ArrayCounts& counts_of(Space space);  // of these
  };
  struct WarpState {
    WarpLog log;
    std::uint32_t present = 0, returned = 0, running = 0, full = 0;
  };
  // Where an address lies; bytes == 0: in nothing that is traced.
  struct Region {
    Space space = Space::global;
    std::size_t array = 0;
    std::uint64_t first = 0, bytes = 0;
    bool freed = false;
  };

  Site& site_of(std::uint64_t key, std::uint32_t row);
  void read_table(std::size_t warp);
  void read_rows(std::size_t warp);
  void read_parted(std::size_t warp);
  void request(std::size_t warp, Site& site, LaneAddresses& address, std::uint32_t active,
               const WarpLog::Values* values);
  void order(std::size_t warp, Act act, const LaneAddresses& lanes, std::uint32_t active);
  void check_parted(std::size_t warp);
  std::uint32_t pass_collectives(std::size_t warp, LaneAddresses& row);
  void check(std::size_t warp, Site& site, Space space, const LaneAddresses& address, std::uint32_t active,
             const WarpLog::Values& values);
  void check_lane(std::size_t warp, Site& site, std::size_t lane, std::uint64_t address,
                  const WarpLog::Values& values);
  void report_race(const Conflict& conflict, const Site& site, std::size_t warp, std::size_t lane,
                   std::uint64_t address);
  void note_race_with_atomic(std::size_t finding, const Site& site, int thread, std::uint64_t address,
                             const Conflict& conflict);
  void note_update(int thread, std::uint64_t address);
  void check_written(Site& site, std::size_t warp, std::uint32_t lanes, const LaneAddresses& address);
  bool as_before(Site& site, Space space, const LaneAddresses& address, std::uint32_t active) const;
  void request_by_lane(std::size_t warp, Site& site, const LaneAddresses& address, std::uint32_t active,
                       const WarpLog::Values* values);
  // `values`: null where nothing is to be checked.
  // `dearest`: whether the request may be kept as that, as all its lanes touch one array.
  void count(std::size_t warp, Site& site, Space space, const LaneAddresses& address, std::uint32_t active,
             const RequestCost& cost, bool dearest);
  void keep_dearest(DearestRequest& dearest, std::size_t warp, const Site& site, Space space,
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
  std::unique_ptr<Shadow> shadow_;                                 // null: nothing is checked
  std::vector<Site*> by_row_ = std::vector<Site*>(WarpLog::rows);  // each row's last site
  std::vector<BarrierCounts> barriers_;
  std::int64_t block_ = 0;
  std::uint64_t blocks_ = 0;
  bool communicates_ = false;
  std::vector<UnwrittenRead> unwritten_;
  // A plain read that races with an atomic is no mistake where its thread then updates the word by an atomic,
  // which compares it, as in a loop of atomicCAS. Of each finding: how many of its races are such.
  std::vector<std::uint64_t> harmless_;
  std::map<std::pair<int, std::uint64_t>, std::vector<std::size_t>> may_update_;  // by reader and address
  std::vector<Finding> findings_;  // handed over at the end: a mistake in a loop is told a million times
};

}  // namespace tessera::simt
