// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/overlap.hpp"
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace tessera {
namespace {

ByteRange whole_of(const ArrayView& view) {
  const auto [first, last] = view.span();
  const auto size = static_cast<std::int64_t>(size_of(view.element));
  const auto at = reinterpret_cast<std::intptr_t>(view.data);
  return {static_cast<std::uintptr_t>(at + first * size), static_cast<std::uintptr_t>(at + last * size)};
}

// Returns the rows along a dimension, sorted by address.
std::vector<ByteRange> rows_along(const ArrayView& view, std::size_t inner) {
  ArrayView row = view;
  row.extents = {view.extents[inner]};
  row.strides = {view.strides[inner]};
  const auto size = static_cast<std::int64_t>(size_of(view.element));
  std::vector<ByteRange> out;
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

std::vector<ByteRange> rows_of(const ArrayView& view) {
  const auto [first, last] = view.span();
  if (last - first == view.count() || view.extents.empty()) return {whole_of(view)};
  std::size_t inner = 0;
  for (std::size_t d = 0; d < view.extents.size(); ++d)
    if (view.extents[inner] == 1 ||
        (view.extents[d] > 1 && std::abs(view.strides[d]) < std::abs(view.strides[inner])))
      inner = d;
  return rows_along(view, inner);
}

// Each element, sorted by address.
std::vector<ByteRange> elements_of(const ArrayView& view) {
  ArrayView each = view;
  each.extents.push_back(1);
  each.strides.push_back(0);
  return rows_along(each, view.extents.size());
}

}  // namespace

bool overlap(const ArrayView& a, const ArrayView& b) {
  if (a.data == nullptr || b.data == nullptr || a.count() == 0 || b.count() == 0) return false;
  if (!whole_of(a).intersects(whole_of(b))) return false;
  const auto rows_a = rows_of(a), rows_b = rows_of(b);
  for (auto i = rows_a.begin(), j = rows_b.begin(); i != rows_a.end() && j != rows_b.end();) {
    if (i->intersects(*j)) return true;
    if (i->last <= j->first) ++i;
    else ++j;
  }
  return false;
}

bool overlaps_itself(const ArrayView& view) {
  if (view.count() < 2) return false;
  const auto stride = [&](std::int64_t d) { return std::abs(view.strides[static_cast<std::size_t>(d)]); };
  Extents order;  // dimensions by stride; no std::vector, for calls that allocate nothing
  for (std::size_t d = 0; d < view.extents.size(); ++d)
    if (view.extents[d] > 1) order.push_back(static_cast<std::int64_t>(d));
  std::ranges::sort(order, {}, stride);
  // Strides that exceed the reach of all smaller ones keep all elements apart.
  std::int64_t reach = 1;
  bool apart = true;
  for (const std::int64_t d : order) {
    apart = apart && stride(d) >= reach;
    reach += (view.extents[static_cast<std::size_t>(d)] - 1) * stride(d);
  }
  if (apart) return false;
  const std::vector<ByteRange> elements = elements_of(view);
  return std::ranges::adjacent_find(elements, {}, &ByteRange::first) != elements.end();
}

namespace {

struct ByteInterval {
  ByteRange bytes;
  std::size_t access;
};

// The interval that reaches furthest so far, and the furthest one of another call.
class FurthestEnd {
 public:
  void add(const ByteInterval& interval, std::size_t call) {
    if (!first_ || call == first_call_) {
      if (!first_ || interval.bytes.last > first_->bytes.last) first_ = interval;
      first_call_ = call;
    } else if (interval.bytes.last > first_->bytes.last) {
      second_ = first_;
      first_ = interval;
      first_call_ = call;
    } else if (!second_ || interval.bytes.last > second_->bytes.last) {
      second_ = interval;
    }
  }
  const ByteInterval* of_another(std::size_t call) const {
    const auto& found = first_ && first_call_ != call ? first_ : second_;
    return found ? &*found : nullptr;
  }

 private:
  std::optional<ByteInterval> first_, second_;
  std::size_t first_call_ = 0;
};

std::optional<std::pair<std::size_t, std::size_t>> find_conflict_of(std::vector<ByteInterval>& intervals,
                                                                    std::span<const Access> accesses) {
  std::ranges::stable_sort(intervals, {}, [](const ByteInterval& i) { return i.bytes.first; });
  FurthestEnd written, read;
  for (const ByteInterval& interval : intervals) {
    const Access& access = accesses[interval.access];
    const ByteInterval* const before = written.of_another(access.call);
    if (before != nullptr && before->bytes.last > interval.bytes.first)
      return std::pair(before->access, interval.access);
    const ByteInterval* const reading = read.of_another(access.call);
    if (access.written && reading != nullptr && reading->bytes.last > interval.bytes.first)
      return std::pair(interval.access, reading->access);
    (access.written ? written : read).add(interval, access.call);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::pair<std::size_t, std::size_t>> find_conflict(std::span<const Access> accesses) {
  std::vector<ByteInterval> intervals;
  for (std::size_t i = 0; i < accesses.size(); ++i)
    if (accesses[i].view.data != nullptr && accesses[i].view.count() != 0)
      intervals.push_back({whole_of(accesses[i].view), i});
  if (!find_conflict_of(intervals, accesses)) return std::nullopt;
  // The arrays' address ranges overlap, but their rows may be interleaved, so rows are compared. If many
  // calls access the same array in the same way, two of them suffice: a call that conflicts with any of them
  // differs from at least one of the two.
  std::vector<ByteInterval> rows;
  std::map<std::tuple<const void*, Extents, Extents, std::size_t, bool>, std::set<std::size_t>> calls;
  for (const ByteInterval& interval : intervals) {
    const Access& access = accesses[interval.access];
    const ArrayView& view = access.view;
    auto& alike = calls[{view.data, view.extents, view.strides, size_of(view.element), access.written}];
    if (alike.size() == 2 || !alike.insert(access.call).second) continue;
    for (const ByteRange& row : rows_of(view)) rows.push_back({row, interval.access});
  }
  return find_conflict_of(rows, accesses);
}

void check_data(const Arguments& arguments) {
  for (const Parameter& p : arguments.signature().parameters) {
    if (!p.is_array() || !arguments.has(p.name)) continue;
    const ArrayView& view = arguments.array(p.name);
    if (std::ranges::find(view.extents, 0) != view.extents.end())
      continue;  // no product of extents: it may overflow
    if (view.data == nullptr && p.kind == Parameter::Kind::input) throw Error(p.name + " has no data");
    if (reinterpret_cast<std::uintptr_t>(view.data) % size_of(view.element) != 0)
      throw Error(p.name + " is not aligned to its elements");
  }
}

void refuse_overlaps(const Arguments& host, const std::string& in_place) {
  for (const Parameter& output : host.signature().parameters) {
    if (output.kind != Parameter::Kind::output) continue;
    const ArrayView& to = host.array(output.name);
    if (overlaps_itself(to)) throw Error(output.name + " has strides that make its elements overlap");
    for (const Parameter& other : host.signature().parameters) {
      if (!other.is_array() || other.name == output.name || !host.has(other.name)) continue;
      const ArrayView& from = host.array(other.name);
      if (other.name == in_place && from.data == to.data && from.extents == to.extents &&
          from.strides == to.strides)
        continue;
      if (overlap(to, from))
        throw Error(output.name + " overlaps " + other.name +
                    " in memory; outputs must not alias other arrays");
    }
  }
}

}  // namespace tessera
