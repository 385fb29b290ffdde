// SPDX-License-Identifier: Apache-2.0
// Lepage's VEGAS+ for many variables: a grid on each axis concentrates points where |f| is large, and small
// cubes get points by the scatter seen in each. Random numbers come from a counter (Philox): a point is a
// function of the seed and of its number, so any thread or device can compute any of them.
// Sums follow a fixed tree, so results are bitwise identical for any number of threads, on CPUs and GPUs.
#pragma once
#include <memory>
#include "box.hpp"

namespace tessera::quadrature {

// The parameters of one iteration.
struct VegasIteration {
  std::uint32_t number = 0;
  std::uint64_t seed = 1;
  std::int64_t points = 0;
  double scale = 1;    // a power of two that keeps squares of scaled terms from overflow and underflow
  double typical = 0;  // the mean of squared terms, for the weights of the bins; 0: no weights
};

struct IterationStats {
  double value = 0, variance = 0, magnitude = 0, squares = 0, spike = 0, largest = 0;  // scaled
  std::int64_t points = 0, holes = 0;
  std::vector<std::uint64_t> weights = {};  // axis by axis, one for each bin
  bool finished = true;                     // false: time ran out, and the rest is invalid
};

// Computes iterations, and keeps each cube's VegasTotals::wanted between them. Evaluations that bypass the
// UnitCube are still counted there.
class VegasEngine {
 public:
  virtual ~VegasEngine() = default;
  // `edges`: the edges of each axis' bins, axis by axis.
  virtual IterationStats iterate(const VegasIteration& requested, const std::vector<double>& edges) = 0;
};

// Makes an engine for a cube, which may compute on a device other than the CPU.
using VegasEngineFor = std::function<std::unique_ptr<VegasEngine>(const UnitCube& cube)>;

std::unique_ptr<VegasEngine> vegas_on_processors(const UnitCube& cube, int threads);

struct Vegas {
  std::uint64_t seed = 1;
  int threads = 0;             // 0: all
  VegasEngineFor engine = {};  // none: on the CPU
};

Answer vegas(UnitCube& cube, const Tolerance& tolerance, const Vegas& how = {});

}  // namespace tessera::quadrature
