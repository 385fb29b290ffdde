// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads of one process: what is built on a communicator can be tested where there is no MPI.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include "tessera/run/mpi/communicator.hpp"

namespace tessera::made_up {

// The n-th operation that every rank calls, and who has come to it.
struct ThreadMeeting {
  int came = 0, left = 0;
  std::vector<std::string> brought;  // by rank
};

struct ThreadRoom {
  explicit ThreadRoom(int ranks) : size(ranks) {}

  const int size;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::int64_t, ThreadMeeting> meetings;
  std::map<std::pair<std::int64_t, int>, std::shared_ptr<ThreadRoom>> rooms;  // made by split()
};

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<ThreadRoom> room, int rank) : room_(std::move(room)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return room_->size; }
  std::string name() const override { return "threads"; }
  std::string host() const override { return "here"; }
  HostRank on_host() const override { return {rank(), size()}; }
  bool any_thread() const override { return true; }

  std::unique_ptr<Communicator> split(int colour) override {
    const std::int64_t number = next_;
    const auto colours = meet(std::to_string(colour));
    if (colour < 0) return nullptr;
    int rank = 0, size = 0;
    for (int other = 0; other < room_->size; ++other)
      if (colours[static_cast<std::size_t>(other)] == std::to_string(colour)) {
        if (other < rank_) ++rank;
        ++size;
      }
    const std::lock_guard lock(room_->mutex);
    auto& room = room_->rooms[{number, colour}];
    if (room == nullptr) room = std::make_shared<ThreadRoom>(size);
    return std::make_unique<ThreadCommunicator>(room, rank);
  }

  std::unique_ptr<Pending> start_broadcast(void* data, std::size_t bytes, int root) override {
    return start(rank_ == root ? std::string(static_cast<char*>(data), bytes) : "",
                 [=, this](const std::vector<std::string>& brought) {
                   const std::string& from = brought[static_cast<std::size_t>(root)];
                   if (from.size() != bytes)
                     throw Error(Error::Kind::internal, "ranks broadcast unlike sizes");
                   if (rank_ != root) std::memcpy(data, from.data(), bytes);
                 });
  }

  std::int64_t largest(std::int64_t value) override {
    for (const std::string& other : meet(std::to_string(value)))
      value = std::max<std::int64_t>(value, std::stoll(other));
    return value;
  }

  std::vector<std::string> gather(const std::string& bytes) override {
    auto all = meet(bytes);
    return rank_ == 0 ? all : std::vector<std::string>{};
  }

  [[noreturn]] void abort(int) noexcept override { std::terminate(); }

 private:
  using Take = std::function<void(const std::vector<std::string>&)>;

  class Met : public Pending {
   public:
    Met(ThreadRoom& room, std::int64_t number, Take take)
        : room_(room), number_(number), take_(std::move(take)) {}
    bool done() override {
      std::unique_lock lock(room_.mutex);
      return finish();
    }
    void wait() override {
      std::unique_lock lock(room_.mutex);
      room_.changed.wait(lock, [this] { return finish(); });
    }

   private:
    bool finish() {
      if (finished_) return true;
      ThreadMeeting& meeting = room_.meetings.at(number_);
      if (meeting.came < room_.size) return false;
      take_(meeting.brought);
      if (++meeting.left == room_.size) room_.meetings.erase(number_);
      return finished_ = true;
    }

    ThreadRoom& room_;
    std::int64_t number_;
    Take take_;
    bool finished_ = false;
  };

  std::unique_ptr<Pending> start(std::string brought, Take take) {
    const std::lock_guard lock(room_->mutex);
    ThreadMeeting& meeting = room_->meetings[next_];
    meeting.brought.resize(static_cast<std::size_t>(room_->size));
    meeting.brought[static_cast<std::size_t>(rank_)] = std::move(brought);
    ++meeting.came;
    room_->changed.notify_all();
    return std::make_unique<Met>(*room_, next_++, std::move(take));
  }

  std::vector<std::string> meet(const std::string& brought) {
    std::vector<std::string> out;
    start(brought, [&out](const std::vector<std::string>& all) { out = all; })->wait();
    return out;
  }

  std::shared_ptr<ThreadRoom> room_;
  int rank_;
  std::int64_t next_ = 0;  // operations called so far
};

// Calls work(communicator) on so many threads. What any throws must have been caught there.
template <class Work>
void on_threads(int ranks, const Work& work) {
  const auto room = std::make_shared<ThreadRoom>(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      ThreadCommunicator communicator(room, rank);
      work(communicator);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tessera::made_up
