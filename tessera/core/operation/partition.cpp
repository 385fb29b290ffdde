// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/operation/partition.hpp"
#include <algorithm>
#include <deque>
#include <map>
#include <utility>

namespace tessera {
namespace {

std::map<std::string, Partitioner>& partitions() {
  static std::map<std::string, Partitioner> all;
  return all;
}

}  // namespace

ArrayView part_of(const ArrayView& array, const std::vector<Interval>& box) {
  if (box.size() != array.extents.size())
    throw Error(Error::Kind::internal, "a part of " + std::to_string(box.size()) +
                                           " dimensions of an array of " +
                                           std::to_string(array.extents.size()));
  ArrayView out = array;
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < box.size(); ++d) {
    if (box[d].first < 0 || box[d].size() < 0 || box[d].last > array.extents[d])
      throw Error(Error::Kind::internal, "a part from " + std::to_string(box[d].first) + " to " +
                                             std::to_string(box[d].last) + " of an extent of " +
                                             std::to_string(array.extents[d]));
    out.extents[d] = box[d].size();
    offset += box[d].first * array.strides[d];
  }
  if (out.data != nullptr && out.count() != 0)
    out.data = static_cast<char*>(out.data) + offset * static_cast<std::int64_t>(size_of(array.element));
  return out;
}

std::size_t bytes_of(const Slice& slice, const ArrayView& array) {
  Extents extents;
  for (const Interval& side : slice.box) extents.push_back(side.size());
  return bytes_of(array.element, extents);
}

void register_partition(const std::string& operation, Partitioner divide) {
  partitions()[operation] = std::move(divide);
}

const Partitioner* find_partition(const std::string& operation) {
  const auto found = partitions().find(operation);
  return found == partitions().end() ? nullptr : &found->second;
}

std::int64_t divided_rows(const std::string& operation, const Arguments& arguments) {
  const Partitioner* const divide = find_partition(operation);
  if (divide == nullptr) throw Error(operation + " runs on one device: its result is not computed in parts");
  return (*divide)(arguments).rows;
}

namespace {

std::deque<Contraction>& contractions() {  // a deque, so that entries keep their addresses
  static std::deque<Contraction> contractions;
  return contractions;
}

}  // namespace

void register_contraction(Contraction contraction) { contractions().push_back(std::move(contraction)); }

const Contraction* contraction_of(std::string_view operation) {
  const auto found =
      std::find_if(contractions().rbegin(), contractions().rend(),
                   [&](const Contraction& contraction) { return contraction.operation == operation; });
  return found == contractions().rend() ? nullptr : &*found;
}

}  // namespace tessera
