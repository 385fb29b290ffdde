// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/kept_pieces.hpp"
#include <algorithm>

namespace tessera {

const KeptPiece& KeptPieces::get(const Slice& slice, const ArrayView& array, bool reached, std::size_t tile,
                                 std::size_t oldest, bool& fresh) {
  if (const auto found = pieces_.find(slice); found != pieces_.end()) {
    found->second.last_tile = tile;
    return found->second;
  }
  fresh = true;
  KeptPiece piece;
  piece.place = dist::packed(slice, array);
  piece.last_tile = tile;
  piece.memory = room_for(piece.place.bytes(), oldest);
  uploads_.copy({piece.memory->get(), static_cast<std::size_t>(piece.place.pitch)},
                HostRows::of(dist::rows_of(slice, array)), reached);
  return pieces_.emplace(slice, std::move(piece)).first->second;
}

// Room that a piece has left is taken over where it is large enough: to give memory back and take it anew would wait
// for all that the device does.
std::unique_ptr<LaneMemory> KeptPieces::room_for(std::int64_t bytes, std::size_t oldest) {
  while (held_ + bytes > limit_) {
    auto room = push_out(oldest);
    if (!room) break;  // all that is here is being read
    if (static_cast<std::int64_t>(room->bytes()) >= bytes) return room;
    held_ -= static_cast<std::int64_t>(room->bytes());
  }
  held_ += bytes;
  return std::make_unique<LaneMemory>(*lanes_, static_cast<std::size_t>(bytes));
}

std::unique_ptr<LaneMemory> KeptPieces::push_out(std::size_t oldest) {
  const auto last_use = [](const auto& one) { return one.second.last_tile; };
  const auto longest_ago = std::ranges::min_element(pieces_, {}, last_use);
  if (longest_ago == pieces_.end() || longest_ago->second.last_tile >= oldest) return nullptr;
  auto out = std::move(longest_ago->second.memory);
  pieces_.erase(longest_ago);
  return out;
}

}  // namespace tessera
