// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/resident_ranks.hpp"
#include <algorithm>
#include <array>
#include <cmath>
#include "tessera/dist/communicator_devices.hpp"
#include "tessera/run/host_link.hpp"
#include "tessera/run/resident_seat.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;
using Source = dist::ResidentPanel::Source;

constexpr std::int64_t alignment = 256;

// What one rank sends another before a step of the other's.
struct Letter {
  std::size_t from, to, step;
  const dist::ResidentPanel* panel;
  const Source* source;
  std::int64_t bytes;
};

// A box of an array, packed.
ArrayView packed_view(void* data, const ResidentCall& call, const std::string& array,
                      const std::vector<Interval>& box) {
  const bool by_columns = call.whole.array(array).strides[0] == 1;
  const std::int64_t rows = box[0].size(), cols = box[1].size();
  return {
      data, call.whole.array(array).element, {rows, cols}, by_columns ? Extents{1, rows} : Extents{cols, 1}};
}

std::vector<Letter> letters_of(const dist::ResidentPlan& plan, const ResidentCall& call) {
  std::vector<Letter> out;
  for (std::size_t to = 0; to < plan.parts.size(); ++to)
    for (std::size_t s = 0; s < plan.parts[to].steps.size(); ++s)
      for (const std::size_t one : plan.parts[to].steps[s].arrivals) {
        const dist::ResidentPanel& panel = plan.parts[to].panels[one];
        const std::string& name = panel.slice.array;
        for (const Source& source : panel.sources) {
          const std::size_t from = call.arrays.at(name).spread.blocks[source.block].device;
          const auto bytes = static_cast<std::int64_t>(bytes_of({name, source.box}, call.whole.array(name)));
          if (from != to) out.push_back({from, to, s, &panel, &source, bytes});
        }
      }
  return out;
}

}  // namespace

// The letters of a rank, round after round: a round is that before the step of this number, of all ranks at a
// time. Two sets of rooms take turns.
class ResidentRanks::Mail {
 public:
  Mail(const ResidentCall& call, const dist::ResidentPlan& plan, dist::Communicator& ranks,
       const Device& device, ResidentSeat& seat)
      : call_(&call),
        device_(device),
        backend_(backend_of(device_)),
        run_{&device_},
        seat_(&seat),
        mine_(static_cast<std::size_t>(ranks.rank())),
        ranks_(&ranks) {
    for (const dist::ResidentPart& part : plan.parts) rounds_ = std::max(rounds_, part.steps.size());
    sent_.resize(rounds_);
    came_.resize(rounds_);
    std::int64_t most_sent = 0, most_came = 0;
    for (const Letter& letter : letters_of(plan, call)) {
      if (letter.from == mine_) sent_[letter.step].push_back(letter);
      if (letter.to == mine_) came_[letter.step].push_back(letter);
    }
    for (std::size_t s = 0; s < rounds_; ++s) {
      most_sent = std::max(most_sent, total(sent_[s]));
      most_came = std::max(most_came, total(came_[s]));
    }
    for (std::size_t turn = 0; turn < 2; ++turn) {
      out_[turn].emplace(seat.lanes(), static_cast<std::size_t>(most_sent));
      in_[turn].emplace(seat.lanes(), static_cast<std::size_t>(most_came));
    }
    // Devices that share the hosts' memory need no link of their own.
    stream_ = std::unique_ptr<void, Release>(backend_.make_stream(device_), Release{this});
    run_.stream = stream_.get();
    joined_ = std::move(dist::join_devices(ranks, {&ranks}, run_)[0]);
  }
  Mail(const Mail&) = delete;
  Mail& operator=(const Mail&) = delete;

  std::size_t rounds() const { return rounds_; }
  std::string connected_by() const { return joined_ == nullptr ? ranks_->name() : joined_->name(); }

  // Packs what others wait for, and sends it. What came two rounds before has been taken from its room.
  void start(std::size_t round) {
    if (round >= rounds_) return;
    if (round >= 2 && round - 2 < seat_->steps() && seat_->copied(round - 2) != nullptr)
      seat_->copied(round - 2)->wait();
    std::vector<dist::Message> messages;
    std::int64_t at = 0;
    for (const Letter& letter : sent_[round]) {
      void* const room = at_of(*out_[round % 2], at);
      pack(letter, room);
      messages.push_back({static_cast<int>(letter.to), false, room, static_cast<std::size_t>(letter.bytes)});
      at += rounded(letter.bytes);
    }
    at = 0;
    for (const Letter& letter : came_[round]) {
      messages.push_back({static_cast<int>(letter.from), true, at_of(*in_[round % 2], at),
                          static_cast<std::size_t>(letter.bytes)});
      at += rounded(letter.bytes);
    }
    if (!sent_[round].empty()) seat_->lanes().mark(Lane::peer)->wait();
    pending_ = (joined_ == nullptr ? *ranks_ : *joined_).start_exchange(messages);
  }
  void finish() { pending_->wait(); }

  // Into the room of the step's panels, in the order of the lane.
  void unpack(std::size_t s) {
    std::int64_t at = 0;
    for (const Letter& letter : came_[s]) {
      const ArrayView there =
          packed_view(at_of(*in_[s % 2], at), *call_, letter.panel->slice.array, letter.source->box);
      seat_->copy(*letter.panel, *letter.source, seat_->lanes(), there);
      at += rounded(letter.bytes);
    }
    for (const std::size_t one : seat_->part().steps[s].arrivals) {
      const dist::ResidentPanel& panel = seat_->part().panels[one];
      const ResidentArray& array = seat_->array(panel.slice.array);
      for (const Source& source : panel.sources)
        if (array.spread.blocks[source.block].device == mine_)
          seat_->copy(panel, source, seat_->lanes(), part_of_block(array, source.block, source.box));
    }
  }

 private:
  struct Release {
    Mail* mail;
    void operator()(void* stream) const { mail->backend_.release_stream(mail->device_, stream); }
  };

  static std::int64_t rounded(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }
  static std::int64_t total(const std::vector<Letter>& letters) {
    std::int64_t out = 0;
    for (const Letter& letter : letters) out += rounded(letter.bytes);
    return out;
  }
  static void* at_of(const LaneMemory& room, std::int64_t offset) {
    return static_cast<char*>(room.get()) + offset;
  }

  void pack(const Letter& letter, void* room) {
    const std::string& name = letter.panel->slice.array;
    const ArrayView from = part_of_block(seat_->array(name), letter.source->block, letter.source->box);
    const ArrayView to = packed_view(room, *call_, name, letter.source->box);
    const bool turned = letter.panel->place.turned;
    const HostRows rows = HostRows::of(turned ? to.transposed() : to),
                   those = HostRows::of(turned ? from.transposed() : from);
    seat_->lanes().copy_peer(rows.rows, seat_->lanes(), those.rows, rows.shape);
  }

  const ResidentCall* call_;
  Device device_;
  Backend& backend_;
  Run run_;
  ResidentSeat* seat_;
  std::size_t mine_, rounds_ = 0;
  dist::Communicator* ranks_;
  std::vector<std::vector<Letter>> sent_, came_;  // by round
  std::array<std::optional<LaneMemory>, 2> out_, in_;
  std::unique_ptr<void, Release> stream_;
  std::unique_ptr<dist::Communicator> joined_;  // null: that of the ranks
  std::unique_ptr<dist::Pending> pending_;
};

ResidentRanks::ResidentRanks(ResidentCall call, dist::Communicator& ranks, const Device& device,
                             const Resident::Open& open)
    : call_(std::move(call)), ranks_(ranks), device_(device) {
  dist::agree(ranks_, [&] {
    const auto count = static_cast<std::size_t>(ranks_.size());
    call_.devices.assign(count, device_);
    division_ = divide_of(*call_.operation)(call_.whole);
    plan_ = dist::make_resident_plan(division_, call_.whole, call_.operation->output, distributions_of(call_),
                                     count, call_.panel_bytes);
    if (const auto reason = dist::cannot_lay_out(call_.whole)) throw Error(*reason);
    check_blocks(call_, static_cast<std::size_t>(ranks_.rank()));
    LaneMaker* const maker = find_lanes(device_.where);
    if (!open && maker == nullptr)
      throw Error(
          Error::Kind::no_device,
          device_.label() +
              " does one thing after another: blocks are for devices that copy and compute at a time");
    seat_ = std::make_unique<ResidentSeat>(ResidentPlanned{&call_, &division_, &plan_},
                                           static_cast<std::size_t>(ranks_.rank()),
                                           open ? open(device_) : maker->open(device_));
    seat_->prepare();
  });
  mail_ = std::make_unique<Mail>(call_, plan_, ranks_, device_, *seat_);
}

ResidentRanks::~ResidentRanks() = default;

std::string ResidentRanks::connected_by() const { return mail_->connected_by(); }

Resident::Run ResidentRanks::run() {
  seat_->begin();
  const auto clock = Clock::now();
  (void)ranks_.largest(0);  // all begin together
  Resident::Run out{.started = Clock::now(), .timeline = {}};
  try {
    mail_->start(0);
    for (std::size_t s = 0; s < mail_->rounds(); ++s) {
      mail_->finish();
      const bool mine = s < seat_->steps();
      if (mine) seat_->bring_in(s, [&] { mail_->unpack(s); });
      // First, for what travels wants some of the device's processors, too, and a product leaves none.
      mail_->start(s + 1);
      if (mine) seat_->compute(s);
    }
    seat_->lanes().synchronize();
  } catch (...) {
    seat_->settle();
    throw;
  }
  constexpr double nanoseconds = 1e9;
  const double own = std::chrono::duration<double>(Clock::now() - out.started).count();
  out.seconds = static_cast<double>(ranks_.largest(std::llround(own * nanoseconds))) / nanoseconds;
  seat_->add_spans(out.timeline, std::chrono::duration<double>(clock - out.started).count());
  return out;
}

}  // namespace tessera
