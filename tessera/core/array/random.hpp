// SPDX-License-Identifier: Apache-2.0
// Random numbers that are equal on every machine, unlike those of the standard library's distributions.
#pragma once
#include <cmath>
#include <cstdint>

namespace tessera {

// SplitMix64 (Steele, Lea, Flood 2014): any two seeds, however near, give unrelated sequences.
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) : state_(seed) {
    state_ = next() ^ (stream * golden);
  }

  std::uint64_t next() {
    std::uint64_t z = state_ += golden;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // in [0, 1)
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }

  // Returns a standard normal number, by Marsaglia's polar method.
  double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    double u, v, s;
    do {
      u = 2 * uniform() - 1;
      v = 2 * uniform() - 1;
      s = u * u + v * v;
    } while (s >= 1 || s == 0);
    const double scale = std::sqrt(-2 * std::log(s) / s);
    spare_ = v * scale;
    has_spare_ = true;
    return u * scale;
  }

 private:
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;
  std::uint64_t state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace tessera
