// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/resident.hpp"
#include <algorithm>
#include "tessera/run/enqueue.hpp"
#include "tessera/run/overlap.hpp"
#include "tessera/run/resident_seat.hpp"

namespace tessera {

using Clock = std::chrono::steady_clock;

dist::Distributions distributions_of(const ResidentCall& call) {
  dist::Distributions out;
  for (const auto& [name, array] : call.arrays) {
    if (array.spread.blocks.size() != array.blocks.size())
      throw Error(name + " has " + std::to_string(array.spread.blocks.size()) + " blocks, but memory for " +
                  std::to_string(array.blocks.size()));
    if (array.spread.along > 1) throw Error(name + " has two dimensions");
    out[name] = array.spread;
  }
  return out;
}

const Divide& divide_of(const Operation& operation) {
  const Divide* const divide = find_division(operation.name);
  if (divide == nullptr)
    throw Error(operation.name + (is_divisible(operation.name)
                                      ? " has no matrices that could lie in the devices' memories: several "
                                        "devices share it by --devices"
                                      : " runs on one device: its result is not computed in parts"));
  return *divide;
}

ArrayView whole_of_blocks(Element element, std::int64_t rows, std::int64_t cols, bool by_columns) {
  // Of a single row or column strides could not tell the one from the other.
  constexpr std::int64_t least = 2;
  return {nullptr,
          element,
          {rows, cols},
          by_columns ? Extents{1, std::max(rows, least)} : Extents{std::max(cols, least), 1}};
}

Resident::Resident(ResidentCall call, const Open& open)
    : call_(std::move(call)),
      division_(divide_of(*call_.operation)(call_.whole)),
      plan_(dist::make_resident_plan(division_, call_.whole, call_.operation->output, distributions_of(call_),
                                     call_.devices.size(), call_.panel_bytes)) {
  if (const auto reason = dist::cannot_lay_out(call_.whole)) throw Error(*reason);
  check_blocks(call_, std::nullopt);
  const ResidentPlanned planned{&call_, &division_, &plan_};
  for (std::size_t d = 0; d < call_.devices.size(); ++d) {
    const Device& device = call_.devices[d];
    LaneMaker* const maker = find_lanes(device.where);
    if (!open && maker == nullptr)
      throw Error(
          Error::Kind::no_device,
          device.label() +
              " does one thing after another: blocks are for devices that copy and compute at a time");
    seats_.push_back(std::make_unique<ResidentSeat>(planned, d, open ? open(device) : maker->open(device)));
  }
  meet_peers();
  for (const auto& seat : seats_) seat->prepare();
}

Resident::~Resident() = default;

// What is written must lie apart from all that may still be read there, by whomever.
void check_blocks(const ResidentCall& call, std::optional<std::size_t> here) {
  const std::string& output = call.operation->output;
  struct Lies {
    std::string name;
    std::size_t device;
    const ArrayView* view;
  };
  std::vector<Lies> all;
  for (const auto& [name, array] : call.arrays)
    for (std::size_t b = 0; b < array.blocks.size(); ++b) {
      const ArrayView& view = array.blocks[b];
      const dist::ResidentBlock& block = array.spread.blocks[b];
      Extents wanted = call.whole.array(name).extents;
      wanted[array.spread.along] = block.range.size();
      if (view.extents != wanted)
        throw Error("a block of " + name + " is " + to_string(view.extents) + ", not " + to_string(wanted));
      if (view.element != call.whole.array(name).element)
        throw Error("a block of " + name + " holds other elements");
      if (view.count() == 0 || (here && block.device != *here)) continue;
      const Device& device = call.devices[block.device];
      const Device holder = device_holding(view.data);
      if (holder.where != device.where || (device.where == Where::cuda && holder.index != device.index))
        throw Error("a block of " + name + " lies in the memory of " + holder.label() + ", not of " +
                    device.label());
      all.push_back({name, block.device, &view});
    }
  for (const Lies& written : all)
    for (const Lies& other : all)
      if (written.name == output && written.view != other.view && overlap(*written.view, *other.view))
        throw Error("a block of " + output + " overlaps one of " + other.name + " in memory");
}

// Copies find their way through the host where a device does not see another's memory.
void Resident::meet_peers() {
  for (std::size_t d = 0; d < seats_.size(); ++d)
    for (std::size_t other = 0; other < seats_.size(); ++other)
      if (d != other && !seats_[d]->lanes().sees(seats_[other]->lanes())) peers_ = false;
}

std::int64_t Resident::bytes(std::size_t device) const { return seats_[device]->bytes(); }
const Plan* Resident::first_plan(std::size_t device) const { return seats_[device]->first_plan(); }

void Resident::enqueue_step(ResidentSeat& seat, std::size_t s) {
  seat.bring_in(s, [&] {
    for (const std::size_t one : seat.part().steps[s].arrivals) {
      const dist::ResidentPanel& panel = seat.part().panels[one];
      const ResidentArray& array = seat.array(panel.slice.array);
      for (const auto& source : panel.sources)
        seat.copy(panel, source, seats_[array.spread.blocks[source.block].device]->lanes(),
                  part_of_block(array, source.block, source.box));
    }
  });
  seat.compute(s);
}

Resident::Run Resident::run() {
  std::vector<Clock::time_point> starts;
  for (const auto& seat : seats_) {
    seat->begin();
    starts.push_back(Clock::now());
  }
  Run out{.started = Clock::now(), .timeline = {}};
  std::size_t most = 0;
  for (const auto& seat : seats_) most = std::max(most, seat->steps());
  try {
    for (std::size_t s = 0; s < most; ++s)
      for (const auto& seat : seats_)
        if (s < seat->steps()) enqueue_step(*seat, s);
    for (const auto& seat : seats_) seat->lanes().synchronize();
  } catch (...) {
    for (const auto& seat : seats_) seat->settle();
    throw;
  }
  out.seconds = std::chrono::duration<double>(Clock::now() - out.started).count();
  for (std::size_t d = 0; d < seats_.size(); ++d)
    seats_[d]->add_spans(out.timeline, std::chrono::duration<double>(starts[d] - out.started).count());
  return out;
}

}  // namespace tessera
