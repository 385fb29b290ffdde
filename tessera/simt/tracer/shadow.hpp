// SPDX-License-Identifier: Apache-2.0
// Shadow memory: records the accesses to every word that threads share, to find data races.
//
// Barriers divide a block's execution into epochs. Two threads that touch a word in one epoch, one of them
// writing, race under any schedule. A collective orders the lanes it names. Between blocks, and within an
// epoch, an atomic on global memory orders the accesses of its thread before its last fence with those after
// a later atomic on that address: a lock, a ticket of the last block. The later thread needs no fence,
// because CUDA's own examples have none there. Atomics do not race with atomics, nor hide the write before
// them. Two readers of an epoch are remembered, of different warps if possible: enough for a write to find
// one that is not its own thread.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>
#include "tessera/simt/tracer/recorder.hpp"
#include "tessera/simt/tracer/tracer.hpp"

namespace tessera::simt {

// The time of an access; earlier moments of the same block compare less.
struct LogicalTime {
  std::uint32_t epoch = 0;  // 0: never
  std::uint32_t tick = 0;   // fences, collectives and global atomics of the thread in the epoch
  bool operator<(const LogicalTime& other) const {
    return epoch != other.epoch ? epoch < other.epoch : tick < other.tick;
  }
};

struct AccessRecord {  // one recorded access
  LogicalTime when;
  std::uint32_t site = 0;  // index of the site
  std::uint16_t thread = 0;
  bool atomic = false;
  bool updates = false;    // a read whose thread later updated the word by an atomic
  std::uint32_t step = 0;  // number of accesses that the thread made before it in the block
};

struct Cell {
  AccessRecord write;   // last plain write
  AccessRecord atomic;  // last atomic since that write
  AccessRecord read[2];
  AccessRecord elsewhere;  // read by an earlier block
  std::uint32_t value;     // hash of the value written, or WarpLog::unknown

  const AccessRecord& change() const { return atomic.when.epoch != 0 ? atomic : write; }
};

struct Conflict {
  enum class Kind : std::uint8_t { none, race, uninitialised } kind = Kind::none;
  AccessRecord other = {};
  bool other_wrote = false;
  bool same_value = false;  // both threads wrote the same value
  // Both threads write the word, though not always in this pair of accesses; `together`: at the same step.
  bool both_write = false, together = false;
  bool other_is_first = false;  // the other access has the lower step
  std::uint32_t steps_between = 0;
};

// Atomics of two threads on one word, before and after the accesses of a race: without fences they order
// nothing.
struct UnfencedAtomics {
  std::uint32_t release = 0;          // site of the other thread's atomic after its access
  std::optional<std::uint32_t> lock;  // site of the other thread's atomic before its access
};

// The cells of one array, allocated on first access: one for each 4-byte word, or one for each byte after a
// narrower or unaligned access. `chunks_left` is the number of chunks that may still be allocated, shared by
// several arrays; accesses beyond that are not recorded.
class Cells {
 public:
  static constexpr std::size_t chunk = 1024;
  using Chunk = std::array<Cell, chunk>;

  Cells(std::size_t bytes, std::size_t& chunks_left)
      : chunks_left_(&chunks_left), chunks_((bytes + chunk - 1) / chunk) {}
  unsigned granule() const { return granule_; }
  void refine();  // to one cell per byte
  // Returns null if the limit on chunks is reached.
  Cell* make(std::size_t index) {
    auto& part = chunks_[index / chunk];
    if (!part) {
      if (*chunks_left_ == 0) return nullptr;
      --*chunks_left_;
      part = std::make_unique<Chunk>();
    }
    return &(*part)[index % chunk];
  }
  Cell* find(std::size_t index) {
    auto& part = chunks_[index / chunk];
    return part ? &(*part)[index % chunk] : nullptr;
  }
  std::size_t chunks() const { return chunks_.size(); }
  const Chunk* chunk_at(std::size_t i) const { return chunks_[i].get(); }

 private:
  unsigned granule_ = 4;
  std::size_t* chunks_left_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
};

class Shadow {
 public:
  // `words`: number of words of the arrays to record; 0: all.
  Shadow(std::size_t threads, std::size_t shared_bytes, const std::vector<std::size_t>& array_bytes,
         std::size_t words = 0);
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;
  bool limit_exceeded() const { return limit_exceeded_; }  // true if the limit on words was exceeded

  void begin(std::int64_t block);
  void barrier();
  void warp_synced(std::size_t warp, std::uint32_t lanes);
  void fence(int thread);
  void set_step(std::uint32_t step) { step_ = step; }  // the accesses recorded next have it

  // Fast path. True if a read of shared memory cannot race and changes no record, because its words were
  // written before the last barrier and enough of their readers are recorded.
  bool is_fast_read(std::size_t offset, unsigned width, int thread);

  // Records an access to [offset, offset + width) of shared memory or of an array, at `address`.
  Conflict shared(std::size_t offset, unsigned width, Act act, int thread, std::uint32_t site,
                  std::uint32_t value = WarpLog::unknown);
  Conflict global(std::size_t array, std::size_t offset, unsigned width, Act act, int thread,
                  std::uint32_t site, std::uint32_t value, std::uint64_t address);

  std::int64_t block_of(LogicalTime when) const;
  std::optional<UnfencedAtomics> atomics_around(const AccessRecord& other, int thread) const;
  Cells& array(std::size_t i) { return arrays_[i]; }

 private:
  // The accesses of a block that its atomic makes visible to threads with a later atomic on that address.
  struct Release {
    std::int64_t block;
    std::uint32_t epoch;  // every access of the block before this epoch
    std::uint16_t thread;
    LogicalTime fence;                                       // last fence of `thread`
    std::shared_ptr<const std::vector<LogicalTime>> fences;  // last fences of all threads at the last barrier
  };
  // The atomics of one thread on one address.
  struct AtomicUse {
    std::int64_t block;
    std::uint16_t thread;
    LogicalTime first, last;
    std::uint32_t first_site, last_site;
  };
  static constexpr std::size_t max_atomic_uses = 16;  // the latest of each address
  using Seen = std::map<std::uint64_t, std::size_t>;  // address of an atomic → number of its releases seen

  struct WarpClock {
    std::uint32_t epoch = 0;  // the members below are valid in this epoch
    std::array<std::uint32_t, lanes_per_warp> tick{};
    std::unique_ptr<std::array<std::array<std::uint32_t, lanes_per_warp>, lanes_per_warp>> known;
  };

  WarpClock& clock_of(std::size_t warp);
  LogicalTime now(int thread);
  bool happens_before(const AccessRecord& before, int thread);
  bool is_released_to(const AccessRecord& before, int thread, std::uint64_t address);
  bool is_released(const AccessRecord& before, const Seen& seen) const;
  Conflict conflict_with(const AccessRecord& other, int thread, bool other_wrote, std::uint64_t address);
  Conflict record_access(Cell& cell, Act act, int thread, std::uint32_t site, std::uint32_t value,
                         std::uint64_t address, bool is_shared);
  Conflict conflict_of_write(Cell& cell, Act act, int thread, std::uint32_t value, std::uint64_t address);
  void record_read(Cell& cell, const AccessRecord& access);
  void communicate(int thread, std::uint64_t address, std::uint32_t site);
  Conflict record_range(Cells& cells, std::size_t offset, unsigned width, Act act, int thread,
                        std::uint32_t site, std::uint32_t value, std::uint64_t address, bool is_shared);

  std::size_t chunks_left_, shared_chunks_left_ = ~std::size_t{0};
  bool limit_exceeded_ = false;
  Cells shared_;
  std::vector<Cells> arrays_;
  std::vector<WarpClock> warps_;
  std::uint32_t epoch_ = 0, first_epoch_ = 0;  // current and first epoch of the block
  std::uint32_t step_ = 0;
  std::int64_t block_ = 0;
  std::vector<std::pair<std::uint32_t, std::int64_t>> blocks_;  // first epoch and number of each block

  std::vector<LogicalTime> last_fence_;
  std::shared_ptr<const std::vector<LogicalTime>> fences_;
  bool fenced_ = false;  // some thread fenced in this epoch
  std::unordered_map<std::uint64_t, std::vector<Release>> releases_;
  std::unordered_map<std::uint64_t, std::deque<AtomicUse>> atomics_;
  std::unordered_map<int, Seen> acquired_;  // by thread, since the last barrier
  Seen block_acquired_;
};

inline bool Shadow::is_fast_read(std::size_t offset, unsigned width, int thread) {
  if (shared_.granule() != 4 || (offset | width) % 4 != 0) return false;
  const int warp = thread / 32;
  if (warps_[static_cast<std::size_t>(warp)].epoch == epoch_) return false;
  for (std::size_t word = offset / 4; word < (offset + width) / 4; ++word) {
    const Cell* const cell = shared_.find(word);
    if (cell == nullptr || cell->write.when.epoch < first_epoch_ || cell->write.when.epoch == epoch_ ||
        cell->atomic.when.epoch == epoch_)
      return false;
    const AccessRecord &first = cell->read[0], &second = cell->read[1];
    if (first.when.epoch != epoch_) return false;
    if (first.thread == thread) continue;
    if (second.when.epoch != epoch_) return false;
    if (second.thread != thread && first.thread / 32 == second.thread / 32 && warp != first.thread / 32)
      return false;
  }
  return true;
}

// The accesses that one OS thread recorded in the blocks that it ran.
struct WorkerShadow {
  std::unique_ptr<Shadow> shadow;
  std::vector<SiteKey> sites;  // indexed by AccessRecord::site
};

// Reports races between blocks of different workers: both touch the same word, one of them writing.
void find_races_across(std::vector<WorkerShadow>& workers, const Launch& launch, Tracer& tracer);

}  // namespace tessera::simt
