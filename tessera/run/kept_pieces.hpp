// SPDX-License-Identifier: Apache-2.0
// Pieces of a call's inputs that a device keeps from one tile to the next: neighbours read the same rows or columns,
// which then cross the link once. Where memory is short, what was used longest ago makes room.
#pragma once
#include <map>
#include <memory>
#include "tessera/core/division.hpp"
#include "tessera/dist/layout.hpp"
#include "tessera/run/host_link.hpp"
#include "tessera/run/lane_memory.hpp"

namespace tessera {

struct KeptPiece {
  std::unique_ptr<LaneMemory> memory;
  dist::Place place;  // in that memory
  std::size_t last_tile = 0;
};

class KeptPieces {
 public:
  // `limit`: in bytes, for all pieces. `lanes` must stay.
  KeptPieces(Lanes& lanes, std::int64_t limit) : lanes_(&lanes), uploads_(lanes), limit_(limit) {}

  // The slice of an array in host memory, in the device's: it is there once the lane `in` has come so far. `fresh`
  // becomes true where it was not there before. `reached`: copies reach that host memory. Pieces that tiles from
  // `oldest` on read stay where they are.
  const KeptPiece& get(const Slice& slice, const ArrayView& array, bool reached, std::size_t tile, std::size_t oldest,
                       bool& fresh);

  // So much of the memory is for other things.
  void leave(std::int64_t bytes) { limit_ -= bytes; }

 private:
  std::unique_ptr<LaneMemory> room_for(std::int64_t bytes, std::size_t oldest);
  std::unique_ptr<LaneMemory> push_out(std::size_t oldest);

  Lanes* lanes_;
  Uploads uploads_;
  std::int64_t limit_, held_ = 0;
  std::map<Slice, KeptPiece> pieces_;
};

}  // namespace tessera
