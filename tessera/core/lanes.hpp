// SPDX-License-Identifier: Apache-2.0
// A device that copies and computes at the same time, as whoever overlaps the two sees it: four queues, each
// in its own order, and marks by which one waits for another. A kind of device that can do so registers how
// they are opened; a test makes its own, of threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include "tessera/core/device.hpp"

namespace tessera {

enum class Lane : std::uint8_t { in, peer, compute, out };
inline constexpr std::size_t lane_count = 4;

// A moment in a lane: reached when all is done that was enqueued there before it.
class Mark {
 public:
  virtual ~Mark() = default;
  virtual void wait() const = 0;  // by the host
};
using MarkPtr = std::unique_ptr<Mark>;

// Rows of bytes, one `pitch` bytes after the other.
struct Rows {
  void* data = nullptr;
  std::size_t pitch = 0;
};

// How many rows, and the bytes of each.
struct RowShape {
  std::size_t rows = 0, bytes = 0;

  std::size_t total() const { return rows * bytes; }
};

// Of one device. Different threads may use different lanes at a time; each call returns before what it
// enqueues is done, unless it says that it waits. Throws what the device says.
class Lanes {
 public:
  virtual ~Lanes() = default;  // after the work has ended

  virtual const Device& device() const = 0;
  virtual void* allocate(std::size_t bytes) = 0;  // in the device's memory, a multiple of 256, until free()
  virtual void free(void* address) noexcept = 0;
  // Host memory that copies reach without the processors' help.
  virtual std::shared_ptr<void> staging(std::size_t bytes) = 0;
  // Whether all of that host memory is such.
  virtual bool reaches(const void* data, std::size_t bytes) = 0;
  virtual bool sees(const Lanes& other) = 0;  // copies from the other's memory pass by the host

  virtual MarkPtr mark(Lane lane) = 0;
  virtual void after(Lane lane, const Mark& mark) = 0;  // of any device's lane
  // In the lane `in` from such host memory, in `out` to it.
  virtual void copy(Lane lane, const Rows& to, const Rows& from, const RowShape& shape) = 0;
  // In the lane `peer`, from the memory of one that it sees.
  virtual void copy_peer(const Rows& to, const Lanes& other, const Rows& from, const RowShape& shape) = 0;
  // `enqueue`, called at once or in the lane's turn, puts work into the stream of `compute`.
  virtual void compute(std::function<void(void* stream)> enqueue) = 0;
  virtual void synchronize() = 0;  // waits for all lanes

  // Marks tell seconds since this call, which finds nothing under way.
  virtual void start_clock() = 0;
  virtual double seconds(const Mark& mark) = 0;  // of one that is reached
};

// What a kind of device offers to whoever overlaps copies and computing.
class LaneMaker {
 public:
  virtual ~LaneMaker() = default;
  virtual std::unique_ptr<Lanes> open(const Device& device) = 0;
  // Makes host memory such that copies reach it, until what is returned goes, and while it is not freed.
  // Null: the system refuses.
  virtual std::shared_ptr<void> pin(void* data, std::size_t bytes) = 0;
};

std::unique_ptr<LaneMaker> register_lanes(Where where,
                                          std::unique_ptr<LaneMaker> maker);  // returns the one before
LaneMaker* find_lanes(Where where);  // the last registered; null: its devices only do one thing after another

}  // namespace tessera
