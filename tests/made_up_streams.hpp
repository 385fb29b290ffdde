// SPDX-License-Identifier: Apache-2.0
// A made-up device whose streams are threads, and whose memory is apart from the host's and full of NaN. Each
// piece of work is put off by a random time, so that one which did not wait for what it needs shows as a
// wrong result.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>
#include "tessera/core/text/error.hpp"
#include "tessera/core/device/streams.hpp"

namespace tessera::made_up {

class MadeUpEvent final : public StreamEvent {
 public:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool reached = false;
    std::chrono::steady_clock::time_point when;

    void wait() {
      std::unique_lock lock(mutex);
      changed.wait(lock, [this] { return reached; });
    }
    void reach() {
      const std::lock_guard lock(mutex);
      reached = true;
      when = std::chrono::steady_clock::now();
      changed.notify_all();
    }
  };

  void wait() const override { state->wait(); }
  std::shared_ptr<State> state = std::make_shared<State>();
};

// Does what is put into it, one after another, each a little late.
class StreamThread {
 public:
  explicit StreamThread(unsigned seed) : random_(seed), thread_([this] { serve(); }) {}
  ~StreamThread() {
    put({});
    thread_.join();
  }
  StreamThread(const StreamThread&) = delete;
  StreamThread& operator=(const StreamThread&) = delete;

  void put(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    works_.push_back(std::move(work));
    changed_.notify_one();
  }

 private:
  void serve() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !works_.empty(); });
      const auto work = std::move(works_.front());
      works_.pop_front();
      lock.unlock();
      if (!work) return;
      constexpr unsigned max_us = 200;
      if (random_() % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random_() % max_us));
      work();
    }
  }

  std::mt19937 random_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> works_;
  std::thread thread_;
};

struct Traits {
  bool pinned = true;             // else host memory passes through buffers
  bool peers = true;              // copies from the memory of other such devices
  std::size_t fails_at_step = 0;  // of those it is given; 0: never
  std::size_t fails_at_call = 0;  // that enqueues something; 0: never
  std::size_t wrong_copies = 0;   // of its first copies out the first element arrives wrong
};

class MadeUpStreams final : public Streams {
 public:
  MadeUpStreams(Device device, unsigned seed, Traits traits = {})
      : device_(std::move(device)),
        traits_(traits),
        threads_{{StreamThread(4 * seed), StreamThread(4 * seed + 1), StreamThread(4 * seed + 2),
                  StreamThread(4 * seed + 3)}} {}

  const Device& device() const override { return device_; }
  void* allocate(std::size_t bytes) override {
    const std::size_t rounded = (bytes + 255) / 256 * 256;
    void* const out = std::aligned_alloc(256, rounded);
    std::memset(out, 0xff, rounded);
    allocated_ += bytes;
    const std::lock_guard lock(mutex_);
    held_ += sizes_[out] = bytes;
    max_held_ = std::max(max_held_, held_);
    return out;
  }
  void free(void* address) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      held_ -= sizes_[address];
      sizes_.erase(address);
    }
    std::free(address);
  }
  std::shared_ptr<void> pinned(std::size_t bytes) override {
    ++stagings_;
    return {std::malloc(bytes), std::free};
  }
  bool is_pinned(const void*, std::size_t) override { return traits_.pinned; }

  EventPtr record(StreamKind kind) override {
    auto out = std::make_shared<MadeUpEvent>();
    put(kind, [state = out->state] { state->reach(); });
    return out;
  }
  void wait_for(StreamKind kind, const StreamEvent& event) override {
    put(kind, [state = static_cast<const MadeUpEvent&>(event).state] { state->wait(); });
  }
  bool reaches(const Streams& other) override {
    return traits_.peers && static_cast<const MadeUpStreams&>(other).traits_.peers;
  }
  void copy(StreamKind kind, const Rows& to, const Rows& from, const RowShape& shape) override {
    bytes_[static_cast<std::size_t>(kind)] += shape.total();
    const bool wrong = kind == StreamKind::out && ++copied_out_ <= traits_.wrong_copies;
    put(kind, [=] {
      copy_rows(to, from, shape);
      if (wrong) static_cast<unsigned char*>(to.data)[3] ^= 0x40;  // the exponent of a float
    });
  }
  void compute(std::function<void(void*)> enqueue) override {
    if (++given_ == traits_.fails_at_step) throw Error(Error::Kind::internal, "this device is broken");
    put(StreamKind::compute, [enqueue = std::move(enqueue), before = before_step_, step = given_.load()] {
      if (before) before(step);
      enqueue(nullptr);
    });
  }
  void synchronize() override {
    for (const StreamKind kind : {StreamKind::in, StreamKind::peer, StreamKind::compute, StreamKind::out})
      record(kind)->wait();
  }
  void start_clock() override {
    synchronize();
    start_ = std::chrono::steady_clock::now();
  }
  double seconds(const StreamEvent& event) override {
    return std::chrono::duration<double>(static_cast<const MadeUpEvent&>(event).state->when - start_).count();
  }

  // Called in each later step's turn, before it.
  void before_steps(std::function<void(std::size_t step)> call) { before_step_ = std::move(call); }

  std::size_t bytes_in() const { return bytes_[static_cast<std::size_t>(StreamKind::in)]; }
  std::size_t bytes_out() const { return bytes_[static_cast<std::size_t>(StreamKind::out)]; }
  std::size_t allocated() const { return allocated_; }
  std::size_t max_held() const { return max_held_; }  // at a time
  std::size_t stagings() const { return stagings_; }

 private:
  static void copy_rows(const Rows& to, const Rows& from, const RowShape& shape) {
    for (std::size_t row = 0; row < shape.rows; ++row)
      std::memcpy(static_cast<char*>(to.data) + row * to.pitch,
                  static_cast<const char*>(from.data) + row * from.pitch, shape.bytes);
  }
  void put(StreamKind kind, std::function<void()> work) {
    if (++calls_ == traits_.fails_at_call) throw Error(Error::Kind::internal, "this device is broken");
    threads_[static_cast<std::size_t>(kind)].put(std::move(work));
  }

  Device device_;
  Traits traits_;
  std::function<void(std::size_t)> before_step_;
  std::mutex mutex_;
  std::map<void*, std::size_t> sizes_;
  std::size_t held_ = 0, max_held_ = 0;
  std::array<std::atomic<std::size_t>, stream_count> bytes_{};
  std::atomic<std::size_t> allocated_{0}, stagings_{0}, given_{0}, copied_out_{0}, calls_{0};
  std::chrono::steady_clock::time_point start_;
  std::array<StreamThread, stream_count> threads_;  // gone first
};

// While it lives, processors have such streams: what is done on GPUs is done on them. Each device that is
// opened has the next of the traits, the last of them again and again.
class OnStreams {
 public:
  explicit OnStreams(std::vector<Traits> traits = {{}}) : opened_(std::make_shared<Opened>()) {
    register_streams(Where::cpu, std::make_unique<Maker>(std::move(traits), opened_));
  }
  ~OnStreams() { register_streams(Where::cpu, nullptr); }
  OnStreams(const OnStreams&) = delete;
  OnStreams& operator=(const OnStreams&) = delete;

  std::size_t opened() const { return opened_->count; }

 private:
  struct Opened {
    std::atomic<unsigned> count{0};
  };
  class Maker final : public StreamFactory {
   public:
    Maker(std::vector<Traits> traits, std::shared_ptr<Opened> opened)
        : traits_(std::move(traits)), opened_(std::move(opened)) {}
    std::unique_ptr<Streams> open(const Device& device) override {
      const unsigned number = opened_->count++;
      return std::make_unique<MadeUpStreams>(device, number,
                                             traits_[std::min<std::size_t>(number, traits_.size() - 1)]);
    }
    std::shared_ptr<void> pin(void*, std::size_t) override { return nullptr; }

   private:
    std::vector<Traits> traits_;
    std::shared_ptr<Opened> opened_;
  };

  std::shared_ptr<Opened> opened_;
};

}  // namespace tessera::made_up
