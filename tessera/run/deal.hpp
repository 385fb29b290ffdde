// SPDX-License-Identifier: Apache-2.0
// Several calls, such as one for each picture of many, each whole on one of the devices: dealt out by the
// queue that deals out the tiles of one call.
#pragma once
#include <functional>
#include <vector>
#include "tessera/run/spread.hpp"

namespace tessera {

struct Deal {
  std::vector<double> work;  // of each call, in any unit
  // Makes the call by run_together with `on`, which names one device. What it throws is the device's failure:
  // another gets the call. Without shares in what it returns the call was none for the device: its file could
  // not be read. Called by several threads at once.
  std::function<Together(std::size_t call, const Spread& on)> make;
};

// The shares count calls as tiles; the calls' outputs and values are the maker's. A fault's part is a call
// that came to its device. Throws Error when no device is left, and for a spread with a checkpoint, which is
// one call's.
Together run_dealt(const Spread& spread, const Deal& deal);

}  // namespace tessera
