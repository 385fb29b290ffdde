// SPDX-License-Identifier: Apache-2.0
// Tiles on a device that copies and computes at the same time: while one tile is computed, the next one's
// inputs arrive and the last one's result leaves. Inputs stay in device memory for later tiles, so each row
// or column panel crosses the link once while memory lasts; what was used longest ago makes room. So operands
// may be larger than the device's memory. Knows no CUDA: what a device can do is behind Streams.
#pragma once
#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include "tessera/core/streams.hpp"
#include "tessera/run/multi_device/device_worker.hpp"

namespace tessera {

// Copies between arrays in host memory and a device's rows, in one of its streams. Memory that the copies
// cannot reach passes through a few pinned buffers in turn, which the host's processors fill or empty while
// others travel.

// Rows of an array in host memory: of two dimensions, or of one, the last of consecutive elements.
struct HostRows {
  Rows rows;
  RowShape shape;

  static HostRows of(const ArrayView& view);
};

// Pinned buffers, used one after another.
class StagingRing {
 public:
  struct Slot {
    std::shared_ptr<void> memory;
    EventPtr idle;  // when the stream is done with the memory
  };

  explicit StagingRing(Streams& streams) : streams_(&streams) {}
  Slot& next();  // its memory is made when it is first needed

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
  void forget() { pending_.clear(); }  // after a failure: nobody wants the rest

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

// Rows of bytes from an address on. `transposed`: of an array of two dimensions whose columns are contiguous,
// so that a row here is one of these.
struct PackedRows {
  std::int64_t pitch = 0, rows = 0, row_bytes = 0;
  bool transposed = false;

  std::int64_t bytes() const { return rows * pitch; }

  static PackedRows of(const Slice& slice, const ArrayView& array);
  ArrayView view_at(void* memory, const Slice& slice, const ArrayView& array) const;
};

// Offsets in a block of memory that is taken and released in pieces: the smallest gap that fits.
class BlockAllocator {
 public:
  explicit BlockAllocator(std::int64_t bytes) { release(0, bytes); }
  std::optional<std::int64_t> take(std::int64_t bytes);
  void release(std::int64_t offset, std::int64_t bytes);

 private:
  std::map<std::int64_t, std::int64_t> gaps_;  // offset → bytes
};

// A block of a device's memory.
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

// Slices of inputs that a device keeps from one tile to the next.
class InputCache {
 public:
  // Allocates one block at once: allocating and freeing may wait for all that the device does.
  InputCache(Streams& streams, std::int64_t bytes)
      : streams_(&streams), uploads_(streams), block_(streams, bytes), free_(bytes) {}

  // The slice in device memory, once the stream `in` has come so far. `fresh` becomes true where it was not
  // there before. Slices that tiles from `oldest` on read stay where they are.
  ArrayView get(const Slice& slice, const ArrayView& array, bool pinned, std::size_t tile, std::size_t oldest,
                bool& fresh);
  const StreamMemory& block() const { return block_; }

 private:
  struct Entry {
    char* data = nullptr;
    PackedRows rows;
    std::size_t last_tile = 0;
    std::int64_t offset = 0, bytes = 0;             // in the block
    std::unique_ptr<StreamMemory> apart = nullptr;  // where the block had no room
  };

  void allocate(Entry& entry, std::size_t oldest);
  bool evict(std::size_t oldest);

  Streams* streams_;
  Uploads uploads_;
  StreamMemory block_;
  BlockAllocator free_;
  std::map<Slice, Entry> entries_;
};

class StreamedWorker final : public DeviceWorker {
 public:
  // Why tiles of this call are not computed so on a device with streams.
  static Reason refuses(const Operation& operation, const Arguments& host, const Partition& partition,
                        const Plan& plan);

  // `memory_bytes`: the most to take of the device. Memory is allocated and code loaded here, for `largest`,
  // the largest tile. The streams are nobody else's meanwhile. All references must stay.
  StreamedWorker(const Operation& operation, const Arguments& host, const Partition& partition, Plan plan,
                 Request request, std::shared_ptr<Streams> streams, std::int64_t memory_bytes,
                 const Tile& largest);
  ~StreamedWorker() override { stop(); }
  StreamedWorker(const StreamedWorker&) = delete;
  StreamedWorker& operator=(const StreamedWorker&) = delete;

  void begin(const Tile& tile) override;
  std::vector<TimelineSpan> finish() override;
  std::size_t most_under_way() const override { return buffers; }
  void stop() noexcept override;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t buffers = 2;

  // A tile under way, and the memory for what it writes.
  struct Buffer {
    Clock::time_point begun;
    std::unique_ptr<StreamMemory> memory;
    std::vector<Slice> writes;
    std::vector<std::int64_t> offsets;  // of these in that memory
    std::vector<PackedRows> rows;
    std::optional<Arguments> arguments;
    std::string in_place;  // the input that lies where the output does
    Plan plan;
    EventPtr copying, copied, computing, computed, copying_out, left;
  };
  using ReadView = std::function<ArrayView(const Slice&)>;

  std::vector<TimelineSpan> compute(const Tile& tile) override;
  void lay_out_writes(Buffer& buffer, const Tile& tile);
  void set_arguments(Buffer& buffer, const Tile& tile, const ReadView& read);
  void load(const Tile& tile);
  void enqueue_compute(Buffer& buffer);
  bool pinned(const std::string& array);

  const Operation* operation_;
  const Arguments* host_;
  const Partition* partition_;
  Plan plan_;
  Request request_;
  std::shared_ptr<Streams> streams_;
  Clock::time_point started_;
  std::map<std::string, bool> pinned_;  // by array
  std::optional<InputCache> inputs_;
  Downloads downloads_;
  std::array<Buffer, buffers> buffers_;
  std::size_t begun_ = 0, finished_ = 0;
};

}  // namespace tessera
