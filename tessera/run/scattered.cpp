// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/scattered.hpp"
#include <cstring>
#include "tessera/dist/split.hpp"
#include "tessera/run/resident_seat.hpp"

namespace tessera {
namespace {

ArrayView part_of_whole(const ArrayView& whole, std::size_t along, Interval range) {
  std::vector<Interval> box{{0, whole.extents[0]}, {0, whole.extents[1]}};
  box[along] = range;
  return part_of(whole, box);
}

ArrayView without_memory(const ArrayView& whole) {
  return whole_of_blocks(whole.element, whole.extents[0], whole.extents[1], false);
}

}  // namespace

Scattered::Scattered(const Operation& operation, const Arguments& host, const std::vector<Device>& devices,
                     const std::map<std::string, std::size_t>& along, std::vector<double> shares,
                     const Request& request, const Resident::Open& open)
    : devices_(devices), output_(operation.output) {
  if (shares.empty()) shares.assign(devices.size(), 1);
  if (shares.size() != devices.size())
    throw Error(std::to_string(shares.size()) + " shares for " + std::to_string(devices.size()) + " devices");
  (void)divide_of(operation);
  std::map<std::string, ArrayView> operands;
  for (const auto& [name, dimension] : along) {
    const ArrayView& whole = host.array(name);
    if (whole.extents.size() != 2)
      throw Error(name +
                  " has no rows and columns to lie spread over devices; from the host's memory they share it "
                  "by --devices");
    scatter(name, whole, dimension, shares);
    if (name != output_) operands[name] = without_memory(whole);
  }
  Arguments whole(host.signature(), host.element(), std::move(operands), host.words());
  whole.set_array(output_, without_memory(host.array(output_)));
  resident_.emplace(ResidentCall{.operation = &operation,
                                 .whole = std::move(whole),
                                 .arrays = arrays_,
                                 .in_place = {},
                                 .devices = devices,
                                 .request = request},
                    open);
}

// Blocks begin at multiples of 16, at which rows of any element are aligned for the widest accesses.
void Scattered::scatter(const std::string& name, const ArrayView& whole, std::size_t along,
                        const std::vector<double>& shares) {
  constexpr std::int64_t granule = 16;
  ResidentArray& array = arrays_[name];
  array.spread.along = along;
  const auto ranges = dist::split_by_shares(whole.extents[along], granule, shares);
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const ArrayView part = part_of_whole(whole, along, ranges[d]);
    memories_.emplace_back(part.element, part.extents, backend_of(devices_[d]).memory(devices_[d]));
    array.spread.blocks.push_back({d, ranges[d]});
    array.blocks.push_back(memories_.back().view());
    if (name == output_) continue;
    const Array packed = packed_copy(part);
    copy(d, array.blocks[d].data, packed.view().data, part.bytes());
  }
}

void Scattered::copy(std::size_t device, void* to, const void* from, std::size_t bytes) {
  const Run run{&devices_[device]};
  backend_of(devices_[device]).copy(run, to, from, bytes);
  backend_of(devices_[device]).synchronize(run);
}

void Scattered::poison() {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const ArrayView& block = arrays_.at(output_).blocks[d];
    const Run run{&devices_[d]};
    backend_of(devices_[d]).fill(run, block.data, 0xff, block.bytes());
    backend_of(devices_[d]).synchronize(run);
  }
}

void Scattered::gather(const ArrayView& result) {
  const ResidentArray& array = arrays_.at(output_);
  const std::size_t size = size_of(result.element);
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const ArrayView to = part_of_whole(result, array.spread.along, array.spread.blocks[d].range);
    if (to.count() == 0) continue;
    Array packed(to.element, to.extents);
    copy(d, packed.as<void>(), array.blocks[d].data, to.bytes());
    const std::size_t row = size * static_cast<std::size_t>(to.extents[1]);
    for (std::int64_t i = 0; i < to.extents[0]; ++i)
      std::memcpy(static_cast<char*>(to.data) + i * to.strides[0] * static_cast<std::int64_t>(size),
                  packed.as<char>() + static_cast<std::size_t>(i) * row, row);
  }
}

}  // namespace tessera
