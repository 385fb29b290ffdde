// SPDX-License-Identifier: Apache-2.0
// Copies between arrays in host memory and a device's rows, in one of its lanes. Memory that the copies
// cannot reach passes through a few pinned buffers in turn, which the host's processors fill or empty while
// others travel.
#pragma once
#include <array>
#include <deque>
#include "tessera/core/array.hpp"
#include "tessera/core/lanes.hpp"

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
    MarkPtr idle;  // when the lane is done with the memory
  };

  explicit StagingRing(Lanes& lanes) : lanes_(&lanes) {}
  Slot& next();  // its memory is made when it is first needed

  static constexpr std::size_t chunk_bytes = std::size_t{16} << 20, slots = 4;

 private:
  Lanes* lanes_;
  std::array<Slot, slots> slots_;
  std::size_t at_ = 0;
};

class Uploads {
 public:
  explicit Uploads(Lanes& lanes) : lanes_(&lanes), ring_(lanes) {}
  // On return `from` is on its way, or in a buffer; the copy is done in the order of the lane. `reached`: the
  // device's copies reach that memory.
  void copy(const Rows& to, const HostRows& from, bool reached);

 private:
  Lanes* lanes_;
  StagingRing ring_;
};

class Downloads {
 public:
  explicit Downloads(Lanes& lanes) : lanes_(&lanes), ring_(lanes) {}
  // On return the copy is enqueued to the lane; the host has the bytes after finish() at the latest.
  void copy(const HostRows& to, const Rows& from, bool reached);
  void finish();
  void forget() { pending_.clear(); }  // after a failure: nobody wants the rest

 private:
  struct Pending {
    StagingRing::Slot* slot;
    HostRows to;
  };

  void empty_one();

  Lanes* lanes_;
  StagingRing ring_;
  std::deque<Pending> pending_;
};

}  // namespace tessera
