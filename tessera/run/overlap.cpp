// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/overlap.hpp"
#include <algorithm>
#include <cstdlib>

namespace tessera {
namespace {

struct Bytes {
  std::uintptr_t first, last;
  bool operator<(const Bytes& other) const { return first < other.first; }
  bool meets(const Bytes& other) const { return first < other.last && other.first < last; }
};

Bytes whole_of(const ArrayView& view) {
  const auto [first, last] = view.span();
  const auto size = static_cast<std::int64_t>(size_of(view.element));
  const auto at = reinterpret_cast<std::intptr_t>(view.data);
  return {static_cast<std::uintptr_t>(at + first * size), static_cast<std::uintptr_t>(at + last * size)};
}

// The innermost rows, in the order of their addresses.
std::vector<Bytes> rows_of(const ArrayView& view) {
  const auto [first, last] = view.span();
  if (last - first == view.count() || view.extents.empty()) return {whole_of(view)};
  std::size_t inner = 0;
  for (std::size_t d = 0; d < view.extents.size(); ++d)
    if (view.extents[inner] == 1 ||
        (view.extents[d] > 1 && std::abs(view.strides[d]) < std::abs(view.strides[inner])))
      inner = d;
  ArrayView row = view;
  row.extents = {view.extents[inner]};
  row.strides = {view.strides[inner]};
  const auto size = static_cast<std::int64_t>(size_of(view.element));
  std::vector<Bytes> out;
  const std::int64_t rows = view.count() / view.extents[inner];
  for (std::int64_t number = 0; number < rows; ++number) {
    std::int64_t rest = number, offset = 0;
    for (std::size_t d = view.extents.size(); d-- > 0;) {
      if (d == inner) continue;
      offset += rest % view.extents[d] * view.strides[d];
      rest /= view.extents[d];
    }
    row.data = static_cast<char*>(view.data) + offset * size;
    out.push_back(whole_of(row));
  }
  std::ranges::sort(out, std::less{});
  return out;
}

}  // namespace

bool overlap(const ArrayView& a, const ArrayView& b) {
  if (a.data == nullptr || b.data == nullptr || a.count() == 0 || b.count() == 0) return false;
  if (!whole_of(a).meets(whole_of(b))) return false;
  const auto rows_a = rows_of(a), rows_b = rows_of(b);
  for (auto i = rows_a.begin(), j = rows_b.begin(); i != rows_a.end() && j != rows_b.end();) {
    if (i->meets(*j)) return true;
    if (i->last <= j->first) ++i;
    else ++j;
  }
  return false;
}

void refuse_overlaps(const Arguments& host, const std::string& in_place) {
  for (const Parameter* output : host.signature().of(Parameter::Kind::output))
    for (const Parameter& other : host.signature().parameters) {
      if (!other.is_array() || other.name == output->name || !host.has(other.name)) continue;
      const ArrayView &to = host.array(output->name), &from = host.array(other.name);
      if (other.name == in_place && from.data == to.data && from.extents == to.extents && from.strides == to.strides)
        continue;
      if (overlap(to, from))
        throw Error(output->name + " overlaps " + other.name + " in memory; an output must lie apart");
    }
}

}  // namespace tessera
