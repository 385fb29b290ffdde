// SPDX-License-Identifier: Apache-2.0
// Where the pieces and tiles of a plan lie in a device's memory, which is one block: settled before anything
// runs, so that nothing is allocated meanwhile. Where the device holds all, each array's part lies as one,
// and a step may read several pieces; else pieces take the room that others have left.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>
#include "tessera/dist/plan.hpp"

namespace tessera::dist {

// Rows of bytes in a block, all in bytes from its beginning. `turned`: an array of two dimensions whose
// columns lie one after another, so that a row here is one of these.
struct Place {
  std::int64_t offset = 0, pitch = 0, rows = 0, row_bytes = 0;
  bool turned = false;

  std::int64_t bytes() const { return rows * pitch; }
};

// Parallel to what the step and the division say of it.
struct StepPlaces {
  std::vector<Place> copies;  // of Step::copies
  std::vector<Place> reads;   // of Division::reads(Step::tile)
  std::vector<Place> writes;  // of Division::writes(the whole tile)
};

// Why arrays that lie like these cannot be laid out; nothing: they can.
std::optional<std::string> cannot_lay_out(const Arguments& arguments);

// A slice of an array packed in rows, at the beginning of a block.
Place packed(const Slice& slice, const ArrayView& array);
// The part of an array that is at a place of the block at `memory`.
ArrayView view_at(const Place& place, const Slice& slice, const ArrayView& array, void* memory);
// The slice where the array itself is, as rows.
ArrayView rows_of(const Slice& slice, const ArrayView& array);

class Layout {
 public:
  Layout(const Plan& plan, std::size_t device, const Division& division, const Arguments& arguments);

  const StepPlaces& step(std::size_t s) const { return steps_[s]; }
  std::int64_t bytes() const { return bytes_; }
  // Of a held part: where a piece is, for others to copy from.
  Place place_of(std::size_t piece) const { return inside(plan_->pieces[piece].slice); }

 private:
  struct Block {
    std::vector<Interval> box;
    Place place;
  };

  void lay_out_held();
  void lay_out_slots();
  std::int64_t lay_out_tiles();
  void widen(const Slice& slice);
  void settle_blocks();
  Place inside(const Slice& slice) const;
  const Part& part() const { return plan_->parts[device_]; }

  const Plan* plan_;
  std::size_t device_;
  const Division* division_;
  const Arguments* arguments_;
  std::map<std::string, Block> blocks_;
  std::vector<StepPlaces> steps_;
  std::int64_t bytes_ = 0;
};

}  // namespace tessera::dist
