// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/resident.hpp"
#include <algorithm>
#include <array>
#include "tessera/dist/room_list.hpp"
#include "tessera/dist/split.hpp"

namespace tessera::dist {
namespace {

enum Axis : std::uint8_t { rows, cols, depth };

Interval& side(Tile& tile, Axis axis) {
  return axis == rows ? tile.rows : axis == cols ? tile.cols : tile.depth;
}

Interval common(Interval a, Interval b) {
  const std::int64_t first = std::max(a.first, b.first);
  return {first, std::max(first, std::min(a.last, b.last))};
}

// An array, by the dimensions of the sum that its own two are.
struct Operand {
  std::string array;
  std::array<Axis, 2> axes{};
  const Distribution* spread = nullptr;

  Axis cut() const { return axes[spread->along]; }
  std::size_t outer_dim() const { return axes[0] == depth ? 1 : 0; }  // the one that is not summed over
  Axis outer() const { return axes[outer_dim()]; }
};

// A tile whose sides have unlike lengths tells which of them an array's dimensions follow.
std::array<Axis, 2> axes_of(const Slice& slice) {
  std::array<Axis, 2> out{};
  for (std::size_t d = 0; d < 2; ++d) {
    if (slice.box.size() != 2 || slice.box[d].first != 0 || slice.box[d].last < 2 || slice.box[d].last > 4)
      throw Error(slice.array +
                  " is no factor or result of a sum of products: it cannot lie spread over devices; from the "
                  "host's memory they share it by --devices");
    out[d] = static_cast<Axis>(slice.box[d].last - 2);
  }
  return out;
}
constexpr Tile probe{{0, 2}, {0, 3}, {0, 4}};

void check_blocks(const std::string& array, const Distribution& spread, std::int64_t extent,
                  std::size_t devices) {
  std::vector<Interval> ranges;
  for (const ResidentBlock& block : spread.blocks) {
    if (block.device >= devices) throw Error(array + " has a block on a device that is not there");
    if (block.range.size() < 0) throw Error(array + " has a block that ends before it begins");
    if (!block.range.empty()) ranges.push_back(block.range);
  }
  std::ranges::sort(ranges);
  std::int64_t at = 0;
  for (const Interval& range : ranges) {
    if (range.first != at)
      throw Error(array + (range.first > at ? "'s blocks leave a gap before " : "'s blocks overlap at ") +
                  std::to_string(range.first));
    at = range.last;
  }
  if (at != extent)
    throw Error(array + "'s blocks end at " + std::to_string(at) + " of " + std::to_string(extent));
}

class ResidentPlanner {
 public:
  ResidentPlanner(const Division& division, const Arguments& arguments, const std::string& output,
                  ResidentPlan& plan, std::size_t devices, std::int64_t panel_bytes)
      : division_(&division),
        arguments_(&arguments),
        plan_(&plan),
        devices_(devices),
        panel_bytes_(panel_bytes) {
    for (const Slice& slice : division.writes(probe)) result_ = operand(slice);
    if (result_.array != output) throw Error(output + " cannot be spread over devices");
    for (const Slice& slice : division.reads(probe)) {
      if (slice.box.size() != 2) continue;  // what follows the sum
      const auto axes = axes_of(slice);
      if (std::ranges::find(axes, depth) == axes.end()) continue;  // what it is added to
      (std::ranges::find(axes, rows) != axes.end() ? left_ : right_) = operand(slice);
    }
    if (left_.array.empty() || right_.array.empty() || left_.outer() != rows || right_.outer() != cols)
      throw Error(
          "only factors and results of sums of products of two arrays can lie spread over devices; from the "
          "host's memory they share others by --devices");
  }

  void add(std::size_t device) {
    device_ = device;
    part_ = &plan_->parts[device];
    for (std::size_t b = 0; b < result_.spread->blocks.size(); ++b) {
      const ResidentBlock& block = result_.spread->blocks[b];
      if (block.device != device) continue;
      Tile own = division_->whole();
      side(own, result_.cut()) = block.range;
      if (!own.empty()) add_block(b, own);
    }
    settle_arrivals();
    settle_room();
  }

 private:
  Operand operand(const Slice& slice) const {
    const auto found = plan_->distributions.find(slice.array);
    if (found == plan_->distributions.end()) throw Error(slice.array + " has no blocks");
    const ArrayView& array = arguments_->array(slice.array);
    check_blocks(slice.array, found->second, array.extents.at(found->second.along), devices_);
    return {slice.array, axes_of(slice), &found->second};
  }

  // How far around the ring a device is.
  std::size_t distance(std::size_t owner) const { return (owner + devices_ - device_) % devices_; }

  Slice slice_of(const Operand& operand, const Tile& tile) const {
    for (Slice& slice : division_->reads(tile))
      if (slice.array == operand.array) return std::move(slice);
    throw Error(Error::Kind::internal, "a step does not read " + operand.array);
  }

  ResidentPanel panel(const Operand& operand, const Tile& tile) const {
    ResidentPanel out{.slice = slice_of(operand, tile), .sources = {}};
    const std::size_t along = operand.spread->along;
    if (bytes_of(out.slice, arguments_->array(operand.array)) == 0) return out;
    const auto& blocks = operand.spread->blocks;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const Interval here = common(blocks[b].range, out.slice.box[along]);
      if (here.empty()) continue;
      out.sources.push_back({b, out.slice.box});
      out.sources.back().box[along] = here;
    }
    std::ranges::stable_sort(out.sources, {},
                             [&](const auto& source) { return distance(blocks[source.block].device); });
    out.in_place = out.sources.size() == 1 && blocks[out.sources[0].block].device == device_;
    return out;
  }

  std::int64_t bytes(const ResidentPanel& panel) const {
    return static_cast<std::int64_t>(bytes_of(panel.slice, arguments_->array(panel.slice.array)));
  }
  bool is_copied(const ResidentPanel& panel) const { return !panel.in_place && !panel.sources.empty(); }

  // By whom a step must wait: the next in the ring, and last of all what comes from several.
  std::size_t order_of(const Operand& operand, const ResidentPanel& panel) const {
    if (!is_copied(panel)) return 0;
    return panel.sources.size() > 1 ? devices_
                                    : distance(operand.spread->blocks[panel.sources[0].block].device);
  }

  // Where an interval meets the blocks that cut the operand along that axis; the whole where none do.
  std::vector<Interval> cut(const Operand& operand, Axis axis, Interval whole) const {
    std::vector<Interval> out;
    if (operand.cut() == axis)
      for (const ResidentBlock& block : operand.spread->blocks)
        if (const Interval here = common(block.range, whole); !here.empty()) out.push_back(here);
    if (out.empty()) out.push_back(whole);
    return out;
  }

  std::vector<ResidentPanel> panels_of(const Operand& operand, const Tile& tile) const {
    std::vector<ResidentPanel> out;
    Tile at = tile;
    for (const Interval& part : cut(operand, operand.outer(), side(at, operand.outer()))) {
      side(at, operand.outer()) = part;
      out.push_back(panel(operand, at));
    }
    std::ranges::stable_sort(out, {}, [&](const ResidentPanel& one) { return order_of(operand, one); });
    return out;
  }

  // The intervals of the sum, in the order in which they are added.
  std::vector<Interval> depths(const Tile& own, const Operand& passing, const Operand& staying) const {
    if (division_->depth_granule == 0 || own.depth.empty()) return {own.depth};
    std::vector<Interval> out;
    for (const Interval& part : cut(left_, depth, own.depth))
      for (const Interval& finer : cut(right_, depth, part)) out.push_back(finer);
    const auto nearest = [&](const Operand& operand, const Tile& at) {
      return order_of(operand, panels_of(operand, at).front());
    };
    std::ranges::stable_sort(out, {}, [&](Interval part) {
      Tile at = own;
      at.depth = part;
      return std::pair(nearest(passing, at), nearest(staying, at));
    });
    return out;
  }

  std::int64_t copied_bytes(const Operand& operand, const Tile& own) const {
    std::int64_t out = 0;
    for (const ResidentPanel& one : panels_of(operand, own))
      for (const auto& source : one.sources)
        if (operand.spread->blocks[source.block].device != device_)
          out += static_cast<std::int64_t>(
              bytes_of({operand.array, source.box}, arguments_->array(operand.array)));
    return out;
  }

  void add_block(std::size_t block, const Tile& own) {
    const bool right_passes = copied_bytes(right_, own) >= copied_bytes(left_, own);
    const Operand& passing = right_passes ? right_ : left_;
    const Operand& staying = right_passes ? left_ : right_;
    bool begins = true;
    for (const Interval& sum : depths(own, passing, staying)) {
      Tile at = own;
      at.depth = sum;
      std::vector<std::size_t> stay;
      for (ResidentPanel& one : panels_of(staying, at)) stay.push_back(keep(std::move(one)));
      for (const ResidentPanel& one : panels_of(passing, at))
        for (const Interval& part : thin(passing, one)) {
          side(at, passing.outer()) = part;
          const std::size_t pass = keep(panel(passing, at));
          for (const std::size_t other : stay) add_step(block, at, pass, other, begins, right_passes);
        }
      begins = false;
    }
  }

  std::size_t keep(ResidentPanel one) {
    part_->panels.push_back(std::move(one));
    return part_->panels.size() - 1;
  }

  // What passes is cut so that copies hide behind computing; the first copy of all, behind which nothing can
  // be computed yet, is shorter.
  std::vector<Interval> thin(const Operand& operand, const ResidentPanel& panel) const {
    constexpr std::int64_t block = 256, sooner = 4;
    const Interval whole = panel.slice.box[operand.outer_dim()];
    if (!is_copied(panel)) return {whole};
    const std::int64_t line = std::max<std::int64_t>(1, bytes(panel) / whole.size());
    std::int64_t most = std::max<std::int64_t>(1, panel_bytes_ / line);
    if (most >= block) most = most / block * block;
    std::vector<Interval> out;
    Interval rest = whole;
    if (part_->steps.empty() && whole.size() > most / sooner && most >= sooner) {
      rest.first += most / sooner;
      out.push_back({whole.first, rest.first});
    }
    if (!rest.empty())
      std::ranges::copy(even_parts(rest, most, most >= block ? block : 1), std::back_inserter(out));
    return out;
  }

  void add_step(std::size_t block, const Tile& at, std::size_t pass, std::size_t stay, bool begins,
                bool right_passes) {
    ResidentStep step{.tile = at, .reads = {stay, pass}, .arrivals = {}, .block = block, .begins = begins};
    const Operand& staying = right_passes ? left_ : right_;
    side(step.tile, staying.outer()) = part_->panels[stay].slice.box[staying.outer_dim()];
    if (!right_passes) std::swap(step.reads[0], step.reads[1]);
    if (!step.tile.empty()) part_->steps.push_back(std::move(step));
  }

  void settle_arrivals() {
    std::vector<bool> here(part_->panels.size());
    for (ResidentStep& step : part_->steps)
      for (const std::size_t one : step.reads) {
        if (is_copied(part_->panels[one]) && !here[one]) step.arrivals.push_back(one);
        here[one] = true;
      }
  }

  // A copy takes the room of those that the step `ahead` before, or an earlier one, was the last to read.
  void settle_room() {
    constexpr std::int64_t alignment = 256;
    const auto rounded = [](std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
    auto& panels = part_->panels;
    const auto& steps = part_->steps;
    std::vector<std::vector<std::size_t>> last_read(steps.size());
    std::vector<bool> seen(panels.size());
    for (std::size_t s = steps.size(); s-- > 0;)
      for (const std::size_t one : steps[s].reads) {
        if (!seen[one] && is_copied(panels[one])) last_read[s].push_back(one);
        seen[one] = true;
      }
    RoomList room;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      if (s >= ResidentPlan::ahead)
        for (const std::size_t one : last_read[s - ResidentPlan::ahead])
          room.give_back(panels[one].place.offset, rounded(panels[one].place.bytes()));
      for (const std::size_t one : steps[s].arrivals) {
        panels[one].place = packed(panels[one].slice, arguments_->array(panels[one].slice.array));
        panels[one].place.offset = room.take(rounded(panels[one].place.bytes()));
      }
    }
    part_->bytes = room.end();
  }

  const Division* division_;
  const Arguments* arguments_;
  ResidentPlan* plan_;
  std::size_t devices_;
  std::int64_t panel_bytes_;
  Operand result_, left_, right_;
  std::size_t device_ = 0;
  ResidentPart* part_ = nullptr;
};

}  // namespace

std::int64_t ResidentPlan::bytes_from_peers() const {
  std::int64_t out = 0;
  for (std::size_t d = 0; d < parts.size(); ++d)
    for (const ResidentStep& step : parts[d].steps)
      for (const std::size_t one : step.arrivals) {
        const ResidentPanel& panel = parts[d].panels[one];
        const auto& blocks = distributions.at(panel.slice.array).blocks;
        const std::int64_t element =
            panel.place.row_bytes / panel.slice.box[panel.place.turned ? 0 : 1].size();
        for (const auto& source : panel.sources)
          if (blocks[source.block].device != d) out += element * source.box[0].size() * source.box[1].size();
      }
  return out;
}

double ResidentPlan::flops(const Division& division, std::size_t device) const {
  double out = 0;
  for (const ResidentStep& step : parts[device].steps) out += division.flops(step.tile);
  return out;
}

ResidentPlan make_resident_plan(const Division& division, const Arguments& arguments,
                                const std::string& output, const Distributions& distributions,
                                std::size_t devices, std::int64_t panel_bytes) {
  if (devices == 0) throw Error("no device is named");
  ResidentPlan out;
  out.distributions = distributions;
  out.parts.resize(devices);
  ResidentPlanner planner(division, arguments, output, out, devices, panel_bytes);
  for (std::size_t d = 0; d < devices; ++d) planner.add(d);
  return out;
}

}  // namespace tessera::dist
