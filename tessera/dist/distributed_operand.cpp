// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/distributed.hpp"

namespace tessera::dist {

Operand::Operand(const ArrayView& seen, bool over_first, const Panels& panels, int mine, Storage storage)
    : seen_(seen), over_first_(over_first), panels_(panels), mine_(mine), storage_(std::move(storage)) {}

Extents Operand::extents(std::int64_t index) const {
  const std::int64_t depth = panels_.range(index).size(), outer = seen_.extents[0];
  return over_first_ ? Extents{depth, outer} : Extents{outer, depth};
}

void Operand::read() {
  const Interval mine = panels_.owned(mine_);
  for (std::int64_t index = mine.first; index < mine.last; ++index) {
    const ArrayView from = part_of(seen_, {{0, seen_.extents[0]}, panels_.range(index)});
    own_.push_back(packed_copy(over_first_ ? from.transposed() : from));
    if (storage_.memory == nullptr) continue;
    Array there(seen_.element, extents(index), *storage_.memory);
    storage_.copy(there.as<void>(), own_.back().as<void>(), bytes(index));
    own_.back() = std::move(there);
  }
  // The first panel is the deepest.
  const bool all_mine = mine.size() == panels_.count();
  Memory& memory = storage_.memory == nullptr ? host_memory() : *storage_.memory;
  for (Array& other : others_)
    if (!all_mine) other = Array(seen_.element, extents(0), memory);
}

void* Operand::data(std::int64_t index) {
  Array& held = is_mine(index) ? own_[static_cast<std::size_t>(index - panels_.owned(mine_).first)]
                               : others_[index % 2];
  return held.as<void>();
}

std::size_t Operand::bytes(std::int64_t index) const { return bytes_of(seen_.element, extents(index)); }

ArrayView Operand::panel(std::int64_t index) {
  const Extents packed = extents(index);
  const ArrayView view{data(index), seen_.element, packed, row_major_strides(packed)};
  return over_first_ ? view.transposed() : view;
}

}  // namespace tessera::dist
