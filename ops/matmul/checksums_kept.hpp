// SPDX-License-Identifier: Apache-2.0
// What checksums of a product's parts keep from one part to the next, in the device's memory.
#pragma once
#include <map>
#include <memory>
#include <utility>
#include "tessera/core/array.hpp"

namespace tessera::matmul {

// Each vector begins where 16 bytes can be read at once.
inline std::int64_t even(std::int64_t count) { return (count + 1) / 2 * 2; }

// Of a factor's columns (of B) or rows (of A), for the parts that share them: the weights, and the factor's
// own checksums with their norms.
struct Fold {
  Fold(std::int64_t count, std::int64_t depth, Memory& memory)
      : vectors(Element::f64, {even(count) + 2 * even(depth)}, memory) {
    weights = vectors.as<double>();
    sums = weights + even(count);
    norms = sums + even(depth);
  }

  Array vectors;
  double *weights, *sums, *norms;
  double least = 0, most = 0;  // of the weights' magnitudes
  bool made = false;           // the checksums are there
};

// Of the other factor's lines with a fold, A·(B·v) for some rows: else each part would read them anew.
struct Product {
  std::shared_ptr<Array> room;
  double *sums = nullptr, *norms = nullptr;
  bool made = false;
};

struct Kept {
  using Place = std::pair<std::int64_t, std::int64_t>;  // from one line to another
  std::map<Place, Fold> folds;
  std::map<std::pair<Place, Place>, Product> products;  // of lines with those of a fold

  void clear() {
    products.clear();
    folds.clear();
  }
};

}  // namespace tessera::matmul
