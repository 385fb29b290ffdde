// SPDX-License-Identifier: Apache-2.0
// What is remembered of every word that threads share, to find accesses that nothing orders.
//
// A barrier orders a block: between two of them lies an epoch, and two threads that touch a word in one
// epoch, one of them writing, race, whatever the schedule was. A collective orders the lanes it names.
// Between blocks, and within an epoch, an atomic on global memory orders what its thread did before its last
// fence with what comes after a later atomic on that address: a lock, a ticket of the last block. That the
// later one has a fence too is not asked for, as CUDA's own examples have none there. Atomics do not race
// with atomics, nor hide the write before them. Of the readers of an epoch two are remembered, of different
// warps where there are such: enough that a write finds one that is not its own.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>
#include "tessera/simt/tracer/recorder.hpp"
#include "tessera/simt/tracer/tracer.hpp"

namespace tessera::simt {

// When a thread did something: what came before in its block is smaller.
struct Moment {
  std::uint32_t epoch = 0;  // 0: never
  std::uint32_t tick = 0;   // fences and collectives of the thread since
  bool operator<(const Moment& other) const {
    return epoch != other.epoch ? epoch < other.epoch : tick < other.tick;
  }
};

struct Trail {  // of one access
  Moment when;
  std::uint32_t site = 0;  // its number
  std::uint16_t thread = 0;
  bool atomic = false;
  bool updates = false;  // a read: its thread then updated the word by an atomic
};

struct Cell {
  Trail write;   // that is no atomic
  Trail atomic;  // since that write
  Trail read[2];
  Trail elsewhere;      // a read by an earlier block
  std::uint32_t value;  // that was written, folded; or it is not known

  const Trail& change() const { return atomic.when.epoch != 0 ? atomic : write; }
};

struct Conflict {
  enum class Kind : std::uint8_t { none, race, uninitialised } kind = Kind::none;
  Trail other = {};
  bool other_wrote = false;
  bool same_value = false;  // that both wrote
};

// The words of one array: made when first touched, of four bytes, or of one where smaller pieces are touched.
// `chunks_left` is how many chunks may be made, for several arrays together; of other words nothing is
// remembered.
class Cells {
 public:
  static constexpr std::size_t chunk = 1024;
  using Chunk = std::array<Cell, chunk>;

  Cells(std::size_t bytes, std::size_t& chunks_left)
      : chunks_left_(&chunks_left), chunks_((bytes + chunk - 1) / chunk) {}
  unsigned granule() const { return granule_; }
  void refine();  // to single bytes
  // Null: there is no room for it.
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
  // `words`: of the arrays, to be remembered; 0: all.
  Shadow(std::size_t threads, std::size_t shared_bytes, const std::vector<std::size_t>& array_bytes,
         std::size_t words = 0);
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;
  bool forgets() const { return forgets_; }  // some words were too many

  void begin(std::int64_t block);
  void barrier();
  void warp_synced(std::size_t warp, std::uint32_t lanes);
  void fence(int thread);

  // Whether a read of shared memory is like most: of words written before the last barrier, and adds
  // nothing to what is remembered of their readers.
  bool is_usual_read(std::size_t offset, unsigned width, int thread);

  // An access to [offset, offset + width) of shared memory or of an array, at `address`.
  Conflict shared(std::size_t offset, unsigned width, Act act, int thread, std::uint32_t site,
                  std::uint32_t value = WarpLog::unknown);
  Conflict global(std::size_t array, std::size_t offset, unsigned width, Act act, int thread,
                  std::uint32_t site, std::uint32_t value, std::uint64_t address);

  std::int64_t block_of(Moment when) const;
  Cells& array(std::size_t i) { return arrays_[i]; }

 private:
  // What somebody who saw an atomic may know of the block that did it.
  struct Release {
    std::int64_t block;
    std::uint32_t epoch;  // all before it
    std::uint16_t thread;
    Moment fence;                                       // of that thread
    std::shared_ptr<const std::vector<Moment>> fences;  // of all, as of its last barrier
  };
  using Seen = std::map<std::uint64_t, std::size_t>;  // an atomic's address → how many releases

  struct WarpClock {
    std::uint32_t epoch = 0;  // of which the rest is
    std::array<std::uint32_t, lanes_per_warp> tick{};
    std::unique_ptr<std::array<std::array<std::uint32_t, lanes_per_warp>, lanes_per_warp>> known;
  };

  WarpClock& clock_of(std::size_t warp);
  Moment now(int thread);
  bool ordered(const Trail& before, int thread);
  bool knows(const Trail& before, int thread, std::uint64_t address);
  bool knows_from(const Trail& before, const Seen& seen) const;
  Conflict against(const Trail& other, int thread, bool other_wrote, std::uint64_t address);
  Conflict record_access(Cell& cell, Act act, int thread, std::uint32_t site, std::uint32_t value,
                         std::uint64_t address, bool is_shared);
  Conflict conflict_of_write(Cell& cell, Act act, int thread, std::uint32_t value, std::uint64_t address);
  void note_read(Cell& cell, const Trail& trail);
  void communicate(int thread, std::uint64_t address);
  Conflict touch_all(Cells& cells, std::size_t offset, unsigned width, Act act, int thread,
                     std::uint32_t site, std::uint32_t value, std::uint64_t address, bool is_shared);

  std::size_t chunks_left_, shared_chunks_left_ = ~std::size_t{0};
  bool forgets_ = false;
  Cells shared_;
  std::vector<Cells> arrays_;
  std::vector<WarpClock> warps_;
  std::uint32_t epoch_ = 0, first_epoch_ = 0;  // of the block
  std::int64_t block_ = 0;
  std::vector<std::pair<std::uint32_t, std::int64_t>> blocks_;  // the first epoch of each

  std::vector<Moment> last_fence_;
  std::shared_ptr<const std::vector<Moment>> fences_;
  bool fenced_ = false;  // in this epoch
  std::unordered_map<std::uint64_t, std::vector<Release>> releases_;
  std::unordered_map<int, Seen> acquired_;  // by thread, since the last barrier
  Seen block_acquired_;
};

inline bool Shadow::is_usual_read(std::size_t offset, unsigned width, int thread) {
  if (shared_.granule() != 4 || (offset | width) % 4 != 0) return false;
  const int warp = thread / 32;
  if (warps_[static_cast<std::size_t>(warp)].epoch == epoch_) return false;
  for (std::size_t word = offset / 4; word < (offset + width) / 4; ++word) {
    const Cell* const cell = shared_.find(word);
    if (cell == nullptr || cell->write.when.epoch < first_epoch_ || cell->write.when.epoch == epoch_ ||
        cell->atomic.when.epoch == epoch_)
      return false;
    const Trail &first = cell->read[0], &second = cell->read[1];
    if (first.when.epoch != epoch_) return false;
    if (first.thread == thread) continue;
    if (second.when.epoch != epoch_) return false;
    if (second.thread != thread && first.thread / 32 == second.thread / 32 && warp != first.thread / 32)
      return false;
  }
  return true;
}

// What one OS thread remembers of the blocks that it ran.
struct WorkerShadow {
  std::unique_ptr<Shadow> shadow;
  std::vector<SiteKey> sites;  // by their numbers
};

// Blocks of different shadows that touch the same word, one of them writing.
void find_races_across(std::vector<WorkerShadow>& workers, const Launch& launch, Tracer& tracer);

}  // namespace tessera::simt
