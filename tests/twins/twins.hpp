// SPDX-License-Identifier: Apache-2.0
// A problem that two rungs share whose files call everything in them alike.
#pragma once
#include "tessera/kernel.hpp"

namespace tessera::twins {

struct Config {
  int width = 1;
  Tuning tuning() const { return {{"width", width}}; }
};

template <class T>
struct Problem {
  using Elements = Types<float>;
  static Problem of(const Arguments&) { return {}; }
};

}  // namespace tessera::twins
