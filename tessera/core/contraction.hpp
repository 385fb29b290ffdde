// SPDX-License-Identifier: Apache-2.0
// A result that is a sum, over one dimension, of products of two inputs: ranks can share it, each with rows
// and columns of the result, while panels of both inputs pass by. An operation says so beside its definition.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include "tessera/core/arguments.hpp"
#include "tessera/core/variant.hpp"

namespace tessera {

// One part of the result, summed a panel at a time.
class PanelSum {
 public:
  virtual ~PanelSum() = default;
  // The next panel, in the order of the summed dimension: [rows, depth] and [depth, cols], with any strides.
  // Of an empty sum one that is empty.
  virtual void add(const ArrayView& left, const ArrayView& right) = 0;
  virtual void finish() = 0;  // what follows the sum
};

struct Contraction {
  std::string operation;
  std::string rows, cols, over;  // dimensions: "m", "n", "k"
  std::string left, right;  // inputs [rows, over] and [over, cols]; all others have rows, columns or neither
  std::string result;       // [rows, cols]
  // The variant whose arithmetic the panels follow, so that however many ranks there are the bits are the
  // same, and those that it gives alone on such a processor.
  std::function<std::string(const Arguments& whole)> variant;
  std::function<std::int64_t(const Arguments& whole)> extent;  // of `over`; 0 where nothing is summed
  std::function<std::int64_t(const Arguments& whole)> depth;   // of a panel
  // `part`: rows and columns of all arrays, over the whole summed dimension; the result has memory.
  std::function<std::unique_ptr<PanelSum>(const Arguments& part, int threads)> start;

  // On devices the variants of the operation's own ladder add panels, each as a whole call.
  std::function<Reason(const Arguments& whole)> no_panels;  // why they cannot
  std::string begins_as;  // an optional input that the result holds before the first panel
  // The call that adds a panel to `result`; the first one begins it.
  std::function<Arguments(const Arguments& part, const ArrayView& left, const ArrayView& right,
                          const ArrayView& result, bool first)>
      panel;
};

void register_contraction(Contraction contraction);             // the last of an operation counts
const Contraction* contraction_of(std::string_view operation);  // null: its result cannot be shared so

}  // namespace tessera
