// SPDX-License-Identifier: Apache-2.0
// The tiles of a call, taken by the devices that compute them. It has no clock and no lock: callers pass the
// time, so tests can run it on a virtual clock.
//
// Each device has a band of neighbouring tiles, which read the same inputs. A device whose band is done takes
// from the far end of the band that would last longest. Near the end a slow device leaves the last tiles to a
// fast one that finishes them sooner.
//
// Fixed bands are processed by their devices alone; only a failed device's tiles go to others.
#pragma once
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace tessera {

class TileQueue {
 public:
  // `work`: of each tile, in any unit; `speeds`: in that unit per second, as far as known: they set the
  // bands, and their ratios count until a device has shown its own speed. `in_flight`: tiles that a device
  // has at a time; with more than one, the next one's copies overlap the first.
  TileQueue(std::vector<double> work, const std::vector<double>& speeds, std::size_t in_flight = 2);
  // Fixed bands: each tile is in one of them.
  TileQueue(std::vector<double> work, std::vector<std::deque<std::size_t>> bands, std::size_t in_flight = 2);

  // Sets the order in which a device takes the tiles of its band; by default, by number.
  using TileOrderOf =
      std::function<std::vector<std::size_t>(std::size_t device, const std::vector<std::size_t>& tiles)>;
  void set_order(const TileOrderOf& order);

  // Returns the tiles that the device has not yet taken from its band, in order.
  const std::deque<std::size_t>& band(std::size_t device) const { return devices_[device].band; }
  // Returns a tile for the device; nothing: none for now, or, if done(), none at all.
  std::optional<std::size_t> take(std::size_t device, double now);
  // Makes the tile part of the result; false: another device has delivered it already.
  bool commit(std::size_t device, std::size_t tile, double now);
  // Called if the device failed: the tiles that it held go back, those that it delivered stay.
  void mark_failed(std::size_t device);
  // Called if the tile was wrong, and must be computed again.
  void requeue(std::size_t device, std::size_t tile);

  bool done() const { return left_ == 0; }
  bool is_failed(std::size_t device) const { return devices_[device].failed; }
  std::optional<std::size_t> owner(std::size_t tile) const { return owners_[tile]; }  // the delivering device

 private:
  struct State {
    double speed = 1, guess = 1;
    bool failed = false;
    std::size_t delivered = 0;
    double since = 0;  // start time of the tile that it is working on
    std::deque<std::size_t> band, held;
  };

  void make_bands();
  void correct_guesses();
  double current_speed(const State& worker, double now) const;
  double expected_finish(const State& worker, double now) const;  // expected end of all tiles that it holds
  bool defers_to_faster_device(std::size_t device, double now) const;
  bool waits_for_first(const State& worker) const;
  std::optional<std::size_t> steal(double now);

  std::vector<double> work_;
  std::vector<State> devices_;
  std::vector<std::optional<std::size_t>> owners_;
  std::size_t untaken_, left_, in_flight_;
  bool fixed_;
};

}  // namespace tessera
