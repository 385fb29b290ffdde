// SPDX-License-Identifier: Apache-2.0
// Tiles on a device that overlaps copies and computation: while one tile is computed, the next one's inputs
// arrive and the previous result leaves. Inputs stay in device memory for later tiles, and the least recently
// used are evicted, so operands may be larger than the device's memory. While memory lasts, each row or
// column panel crosses the links of the host once: other devices copy it from the one that has it.
// Independent of CUDA: a device is used through Streams.
#pragma once
#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include "tessera/core/device/streams.hpp"
#include "tessera/run/multi_device/device_worker.hpp"

namespace tessera {

// Copies between arrays in host memory and rows in device memory, in one stream. Memory that is not pinned
// passes through a few pinned buffers in turn, which the CPU fills or empties while others travel.

// Rows of an array in host memory of one or two dimensions, the last one contiguous.
struct HostRows {
  Rows rows;
  RowShape shape;

  static HostRows of(const ArrayView& view);
};

// Pinned buffers, used in turn.
class StagingRing {
 public:
  struct Slot {
    std::shared_ptr<void> memory;
    EventPtr idle;  // recorded when the stream is done with the memory
  };

  explicit StagingRing(Streams& streams) : streams_(&streams) {}
  Slot& next();  // allocates the slot's memory on first use

  static constexpr std::size_t chunk_bytes = std::size_t{16} << 20, slots = 4;

 private:
  Streams* streams_;
  std::array<Slot, slots> slots_;
  std::size_t at_ = 0;
};

class Uploads {
 public:
  explicit Uploads(Streams& streams) : streams_(&streams), ring_(streams) {}
  // On return the copy is enqueued, or `from` is in a buffer. `pinned`: `from` is pinned memory.
  void copy(const Rows& to, const HostRows& from, bool pinned);

 private:
  Streams* streams_;
  StagingRing ring_;
};

class Downloads {
 public:
  explicit Downloads(Streams& streams) : streams_(&streams), ring_(streams) {}
  // On return the copy is enqueued; the host has the bytes after finish() at the latest.
  void copy(const HostRows& to, const Rows& from, bool pinned);
  void finish();
  void forget() { pending_.clear(); }  // after a failure: drops the pending copies

 private:
  struct Pending {
    StagingRing::Slot* slot;
    HostRows to;
  };

  void empty_one();

  Streams* streams_;
  StagingRing ring_;
  std::deque<Pending> pending_;
};

// Rows of bytes, `pitch` bytes apart. `transposed`: each row is a contiguous column of a two-dimensional
// array.
struct PackedRows {
  std::int64_t pitch = 0, rows = 0, row_bytes = 0;
  bool transposed = false;

  std::int64_t bytes() const { return rows * pitch; }

  static PackedRows of(const Slice& slice, const ArrayView& array);
  ArrayView view_at(void* memory, const Slice& slice, const ArrayView& array) const;
};

// Best-fit allocator of offsets in a block of memory.
class BlockAllocator {
 public:
  explicit BlockAllocator(std::int64_t bytes) { release(0, bytes); }
  std::optional<std::int64_t> take(std::int64_t bytes);
  void release(std::int64_t offset, std::int64_t bytes);

 private:
  std::map<std::int64_t, std::int64_t> gaps_;  // offset → bytes
};

// A block of device memory.
class StreamMemory {
 public:
  StreamMemory(Streams& streams, std::int64_t bytes)
      : streams_(&streams),
        data_(bytes == 0 ? nullptr : streams.allocate(static_cast<std::size_t>(bytes))),
        bytes_(bytes) {}
  ~StreamMemory() {
    if (data_ != nullptr) streams_->free(data_);
  }
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  char* get() const { return static_cast<char*>(data_); }
  std::int64_t bytes() const { return bytes_; }

 private:
  Streams* streams_;
  void* data_;
  std::int64_t bytes_;
};

// The input slices that the devices of this process hold.
class HeldInputs {
 public:
  // Enables peer access between this device and those that joined before, which takes a while.
  void join(Streams& device);
  void leave(const Streams& device);
  // Copies the slice from another device, and returns the event of its arrival. Waits while that device
  // copies it from the host. Returns null if `reader` reaches none that holds it: the reader must copy it
  // from the host and call add().
  EventPtr copy(const Slice& slice, Streams& reader, const Rows& to, const RowShape& shape);
  // `arrived`: null if the copy failed.
  void add(const Slice& slice, const Streams& holder, const EventPtr& arrived);
  void remove(const Slice& slice, const Streams& holder);  // waits for other devices that copy it

 private:
  struct Holding {
    const Streams* holder;
    Rows at;
    EventPtr arrived;  // null: the copy from the host is not yet enqueued
    std::vector<EventPtr> readers;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Streams*> devices_;
  std::map<Slice, std::vector<Holding>> holdings_;
};

// The copies that a tile waits for.
struct Arrivals {
  EventPtr from_host, from_peer;  // the last of each; null: there was none
  std::int64_t host_bytes = 0, peer_bytes = 0;
};

// Input slices that a device keeps from one tile to the next.
class InputCache {
 public:
  // Allocates a single block: allocating and freeing may wait for all work of the device.
  InputCache(Streams& streams, std::shared_ptr<HeldInputs> held, std::int64_t bytes)
      : streams_(&streams), held_(std::move(held)), uploads_(streams), block_(streams, bytes), free_(bytes) {
    held_->join(streams);
  }
  ~InputCache() {
    clear();
    held_->leave(*streams_);
  }
  InputCache(const InputCache&) = delete;
  InputCache& operator=(const InputCache&) = delete;

  // Returns the slice in device memory, valid after `arrivals`, to which its copy is added if it was not
  // there before. Slices that tiles from `oldest` on read are not evicted.
  ArrayView get(const Slice& slice, const ArrayView& array, bool pinned, std::size_t tile, std::size_t oldest,
                Arrivals& arrivals);
  void clear();
  const StreamMemory& block() const { return block_; }

 private:
  struct Entry {
    char* data = nullptr;
    PackedRows rows;
    std::size_t last_tile = 0;
    std::int64_t offset = 0, bytes = 0;             // in the block
    std::unique_ptr<StreamMemory> apart = nullptr;  // its own memory, if the block had no room
  };

  void allocate(Entry& entry, std::size_t oldest);
  void upload(const Slice& slice, const Entry& entry, const ArrayView& array, bool pinned,
              Arrivals& arrivals);
  bool evict(std::size_t oldest);

  Streams* streams_;
  std::shared_ptr<HeldInputs> held_;
  Uploads uploads_;
  StreamMemory block_;
  BlockAllocator free_;
  std::map<Slice, Entry> entries_;
};

class StreamedWorker final : public DeviceWorker {
 public:
  // Returns the reason why tiles of this call are not streamed.
  static Reason refuses(const Operation& operation, const Arguments& host, const Partition& partition,
                        const Plan& plan);

  struct Options {
    std::int64_t memory_bytes = 0;  // limit on the device's memory
    Tile largest = {};              // the largest tile: memory and code are ready for it
    std::size_t tiles_at_once = 2;
    std::shared_ptr<HeldInputs> held = std::make_shared<HeldInputs>();  // shared by the devices of a call
  };

  // The streams must not be used by others meanwhile. All references must outlive the worker.
  StreamedWorker(const Operation& operation, const Arguments& host, const Partition& partition, Plan plan,
                 Request request, std::shared_ptr<Streams> streams, Options options);
  ~StreamedWorker() override { stop(); }
  StreamedWorker(const StreamedWorker&) = delete;
  StreamedWorker& operator=(const StreamedWorker&) = delete;

  void begin(const Tile& tile) override;
  std::vector<TimelineSpan> finish() override;
  std::size_t max_in_flight() const override { return buffers_.size(); }
  double seconds_of_largest() const override { return seconds_of_largest_; }
  void stop() noexcept override;

 private:
  using Clock = std::chrono::steady_clock;

  // A tile in flight, and the memory for its outputs.
  struct Buffer {
    Clock::time_point begun;
    std::unique_ptr<StreamMemory> memory;
    std::vector<Slice> writes;
    std::vector<std::int64_t> offsets;  // offsets of `writes` in `memory`
    std::vector<PackedRows> rows;
    std::optional<Arguments> arguments;
    std::string in_place;  // the input that shares the output's memory
    Plan plan;
    Arrivals arrivals;
    EventPtr copying, receiving, computing, computed, copying_out, left;
  };
  using ReadView = std::function<ArrayView(const Slice&)>;

  std::vector<TimelineSpan> compute(const Tile& tile) override;
  void lay_out_writes(Buffer& buffer, const Tile& tile);
  void set_arguments(Buffer& buffer, const Tile& tile, const ReadView& read);
  void load(const Tile& tile);
  void read_inputs(Buffer& buffer, const Tile& tile);
  void enqueue_compute(Buffer& buffer);
  bool pinned(const std::string& array);

  const Operation* operation_;
  const Arguments* host_;
  const Partition* partition_;
  Plan plan_;
  Request request_;
  std::shared_ptr<Streams> streams_;
  Clock::time_point started_;
  std::map<std::string, bool> pinned_;  // by array name
  std::optional<InputCache> inputs_;
  Downloads downloads_;
  std::vector<Buffer> buffers_;
  std::size_t begun_ = 0, finished_ = 0;
  double seconds_of_largest_ = 0;
};

}  // namespace tessera
