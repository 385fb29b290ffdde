// SPDX-License-Identifier: Apache-2.0
// A device that copies and computes at the same time: four streams, each in its own order, and events by
// which one waits for another, also between devices. Each kind of device registers a factory; tests implement
// streams by threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include "tessera/core/device/device.hpp"

namespace tessera {

enum class StreamKind : std::uint8_t { in, compute, out, peer };
inline constexpr std::size_t stream_count = 4;

// A point in a stream, reached when all work enqueued before it is done.
class StreamEvent {
 public:
  virtual ~StreamEvent() = default;
  virtual void wait() const = 0;  // blocks the host
};
using EventPtr = std::shared_ptr<StreamEvent>;

// Rows of bytes, `pitch` bytes apart.
struct Rows {
  void* data = nullptr;
  std::size_t pitch = 0;
};

// The number of rows, and the bytes of each.
struct RowShape {
  std::size_t rows = 0, bytes = 0;

  std::size_t total() const { return rows * bytes; }
};

// The streams of one device. Calls only enqueue, unless documented to wait. Device errors are thrown.
class Streams {
 public:
  virtual ~Streams() = default;  // called after the work has ended

  virtual const Device& device() const = 0;
  virtual void* allocate(std::size_t bytes) = 0;  // device memory, aligned to 256 bytes, until free()
  virtual void free(void* address) noexcept = 0;
  virtual std::shared_ptr<void> pinned(std::size_t bytes) = 0;      // pinned host memory
  virtual bool is_pinned(const void* data, std::size_t bytes) = 0;  // true if the whole range is pinned

  virtual EventPtr record(StreamKind stream) = 0;
  virtual void wait_for(StreamKind stream,
                        const StreamEvent& event) = 0;  // the event may belong to another stream
  // True if stream `peer` can copy from the memory of `other` without the host's memory in between.
  virtual bool reaches(const Streams& other) = 0;
  // Stream `in` copies from pinned host memory, `out` to it, `peer` from another device's memory.
  virtual void copy(StreamKind stream, const Rows& to, const Rows& from, const RowShape& shape) = 0;
  // `enqueue`, called at once or later, enqueues work to the compute stream.
  virtual void compute(std::function<void(void* stream)> enqueue) = 0;
  virtual void synchronize() = 0;  // waits for all streams

  // Event times are seconds since this call, which waits for all streams.
  virtual void start_clock() = 0;
  virtual double seconds(const StreamEvent& event) = 0;  // the event must have been reached
};

class StreamFactory {
 public:
  virtual ~StreamFactory() = default;
  virtual std::unique_ptr<Streams> open(const Device& device) = 0;
  // Pins host memory until the returned object is destroyed; the memory must not be freed earlier. Null: the
  // system refuses.
  virtual std::shared_ptr<void> pin(void* data, std::size_t bytes) = 0;
};

// Returns the factory registered before.
std::unique_ptr<StreamFactory> register_streams(Where where, std::unique_ptr<StreamFactory> factory);
StreamFactory* find_streams(Where where);  // null: such devices copy and compute one after the other

// Workspaces for callers who bring device arrays and a stream of their own. The backend of a device with
// streams registers one; devices that share the host's memory need none.

class StreamOrderedMemory {
 public:
  virtual ~StreamOrderedMemory() = default;

  // Returns the index of the device whose memory holds an address; std::nullopt: no device's.
  virtual std::optional<int> holder_of(const void* address) = 0;
  // Returns the reason why the device's work cannot go into this stream; std::nullopt: it can.
  virtual std::optional<std::string> refuses_stream(const Device& device, void* stream) = 0;
  // True if the stream is being captured to a graph: work is recorded, not executed.
  virtual bool is_capturing(const Run& run) = 0;

  // Returns memory whose first `zeros` bytes are zeros, for work that leaves zeros there. It belongs to the
  // stream: the next call for the stream returns the same memory. During capture it belongs to the graph.
  // Null: too large to keep.
  virtual void* keep(const Run& run, std::size_t zeros, std::size_t bytes) = 0;

  // Allocate and release memory in stream order, for work that is enqueued between the two. Neither waits,
  // and released memory is reused. During capture the memory belongs to the graph.
  virtual void* borrow(const Run& run, std::size_t bytes) = 0;
  virtual void give_back(const Run& run, void* address) noexcept = 0;
};

void register_stream_ordered_memory(Where where, std::unique_ptr<StreamOrderedMemory> devices);
StreamOrderedMemory* find_stream_ordered_memory(Where where);  // the last registered; null: it has no streams

}  // namespace tessera
