// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/resident.hpp"
#include <algorithm>
#include "tessera/run/engine_seat.hpp"
#include "tessera/run/enqueue.hpp"
#include "tessera/run/host_link.hpp"
#include "tessera/run/overlap.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

// A part of what a view shows, where the view begins at `first` of the whole array.
ArrayView inside(const ArrayView& view, const std::vector<Interval>& box, const std::vector<std::int64_t>& first) {
  std::vector<Interval> here;
  for (std::size_t d = 0; d < box.size(); ++d) here.push_back({box[d].first - first[d], box[d].last - first[d]});
  return part_of(view, here);
}

std::vector<std::int64_t> firsts(const std::vector<Interval>& box) {
  std::vector<std::int64_t> out;
  for (const Interval& side : box) out.push_back(side.first);
  return out;
}

ArrayView part_of_block(const ResidentArray& array, std::size_t block, const std::vector<Interval>& box) {
  std::vector<std::int64_t> first(box.size(), 0);
  first[array.spread.along] = array.spread.blocks[block].range.first;
  return inside(array.blocks[block], box, first);
}

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
  if (divide == nullptr) throw Error(operation.name + " runs on one device: its result is not computed in parts");
  return *divide;
}

}  // namespace

// One device: what it holds besides its blocks, and its steps, ready to be enqueued.
class Resident::Seat {
 public:
  Seat(const Resident& all, std::size_t device, std::unique_ptr<Lanes> lanes)
      : all_(&all), device_(device), lanes_(std::move(lanes)) {}

  Lanes& lanes() { return *lanes_; }

  void prepare() {
    room_.emplace(*lanes_, static_cast<std::size_t>(part().bytes));
    for (const dist::ResidentStep& step : part().steps) {
      Ready ready = ready_for(step);
      ready.plan = choose_in_place(lanes_->device(), *all_->call_.operation, ready.arguments, all_->call_.request);
      if (ready.plan.variant->yardstick) throw Error(ready.plan.variant->name + " is a yardstick, which may wait for the device");
      workspace_bytes_ = std::max(workspace_bytes_, workspace_bytes(ready.plan, ready.arguments));
      steps_.push_back(std::move(ready));
    }
    workspace_.emplace(*lanes_, workspace_bytes_);
  }

  void begin() {
    computed_.clear();
    done_.clear();
    lanes_->start_clock();
  }

  // The copies of a step, and computing it; all of a device's steps in turn.
  void enqueue_step(std::size_t s, const std::vector<std::unique_ptr<Seat>>& seats) {
    const dist::ResidentStep& step = part().steps[s];
    if (!step.arrivals.empty()) {
      if (s >= dist::ResidentPlan::ahead) lanes_->after(Lane::peer, *computed_[s - dist::ResidentPlan::ahead]);
      const Mark& here = noted(Lane::peer, dist::Deed::copy_peer, s, [&] {
        for (const std::size_t one : step.arrivals) pull(part().panels[one], seats);
      });
      lanes_->after(Lane::compute, here);
    }
    computed_.push_back(&noted(Lane::compute, dist::Deed::compute, s, [&] {
      const Workspace workspace{workspace_->get(), workspace_bytes_};
      lanes_->compute([ready = &steps_[s], workspace](void* stream) {
        enqueue(ready->plan, ready->arguments, stream, workspace, ready->in_place);
      });
    }));
  }

  std::size_t steps() const { return steps_.size(); }
  std::int64_t bytes() const { return part().bytes + static_cast<std::int64_t>(workspace_bytes_); }
  const Plan* first_plan() const { return steps_.empty() ? nullptr : &steps_[0].plan; }

  void add_spans(dist::Timeline& timeline, double late) {
    for (const Done& done : done_)
      timeline.spans.push_back({device_, done.deed, done.step, late + lanes_->seconds(*done.first),
                                late + lanes_->seconds(*done.last)});
  }

  void settle() noexcept {
    try {
      lanes_->synchronize();
    } catch (...) {  // it has been told already
    }
  }

 private:
  struct Ready {
    Arguments arguments;
    Plan plan = {};
    std::string in_place = {};
  };
  struct Done {
    dist::Deed deed;
    std::size_t step;
    MarkPtr first, last;
  };

  const dist::ResidentPart& part() const { return all_->plan_.parts[device_]; }
  const ResidentArray& array(const std::string& name) const { return all_->call_.arrays.at(name); }
  const ArrayView& whole(const std::string& name) const { return all_->call_.whole.array(name); }

  ArrayView view_of(const dist::ResidentPanel& panel) const {
    if (panel.in_place) return part_of_block(array(panel.slice.array), panel.sources[0].block, panel.slice.box);
    return dist::view_at(panel.place, panel.slice, whole(panel.slice.array), room_->get());
  }

  // Only whether a sum begins is told by the depth that the operation is asked for: where it lies within the whole
  // does not matter to a step.
  Ready ready_for(const dist::ResidentStep& step) const {
    Tile tile = step.tile;
    const std::int64_t length = tile.depth.size(), depth = all_->division_.depth;
    tile.depth = step.begins ? Interval{0, length} : Interval{depth - length, depth};
    Ready ready{all_->division_.part(tile)};
    Arguments& out = ready.arguments;
    const std::string& output = all_->call_.operation->output;
    const auto writes = all_->division_.writes(step.tile);
    out.set_array(output, part_of_block(array(output), step.block, writes[0].box));
    for (const std::size_t one : step.reads)
      out.set_array(part().panels[one].slice.array, view_of(part().panels[one]));
    for (const Parameter* p : out.signature().of(Parameter::Kind::input)) {
      if (!out.has(p->name) || all_->call_.arrays.contains(p->name)) continue;
      // What only a step adds to is the sum so far.
      const bool is_sum = !all_->call_.whole.has(p->name);
      if (!is_sum && p->name != all_->call_.in_place) throw Error(p->name + " is not spread over the devices");
      out.set_array(p->name, out.array(output));
      ready.in_place = p->name;
    }
    return ready;
  }

  void pull(const dist::ResidentPanel& panel, const std::vector<std::unique_ptr<Seat>>& seats) {
    const ResidentArray& from = array(panel.slice.array);
    const ArrayView room = view_of(panel);
    for (const auto& source : panel.sources) {
      ArrayView to = inside(room, source.box, firsts(panel.slice.box));
      ArrayView there = part_of_block(from, source.block, source.box);
      if (panel.place.turned) to = to.transposed(), there = there.transposed();
      const HostRows rows = HostRows::of(to), those = HostRows::of(there);
      lanes_->copy_peer(rows.rows, *seats[from.spread.blocks[source.block].device]->lanes_, those.rows, rows.shape);
    }
  }

  // Enqueues between two marks, and returns the second.
  template <class Work>
  const Mark& noted(Lane lane, dist::Deed deed, std::size_t step, const Work& work) {
    MarkPtr first = lanes_->mark(lane);
    work();
    done_.push_back({deed, step, std::move(first), lanes_->mark(lane)});
    return *done_.back().last;
  }

  const Resident* all_;
  std::size_t device_;
  std::unique_ptr<Lanes> lanes_;
  std::optional<LaneMemory> room_, workspace_;
  std::vector<Ready> steps_;
  std::size_t workspace_bytes_ = 0;
  std::vector<const Mark*> computed_;  // of each step
  std::vector<Done> done_;
};

ArrayView whole_of_blocks(Element element, std::int64_t rows, std::int64_t cols, bool by_columns) {
  // Of a single row or column strides could not tell the one from the other.
  constexpr std::int64_t least = 2;
  return {nullptr, element, {rows, cols}, by_columns ? Extents{1, std::max(rows, least)} : Extents{std::max(cols, least), 1}};
}

Resident::Resident(ResidentCall call, const Open& open)
    : call_(std::move(call)),
      division_(divide_of(*call_.operation)(call_.whole)),
      plan_(dist::make_resident_plan(division_, call_.whole, call_.operation->output, distributions_of(call_),
                                     call_.devices.size(), call_.panel_bytes)) {
  if (const auto reason = dist::cannot_lay_out(call_.whole)) throw Error(*reason);
  check_blocks();
  for (std::size_t d = 0; d < call_.devices.size(); ++d) {
    const Device& device = call_.devices[d];
    LaneMaker* const maker = find_lanes(device.where);
    if (!open && maker == nullptr)
      throw Error(Error::Kind::no_device, device.label() + " does one thing after another: blocks are for devices that copy and compute at a time");
    seats_.push_back(std::make_unique<Seat>(*this, d, open ? open(device) : maker->open(device)));
  }
  meet_peers();
  for (const auto& seat : seats_) seat->prepare();
}

Resident::~Resident() = default;

// What is written must lie apart from all that may still be read there, by whomever.
void Resident::check_blocks() const {
  const std::string& output = call_.operation->output;
  struct Lies {
    std::string name;
    std::size_t device;
    const ArrayView* view;
  };
  std::vector<Lies> all;
  for (const auto& [name, array] : call_.arrays)
    for (std::size_t b = 0; b < array.blocks.size(); ++b) {
      const ArrayView& view = array.blocks[b];
      const dist::ResidentBlock& block = array.spread.blocks[b];
      Extents wanted = call_.whole.array(name).extents;
      wanted[array.spread.along] = block.range.size();
      if (view.extents != wanted)
        throw Error("a block of " + name + " is " + to_string(view.extents) + ", not " + to_string(wanted));
      if (view.element != call_.whole.array(name).element) throw Error("a block of " + name + " holds other elements");
      if (view.count() == 0) continue;
      const Device& device = call_.devices[block.device];
      const Device holder = device_holding(view.data);
      if (holder.where != device.where || (device.where == Where::cuda && holder.index != device.index))
        throw Error("a block of " + name + " lies in the memory of " + holder.label() + ", not of " + device.label());
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
        if (s < seat->steps()) seat->enqueue_step(s, seats_);
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
