// SPDX-License-Identifier: Apache-2.0
// Copies between arrays in host memory and a device's rows, in one of its streams. Memory that the copies
// cannot reach passes through a few pinned buffers in turn, which the host's processors fill or empty while
// others travel.
#pragma once
#include <array>
#include <deque>
#include "tessera/core/array.hpp"
#include "tessera/core/streams.hpp"

namespace tessera {

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

}  // namespace tessera
