// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/engine_seat.hpp"

namespace tessera {

EngineSeat::EngineSeat(const EngineCall& call, std::size_t device, Lanes& lanes)
    : call_(call),
      device_(device),
      lanes_(&lanes),
      layout_(*call.plan, device, *call.division, *call.host),
      uploads_(lanes),
      downloads_(lanes) {
  for (const dist::Step& step : part().steps) {
    tiles_ += step.begins;
    for (const dist::Copy& copy : step.copies)
      if (!copy.from) homes_[copy.piece] = host_copies_++;
  }
}

// Arrays may have come to lie elsewhere since the run before.
void EngineSeat::see_host() {
  const Arguments& host = *call_.host;
  for (const Parameter& p : host.signature().parameters) {
    if (!p.is_array() || !host.has(p.name)) continue;
    const ArrayView& array = host.array(p.name);
    const auto [first, last] = array.span();
    const auto size = static_cast<std::int64_t>(size_of(array.element));
    reached_[p.name] = lanes_->reaches(static_cast<const char*>(array.data) + first * size,
                                       static_cast<std::size_t>((last - first) * size));
  }
}

void EngineSeat::prepare() {
  memory_.emplace(*lanes_, static_cast<std::size_t>(layout_.bytes()));
  ready_.emplace(*call_.operation, *call_.host, *call_.division, part(), call_.plan->tiles, layout_,
                 lanes_->device(), *call_.request, memory_->get());
  workspace_.emplace(*lanes_, ready_->workspace_bytes());
}

std::int64_t EngineSeat::bytes() const {
  return layout_.bytes() + (ready_ ? static_cast<std::int64_t>(ready_->workspace_bytes()) : 0);
}

// Whatever lies in the memory: nobody looks at what comes out.
void EngineSeat::load() {
  for (const std::size_t s : ready_->kinds()) enqueue_step(s);
  lanes_->synchronize();
}

void EngineSeat::begin() {
  came_.clear();
  made_.clear();
  went_.clear();
  board_.reset(host_copies_, part().steps.size(), tiles_);
  see_host();
}

template <class Work>
const Mark& EngineSeat::noted(std::vector<Done>& done, Lane lane, dist::Deed deed, std::size_t tile,
                              const Work& work) {
  MarkPtr first = lanes_->mark(lane);
  work();
  done.push_back({deed, tile, std::move(first), lanes_->mark(lane)});
  return *done.back().last;
}

Rows EngineSeat::rows_at(const dist::Place& place) const {
  return {static_cast<char*>(memory_->get()) + place.offset, static_cast<std::size_t>(place.pitch)};
}

void EngineSeat::bring_in() {
  std::size_t copies = 0;
  for (std::size_t s = 0; s < part().steps.size(); ++s) {
    const dist::Step& step = part().steps[s];
    // The room of these pieces may be what earlier steps read from.
    if (!part().held && !step.copies.empty() && s >= dist::Plan::ahead)
      lanes_->after(Lane::in, board_.get(MarkBoard::computed, s - dist::Plan::ahead));
    for (std::size_t c = 0; c < step.copies.size(); ++c) {
      if (step.copies[c].from) continue;
      const Slice& slice = slice_of(step.copies[c].piece);
      const auto from = HostRows::of(dist::rows_of(slice, call_.host->array(slice.array)));
      const Mark& here = noted(came_, Lane::in, dist::Deed::copy_in, step.number, [&] {
        uploads_.copy(rows_at(layout_.step(s).copies[c]), from, reached_.at(slice.array));
      });
      board_.post(MarkBoard::copied, copies++, here);
    }
  }
}

void EngineSeat::copy_from_peer(const dist::Copy& copy, const dist::Place& to, std::size_t tile,
                                EngineSeat& peer) {
  lanes_->after(Lane::peer, peer.board_.get(MarkBoard::copied, peer.homes_.at(copy.piece)));
  const Mark& here = noted(made_, Lane::peer, dist::Deed::copy_peer, tile, [&] {
    lanes_->copy_peer(rows_at(to), *peer.lanes_, peer.rows_at(peer.layout_.place_of(copy.piece)),
                      {static_cast<std::size_t>(to.rows), static_cast<std::size_t>(to.row_bytes)});
  });
  lanes_->after(Lane::compute, here);
}

void EngineSeat::enqueue_step(std::size_t s) {
  const Workspace workspace{workspace_->get(), ready_->workspace_bytes()};
  lanes_->compute([step = &(*ready_)[s], workspace](void* stream) {
    enqueue(*step->plan, step->arguments, stream, workspace, step->in_place);
  });
}

void EngineSeat::compute(const Seats& seats) {
  std::size_t copies = 0, begun = 0;
  for (std::size_t s = 0; s < part().steps.size(); ++s) {
    const dist::Step& step = part().steps[s];
    for (std::size_t c = 0; c < step.copies.size(); ++c)
      if (const auto& from = step.copies[c].from)
        copy_from_peer(step.copies[c], layout_.step(s).copies[c], step.number, *seats[*from]);
      else lanes_->after(Lane::compute, board_.get(MarkBoard::copied, copies++));
    // Two tiles take turns in the room for them.
    if (!part().held && step.begins && begun >= 2)
      lanes_->after(Lane::compute, board_.get(MarkBoard::left, begun - 2));
    begun += step.begins;
    const Mark& computed =
        noted(made_, Lane::compute, dist::Deed::compute, step.number, [&] { enqueue_step(s); });
    board_.post(MarkBoard::computed, s, computed);
  }
}

void EngineSeat::take_out() {
  std::size_t left = 0;
  for (std::size_t s = 0; s < part().steps.size(); ++s) {
    const dist::Step& step = part().steps[s];
    if (!step.ends) continue;
    lanes_->after(Lane::out, board_.get(MarkBoard::computed, s));
    const auto writes = call_.division->writes(call_.plan->tiles[step.number]);
    const Mark& gone = noted(went_, Lane::out, dist::Deed::copy_out, step.number, [&] {
      for (std::size_t i = 0; i < writes.size(); ++i)
        downloads_.copy(HostRows::of(dist::rows_of(writes[i], call_.host->array(writes[i].array))),
                        rows_at(layout_.step(s).writes[i]), reached_.at(writes[i].array));
    });
    board_.post(MarkBoard::left, left++, gone);
  }
  downloads_.finish();
  // Of a part without results, too, all has been enqueued when its last step is.
  if (!part().steps.empty()) board_.get(MarkBoard::computed, part().steps.size() - 1).wait();
  lanes_->synchronize();
}

void EngineSeat::settle() noexcept {
  try {
    lanes_->synchronize();
  } catch (...) {  // it has been told already
  }
  downloads_.forget();
}

std::vector<dist::Span> EngineSeat::spans() {
  std::vector<dist::Span> out;
  for (const auto* list : {&came_, &made_, &went_})
    for (const Done& done : *list)
      out.push_back(
          {device_, done.deed, done.tile, lanes_->seconds(*done.first), lanes_->seconds(*done.last)});
  return out;
}

}  // namespace tessera
