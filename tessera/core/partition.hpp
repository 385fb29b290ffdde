// SPDX-License-Identifier: Apache-2.0
// How an operation says that its result can be cut: into parts that are computed apart, by unlike devices
// or one after another, and what each part reads. An operation that says nothing runs as a whole.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include "tessera/core/arguments.hpp"
#include "tessera/core/device.hpp"
#include "tessera/core/variant.hpp"

namespace tessera {

// From first to last, which is excluded.
struct Interval {
  std::int64_t first = 0, last = 0;

  std::int64_t size() const { return last - first; }
  bool empty() const { return last <= first; }
  auto operator<=>(const Interval&) const = default;
};

// A part of a result, and of the sum behind each of its elements where that can be made in steps.
struct Tile {
  Interval rows, cols, depth;

  bool empty() const { return rows.empty() || cols.empty(); }
  auto operator<=>(const Tile&) const = default;
};

// What a tile reads or writes of an array, as that lies in memory: an interval of each dimension.
struct Slice {
  std::string array;
  std::vector<Interval> box;

  auto operator<=>(const Slice&) const = default;
};

struct Partition {
  std::int64_t rows = 0, cols = 1, depth = 0;  // the result's extents; the length of its sums
  // A cut lies at a multiple of these; a depth granule of 0: sums are not cut.
  std::int64_t row_granule = 1, col_granule = 1, depth_granule = 0;
  // Whether a tile of the whole depth, computed there alone, has the bits that it has inside the whole,
  // computed by the same variant in the same tuning.
  std::function<bool(Where)> same_bits;
  bool same_everywhere = false;  // … and those that any other variant gives it, on any device
  std::function<double(const Tile&)> flops;
  double least_flops = 1e6;                              // of a tile that is worth dealing out
  std::function<std::vector<Slice>(const Tile&)> reads;  // without what an earlier step of the sum left
  std::function<std::vector<Slice>(const Tile&)> writes;
  // The arguments that compute the tile: views into the whole's arrays, nothing is copied. A tile whose depth
  // does not begin with the sum adds to what its output holds.
  std::function<Arguments(const Tile&)> part;

  Tile whole() const { return {{0, rows}, {0, cols}, {0, depth}}; }
};

// The part of an array; its memory, where it has any, is the array's.
ArrayView part_of(const ArrayView& array, const std::vector<Interval>& box);
std::size_t bytes_of(const Slice& slice, const ArrayView& array);

// Throws Error where arguments cannot be cut that others of the operation can.
using Partitioner = std::function<Partition(const Arguments&)>;

void register_partition(const std::string& operation, Partitioner divide);
[[nodiscard]] const Partitioner* find_partition(
    const std::string& operation);  // null: its result cannot be cut

// The rows that devices divide. Throws Error where the operation cannot be cut.
std::int64_t divided_rows(const std::string& operation, const Arguments& arguments);

// A result that is a sum, over one dimension, of products of two inputs: ranks can share it, each with rows
// and columns of the result, while panels of both inputs pass by. An operation says so beside its definition.

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

void register_contraction(Contraction contraction);  // the last of an operation counts
// Returns null if the result cannot be shared so.
[[nodiscard]] const Contraction* contraction_of(std::string_view operation);

}  // namespace tessera
