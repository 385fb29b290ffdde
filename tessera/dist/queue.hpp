// SPDX-License-Identifier: Apache-2.0
// Tiles dealt out while devices work: each takes the next when it has room, so that a wrong guess of a speed,
// a throttled device or a lost one costs little. It keeps no clock and no lock: whoever asks tells the time,
// the threads of a run and a virtual clock alike.
//
// Tiles lie in bands, one for each device, so that neighbours, which read the same inputs, are computed
// where these are. A device whose band is done takes from the far end of the band that would last longest.
// At the end a slow device leaves the last tiles to a fast one that finishes them sooner, though it is busy;
// and one that can stop in the middle of a tile gives up the one it is at, where another with nothing to do
// would end it sooner.
//
// Or the bands are settled: beforehand, by shares that somebody named; or once each device has shown its
// speed, and a quarter is done. Then each works off its own, and takes from another's only if that one is
// lost.
#pragma once
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace tessera::dist {

class Queue {
 public:
  enum class Dealing { dynamic, measured };

  // `work` of each tile, in any unit; `speeds` in that unit for a second, as far as known: they set the
  // bands, and their ratios count until a device has shown its own. `in_flight`: tiles that a device has at a
  // time, more than one where the next one's copies hide behind the first.
  Queue(std::vector<double> work, std::vector<double> speeds, Dealing dealing = Dealing::dynamic,
        std::size_t in_flight = 2);
  // Settled bands: each tile is in one of them.
  Queue(std::vector<double> work, std::vector<std::deque<std::size_t>> bands, std::size_t in_flight = 2);

  // The order in which a device takes the tiles of its band, from now on; without, by their numbers.
  using Arrange =
      std::function<std::vector<std::size_t>(std::size_t device, const std::vector<std::size_t>& tiles)>;
  void arrange(Arrange order);

  // A tile for the device; nothing: none for now, or, where done(), none at all.
  std::optional<std::size_t> take(std::size_t device, double now);
  // The tile is part of the result. Where another device has delivered it already: false.
  bool commit(std::size_t device, std::size_t tile, double now);
  // The device is gone: what it held goes back. What it delivered stays.
  void lose(std::size_t device);
  // Likewise of one tile that is not good.
  void give_back(std::size_t device, std::size_t tile);

  // The device can stop in the middle of a tile.
  void can_leave(std::size_t device) { devices_[device].leaves = true; }
  // Of such a device a tile that another, which has nothing to do, would end sooner, and from when on that is
  // so.
  struct Better {
    std::size_t device, tile;
    double at;
  };
  // The soonest there is; nothing: none. It stays where it is until leave().
  std::optional<Better> better_by(std::size_t idle, double now) const;
  // The device has stopped at this tile, which `heir` takes next. It has shown to be no faster than that.
  void leave(std::size_t device, std::size_t tile, std::size_t heir, double now);

  bool done() const { return left_ == 0; }
  bool is_lost(std::size_t device) const { return devices_[device].lost; }
  std::size_t usable() const;  // devices that are not lost
  std::size_t holds(std::size_t device) const { return devices_[device].held.size(); }
  double speed(std::size_t device) const { return devices_[device].speed; }
  std::optional<std::size_t> owner(std::size_t tile) const { return owners_[tile]; }  // who delivered it

 private:
  struct Worker {
    double speed = 0, guess = 0;
    double most = INFINITY;  // of its speed, by a tile that it left
    bool lost = false, leaves = false;
    std::size_t delivered = 0;
    double since = 0;  // the moment from which what it holds takes time
    std::deque<std::size_t> band, held;
  };

  void deal(double now);
  void arrange_bands();
  void settle(double now);
  void correct_guesses();
  double pace(const Worker& worker, double now) const;
  double finish(const Worker& worker, double now) const;  // of all that it holds
  bool leaves_to_others(std::size_t device, double now) const;
  bool may_try(const Worker& worker) const;
  bool waits_for_first(const Worker& worker) const;
  std::vector<double> allot(const std::vector<std::size_t>& tiles, double now) const;
  std::optional<std::size_t> steal(double now);

  std::vector<double> work_;
  std::vector<Worker> devices_;
  Arrange arrange_;
  std::vector<std::optional<std::size_t>> owners_;
  double delivered_work_ = 0;
  std::size_t untaken_ = 0, left_ = 0, in_flight_ = 2;
  bool settles_ = false, settled_ = false, named_ = false;  // shares that somebody named stay
};

}  // namespace tessera::dist
