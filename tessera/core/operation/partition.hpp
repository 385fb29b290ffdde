// SPDX-License-Identifier: Apache-2.0
// Describes how an operation's result can be cut into parts that are computed separately, by different
// devices or one after another, and the inputs that each part reads. An operation without a partition runs as
// a whole.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include "tessera/core/operation/arguments.hpp"
#include "tessera/core/device/device.hpp"
#include "tessera/core/operation/variant.hpp"

namespace tessera {

// The half-open interval [first, last).
struct Interval {
  std::int64_t first = 0, last = 0;

  std::int64_t size() const { return last - first; }
  bool empty() const { return last <= first; }
  auto operator<=>(const Interval&) const = default;
};

// A part of a result, and of the sum of each of its elements if that can be made in steps.
struct Tile {
  Interval rows, cols, depth;

  bool empty() const { return rows.empty() || cols.empty(); }
  auto operator<=>(const Tile&) const = default;
};

// The part of an array that a tile reads or writes, in the array's memory layout: an interval of each
// dimension.
struct Slice {
  std::string array;
  std::vector<Interval> box;

  auto operator<=>(const Slice&) const = default;
};

// Returns false if the tile, which is in the result, may be wrong. Called by several threads at once.
using TileCheck = std::function<bool(const Tile&)>;

struct Partition {
  std::int64_t rows = 0, cols = 1, depth = 0;  // the result's extents; the length of its sums
  // Cuts lie at multiples of these; a depth granule of 0: sums are not cut.
  std::int64_t row_granule = 1, col_granule = 1, depth_granule = 0;
  // True if a tile of the full depth, computed separately on such a device, is bitwise identical to that part
  // of the full result by the same variant and tuning.
  std::function<bool(Where)> same_bits;
  bool same_everywhere = false;  // … and by any other variant on any device
  std::function<double(const Tile&)> flops;
  double min_flops = 1e6;                                // a smaller tile is not worth distributing
  std::function<std::vector<Slice>(const Tile&)> reads;  // without the partial sum of an earlier step
  std::function<std::vector<Slice>(const Tile&)> writes;
  // The arguments that compute the tile: views into the whole's arrays, nothing is copied. A tile whose depth
  // begins after 0 accumulates into its output.
  std::function<Arguments(const Tile&)> part;
  // Optional: the check of the tiles of a call, which is faster than verifying each alone. Null: there is
  // none.
  std::function<TileCheck(std::span<const Tile> tiles, std::uint64_t seed)> check = {};

  Tile whole() const { return {{0, rows}, {0, cols}, {0, depth}}; }
};

// Returns the view of a part of an array, in the array's own memory if it has any.
ArrayView part_of(const ArrayView& array, const std::vector<Interval>& box);
std::size_t bytes_of(const Slice& slice, const ArrayView& array);

// Throws Error if these arguments cannot be cut although others of the operation can.
using Partitioner = std::function<Partition(const Arguments&)>;

void register_partition(const std::string& operation, Partitioner divide);
[[nodiscard]] const Partitioner* find_partition(
    const std::string& operation);  // null: its result cannot be cut

// Returns the number of rows to divide among devices. Throws Error if the operation cannot be cut.
std::int64_t divided_rows(const std::string& operation, const Arguments& arguments);

// A result that is a sum, over one dimension, of products of two inputs: ranks can share it, each with rows
// and columns of the result, while panels of both inputs pass by. The operation registers its Contraction.

// One part of the result, summed a panel at a time.
class PanelSum {
 public:
  virtual ~PanelSum() = default;
  // Adds the next panel, in the order of the summed dimension: [rows, depth] and [depth, cols], with any
  // strides. An empty sum has one empty panel.
  virtual void add(const ArrayView& left, const ArrayView& right) = 0;
  virtual void finish() = 0;  // the epilogue after the sum
};

struct Contraction {
  std::string operation;
  std::string rows, cols, over;  // dimensions: "m", "n", "k"
  std::string left, right;  // inputs [rows, over] and [over, cols]; all others have rows, columns or neither
  std::string result;       // [rows, cols]
  // The variant whose arithmetic the panels follow. The result is then independent of the number of ranks,
  // and bitwise identical to that of this variant alone on such a CPU.
  std::function<std::string(const Arguments& whole)> variant;
  std::function<std::int64_t(const Arguments& whole)> extent;  // the extent of `over`; 0: nothing is summed
  std::function<std::int64_t(const Arguments& whole)> depth;   // the depth of a panel
  // `part`: rows and columns of all arrays, over the entire summed dimension; the result has memory.
  std::function<std::unique_ptr<PanelSum>(const Arguments& part, int threads)> start;

  // On devices, variants of the operation's own ladder add panels, each as a separate call.
  std::function<Reason(const Arguments& whole)> no_panels;  // the reason why they cannot
  std::string begins_as;  // an optional input: the result's content before the first panel
  // The call that adds a panel to `result`; the first one initialises it.
  std::function<Arguments(const Arguments& part, const ArrayView& left, const ArrayView& right,
                          const ArrayView& result, bool first)>
      panel;
};

void register_contraction(Contraction contraction);  // the last one registered for an operation counts
// Returns null if the result cannot be shared this way.
[[nodiscard]] const Contraction* contraction_of(std::string_view operation);

}  // namespace tessera
