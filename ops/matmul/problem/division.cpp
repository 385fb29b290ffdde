// SPDX-License-Identifier: Apache-2.0
// How a product is cut: rows and columns of C, and its sums. A tile reads its rows of A and its columns of B.
#include "tessera/core/division.hpp"
#include <memory>
#include <utility>
#include "ops/matmul/problem/elements.hpp"

namespace tessera::matmul {
namespace {

bool is_transposed(const Arguments& arguments, const char* choice) {
  return arguments.text(choice) == "transpose";
}

std::vector<Interval> oriented(Interval rows, Interval cols, bool transposed) {
  if (transposed) std::swap(rows, cols);
  return {rows, cols};
}

bool begins(const Tile& tile) { return tile.depth.first == 0; }

// Factors of rows and columns, and what is added to the sums.
std::vector<Slice> vectors_of(const Arguments& arguments, const Tile& tile) {
  std::vector<Slice> out;
  const auto add = [&](const char* name, bool one_for_all, Interval side) {
    if (arguments.has(name)) out.push_back({name, {one_for_all ? Interval{0, 1} : side}});
  };
  add("scale-a", arguments.text("scale-a-per") == "tensor", tile.rows);
  add("scale-b", arguments.text("scale-b-per") == "tensor", tile.cols);
  add("bias", false, arguments.text("bias-along") == "rows" ? tile.rows : tile.cols);
  return out;
}

std::vector<Slice> reads_of(const Arguments& arguments, const Tile& tile) {
  std::vector<Slice> out{{"A", oriented(tile.rows, tile.depth, is_transposed(arguments, "op-a"))},
                         {"B", oriented(tile.depth, tile.cols, is_transposed(arguments, "op-b"))}};
  if (arguments.has("C0") && begins(tile)) out.push_back({"C0", {tile.rows, tile.cols}});
  for (Slice& slice : vectors_of(arguments, tile)) out.push_back(std::move(slice));
  return out;
}

Arguments part(const Arguments& whole, const Tile& tile) {
  std::map<std::string, ArrayView> inputs;
  for (const Slice& slice : reads_of(whole, tile))
    inputs.emplace(slice.array, part_of(whole.array(slice.array), slice.box));
  const ArrayView c = part_of(whole.array("C"), {tile.rows, tile.cols});
  Arguments::Words words = whole.words();
  if (!begins(tile)) {
    inputs["C0"] = c;
    words["beta"] = "1";
  }
  Arguments out(whole.signature(), whole.element(), std::move(inputs), words);
  out.set_array("C", c);
  return out;
}

Division divide(const Arguments& arguments) {
  const auto whole = std::make_shared<const Arguments>(arguments);
  Division out;
  out.rows = arguments.dim("m");
  out.cols = arguments.dim("n");
  out.depth = arguments.dim("k");
  // Whichever side lies along memory, a cut there falls between whole pieces of 16 bytes of any element.
  out.row_granule = out.col_granule = 16;
  // What follows a whole sum cannot follow a part of it, and a C of fewer bits cannot hold one.
  if (is_plain(arguments)) out.depth_granule = 16;
  // On GPUs the number of parts that make a sum follows from the sizes, on the host from k alone.
  out.same_bits = [](Where where) { return where != Where::cuda; };
  out.flops = [](const Tile& tile) {
    return 2 * static_cast<double>(tile.rows.size()) * static_cast<double>(tile.cols.size()) *
           static_cast<double>(tile.depth.size());
  };
  out.reads = [whole](const Tile& tile) { return reads_of(*whole, tile); };
  out.writes = [](const Tile& tile) { return std::vector<Slice>{{"C", {tile.rows, tile.cols}}}; };
  out.part = [whole](const Tile& tile) { return part(*whole, tile); };
  return out;
}

[[maybe_unused]] const bool division_registered = (register_division("matmul", divide), true);

}  // namespace
}  // namespace tessera::matmul
