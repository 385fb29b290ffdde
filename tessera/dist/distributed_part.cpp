// SPDX-License-Identifier: Apache-2.0
// One rank's part of the arguments.
#include <algorithm>
#include "tessera/dist/distributed.hpp"

namespace tessera::dist {
namespace {

void cut(ArrayView& view, std::size_t dimension, const Range& range) {
  if (view.data != nullptr && view.count() != 0)
    view.data = static_cast<char*>(view.data) +
                range.first * view.strides[dimension] * static_cast<std::int64_t>(size_of(view.element));
  view.extents[dimension] = range.extent();
}

}  // namespace

Arguments part_of(const Arguments& whole, const Contraction& contraction, const Range& rows,
                  const Range& cols) {
  std::map<std::string, ArrayView> inputs;
  for (const Parameter* p : whole.signature().of(Parameter::Kind::input)) {
    if (!whole.has(p->name)) continue;
    ArrayView view = whole.array(p->name);
    std::vector<std::string> names = p->extents_with(whole.words());
    if (!p->transposed_by.empty() && whole.text(p->transposed_by) == "transpose")
      std::swap(names[names.size() - 1], names[names.size() - 2]);
    for (std::size_t d = 0; d < names.size(); ++d)
      if (names[d] == contraction.rows) cut(view, d, rows);
      else if (names[d] == contraction.cols) cut(view, d, cols);
    inputs.emplace(p->name, std::move(view));
  }
  return {whole.signature(), whole.element(), std::move(inputs), whole.words()};
}

Operand::Operand(const ArrayView& seen, bool over_first, const Panels& panels, int mine)
    : seen_(seen), over_first_(over_first), panels_(panels), mine_(mine) {}

Extents Operand::extents(std::int64_t index) const {
  const std::int64_t depth = panels_.range(index).extent(), outer = seen_.extents[0];
  return over_first_ ? Extents{depth, outer} : Extents{outer, depth};
}

void Operand::read() {
  const Range mine = panels_.owned(mine_);
  for (std::int64_t index = mine.first; index < mine.last; ++index) {
    ArrayView from = seen_;
    cut(from, 1, panels_.range(index));
    own_.push_back(packed_copy(over_first_ ? from.transposed() : from));
  }
  // The first panel is the deepest.
  const bool all_mine = mine.extent() == panels_.count();
  for (Array& room : others_)
    if (!all_mine) room = Array(seen_.element, extents(0));
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
