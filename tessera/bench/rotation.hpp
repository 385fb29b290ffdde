// SPDX-License-Identifier: Apache-2.0
// Several sets of one problem's inputs and outputs in a device's memory, for --rotate. Launches use one set
// after the other, so no launch finds its data in the last-level cache. Code and constants stay cached.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "tessera/core/arguments.hpp"
#include "tessera/core/device.hpp"
#include "tessera/core/variant.hpp"

namespace tessera::bench {

// In a sample, but for what rounds up to all sets: a device's queue holds about a thousand, some runs take
// several.
inline constexpr int most_launches = 100;

inline constexpr double rotated_caches = 2.5;  // all sets together, in sizes of the cache: at least

// So many sets of `set_bytes` are together that large: 1 where one alone is; else an even number, and where
// it exceeds `most`, the launches of a sample at most, a multiple of these.
std::int64_t sets_beyond(std::int64_t cache_bytes, std::int64_t set_bytes, int most);

// Inputs and outputs, in bytes.
std::int64_t set_bytes(const Arguments& host);

// Why launches there cannot take sets in turn: the cache's size is not known, or the sets would take more
// than a quarter of the memory that is free.
Reason cannot_rotate(const Device& device, const Arguments& host, int most);

class Rotation {
 public:
  // `even` and `odd`: what sets of even and odd numbers hold, the same problem with other numbers, which must
  // stay. For fetch() and check_guards() they lie in host memory, and outputs without gaps. `most`: launches
  // of a sample.
  Rotation(const Device& device, const Arguments& even, const Arguments& odd, int most);
  ~Rotation();
  Rotation(const Rotation&) = delete;
  Rotation& operator=(const Rotation&) = delete;

  std::int64_t sets() const { return sets_; }
  // At least so many launches, or `most`: such that one sample ends where another has begun or will begin.
  int launches(int wanted) const;

  // The sets of the next so many launches begin with this one. Numbers go round.
  std::int64_t take(int launches);
  std::int64_t next() const { return next_; }
  // As the device sees it. Valid until the next call.
  const Arguments& set(std::int64_t number);
  // The host's arrays of what this set holds.
  const Arguments& host(std::int64_t number) const { return *hosts_[number & 1]; }

  void poison(std::int64_t number);  // the outputs of one set, with bytes 0xFF …
  void poison();                     // … and of all
  void fetch(std::int64_t number);   // its outputs, to host(number)
  // A write to an input or between the arrays, and the sets as they were.
  Reason check_guards();
  void restore();

 private:
  struct Piece {
    std::string name;
    std::size_t offset, bytes, room;  // within a set; with what lies behind it
    std::int64_t first;               // the lowest byte of the host's array, from its first element
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
