// SPDX-License-Identifier: Apache-2.0
// What computes the tiles of one device: this process, or another (worker.hpp).
#pragma once
#include <utility>
#include <vector>
#include "tessera/core/division.hpp"
#include "tessera/dist/timeline.hpp"
#include "tessera/run/choose.hpp"
#include "tessera/run/finding.hpp"
#include "tessera/run/computed_part.hpp"

namespace tessera {

// What is thrown is the device's failure.
class Hand {
 public:
  virtual ~Hand() = default;
  // Returns when it can begin: what is done once for all tiles is done.
  virtual void make_ready() {}
  // Tiles are begun one after another and finished in that order, so many under way at a time at the most. On
  // return from finish() the tile is in the result. It tells what was done when, in seconds since the tile
  // was begun; devices and tiles are the caller's to fill in.
  virtual void begin(const Tile& tile) { begun_ = tile; }
  virtual std::vector<dist::Span> finish() { return compute(begun_); }
  virtual std::size_t most_under_way() const { return 1; }
  // Whether finish() looks at the flag of its thread (core/interrupt.hpp), and where that is raised throws
  // Interrupted, with nothing written into the result from then on.
  virtual bool can_leave() const { return false; }
  // After a failure: waits until nothing writes into the result any more.
  virtual void settle() noexcept {}
  // Of the part finished last; null: nobody looked at it.
  virtual const Finding* finding() const { return nullptr; }
  // Each part is shown before it leaves the device.
  void look_with(LookAtPart look) { look_ = std::move(look); }

 protected:
  LookAtPart look_;

 private:
  // For those that do one tile after another.
  virtual std::vector<dist::Span> compute(const Tile& tile) = 0;

  Tile begun_;
};

// `plan` is for the whole; a part that it refuses is computed by what takes it.
class HandHere final : public Hand {
 public:
  HandHere(const Operation& operation, const Division& division, Plan plan, Request request)
      : operation_(&operation), division_(&division), plan_(std::move(plan)), request_(std::move(request)) {}
  std::vector<dist::Span> compute(const Tile& tile) override;  // begun and finished
  bool can_leave() const override { return backend_of(plan_.device).shares_host_memory(); }

 private:
  const Operation* operation_;
  const Division* division_;
  Plan plan_;
  Request request_;
};

}  // namespace tessera
