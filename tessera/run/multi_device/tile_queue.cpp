// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/multi_device/tile_queue.hpp"
#include <algorithm>
#include <cmath>
#include <numeric>
#include "tessera/core/error.hpp"

namespace tessera {

TileQueue::TileQueue(std::vector<double> work, std::vector<double> speeds, Mode mode, std::size_t in_flight)
    : work_(std::move(work)),
      owners_(work_.size()),
      untaken_(work_.size()),
      left_(work_.size()),
      in_flight_(in_flight),
      fixes_(mode == Mode::measured) {
  if (speeds.empty()) throw Error(Error::Kind::internal, "a queue for no device");
  // A device of which nothing is known is presumed to be like the others.
  double sum = 0;
  std::size_t known = 0;
  for (const double speed : speeds)
    if (speed > 0 && std::isfinite(speed)) sum += speed, ++known;
  const double usual = known > 0 ? sum / static_cast<double>(known) : 1;
  for (const double speed : speeds) {
    State worker;
    worker.speed = worker.guess = speed > 0 && std::isfinite(speed) ? speed : usual;
    devices_.push_back(std::move(worker));
  }
  devices_[0].band.resize(work_.size());
  std::iota(devices_[0].band.begin(), devices_[0].band.end(), std::size_t{0});
  make_bands(0);
}

TileQueue::TileQueue(std::vector<double> work, std::vector<std::deque<std::size_t>> bands,
                     std::size_t in_flight)
    : work_(std::move(work)),
      owners_(work_.size()),
      untaken_(work_.size()),
      left_(work_.size()),
      in_flight_(in_flight),
      fixed_(true),
      by_shares_(true) {
  std::vector<int> times(work_.size(), 0);
  for (auto& band : bands) {
    for (const std::size_t tile : band) ++times.at(tile);
    State worker;
    worker.speed = worker.guess = 1;
    worker.band = std::move(band);
    devices_.push_back(std::move(worker));
  }
  if (std::ranges::any_of(times, [](int n) { return n != 1; }))
    throw Error(Error::Kind::internal, "bands that do not hold each tile once");
}

// How much of the work each gets if every tile goes to whoever finishes it first: shares would be rounded to
// a tile more for a slow device, for which that is long. Those that are busy longest may get nothing.
std::vector<double> TileQueue::allot(const std::vector<std::size_t>& tiles, double now) const {
  std::vector<double> out(devices_.size(), 0), ends;
  for (const State& worker : devices_) ends.push_back(worker.lost ? INFINITY : finish(worker, now));
  for (const std::size_t tile : tiles) {
    std::size_t best = 0;
    const auto end = [&](std::size_t d) { return ends[d] + work_[tile] / pace(devices_[d], now); };
    for (std::size_t d = 1; d < devices_.size(); ++d)
      if (end(d) < end(best)) best = d;
    ends[best] = end(best);
    out[best] += work_[tile];
  }
  return out;
}

// What nobody has taken, in consecutive bands with which all finish at the same time.
void TileQueue::make_bands(double now) {
  std::vector<std::size_t> tiles;
  for (State& worker : devices_) {
    tiles.insert(tiles.end(), worker.band.begin(), worker.band.end());
    worker.band.clear();
  }
  std::ranges::sort(tiles);
  const std::vector<double> shares = allot(tiles, now);
  double before = 0, upto = 0;
  auto next = tiles.begin();
  State* last = nullptr;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    State& worker = devices_[d];
    if (worker.lost) continue;
    last = &worker;
    upto += shares[d];
    for (; next != tiles.end() && before + work_[*next] / 2 <= upto; ++next) {
      worker.band.push_back(*next);
      before += work_[*next];
    }
  }
  if (last != nullptr) last->band.insert(last->band.end(), next, tiles.end());
  arrange_bands();
}

void TileQueue::arrange(Arrange order) {
  arrange_ = std::move(order);
  arrange_bands();
}

void TileQueue::arrange_bands() {
  if (!arrange_) return;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const std::vector<std::size_t> band(devices_[d].band.begin(), devices_[d].band.end());
    const std::vector<std::size_t> ordered = arrange_(d, band);
    if (!std::ranges::is_permutation(ordered, band))
      throw Error(Error::Kind::internal, "an order that is of other tiles");
    devices_[d].band.assign(ordered.begin(), ordered.end());
  }
}

// The first tile of a device may find its caches cold, and a few may be unlucky.
void TileQueue::fix_bands(double now) {
  constexpr std::size_t enough = 2;
  constexpr double part = 0.25;
  if (delivered_work_ < part * std::accumulate(work_.begin(), work_.end(), 0.0)) return;
  for (const State& worker : devices_)
    if (!worker.lost && worker.delivered < enough) return;
  make_bands(now);
  fixed_ = true;
}

// What was wrong by a factor for some is presumed to be wrong by it for those that have shown nothing yet:
// like devices, one of which begins a little later, stay alike.
void TileQueue::correct_guesses() {
  double logarithms = 0, known = 0;
  for (const State& worker : devices_)
    if (worker.delivered > 0) logarithms += std::log(worker.speed / worker.guess), ++known;
  for (State& worker : devices_)
    if (worker.delivered == 0 && known > 0)
      worker.speed = std::min(worker.most, worker.guess * std::exp(logarithms / known));
}

// A device that holds a tile longer than its speed says is that slow at least: it may have been guessed
// wrong, or have stopped.
double TileQueue::pace(const State& worker, double now) const {
  if (worker.held.empty() || !(now > worker.since)) return worker.speed;
  return std::min(worker.speed, work_[worker.held.front()] / (now - worker.since));
}

// The tile that it is at may be done at any moment, once it takes longer than expected.
double TileQueue::finish(const State& worker, double now) const {
  if (worker.held.empty()) return now;
  double behind = 0;
  for (std::size_t i = 1; i < worker.held.size(); ++i) behind += work_[worker.held[i]];
  return std::max(now, worker.since + work_[worker.held.front()] / worker.speed) + behind / pace(worker, now);
}

// Whether, if each of the tiles that are left went to whoever finishes it first, none would come here.
bool TileQueue::leaves_to_others(std::size_t device, double now) const {
  std::vector<double> ends, paces;
  for (const State& worker : devices_) {
    ends.push_back(finish(worker, now));
    paces.push_back(pace(worker, now));
  }
  for (const State& owner : devices_)
    for (const std::size_t tile : owner.band) {
      std::size_t best = device;
      for (std::size_t d = 0; d < devices_.size(); ++d)
        if (!devices_[d].lost && ends[d] + work_[tile] / paces[d] < ends[best] + work_[tile] / paces[best])
          best = d;
      if (best == device) return false;
      ends[best] += work_[tile] / paces[best];
    }
  return true;
}

// Though it was guessed to be slow: a first tile that it can cancel costs the others next to nothing. Guesses
// are not wrong by so much that one is worth a try that is said to be hundreds of times as slow.
bool TileQueue::may_try(const State& worker) const {
  constexpr double hopeless = 100;
  const auto fastest = std::ranges::max_element(devices_, {}, &State::guess);
  return worker.cancels && worker.guess * hopeless > fastest->guess && worker.delivered == 0 &&
         worker.held.empty() && !std::isfinite(worker.most);
}

// A second tile for a device of which nothing is known may be one that it should never have had. Where tiles
// are many the copies that hide behind the first are worth more.
bool TileQueue::waits_for_first(const State& worker) const {
  constexpr std::size_t few = 16;
  return !by_shares_ && worker.delivered == 0 && !worker.held.empty() && work_.size() < few * devices_.size();
}

std::optional<std::size_t> TileQueue::steal(double now) {
  State* victim = nullptr;
  double latest = -1;
  for (State& worker : devices_) {
    if (worker.band.empty() || (fixed_ && !worker.lost)) continue;
    double work = 0;
    for (const std::size_t tile : worker.band) work += work_[tile];
    // Nobody will do what a lost one had before it.
    const double ends = worker.lost ? INFINITY : finish(worker, now) + work / pace(worker, now);
    if (ends > latest) latest = ends, victim = &worker;
  }
  if (victim == nullptr) return std::nullopt;
  const std::size_t tile = victim->band.back();
  victim->band.pop_back();
  return tile;
}

std::optional<std::size_t> TileQueue::take(std::size_t device, double now) {
  State& worker = devices_[device];
  if (worker.lost || untaken_ == 0 || worker.held.size() >= in_flight_ || waits_for_first(worker))
    return std::nullopt;
  if (!fixed_ && !may_try(worker) && leaves_to_others(device, now)) return std::nullopt;
  std::optional<std::size_t> tile;
  if (!worker.band.empty()) {
    tile = worker.band.front();
    worker.band.pop_front();
  } else {
    tile = steal(now);
  }
  if (!tile) return std::nullopt;
  --untaken_;
  if (worker.held.empty()) worker.since = now;
  worker.held.push_back(*tile);
  return tile;
}

bool TileQueue::commit(std::size_t device, std::size_t tile, double now) {
  State& worker = devices_[device];
  const auto held = std::ranges::find(worker.held, tile);
  if (held == worker.held.end()) return false;
  worker.held.erase(held);
  owners_[tile] = device;
  --left_;
  delivered_work_ += work_[tile];
  const double seconds = now - worker.since;
  worker.since = now;
  // Recent tiles count more: a device that is throttled is seen within a few.
  constexpr double weight = 0.25;
  const double shown = work_[tile] / seconds;
  if (seconds > 0 && shown > 0 && std::isfinite(shown))
    worker.speed = worker.delivered > 0 ? 1 / ((1 - weight) / worker.speed + weight / shown) : shown;
  if (++worker.delivered == 1) correct_guesses();
  if (fixes_ && !fixed_) fix_bands(now);
  return true;
}

void TileQueue::lose(std::size_t device) {
  State& worker = devices_[device];
  worker.lost = true;
  while (!worker.held.empty()) give_back(device, worker.held.back());
}

void TileQueue::give_back(std::size_t device, std::size_t tile) {
  State& worker = devices_[device];
  const auto held = std::ranges::find(worker.held, tile);
  if (held == worker.held.end()) return;
  worker.held.erase(held);
  worker.band.push_front(tile);
  ++untaken_;
}

// When it will end is as sure as its speed. One that has taken longer than its speed says may end at any
// moment; but what has taken four times as long as it would here, is taken from it.
std::optional<TileQueue::Takeover> TileQueue::takeover_by(std::size_t idle, double now) const {
  constexpr double worth = 1.1, sure_after = 4;
  const State& other = devices_[idle];
  if (by_shares_ || other.lost || !other.held.empty()) return std::nullopt;
  std::optional<Takeover> out;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const State& worker = devices_[d];
    if (d == idle || worker.lost || !worker.cancels || worker.held.empty()) continue;
    const std::size_t tile = worker.held.back();
    const double here = work_[tile] / pace(other, now);
    const double expected = worker.since + work_[worker.held.front()] / worker.speed;
    const bool front = worker.held.size() == 1, sure = delivered_work_ > 0 && expected > now;
    double at = std::max(expected, worker.since + (front ? sure_after : worth) * here);
    if ((sure || !front) && now + worth * here < finish(worker, now)) at = now;
    if (!out || at < out->at) out = {d, tile, std::max(at, now)};
  }
  return out;
}

void TileQueue::cancel(std::size_t device, std::size_t tile, std::size_t heir, double now) {
  State& worker = devices_[device];
  const auto held = std::ranges::find(worker.held, tile);
  if (held == worker.held.end()) return;
  if (held == worker.held.begin() && now > worker.since) {
    worker.most = work_[tile] / (now - worker.since);
    worker.speed = std::min(worker.speed, worker.most);
  }
  worker.held.erase(held);
  devices_[heir].band.push_front(tile);
  ++untaken_;
}

std::size_t TileQueue::usable() const {
  return static_cast<std::size_t>(std::ranges::count_if(devices_, [](const State& w) { return !w.lost; }));
}

}  // namespace tessera
