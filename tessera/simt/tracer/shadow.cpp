// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include "tessera/simt/tracer/shadow.hpp"
#include "tessera/simt/tracer/tracer.hpp"

namespace tessera::simt {

void Cells::refine() {
  if (granule_ == 1) return;
  std::vector<std::unique_ptr<Chunk>> coarse(chunks_.size());
  std::swap(coarse, chunks_);
  granule_ = 1;
  for (const auto& part : coarse) *chunks_left_ += part != nullptr;
  for (std::size_t i = 0; i < coarse.size() * chunk / 4; ++i)
    if (coarse[i / chunk])
      for (std::size_t byte = 0; byte < 4 && (4 * i + byte) / chunk < chunks_.size(); ++byte)
        if (Cell* const cell = make(4 * i + byte)) *cell = (*coarse[i / chunk])[i % chunk];
}

Shadow::Shadow(std::size_t threads, std::size_t shared_bytes, const std::vector<std::size_t>& array_bytes,
               std::size_t words)
    : chunks_left_(words == 0 ? ~std::size_t{0} : words / Cells::chunk),
      shared_(shared_bytes, shared_chunks_left_),
      warps_((threads + 31) / 32),
      last_fence_(threads) {
  for (const std::size_t bytes : array_bytes) arrays_.emplace_back(bytes, chunks_left_);
}

void Shadow::begin(std::int64_t block) {
  block_ = block;
  first_epoch_ = ++epoch_;
  blocks_.emplace_back(first_epoch_, block);
  std::ranges::fill(last_fence_, LogicalTime{});
  fences_.reset();
  fenced_ = false;
  acquired_.clear();
  block_acquired_.clear();
}

void Shadow::barrier() {
  if (fenced_) fences_ = std::make_shared<const std::vector<LogicalTime>>(last_fence_);
  fenced_ = false;
  for (const auto& [thread, seen] : acquired_)
    for (const auto& [address, count] : seen)
      block_acquired_[address] = std::max(block_acquired_[address], count);
  acquired_.clear();
  ++epoch_;
}

Shadow::WarpClock& Shadow::clock_of(std::size_t warp) {
  WarpClock& clock = warps_[warp];
  if (clock.epoch != epoch_) {
    clock.epoch = epoch_;
    clock.tick.fill(0);
    clock.known.reset();
  }
  return clock;
}

LogicalTime Shadow::now(int thread) {
  const auto at = static_cast<std::size_t>(thread);
  const WarpClock& clock = warps_[at / 32];
  return {epoch_, clock.epoch == epoch_ ? clock.tick[at % 32] : 0};
}

void Shadow::warp_synced(std::size_t warp, std::uint32_t lanes) {
  WarpClock& clock = clock_of(warp);
  if (!clock.known)
    clock.known = std::make_unique<std::array<std::array<std::uint32_t, lanes_per_warp>, lanes_per_warp>>();
  std::array<std::uint32_t, lanes_per_warp> joined{};
  for (std::size_t lane = 0; lane < lanes_per_warp; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    for (std::size_t other = 0; other < lanes_per_warp; ++other)
      joined[other] = std::max(joined[other], (*clock.known)[lane][other]);
    joined[lane] = ++clock.tick[lane];
  }
  for (std::size_t lane = 0; lane < lanes_per_warp; ++lane)
    if ((lanes >> lane & 1) != 0) (*clock.known)[lane] = joined;
}

void Shadow::fence(int thread) {
  const auto at = static_cast<std::size_t>(thread);
  ++clock_of(at / 32).tick[at % 32];
  last_fence_[at] = now(thread);
  fenced_ = true;
}

// True if an earlier access of this block in this epoch happens before the thread's current one.
bool Shadow::happens_before(const AccessRecord& before, int thread) {
  if (before.thread == thread) return true;
  const auto own = static_cast<std::size_t>(thread), other = std::size_t{before.thread};
  if (own / 32 != other / 32) return false;
  const WarpClock& clock = warps_[own / 32];
  if (clock.epoch != epoch_ || !clock.known) return false;
  return (*clock.known)[own % 32][other % 32] > before.when.tick;
}

bool Shadow::is_released(const AccessRecord& before, const Seen& seen) const {
  const std::int64_t block = block_of(before.when);
  for (const auto& [address, count] : seen) {
    const auto& releases = releases_.at(address);
    for (std::size_t i = 0; i < count; ++i) {
      const Release& r = releases[i];
      if (r.block != block) continue;
      if (before.when.epoch < r.epoch || (before.thread == r.thread && before.when < r.fence) ||
          (r.fences && before.when < (*r.fences)[before.thread]))
        return true;
    }
  }
  return false;
}

// True if atomics order an earlier access before the thread's current one. An atomic precedes later atomics
// on its address.
bool Shadow::is_released_to(const AccessRecord& before, int thread, std::uint64_t address) {
  const auto own = acquired_.find(thread);
  if (before.atomic &&
      (block_acquired_.contains(address) || (own != acquired_.end() && own->second.contains(address))))
    return true;
  return is_released(before, block_acquired_) || (own != acquired_.end() && is_released(before, own->second));
}

Conflict Shadow::conflict_with(const AccessRecord& other, int thread, bool other_wrote,
                               std::uint64_t address) {
  if (other.when.epoch == 0) return {};
  const bool this_block = other.when.epoch >= first_epoch_;
  if (this_block && (other.when.epoch < epoch_ || happens_before(other, thread))) return {};
  if (is_released_to(other, thread, address)) return {};
  return {.kind = Conflict::Kind::race,
          .other = other,
          .other_wrote = other_wrote,
          .other_is_first = other.step < step_,
          .steps_between = other.step < step_ ? step_ - other.step : other.step - step_};
}

void Shadow::record_read(Cell& cell, const AccessRecord& access) {
  AccessRecord &first = cell.read[0], &second = cell.read[1];
  if (first.when.epoch != epoch_) {
    if (first.when.epoch != 0 && first.when.epoch < first_epoch_) cell.elsewhere = first;
    first = access;
    second = {};
    return;
  }
  if (first.thread == access.thread) {
    first = access;
  } else if (second.when.epoch == 0 || second.thread == access.thread ||
             (first.thread / 32 == second.thread / 32 && access.thread / 32 != first.thread / 32)) {
    second = access;
  }
}

Conflict Shadow::conflict_of_write(Cell& cell, Act act, int thread, std::uint32_t value,
                                   std::uint64_t address) {
  Conflict out;
  if (act == Act::write) out = conflict_with(cell.atomic, thread, true, address);
  if (out.kind != Conflict::Kind::none) return out;
  out = conflict_with(cell.write, thread, true, address);
  if (out.kind != Conflict::Kind::none) {
    out.both_write = true;
    out.together = cell.write.step == step_;
    out.same_value = act == Act::write && value != WarpLog::unknown && value == cell.value;
    if (!out.same_value) return out;
  }
  for (const AccessRecord* reader : {&cell.read[0], &cell.read[1], &cell.elsewhere})
    if (Conflict c = conflict_with(*reader, thread, false, address); c.kind != Conflict::Kind::none) {
      c.both_write = out.both_write;
      c.together = out.together;
      return c;
    }
  return out;
}

Conflict Shadow::record_access(Cell& cell, Act act, int thread, std::uint32_t site, std::uint32_t value,
                               std::uint64_t address, bool is_shared) {
  // Shared memory does not persist from an earlier block.
  if (is_shared && cell.change().when.epoch < first_epoch_) cell.write = cell.atomic = {};
  if (is_shared && cell.read[0].when.epoch < first_epoch_) cell.read[0] = cell.read[1] = {};
  const AccessRecord access{.when = now(thread),
                            .site = site,
                            .thread = static_cast<std::uint16_t>(thread),
                            .atomic = act == Act::atomic,
                            .step = step_};
  Conflict out;
  if (act != Act::write && is_shared && cell.change().when.epoch == 0)
    out.kind = Conflict::Kind::uninitialised;
  if (act == Act::read) {
    for (const AccessRecord* change : {&cell.atomic, &cell.write})
      if (out.kind == Conflict::Kind::none) out = conflict_with(*change, thread, true, address);
    record_read(cell, access);
    return out;
  }
  if (const Conflict c = conflict_of_write(cell, act, thread, value, address); c.kind != Conflict::Kind::none)
    out = c;
  if (act == Act::atomic) {
    for (AccessRecord& reader : cell.read)
      if (reader.thread == access.thread && reader.when.epoch >= first_epoch_) reader.updates = true;
    cell.atomic = access;
  } else {
    cell.write = access;
    cell.atomic = {};
    cell.value = value;
  }
  return out;
}

Conflict Shadow::record_range(Cells& cells, std::size_t offset, unsigned width, Act act, int thread,
                              std::uint32_t site, std::uint32_t value, std::uint64_t address,
                              bool is_shared) {
  if (width % cells.granule() != 0 || offset % cells.granule() != 0) cells.refine();
  Conflict out;
  bool written = false;  // any part: a struct copied as a whole may have padding
  for (std::size_t at = offset / cells.granule(); at < (offset + width) / cells.granule(); ++at) {
    Cell* const cell = cells.make(at);
    if (cell == nullptr) {
      limit_exceeded_ = true;
      continue;
    }
    const Conflict c = record_access(*cell, act, thread, site, value, address, is_shared);
    written = written || c.kind != Conflict::Kind::uninitialised;
    const bool is_worse = out.kind != Conflict::Kind::race || !c.same_value;
    if (c.kind == Conflict::Kind::race ? is_worse
                                       : c.kind != Conflict::Kind::none && out.kind == Conflict::Kind::none)
      out = c;
  }
  if (out.kind == Conflict::Kind::uninitialised && written) return {};
  return out;
}

Conflict Shadow::shared(std::size_t offset, unsigned width, Act act, int thread, std::uint32_t site,
                        std::uint32_t value) {
  return record_range(shared_, offset, width, act, thread, site, value, 0, true);
}

Conflict Shadow::global(std::size_t array, std::size_t offset, unsigned width, Act act, int thread,
                        std::uint32_t site, std::uint32_t value, std::uint64_t address) {
  const Conflict out = record_range(arrays_[array], offset, width, act, thread, site, value, address, false);
  if (act == Act::atomic) communicate(thread, address, site);
  return out;
}

void Shadow::communicate(int thread, std::uint64_t address, std::uint32_t site) {
  const LogicalTime when = now(thread);
  auto& uses = atomics_[address];
  const auto known = std::ranges::find_if(
      uses, [&](const AtomicUse& use) { return use.block == block_ && use.thread == thread; });
  if (known != uses.end()) {
    known->last = when;
    known->last_site = site;
  } else {
    if (uses.size() == max_atomic_uses) uses.pop_front();
    uses.push_back({block_, static_cast<std::uint16_t>(thread), when, when, site, site});
  }
  const auto at = static_cast<std::size_t>(thread);
  ++clock_of(at / 32).tick[at % 32];
  auto& releases = releases_[address];
  acquired_[thread][address] = releases.size();
  const LogicalTime fence = last_fence_[static_cast<std::size_t>(thread)];
  std::uint32_t epoch = fence.epoch;
  if (fences_)
    for (const LogicalTime& other : *fences_) epoch = std::max(epoch, other.epoch);
  if (epoch == 0) return;
  releases.push_back({block_, epoch, static_cast<std::uint16_t>(thread), fence, fences_});
}

// Finds a word on which `thread` made an atomic before its access, and the other thread, or one behind a
// barrier of its block, one after its own.
std::optional<UnfencedAtomics> Shadow::atomics_around(const AccessRecord& other, int thread) const {
  const std::int64_t block = block_of(other.when);
  std::optional<UnfencedAtomics> out;
  const auto look = [&](const Seen& seen) {
    for (const auto& [address, count] : seen) {
      const auto uses = atomics_.find(address);
      if (uses == atomics_.end()) continue;
      for (const AtomicUse& use : uses->second) {
        if (use.block != block) continue;
        const bool own = use.thread == other.thread;
        if (own ? use.last < other.when : use.last.epoch <= other.when.epoch) continue;
        if (!out) out = {use.last_site, {}};
        if (own && use.first < other.when) out->lock = use.first_site;
      }
    }
  };
  look(block_acquired_);
  if (const auto own = acquired_.find(thread); own != acquired_.end()) look(own->second);
  return out;
}

std::int64_t Shadow::block_of(LogicalTime when) const {
  const auto after =
      std::ranges::upper_bound(blocks_, when.epoch, {}, &std::pair<std::uint32_t, std::int64_t>::first);
  return after == blocks_.begin() ? -1 : std::prev(after)->second;
}

namespace {

class Pair {
 public:
  Pair(WorkerShadow& one, WorkerShadow& two, const Launch& launch, Tracer& tracer)
      : one_(one), two_(two), launch_(launch), tracer_(tracer) {}

  void compare() {
    for (array_ = 0; array_ < tracer_.arrays.size(); ++array_) {
      Cells &a = one_.shadow->array(array_), &b = two_.shadow->array(array_);
      if (a.granule() != b.granule()) a.refine(), b.refine();
      granule_ = a.granule();
      for (std::size_t i = 0; i < a.chunks(); ++i)
        if (a.chunk_at(i) != nullptr && b.chunk_at(i) != nullptr)
          for (std::size_t k = 0; k < Cells::chunk; ++k)
            compare((*a.chunk_at(i))[k], (*b.chunk_at(i))[k], i * Cells::chunk + k);
    }
  }

 private:
  static const AccessRecord& reader_of(const Cell& cell) {
    return happened(cell.read[0]) ? cell.read[0] : cell.elsewhere;
  }
  static bool happened(const AccessRecord& access) { return access.when.epoch != 0; }

  void compare(const Cell& a, const Cell& b, std::size_t word) {
    if (happened(a.change()) && happened(b.change())) {
      if (happened(a.write) && happened(b.write))
        report_race(one_, a.write, two_, b.write, word, a.value == b.value && a.value != WarpLog::unknown);
      else if (happened(a.write)) report_race(one_, a.write, two_, b.atomic, word);
      else if (happened(b.write)) report_race(two_, b.write, one_, a.atomic, word);
    } else if (happened(a.change()) && happened(reader_of(b))) {
      report_race(one_, a.change(), two_, reader_of(b), word);
    } else if (happened(b.change()) && happened(reader_of(a))) {
      report_race(two_, b.change(), one_, reader_of(a), word);
    }
  }

  void report_race(const WorkerShadow& of, const AccessRecord& access, const WorkerShadow& other_of,
                   const AccessRecord& other, std::size_t word, bool same_value = false) {
    const TracedArray& array = tracer_.arrays[array_];
    const auto address = reinterpret_cast<std::uint64_t>(array.data) + word * granule_;
    Finding finding;
    finding.serious = !same_value;
    finding.site = of.sites[access.site];
    finding.other = other_of.sites[other.site];
    finding.block = of.shadow->block_of(access.when);
    finding.scope = RaceScope::grid;
    finding.both_write = finding.site.act() != Act::read && finding.other.act() != Act::read;
    finding.together = finding.both_write && access.step == other.step;
    finding.array = array.name;
    finding.thread = access.thread;
    finding.text = thread_text(launch_, finding.block, access.thread) + access_text(finding.site) + " at " +
                   place_in(array, address, finding.site.width()) +
                   race_with(launch_, other_of.shadow->block_of(other.when), other.thread, finding.other) +
                   (same_value ? wrote_the_same : "");
    tracer_.add(finding);
  }

  WorkerShadow &one_, &two_;
  const Launch& launch_;
  Tracer& tracer_;
  std::size_t array_ = 0;
  unsigned granule_ = 4;
};

}  // namespace

void find_races_across(std::vector<WorkerShadow>& workers, const Launch& launch, Tracer& tracer) {
  for (std::size_t i = 0; i < workers.size(); ++i)
    for (std::size_t j = i + 1; j < workers.size(); ++j)
      Pair(workers[i], workers[j], launch, tracer).compare();
}

}  // namespace tessera::simt
