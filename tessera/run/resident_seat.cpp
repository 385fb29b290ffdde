// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/resident_seat.hpp"
#include <algorithm>
#include "tessera/run/enqueue.hpp"
#include "tessera/run/host_link.hpp"

namespace tessera {
namespace {

// A part of what a view shows, where the view begins at `first` of the whole array.
ArrayView inside(const ArrayView& view, const std::vector<Interval>& box,
                 const std::vector<std::int64_t>& first) {
  std::vector<Interval> here;
  for (std::size_t d = 0; d < box.size(); ++d)
    here.push_back({box[d].first - first[d], box[d].last - first[d]});
  return part_of(view, here);
}

std::vector<std::int64_t> firsts(const std::vector<Interval>& box) {
  std::vector<std::int64_t> out;
  for (const Interval& side : box) out.push_back(side.first);
  return out;
}

}  // namespace

ArrayView part_of_block(const ResidentArray& array, std::size_t block, const std::vector<Interval>& box) {
  std::vector<std::int64_t> first(box.size(), 0);
  first[array.spread.along] = array.spread.blocks[block].range.first;
  return inside(array.blocks[block], box, first);
}

void ResidentSeat::prepare() {
  room_.emplace(*lanes_, static_cast<std::size_t>(part().bytes));
  for (const dist::ResidentStep& step : part().steps) {
    Ready ready = ready_for(step);
    ready.plan =
        choose_in_place(lanes_->device(), *all_.call->operation, ready.arguments, all_.call->request);
    if (ready.plan.variant->baseline)
      throw Error(ready.plan.variant->name + " is a baseline, which may wait for the device");
    workspace_bytes_ = std::max(workspace_bytes_, workspace_bytes(ready.plan, ready.arguments));
    steps_.push_back(std::move(ready));
  }
  workspace_.emplace(*lanes_, workspace_bytes_);
}

void ResidentSeat::begin() {
  computed_.clear();
  copied_.clear();
  done_.clear();
  lanes_->start_clock();
}

void ResidentSeat::bring_in(std::size_t s, const std::function<void()>& copies) {
  copied_.push_back(nullptr);
  if (part().steps[s].arrivals.empty()) return;
  if (s >= dist::ResidentPlan::ahead) lanes_->after(Lane::peer, *computed_[s - dist::ResidentPlan::ahead]);
  copied_.back() = &noted(Lane::peer, dist::Deed::copy_peer, s, copies);
}

void ResidentSeat::compute(std::size_t s) {
  if (copied_[s] != nullptr) lanes_->after(Lane::compute, *copied_[s]);
  computed_.push_back(&noted(Lane::compute, dist::Deed::compute, s, [&] {
    const Workspace workspace{workspace_->get(), workspace_bytes_};
    lanes_->compute([ready = &steps_[s], workspace](void* stream) {
      enqueue(ready->plan, ready->arguments, stream, workspace, ready->in_place);
    });
  }));
}

void ResidentSeat::copy(const dist::ResidentPanel& panel, const dist::ResidentPanel::Source& source,
                        const Lanes& from, const ArrayView& there) {
  const ArrayView to = inside(view_of(panel), source.box, firsts(panel.slice.box));
  const HostRows here = HostRows::of(panel.place.turned ? to.transposed() : to);
  const HostRows those = HostRows::of(panel.place.turned ? there.transposed() : there);
  lanes_->copy_peer(here.rows, from, those.rows, here.shape);
}

void ResidentSeat::add_spans(dist::Timeline& timeline, double late) {
  for (const Done& done : done_)
    timeline.spans.push_back({device_, done.deed, done.step, late + lanes_->seconds(*done.first),
                              late + lanes_->seconds(*done.last)});
}

void ResidentSeat::settle() noexcept {
  try {
    lanes_->synchronize();
  } catch (...) {  // it has been told already
  }
}

ArrayView ResidentSeat::view_of(const dist::ResidentPanel& panel) const {
  const std::string& name = panel.slice.array;
  if (panel.in_place) return part_of_block(array(name), panel.sources[0].block, panel.slice.box);
  return dist::view_at(panel.place, panel.slice, all_.call->whole.array(name), room_->get());
}

// Only whether a sum begins is told by the depth that the operation is asked for: where it lies within the
// whole does not matter to a step.
ResidentSeat::Ready ResidentSeat::ready_for(const dist::ResidentStep& step) const {
  Tile tile = step.tile;
  const std::int64_t length = tile.depth.size(), depth = all_.division->depth;
  tile.depth = step.begins ? Interval{0, length} : Interval{depth - length, depth};
  Ready ready{all_.division->part(tile)};
  Arguments& out = ready.arguments;
  const std::string& output = all_.call->operation->output;
  const auto writes = all_.division->writes(step.tile);
  out.set_array(output, part_of_block(array(output), step.block, writes[0].box));
  for (const std::size_t one : step.reads)
    out.set_array(part().panels[one].slice.array, view_of(part().panels[one]));
  for (const Parameter* p : out.signature().of(Parameter::Kind::input)) {
    if (!out.has(p->name) || all_.call->arrays.contains(p->name)) continue;
    // What only a step adds to is the sum so far.
    const bool is_sum = !all_.call->whole.has(p->name);
    if (!is_sum && p->name != all_.call->in_place) throw Error(p->name + " is not spread over the devices");
    out.set_array(p->name, out.array(output));
    ready.in_place = p->name;
  }
  return ready;
}

const Mark& ResidentSeat::noted(Lane lane, dist::Deed deed, std::size_t step,
                                const std::function<void()>& work) {
  MarkPtr first = lanes_->mark(lane);
  work();
  done_.push_back({deed, step, std::move(first), lanes_->mark(lane)});
  return *done_.back().last;
}

}  // namespace tessera
