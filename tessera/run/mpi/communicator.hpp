// SPDX-License-Identifier: Apache-2.0
// What connects ranks, processes that compute one thing together: MPI, in a library of its own, or threads in
// tests. All memory is the host's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include "tessera/core/error.hpp"

namespace tessera {

// Something under way. Its memory must stay until it is done.
class Pending {
 public:
  virtual ~Pending() = default;
  virtual bool done() = 0;  // moves it on, and never waits
  virtual void wait() = 0;
};

// Which of the ranks on its host one is.
struct HostPlace {
  int rank = 0, ranks = 1;
};

// All ranks call the same of these in the same order; at a time one thread of a process.
class Communicator {
 public:
  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string name() const = 0;  // of what connects them: "Open MPI 4.1.4"
  virtual std::string host() const = 0;  // where this rank is
  virtual HostPlace on_host() const = 0;
  // Whether a thread other than the one that started something may ask whether it is done.
  virtual bool any_thread() const = 0;

  // Those of one colour, in the order of their ranks here; null for a negative one.
  virtual std::unique_ptr<Communicator> split(int colour) = 0;

  virtual std::unique_ptr<Pending> start_broadcast(void* data, std::size_t bytes, int root) = 0;
  virtual std::int64_t largest(std::int64_t value) = 0;
  // Everybody's, by rank, on rank 0; empty elsewhere.
  virtual std::vector<std::string> gather(const std::string& bytes) = 0;
  // Ends all ranks at once.
  [[noreturn]] virtual void abort(int exit_code) noexcept = 0;

  std::string broadcast(std::string bytes, int root);

  // Whether agree() has found that all ranks can go on: from then on they wait for each other.
  bool begun() const { return begun_; }

 private:
  friend void agree(Communicator&, const std::function<void()>&);
  bool begun_ = false;
};

// What all ranks know of, and end by.
class SharedError : public Error {
 public:
  using Error::Error;
};

// Calls `work`, which calls no communicator, on every rank. Where any rank's throws, all throw a SharedError
// with the reason of the first of them, which is told by its rank and host unless it is rank 0: that is most
// often everybody's reason.
void agree(Communicator& ranks, const std::function<void()>& work);

// Pieces of at most `most` bytes: what is counted in 32 bits takes no more at a time.
inline std::vector<std::size_t> pieces(std::size_t bytes, std::size_t most) {
  std::vector<std::size_t> out;
  for (std::size_t left = bytes; left != 0; left -= out.back()) out.push_back(left < most ? left : most);
  return out;
}

}  // namespace tessera
