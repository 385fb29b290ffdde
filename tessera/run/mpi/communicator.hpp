// SPDX-License-Identifier: Apache-2.0
// Communication between ranks, the processes of one computation: by MPI, in a library of its own, or by
// threads in tests. All memory is host memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include "tessera/core/text/error.hpp"

namespace tessera {

// A pending operation. Its memory must stay valid until it is done.
class Pending {
 public:
  virtual ~Pending() = default;
  virtual bool done() = 0;  // makes progress, and never waits
  virtual void wait() = 0;
};

// A process's rank among the ranks of its host.
struct HostRank {
  int rank = 0, ranks = 1;
};

// Collective: all ranks call the same functions in the same order, one thread of a process at a time.
class Communicator {
 public:
  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string name() const = 0;  // the implementation: "Open MPI 4.1.4"
  virtual std::string host() const = 0;  // the host of this rank
  virtual HostRank on_host() const = 0;
  // True if a thread other than the one that started an operation may poll it.
  virtual bool any_thread() const = 0;

  // Returns the ranks of one colour, in the order of their ranks here; null for a negative colour.
  virtual std::unique_ptr<Communicator> split(int colour) = 0;

  virtual std::unique_ptr<Pending> start_broadcast(void* data, std::size_t bytes, int root) = 0;
  virtual std::int64_t largest(std::int64_t value) = 0;
  // Every rank's bytes, by rank, on rank 0; empty elsewhere.
  virtual std::vector<std::string> gather(const std::string& bytes) = 0;
  // Ends all ranks at once.
  [[noreturn]] virtual void abort(int exit_code) noexcept = 0;

  std::string broadcast(std::string bytes, int root);

  // True after agree() has found that all ranks can continue: from then on they wait for each other.
  bool begun() const { return begun_; }

 private:
  friend void agree(Communicator&, const std::function<void()>&);
  bool begun_ = false;
};

// An error that all ranks know of, and end with.
class SharedError : public Error {
 public:
  using Error::Error;
};

// Calls `work`, which must not communicate, on every rank. If it throws on any rank, all throw a SharedError
// with the reason of the first such rank, prefixed by its rank and host unless it is rank 0, whose reason is
// usually everyone's.
void agree(Communicator& ranks, const std::function<void()>& work);

// Splits a size into pieces of at most `most` bytes, for interfaces that count in 32 bits.
inline std::vector<std::size_t> pieces(std::size_t bytes, std::size_t most) {
  std::vector<std::size_t> out;
  for (std::size_t left = bytes; left != 0; left -= out.back()) out.push_back(left < most ? left : most);
  return out;
}

}  // namespace tessera
