// SPDX-License-Identifier: Apache-2.0
// NPP's Gaussians of a caller's weights.
#pragma once
#include <bit>
#include <string>
#include "filter.hpp"
#include "npp.cuh"

namespace tessera::filter::npp {

template <class F>
F* function_of(const Arguments& arguments, const std::string& kind) {
  const bool bytes = arguments.element() == Element::u8;
  return filters().function<F>("nppiFilter" + kind + (bytes ? "_8u" : "_32f") + "_C" +
                               std::to_string(arguments.dim("channels")) + "R_Ctx");
}

// How many taps, and the weights of one axis: floats in the device's memory.
using ByWeights = int(const void*, int, Size, Point, void*, int, Size, int, const float*, int, StreamContext);

inline ByWeights* by_weights(const Arguments& arguments) {
  return function_of<ByWeights>(arguments, "GaussAdvancedBorder");
}

struct Weights {
  int count;
  float of_tap[most_taps];
};

inline Weights weights_of(const Taps& taps) {
  constexpr float one = 256;  // of whole weights
  Weights out = {.count = taps.cols, .of_tap = {}};
  for (int j = 0; j < taps.cols; ++j)
    out.of_tap[j] = taps.whole ? static_cast<float>(taps.row[j]) / one : std::bit_cast<float>(taps.row[j]);
  return out;
}

// Handed to a kernel by value: no memory of the host's that a stream would read later.
static __global__ void put_weights(Weights weights, float* to) {
  const auto tap = static_cast<int>(threadIdx.x);
  if (tap < weights.count) to[tap] = weights.of_tap[tap];
}

}  // namespace tessera::filter::npp
