// SPDX-License-Identifier: Apache-2.0
// A device's tiles with copies behind computing: while one tile is computed, the next one's inputs arrive,
// and the one before leaves. Knows no CUDA: what a device can do is behind Lanes.
#pragma once
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include "tessera/run/hand.hpp"
#include "tessera/run/kept_pieces.hpp"
#include "tessera/run/ready_steps.hpp"

namespace tessera {

class HandOnLanes final : public Hand {
 public:
  // Why a call's tiles are not done so on a device that has lanes; nothing: they are.
  static Reason refuses(const Operation& operation, const Arguments& host, const Division& division,
                        const Plan& plan);

  // `plan` is for the whole; a part that it refuses is computed by what takes it. `memory_bytes`: the most to
  // take of the device. Its memory is taken here, and the code loaded that computes such a tile, which is the
  // largest. All but plan, request and lanes must stay. The lanes are nobody else's meanwhile.
  HandOnLanes(const Operation& operation, const Arguments& host, const Division& division, Plan plan,
              Request request, std::shared_ptr<Lanes> lanes, std::int64_t memory_bytes, const Tile& largest);
  ~HandOnLanes() override { settle(); }
  HandOnLanes(const HandOnLanes&) = delete;
  HandOnLanes& operator=(const HandOnLanes&) = delete;

  void begin(const Tile& tile) override;
  std::vector<dist::Span> finish() override;
  std::size_t most_under_way() const override { return turns; }
  void settle() noexcept override;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t turns = 2;

  // A tile under way, and the room for what it writes.
  struct Turn {
    Clock::time_point begun;
    Tile tile;
    std::optional<LaneMemory> memory;
    std::vector<Slice> writes;
    std::vector<dist::Place> places;  // of these, in that memory
    std::optional<ReadyStep> step;
    Plan plan;
    MarkPtr copying, copied, computing, computed, leaving, left;
    bool waits = false;  // its computing, until the tile before has been looked at
  };

  std::vector<dist::Span> compute(const Tile& tile) override;
  class Part;
  void show(Turn& turn);
  void lay_out_writes(Turn& turn, const Tile& tile);
  void load(const Tile& tile);
  ArrayView read_view(const Slice& slice, bool& fresh);
  void bring_in(Turn& turn, const Tile& tile);
  void enqueue_compute(Turn& turn);
  bool reached(const std::string& array);

  const Operation* operation_;
  const Arguments* host_;
  const Division* division_;
  Plan plan_;
  Request request_;
  std::shared_ptr<Lanes> lanes_;
  Clock::time_point started_;
  std::map<std::string, bool> reached_;  // by array: copies reach its host memory
  std::optional<KeptPieces> pieces_;
  Downloads downloads_;
  std::array<Turn, turns> turns_;
  std::size_t begun_ = 0, finished_ = 0;
};

}  // namespace tessera
