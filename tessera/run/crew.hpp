// SPDX-License-Identifier: Apache-2.0
// The threads of a call on several devices, one for each, and what they share: the queue of tiles, and what
// is told of each device. A thread waits for its device, computing or in another process.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include "tessera/core/lanes.hpp"
#include "tessera/dist/queue.hpp"
#include "tessera/dist/tiles.hpp"
#include "tessera/run/checkpoint.hpp"
#include "tessera/run/hand.hpp"
#include "tessera/run/leaving.hpp"
#include "tessera/run/spread.hpp"
#include "tessera/run/worker.hpp"

namespace tessera {

// Of devices, by their number: opened or started for one call, and kept for the next.
struct KeptDevices {
  std::map<std::size_t, std::shared_ptr<Lanes>> lanes;
  bool workers = false;  // these, too; parts of faults then count on from call to call
  std::map<std::size_t, std::unique_ptr<dist::Process>> processes;
  std::map<std::size_t, std::size_t> begun;  // parts, of all calls
};

class Crew {
 public:
  // `kept`, which must stay: of an earlier call on these devices, or none yet; null: nothing is kept.
  Crew(const Operation& operation, const Arguments& host, const Division& division, const Spread& spread,
       KeptDevices* kept = nullptr);
  ~Crew();

  // Throws Error when no device is left; where it was stopped, what it returns is not complete.
  Together work();

 private:
  void choose_tiles();
  bool takes_all_tiles(const Plan& plan) const;
  void open_checkpoint();
  void make_queue();
  void make_hands();
  std::optional<Worker::OnLanes> on_lanes(
      const Plan& plan) const;  // nothing: it does one thing after another
  std::unique_ptr<Hand> worker_of(std::size_t device);
  void keep_workers();
  std::unique_ptr<Hand> hand_here(std::size_t device) const;
  std::shared_ptr<Lanes> lanes_of(std::size_t device) const;
  std::vector<double> work_of_tiles() const;
  void make_ready();
  [[noreturn]] void fail() const;  // no device is left
  double now() const;
  bool stopped() const;

  // A tile that a device has begun, and when.
  struct Begun {
    std::size_t tile;
    double at;
  };

  void serve(std::size_t device);
  void begin(std::size_t device, std::size_t tile, std::deque<Begun>& under_way,
             std::unique_lock<std::mutex>& lock);
  void finish(std::size_t device, std::deque<Begun>& under_way, std::unique_lock<std::mutex>& lock);
  bool is_right(std::size_t device, std::size_t tile, double& seconds);
  void note_check(std::size_t device, std::size_t tile, double seconds);
  void deliver(std::size_t device, std::size_t tile, const std::vector<dist::Span>& spans, double begun);
  void take_back(std::size_t device, std::size_t tile);
  void wait(std::size_t device, std::unique_lock<std::mutex>& lock);
  void lose(std::size_t device, std::exception_ptr failure);

  const Operation* operation_;
  const Arguments* host_;
  const Division* division_;
  const Spread* spread_;
  KeptDevices* kept_;
  Together out_;
  dist::Unit unit_;                  // what tiles are made of
  std::vector<Tile> tiles_;          // those to do
  std::vector<std::size_t> number_;  // of each in the checkpoint
  std::optional<Checkpoint> checkpoint_;
  std::optional<SharedCall> shared_;
  std::vector<std::unique_ptr<Hand>> hands_;
  std::optional<dist::Queue> queue_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr failure_;
  std::atomic<bool> interrupted_{false};  // parts that are under way, too
  std::optional<Leaving> leaving_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace tessera
