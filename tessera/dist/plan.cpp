// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/plan.hpp"
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include "tessera/dist/clock.hpp"
#include "tessera/dist/room.hpp"
#include "tessera/dist/split.hpp"

namespace tessera::dist {
namespace {

std::int64_t bytes_of_slices(const std::vector<Slice>& slices, const Arguments& arguments) {
  std::int64_t bytes = 0;
  for (const Slice& slice : slices)
    bytes += static_cast<std::int64_t>(tessera::bytes_of(slice, arguments.array(slice.array)));
  return bytes;
}

// Of a slice's rows that follow each other without a gap all.
std::int64_t row_bytes_of(const Slice& slice, const ArrayView& array) {
  const ArrayView part = part_of(array, slice.box);
  std::int64_t length = 1;
  for (bool longer = true; longer;) {
    longer = false;
    for (std::size_t d = 0; d < part.extents.size(); ++d)
      if (part.strides[d] == length && part.extents[d] > 1) {
        length *= part.extents[d];
        longer = true;
        break;
      }
  }
  return length * static_cast<std::int64_t>(size_of(array.element));
}

class Planner {
 public:
  Planner(const Division& division, const Arguments& arguments, std::vector<Device> devices,
          const Manner& manner)
      : division_(&division), arguments_(&arguments), manner_(manner) {
    plan_.devices = std::move(devices);
    plan_.manner = manner;
    panels_ =
        even_parts({0, division.depth}, manner.panel, std::max<std::int64_t>(1, division.depth_granule));
    if (division.depth_granule == 0 || panels_.empty()) panels_ = {{0, division.depth}};
  }

  Plan plan(std::span<const Interval> rows) {
    if (rows.size() != plan_.devices.size()) throw Error(Error::Kind::internal, "rows for other devices");
    for (std::size_t d = 0; d < rows.size(); ++d) add_part(d, rows[d]);
    for (const Part& part : plan_.parts) plan_.held = plan_.held && part.held;
    choose_homes();
    for (std::size_t d = 0; d < rows.size(); ++d)
      if (plan_.devices[d].copies()) add_copies(d);
    return std::move(plan_);
  }

 private:
  // Back and forth, so that a tile has inputs in common with the one before it.
  std::vector<std::size_t> add_tiles(Interval rows) {
    const auto across = even_parts({0, division_->cols}, manner_.tile, division_->col_granule);
    std::vector<std::size_t> out;
    bool back = false;
    for (const Interval& part : even_parts(rows, manner_.tile, division_->row_granule)) {
      for (std::size_t j = 0; j < across.size(); ++j) {
        out.push_back(plan_.tiles.size());
        plan_.tiles.push_back({part, across[back ? across.size() - 1 - j : j], {0, division_->depth}});
      }
      back = !back;
    }
    return out;
  }

  void add_part(std::size_t device, Interval rows) {
    Part& part = plan_.parts.emplace_back();
    const auto tiles = add_tiles(rows);
    std::set<std::size_t> pieces;
    for (const std::size_t tile : tiles)
      for (const Interval& panel : panels_)
        for (const std::size_t piece : pieces_of(tile, panel)) pieces.insert(piece);
    for (const std::size_t piece : pieces) part.bytes += plan_.pieces[piece].bytes;
    for (const std::size_t tile : tiles)
      part.bytes += bytes_of_slices(division_->writes(plan_.tiles[tile]), *arguments_);
    const Device& about = plan_.devices[device];
    const std::int64_t memory = about.memory_for(manner_.tile, manner_.panel);
    part.held = !about.copies() || memory == 0 || part.bytes <= memory;
    const auto sweep =
        static_cast<std::size_t>(part.held ? manner_.sweep * static_cast<double>(panels_.size()) : 0);
    for (std::size_t l = 0; l < sweep; ++l)
      for (const std::size_t tile : tiles) add_step(part, tile, l, l + 1);
    for (const std::size_t tile : tiles)
      for (std::size_t l = sweep, next = l; l < panels_.size(); l = next) {
        next = part.held ? finished_with(l) : l + 1;
        add_step(part, tile, l, next);
      }
  }

  // The end of the panels that one step takes, from the first of them.
  std::size_t finished_with(std::size_t first) const {
    std::size_t last = first + 1;
    while (last < panels_.size() && panels_[last].last - panels_[first].first <= manner_.finish) ++last;
    return last;
  }

  void add_step(Part& part, std::size_t tile, std::size_t first, std::size_t last) {
    Step step;
    step.tile = plan_.tiles[tile];
    step.tile.depth = {panels_[first].first, panels_[last - 1].last};
    step.number = tile;
    for (std::size_t l = first; l < last; ++l)
      for (const std::size_t piece : pieces_of(tile, panels_[l]))
        if (std::ranges::find(step.reads, piece) == step.reads.end()) step.reads.push_back(piece);
    step.begins = first == 0;
    step.ends = last == panels_.size();
    part.steps.push_back(std::move(step));
  }

  std::vector<std::size_t> pieces_of(std::size_t tile, Interval panel) {
    Tile at = plan_.tiles[tile];
    at.depth = panel;
    std::vector<std::size_t> out;
    for (Slice& slice : division_->reads(at)) {
      const auto [known, fresh] = known_.emplace(slice, plan_.pieces.size());
      if (fresh)
        plan_.pieces.push_back({slice, bytes_of_slices({slice}, *arguments_),
                                row_bytes_of(slice, arguments_->array(slice.array))});
      out.push_back(known->second);
    }
    return out;
  }

  // What several read comes through the link that has least to carry.
  void choose_homes() {
    std::vector<std::set<std::size_t>> readers(plan_.pieces.size());
    for (std::size_t d = 0; d < plan_.parts.size(); ++d)
      if (plan_.devices[d].copies())
        for (const Step& step : plan_.parts[d].steps)
          for (const std::size_t piece : step.reads) readers[piece].insert(d);
    homes_.resize(plan_.pieces.size());
    std::vector<double> seconds(plan_.devices.size(), 0);
    const auto carry = [&](std::size_t piece, std::size_t d) {
      homes_[piece] = d;
      seconds[d] += static_cast<double>(plan_.pieces[piece].bytes) /
                    plan_.devices[d].bytes_in_of(plan_.pieces[piece].row_bytes);
    };
    for (std::size_t piece = 0; piece < readers.size(); ++piece)
      if (readers[piece].size() == 1) carry(piece, *readers[piece].begin());
    for (std::size_t piece = 0; piece < readers.size(); ++piece) {
      if (readers[piece].size() < 2) continue;
      std::optional<std::size_t> best;
      for (const std::size_t d : readers[piece])
        if (plan_.parts[d].held && (!best || seconds[d] < seconds[*best])) best = d;
      if (best) carry(piece, *best);
    }
  }

  bool from_peer(std::size_t device, std::size_t piece) const {
    const auto& home = homes_[piece];
    const Device& about = plan_.devices[device];
    return home && *home != device && plan_.parts[device].held && plan_.parts[*home].held &&
           about.peer_bytes_per_second > 0 && std::ranges::find(about.peers, *home) != about.peers.end();
  }

  void add_copies(std::size_t device) {
    Part& part = plan_.parts[device];
    Room room(plan_, part, plan_.devices[device], tile_bytes(part));
    for (std::size_t s = 0; s < part.steps.size(); ++s)
      for (const std::size_t piece : room.missing(s)) {
        Copy copy{piece};
        if (from_peer(device, piece)) copy.from = homes_[piece];
        part.steps[s].copies.push_back(copy);
      }
    if (!part.held) part.bytes = room.most();
  }

  // What the results take while they are made: all that are begun and not ended, and the one before, which
  // leaves.
  std::int64_t tile_bytes(const Part& part) const {
    std::int64_t largest = 0;
    for (const Step& step : part.steps)
      largest = std::max(largest, bytes_of_slices(division_->writes(plan_.tiles[step.number]), *arguments_));
    return 2 * largest;
  }

  const Division* division_;
  const Arguments* arguments_;
  Manner manner_;
  Plan plan_;
  std::vector<Interval> panels_;
  std::map<Slice, std::size_t> known_;
  std::vector<std::optional<std::size_t>> homes_;  // of each piece: who brings it from the host for all
};

}  // namespace

std::int64_t Plan::bytes_from_host() const {
  std::int64_t out = 0;
  for (const Part& part : parts)
    for (const Step& step : part.steps)
      for (const Copy& copy : step.copies)
        if (!copy.from) out += pieces[copy.piece].bytes;
  return out;
}

std::int64_t Plan::bytes_from_peers() const {
  std::int64_t out = 0;
  for (const Part& part : parts)
    for (const Step& step : part.steps)
      for (const Copy& copy : step.copies)
        if (copy.from) out += pieces[copy.piece].bytes;
  return out;
}

double Plan::flops(const Division& division, std::size_t device) const {
  double out = 0;
  for (const Step& step : parts[device].steps) out += division.flops(step.tile);
  return out;
}

Plan make_plan(const Division& division, const Arguments& arguments, std::vector<Device> devices,
               std::span<const Interval> rows, const Manner& manner) {
  return Planner(division, arguments, std::move(devices), manner).plan(rows);
}

std::int64_t least_bytes(const Division& division, const Arguments& arguments, const Manner& manner) {
  Tile tile = division.whole();
  tile.rows.last = std::min(tile.rows.last, manner.tile);
  tile.cols.last = std::min(tile.cols.last, manner.tile);
  const std::int64_t writes = bytes_of_slices(division.writes(tile), arguments);
  if (division.depth_granule > 0) tile.depth.last = std::min(tile.depth.last, manner.panel);
  return 2 * writes +
         static_cast<std::int64_t>(Plan::ahead) * bytes_of_slices(division.reads(tile), arguments);
}

namespace {

// Kernels work in blocks of their own, and shares that end within one cost as much as whole ones: cuts lie
// further apart where the shares are so long that this makes none unfair.
std::int64_t coarse_granule(std::span<const Interval> shares, std::int64_t granule) {
  constexpr std::int64_t block = 128, enough = 32;
  std::int64_t least = block * enough;
  for (const Interval& rows : shares)
    if (!rows.empty()) least = std::min(least, rows.size());
  std::int64_t out = granule;
  while (out < block && 2 * out * enough <= least) out *= 2;
  return out;
}

double mean_of(const std::vector<Device*>& devices, double Device::*what) {
  double sum = 0;
  for (const Device* device : devices) sum += device->*what;
  return sum / static_cast<double>(devices.size());
}

}  // namespace

void even_out(std::vector<Device>& devices) {
  constexpr double nearly = 1.1;
  std::map<std::string, std::vector<Device*>> kinds;
  for (Device& device : devices) kinds[device.kind].push_back(&device);
  for (const auto& [kind, like] : kinds) {
    const auto [least, most] = std::ranges::minmax(like, {}, &Device::flops_per_second);
    if (!(most->flops_per_second <= nearly * least->flops_per_second)) continue;
    for (double Device::*const what :
         {&Device::flops_per_second, &Device::bytes_in_per_second, &Device::bytes_out_per_second}) {
      const double mean = mean_of(like, what);
      for (Device* device : like) device->*what = mean;
    }
    for (Device* device : like) {
      device->flops_of_tiles = like.front()->flops_of_tiles;
      device->part_of_link = like.front()->part_of_link;
    }
  }
}

std::vector<Interval> rows_by_speed(const Division& division, const Arguments& arguments,
                                    const std::vector<Device>& devices) {
  const Tile whole = division.whole();
  const Seconds seconds = [&](std::size_t d, std::int64_t rows) {
    const Device& device = devices[d];
    if (rows == 0) return 0.0;
    const Tile tile{{0, rows}, whole.cols, whole.depth};
    const double compute = division.flops(tile) / device.flops_per_second;
    if (!device.copies()) return compute;
    const auto in = static_cast<double>(bytes_of_slices(division.reads(tile), arguments));
    const auto out = static_cast<double>(bytes_of_slices(division.writes(tile), arguments));
    return std::max({compute, in / device.bytes_in_per_second, out / device.bytes_out_per_second});
  };
  const auto fine = split_by_time(division.rows, division.row_granule, devices.size(), seconds);
  return split_by_time(division.rows, coarse_granule(fine, division.row_granule), devices.size(), seconds);
}

namespace {

std::int64_t steps_of(const Division& division, const Manner& manner) {
  const auto count = [](std::int64_t all, std::int64_t part) { return (all + part - 1) / part; };
  return count(division.rows, manner.tile) * count(division.cols, manner.tile) *
         count(division.depth, manner.panel);
}

// Of those devices that the manner's elements have least memory of; 0: no limit.
std::int64_t least_memory(const std::vector<Device>& devices, const Manner& manner) {
  std::int64_t out = 0;
  for (const Device& device : devices) {
    const std::int64_t memory = device.memory_for(manner.tile, manner.panel);
    if (device.copies() && memory > 0) out = out == 0 ? memory : std::min(out, memory);
  }
  return out;
}

bool fits(const Division& division, const Arguments& arguments, const std::vector<Device>& devices,
          const Manner& manner) {
  const std::int64_t memory = least_memory(devices, manner);
  return memory == 0 || least_bytes(division, arguments, manner) <= memory;
}

// For memory that holds only tiles with which no GPU is fast: the largest that fits.
std::vector<Manner> small_manners(const Division& division, const Arguments& arguments,
                                  const std::vector<Device>& devices) {
  constexpr std::int64_t smallest = 32, most_steps = 100'000;
  for (std::int64_t tile = 512; tile >= smallest; tile /= 2)
    for (const std::int64_t panel : {tile, tile / 2})
      if (fits(division, arguments, devices, {tile, panel, 0}) &&
          steps_of(division, {tile, panel, 0}) <= most_steps)
        return {{tile, panel, 0}};
  return {};
}

// Those to try: whose steps fit the memory and are not too many to look at. Where all are too many, the one
// that has fewest.
std::vector<Manner> manners(const Division& division, const Arguments& arguments,
                            const std::vector<Device>& devices) {
  constexpr std::int64_t most_steps = 4'000;
  std::vector<Manner> out;
  std::optional<Manner> fewest;
  for (const std::int64_t tile : {1024, 2048, 4096, 8192, 16384, 32768})
    for (const std::int64_t panel : {512, 1024, 1536, 2048, 3072, 4096}) {
      if (!fits(division, arguments, devices, {tile, panel, 0})) continue;
      if (!fewest || steps_of(division, {tile, panel, 0}) < steps_of(division, *fewest))
        fewest = {tile, panel, 0};
      if (steps_of(division, {tile, panel, 0}) > most_steps) continue;
      for (const double sweep : {0.0, 0.25, 0.5})
        for (const std::int64_t finish : {panel, 8 * panel})
          if (finish == panel || panel < division.depth) out.push_back({tile, panel, sweep, finish});
    }
  if (out.empty() && fewest) out.push_back(*fewest);
  if (out.empty()) out = small_manners(division, arguments, devices);
  return out;
}

Error too_little_memory(const Division& division, const Arguments& arguments,
                        const std::vector<Device>& devices) {
  constexpr std::int64_t tile = 1024, panel = 512;
  std::int64_t spare = 0;
  for (const Device& device : devices) spare = std::max(spare, device.spare_for(tile, panel));
  return Error("a device's " + std::to_string(least_memory(devices, {0, 0})) +
               " bytes hold too small a part of this; " +
               std::to_string(least_bytes(division, arguments, {tile, panel, 0}) + spare) + " would do");
}

}  // namespace

Plan make_plan(const Division& division, const Arguments& arguments, const std::vector<Device>& devices) {
  return make_plan(division, arguments, devices, rows_by_speed(division, arguments, devices));
}

Plan make_plan(const Division& division, const Arguments& arguments, const std::vector<Device>& devices,
               std::span<const Interval> rows) {
  std::optional<Plan> best;
  double least = 0;
  std::optional<Manner> limited;  // where memory is, whatever else a manner says does not matter
  for (const Manner& manner : manners(division, arguments, devices)) {
    if (limited && limited->tile == manner.tile && limited->panel == manner.panel) continue;
    Plan plan = make_plan(division, arguments, devices, rows, manner);
    if (std::ranges::none_of(plan.parts, &Part::held)) limited = manner;
    const double seconds = run_virtually(plan, division, arguments).end();
    // A plan that is hardly better for all its steps is not worth them.
    constexpr double worth = 0.995;
    if (best && !(seconds < least * worth)) continue;
    best = std::move(plan);
    least = seconds;
  }
  if (!best) throw too_little_memory(division, arguments, devices);
  return std::move(*best);
}

}  // namespace tessera::dist
