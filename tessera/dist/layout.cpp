// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/layout.hpp"
#include <algorithm>
#include "tessera/dist/room_list.hpp"

namespace tessera::dist {
namespace {

// What kernels that read 16 bytes at a time, or boxes, want of a row; and of an array.
constexpr std::int64_t row_alignment = 16, alignment = 256;

std::int64_t rounded(std::int64_t bytes, std::int64_t unit) { return (bytes + unit - 1) / unit * unit; }

bool is_turned(const ArrayView& array) {
  return array.extents.size() == 2 && array.strides[1] != 1 && array.strides[0] == 1;
}

}  // namespace

std::optional<std::string> cannot_lay_out(const Arguments& arguments) {
  for (const Parameter& p : arguments.signature().parameters) {
    if (!p.is_array() || !arguments.has(p.name)) continue;
    const ArrayView& array = arguments.array(p.name);
    const bool flat = array.extents.size() == 1 && (array.strides[0] == 1 || array.extents[0] <= 1);
    const bool rows = array.extents.size() == 2 && (array.strides[1] == 1 || array.strides[0] == 1) &&
                      array.strides[0] >= 0 && array.strides[1] >= 0;
    if (!flat && !rows) return p.name + " does not lie in rows or columns of consecutive elements";
  }
  return std::nullopt;
}

Place packed(const Slice& slice, const ArrayView& array) {
  const auto size = static_cast<std::int64_t>(size_of(array.element));
  Place out;
  out.turned = is_turned(array);
  out.rows = slice.box.size() == 1 ? 1 : slice.box[out.turned ? 1 : 0].size();
  out.row_bytes = size * slice.box[out.turned ? 0 : slice.box.size() - 1].size();
  out.pitch = rounded(out.row_bytes, row_alignment);
  return out;
}

ArrayView view_at(const Place& place, const Slice& slice, const ArrayView& array, void* memory) {
  ArrayView out{static_cast<char*>(memory) + place.offset, array.element, {}, {}};
  for (const Interval& side : slice.box) out.extents.push_back(side.size());
  const std::int64_t step = place.pitch / static_cast<std::int64_t>(size_of(array.element));
  out.strides = {1};
  if (slice.box.size() == 2) out.strides = place.turned ? Extents{1, step} : Extents{step, 1};
  return out;
}

ArrayView rows_of(const Slice& slice, const ArrayView& array) {
  const ArrayView part = part_of(array, slice.box);
  return is_turned(array) ? part.transposed() : part;
}

Layout::Layout(const Plan& plan, std::size_t device, const Division& division, const Arguments& arguments)
    : plan_(&plan),
      device_(device),
      division_(&division),
      arguments_(&arguments),
      steps_(part().steps.size()) {
  if (part().held) lay_out_held();
  else lay_out_slots();
}

void Layout::widen(const Slice& slice) {
  const auto [at, fresh] = blocks_.try_emplace(slice.array, Block{slice.box, {}});
  if (fresh) return;
  for (std::size_t d = 0; d < slice.box.size(); ++d) {
    Interval& side = at->second.box[d];
    side.first = std::min(side.first, slice.box[d].first);
    side.last = std::max(side.last, slice.box[d].last);
  }
}

void Layout::settle_blocks() {
  for (auto& [name, block] : blocks_) {
    block.place = packed({name, block.box}, arguments_->array(name));
    block.place.offset = bytes_;
    bytes_ += rounded(block.place.bytes(), alignment);
  }
}

Place Layout::inside(const Slice& slice) const {
  const Block& block = blocks_.at(slice.array);
  const ArrayView& array = arguments_->array(slice.array);
  Place out = packed(slice, array);
  out.pitch = block.place.pitch;
  const auto size = static_cast<std::int64_t>(size_of(array.element));
  const std::size_t along = out.turned ? 0 : slice.box.size() - 1;
  out.offset = block.place.offset + (slice.box[along].first - block.box[along].first) * size;
  if (slice.box.size() == 2)
    out.offset += (slice.box[1 - along].first - block.box[1 - along].first) * out.pitch;
  return out;
}

void Layout::lay_out_held() {
  for (const Step& step : part().steps) {
    for (const Slice& slice : division_->reads(step.tile)) widen(slice);
    for (const Slice& slice : division_->writes(plan_->tiles[step.number])) widen(slice);
  }
  settle_blocks();
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = part().steps[s];
    for (const Copy& copy : step.copies) steps_[s].copies.push_back(place_of(copy.piece));
    for (const Slice& slice : division_->reads(step.tile)) steps_[s].reads.push_back(inside(slice));
    for (const Slice& slice : division_->writes(plan_->tiles[step.number]))
      steps_[s].writes.push_back(inside(slice));
  }
}

// Two tiles in turn, at the beginning. Returns what one takes.
std::int64_t Layout::lay_out_tiles() {
  std::int64_t most = 0;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = part().steps[s];
    std::int64_t offset = 0;
    for (const Slice& slice : division_->writes(plan_->tiles[step.number])) {
      Place place = packed(slice, arguments_->array(slice.array));
      place.offset = offset;
      offset += rounded(place.bytes(), alignment);
      steps_[s].writes.push_back(place);
    }
    most = std::max(most, offset);
  }
  std::size_t turn = 0;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    if (s > 0 && part().steps[s].begins) turn = 1 - turn;
    for (Place& place : steps_[s].writes) place.offset += turn == 0 ? 0 : most;
  }
  return most;
}

void Layout::lay_out_slots() {
  const std::int64_t tiles = 2 * lay_out_tiles();
  RoomList room;
  std::map<std::size_t, Place> here;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = part().steps[s];
    if (s >= Plan::ahead)
      for (const std::size_t piece : part().steps[s - Plan::ahead].drops) {
        const Place& place = here.at(piece);
        room.give_back(place.offset - tiles, rounded(place.bytes(), alignment));
        here.erase(piece);
      }
    for (const Copy& copy : step.copies) {
      const Slice& slice = plan_->pieces[copy.piece].slice;
      Place place = packed(slice, arguments_->array(slice.array));
      place.offset = tiles + room.take(rounded(place.bytes(), alignment));
      here[copy.piece] = place;
      steps_[s].copies.push_back(place);
    }
    for (const std::size_t piece : step.reads) steps_[s].reads.push_back(here.at(piece));
  }
  bytes_ = tiles + room.end();
}

}  // namespace tessera::dist
