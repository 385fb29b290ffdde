// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/hand_on_lanes.hpp"
#include <algorithm>
#include <utility>

namespace tessera {
namespace {

// Of all that the tiles read, in pieces whose rows are aligned.
std::int64_t bytes_of_inputs(const Arguments& host, const Division& division) {
  std::int64_t out = 0;
  for (const Slice& slice : division.reads(division.whole()))
    out += static_cast<std::int64_t>(bytes_of(slice, host.array(slice.array)));
  constexpr std::int64_t aligning = 1 << 20;
  return out + out / 16 + aligning;
}

}  // namespace

Reason HandOnLanes::refuses(const Operation& operation, const Arguments& host, const Division& division,
                            const Plan& plan) {
  if (!division.reads || !division.writes) return "it is one part";
  if (!operation.signature.of(Parameter::Kind::value).empty()) return "it gives numbers back";
  if (plan.variant->baseline) return "a baseline may wait for the device";
  return dist::cannot_lay_out(host);
}

HandOnLanes::HandOnLanes(const Operation& operation, const Arguments& host, const Division& division,
                         Plan plan, Request request, std::shared_ptr<Lanes> lanes, std::int64_t memory_bytes,
                         const Tile& largest)
    : operation_(&operation),
      host_(&host),
      division_(&division),
      plan_(std::move(plan)),
      request_(std::move(request)),
      lanes_(std::move(lanes)),
      downloads_(*lanes_) {
  std::int64_t left = memory_bytes;
  for (Turn& turn : turns_) {
    lay_out_writes(turn, largest);
    left -= static_cast<std::int64_t>(turn.memory->bytes());
  }
  pieces_.emplace(*lanes_, std::max<std::int64_t>(0, std::min(left, bytes_of_inputs(host, division))));
  load(largest);
  lanes_->start_clock();
  started_ = Clock::now();
}

// Whatever lies in the memory: nobody looks at what comes out.
void HandOnLanes::load(const Tile& tile) {
  const LaneMemory& block = pieces_->block();
  Turn& turn = turns_[0];
  for (const Slice& slice : division_->reads(tile))
    if (dist::packed(slice, host_->array(slice.array)).bytes() > static_cast<std::int64_t>(block.bytes()))
      return;
  turn.step = ready_step(
      *operation_, *host_, *division_, tile, tile, [&](const Slice& slice, bool writes, std::size_t i) {
        const ArrayView& array = host_->array(slice.array);
        return writes ? dist::view_at(turn.places[i], slice, array, turn.memory->get())
                      : dist::view_at(dist::packed(slice, array), slice, array, block.get());
      });
  enqueue_compute(turn);
  lanes_->synchronize();
}

// Whoever looks has the device to itself: its kernels are short, and would wait for each block of the next
// tile's.
class HandOnLanes::Part final : public ComputedPart {
 public:
  Part(HandOnLanes& hand, Turn& turn)
      : hand_(&hand),
        turn_(&turn),
        backend_(&backend_of(turn.plan.device)),
        run_{.device = &turn.plan.device} {
    run_.stream = backend_->make_stream(turn.plan.device);
  }
  ~Part() override { backend_->release_stream(turn_->plan.device, run_.stream); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  const Plan& plan() const override { return turn_->plan; }
  const Arguments& arguments() const override { return turn_->step->arguments; }
  Run& run() override { return run_; }
  void compute_again() override {
    hand_->enqueue_compute(*turn_);
    turn_->computed->wait();
  }

 private:
  HandOnLanes* hand_;
  Turn* turn_;
  Backend* backend_;
  Run run_;
};

void HandOnLanes::show(Turn& turn) {
  turn.computed->wait();
  const double seconds = lanes_->seconds(*turn.computed) - lanes_->seconds(*turn.computing);
  {
    Part part(*this, turn);
    look_(turn.tile, part, seconds);
  }
  Turn& next = turns_[(finished_ + 1) % turns];
  if (begun_ > finished_ + 1 && std::exchange(next.waits, false)) enqueue_compute(next);
}

bool HandOnLanes::reached(const std::string& name) {
  const auto known = reached_.find(name);
  if (known != reached_.end()) return known->second;
  const ArrayView& array = host_->array(name);
  const auto [first, last] = array.span();
  const auto size = static_cast<std::int64_t>(size_of(array.element));
  return reached_[name] = lanes_->reaches(static_cast<const char*>(array.data) + first * size,
                                          static_cast<std::size_t>((last - first) * size));
}

void HandOnLanes::lay_out_writes(Turn& turn, const Tile& tile) {
  constexpr std::int64_t alignment = 256;
  turn.writes = division_->writes(tile);
  turn.places.clear();
  std::int64_t bytes = 0;
  for (const Slice& slice : turn.writes) {
    dist::Place place = dist::packed(slice, host_->array(slice.array));
    place.offset = bytes;
    bytes += (place.bytes() + alignment - 1) / alignment * alignment;
    turn.places.push_back(place);
  }
  if (!turn.memory || static_cast<std::int64_t>(turn.memory->bytes()) < bytes)
    turn.memory.emplace(*lanes_, static_cast<std::size_t>(bytes));
}

ArrayView HandOnLanes::read_view(const Slice& slice, bool& fresh) {
  const ArrayView& array = host_->array(slice.array);
  const KeptPiece& piece = pieces_->get(slice, array, reached(slice.array), begun_, finished_, fresh);
  return dist::view_at(piece.place, slice, array, piece.data);
}

void HandOnLanes::bring_in(Turn& turn, const Tile& tile) {
  bool fresh = false;
  turn.copied = nullptr;
  turn.copying = lanes_->mark(Lane::in);
  turn.step = ready_step(
      *operation_, *host_, *division_, tile, tile, [&](const Slice& slice, bool writes, std::size_t i) {
        if (!writes) return read_view(slice, fresh);
        return dist::view_at(turn.places[i], slice, host_->array(slice.array), turn.memory->get());
      });
  if (!fresh) return;  // the tiles before have waited for these copies
  turn.copied = lanes_->mark(Lane::in);
}

void HandOnLanes::enqueue_compute(Turn& turn) {
  const Plan& whole = plan_;
  const Arguments& there = turn.step->arguments;
  turn.plan = whole.variant->refuses(*whole.choice, there, whole.tuning, whole.device)
                  ? choose_in_place(whole.device, *operation_, there, request_)
                  : whole;
  if (turn.copied != nullptr) lanes_->after(Lane::compute, *turn.copied);
  turn.computing = lanes_->mark(Lane::compute);
  lanes_->compute(
      [&turn](void* stream) { enqueue(turn.plan, turn.step->arguments, stream, {}, turn.step->in_place); });
  turn.computed = lanes_->mark(Lane::compute);
}

void HandOnLanes::begin(const Tile& tile) {
  Turn& turn = turns_[begun_ % turns];
  turn.begun = Clock::now();
  turn.tile = tile;
  lay_out_writes(turn, tile);
  bring_in(turn, tile);
  turn.waits = look_ && begun_ > finished_;
  if (!turn.waits) enqueue_compute(turn);
  ++begun_;
}

std::vector<dist::Span> HandOnLanes::finish() {
  Turn& turn = turns_[finished_ % turns];
  if (look_) show(turn);
  // Not before: what waits in that lane for the next tile would hold this one back, too.
  lanes_->after(Lane::out, *turn.computed);
  turn.leaving = lanes_->mark(Lane::out);
  for (std::size_t i = 0; i < turn.writes.size(); ++i) {
    const Slice& slice = turn.writes[i];
    downloads_.copy(HostRows::of(dist::rows_of(slice, host_->array(slice.array))),
                    {static_cast<char*>(turn.memory->get()) + turn.places[i].offset,
                     static_cast<std::size_t>(turn.places[i].pitch)},
                    reached(slice.array));
  }
  turn.left = lanes_->mark(Lane::out);
  downloads_.finish();
  turn.left->wait();
  ++finished_;
  const double since = std::chrono::duration<double>(turn.begun - started_).count();
  std::vector<dist::Span> out;
  const auto note = [&](dist::Deed deed, const MarkPtr& first, const MarkPtr& last) {
    if (last != nullptr)
      out.push_back({0, deed, 0, lanes_->seconds(*first) - since, lanes_->seconds(*last) - since});
  };
  note(dist::Deed::copy_in, turn.copying, turn.copied);
  note(dist::Deed::compute, turn.computing, turn.computed);
  note(dist::Deed::copy_out, turn.leaving, turn.left);
  return out;
}

std::vector<dist::Span> HandOnLanes::compute(const Tile& tile) {
  begin(tile);
  return finish();
}

void HandOnLanes::settle() noexcept {
  try {
    lanes_->synchronize();
  } catch (...) {  // it has been told already
  }
  downloads_.forget();
}

}  // namespace tessera
