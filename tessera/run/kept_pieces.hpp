// SPDX-License-Identifier: Apache-2.0
// Pieces of a call's inputs that a device keeps from one tile to the next: neighbours read the same rows or
// columns, which then cross the link once. Where memory is short, what was used longest ago makes room.
#pragma once
#include <map>
#include <memory>
#include "tessera/core/division.hpp"
#include "tessera/dist/layout.hpp"
#include "tessera/dist/room_list.hpp"
#include "tessera/run/host_link.hpp"
#include "tessera/run/lane_memory.hpp"

namespace tessera {

struct KeptPiece {
  void* data = nullptr;
  dist::Place place;  // from there
  std::size_t last_tile = 0;
  std::int64_t offset = 0;                      // in the block
  std::unique_ptr<LaneMemory> apart = nullptr;  // where the block had no room
};

class KeptPieces {
 public:
  // Takes a block of so many bytes at once: to take memory, or give it back, may wait for all that the device
  // does. `lanes` must stay.
  KeptPieces(Lanes& lanes, std::int64_t bytes)
      : lanes_(&lanes), uploads_(lanes), block_(lanes, static_cast<std::size_t>(bytes)) {}

  // The slice of an array in host memory, in the device's: it is there once the lane `in` has come so far.
  // `fresh` becomes true where it was not there before. `reached`: copies reach that host memory. Pieces that
  // tiles from `oldest` on read stay where they are.
  const KeptPiece& get(const Slice& slice, const ArrayView& array, bool reached, std::size_t tile,
                       std::size_t oldest, bool& fresh);

  const LaneMemory& block() const { return block_; }

 private:
  void find_room(KeptPiece& piece, std::size_t oldest);
  bool push_out(std::size_t oldest);

  Lanes* lanes_;
  Uploads uploads_;
  LaneMemory block_;
  dist::RoomList room_;
  std::map<Slice, KeptPiece> pieces_;
};

}  // namespace tessera
