// SPDX-License-Identifier: Apache-2.0
// Lepage's VEGAS+ for many variables: a grid on each axis that draws points together where |f| is large, and
// points dealt to small cubes by the scatter seen in each. What is random comes from a counter (Philox): a
// point is a function of the seed and of its place, so any thread and any device may have any part of them.
// Sums follow a fixed tree. Therefore the same bits for any number of threads, on processors and on GPUs.
#pragma once
#include <memory>
#include "box.hpp"

namespace tessera::quadrature {

// What is asked of one iteration.
struct VegasIteration {
  std::uint32_t number = 0;
  std::uint64_t seed = 1;
  std::int64_t points = 0;
  double scale = 1;    // a power of two: squares of terms times it neither vanish nor overflow
  double typical = 0;  // the mean of squared terms, for the weights on the bins; 0: these are not wanted
};

struct IterationStats {
  double value = 0, variance = 0, magnitude = 0, squares = 0, spike = 0, largest = 0;  // scaled
  std::int64_t points = 0, holes = 0;
  std::vector<std::uint64_t> weights;  // axis by axis, one for each bin
  bool finished = true;                // false: the cube's time was over before, and this tells nothing
};

// Whoever samples. It remembers what the cubes want. Evaluations elsewhere than through the cube it counts
// there.
class VegasEngine {
 public:
  virtual ~VegasEngine() = default;
  // `edges`: for each axis, those of its bins.
  virtual IterationStats iterate(const VegasIteration& requested, const std::vector<double>& edges) = 0;
};

// Makes one for a cube. It may compute elsewhere than on the processors.
using VegasEngineFor = std::function<std::unique_ptr<VegasEngine>(const UnitCube& cube)>;

std::unique_ptr<VegasEngine> vegas_on_processors(const UnitCube& cube, int threads);

struct Vegas {
  std::uint64_t seed = 1;
  int threads = 0;             // 0: all
  VegasEngineFor engine = {};  // none: the processors'
};

Answer vegas(UnitCube& cube, const Tolerance& tolerance, const Vegas& how = {});

}  // namespace tessera::quadrature
