// SPDX-License-Identifier: Apache-2.0
// Several sets of one problem's inputs and outputs in a device's memory, for --rotate. Launches cycle through
// the sets, so no launch finds its data in the last-level cache. Code and constants stay cached.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "tessera/core/operation/arguments.hpp"
#include "tessera/core/device/device.hpp"
#include "tessera/core/operation/variant.hpp"

namespace tessera::bench {

// Largest number of launches in a sample, before rounding up to all sets: a device's queue holds about a
// thousand, and some runs take several.
inline constexpr int max_launches = 100;

inline constexpr double rotated_caches = 2.5;  // least size of all sets, relative to the cache

// Returns the number of sets of `set_bytes` that reach that size: 1 if one set suffices; otherwise an even
// number and, if it exceeds `most`, the maximum number of launches in a sample, a multiple of that.
std::int64_t sets_beyond(std::int64_t cache_bytes, std::int64_t set_bytes, int most);

std::int64_t set_bytes(const Arguments& host);

// Returns the reason why launches on this device cannot cycle through sets: the cache's size is unknown, or
// the sets would take more than a quarter of the free memory.
Reason cannot_rotate(const Device& device, const Arguments& host, int most);

class Rotation {
 public:
  // `even` and `odd`: contents of even- and odd-numbered sets, the same problem with different numbers; they
  // must outlive the object. fetch() and check_guards() require them in host memory, and row-major outputs.
  // `most`: maximum number of launches in a sample.
  Rotation(const Device& device, const Arguments& even, const Arguments& odd, int most);
  ~Rotation();
  Rotation(const Rotation&) = delete;
  Rotation& operator=(const Rotation&) = delete;

  std::int64_t sets() const { return sets_; }
  // Returns `wanted` rounded up to a multiple of the sets, or `most` if there are more sets than that.
  int launches(int wanted) const;

  // Returns the first set of the next `launches` launches; numbers wrap around.
  std::int64_t take(int launches);
  std::int64_t next() const { return next_; }
  // Returns the arrays of a set in device memory; the reference is valid until the next call.
  const Arguments& set(std::int64_t number);
  const Arguments& host(std::int64_t number) const { return *hosts_[number & 1]; }

  void poison(std::int64_t number);  // fills the outputs of one set with bytes 0xFF …
  void poison();                     // … or those of all sets
  void fetch(std::int64_t number);   // copies the set's outputs to host(number)
  // Reports a write to an input or between the arrays; restore() resets all sets.
  Reason check_guards();
  void restore();

 private:
  struct Piece {
    std::string name;
    std::size_t offset, bytes, room;  // offset in a set; room: with the gap after it
    std::int64_t first;               // lowest byte of the host's array, relative to its first element
    bool output;
  };

  unsigned char* set_at(std::int64_t number) const;
  unsigned char* host_at(std::int64_t number, const Piece& piece) const;
  Reason check_guards_of(const unsigned char* set, std::int64_t number) const;

  Device device_;
  Backend* backend_;
  const Arguments* hosts_[2];
  Arguments here_;
  int most_;
  std::vector<Piece> pieces_;
  std::size_t set_room_ = 0;
  std::int64_t sets_, next_ = 0;
  Array memory_;
  Run run_;
};

}  // namespace tessera::bench
