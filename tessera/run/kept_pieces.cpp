// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/kept_pieces.hpp"
#include <algorithm>

namespace tessera {
namespace {

std::int64_t room_of(const dist::Place& place) {
  constexpr std::int64_t alignment = 256;
  return (place.bytes() + alignment - 1) / alignment * alignment;
}

}  // namespace

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
  find_room(piece, oldest);
  uploads_.copy({piece.data, static_cast<std::size_t>(piece.place.pitch)},
                HostRows::of(dist::rows_of(slice, array)), reached);
  return pieces_.emplace(slice, std::move(piece)).first->second;
}

void KeptPieces::find_room(KeptPiece& piece, std::size_t oldest) {
  const std::int64_t bytes = room_of(piece.place);
  do {
    piece.offset = room_.take(bytes);
    if (piece.offset + bytes <= static_cast<std::int64_t>(block_.bytes())) {
      piece.data = static_cast<char*>(block_.get()) + piece.offset;
      return;
    }
    room_.give_back(piece.offset, bytes);
  } while (push_out(oldest));
  piece.apart = std::make_unique<LaneMemory>(*lanes_, static_cast<std::size_t>(bytes));
  piece.data = piece.apart->get();
}

// What was used longest ago; false: all that is here is being read.
bool KeptPieces::push_out(std::size_t oldest) {
  const auto last_use = [](const auto& one) { return one.second.last_tile; };
  const auto longest_ago = std::ranges::min_element(pieces_, {}, last_use);
  if (longest_ago == pieces_.end() || longest_ago->second.last_tile >= oldest) return false;
  const KeptPiece& piece = longest_ago->second;
  if (!piece.apart) room_.give_back(piece.offset, room_of(piece.place));
  pieces_.erase(longest_ago);
  return true;
}

}  // namespace tessera
