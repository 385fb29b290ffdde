// SPDX-License-Identifier: Apache-2.0
// The partition of a product: into tiles for devices, where a tile reads its rows of A and its columns of B;
// and into panels of k for ranks.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>
#include "tessera/core/operation/partition.hpp"
#include "ops/matmul/gemm/operands.hpp"
#include "ops/matmul/epilogue/epilogue.hpp"
#include "ops/matmul/kernels/cpu/packed.hpp"
#include "ops/matmul/kernels/cpu/simd.hpp"
#include "ops/matmul/operation/matmul_operation.hpp"

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

Partition divide(const Arguments& arguments) {
  const auto whole = std::make_shared<const Arguments>(arguments);
  Partition out;
  out.rows = arguments.dim("m");
  out.cols = arguments.dim("n");
  out.depth = arguments.dim("k");
  // Keeps cuts at multiples of 16 bytes for every element type, whichever dimension is contiguous.
  out.row_granule = out.col_granule = 16;
  // The epilogue cannot be applied to a partial sum, and a C of a narrower type cannot hold one.
  if (is_plain(arguments)) out.depth_granule = 16;
  // On GPUs the number of splits of a sum depends on all sizes, on the host on k only.
  out.same_bits = [](Where where) { return where != Where::cuda; };
  out.flops = [](const Tile& tile) {
    return 2 * static_cast<double>(tile.rows.size()) * static_cast<double>(tile.cols.size()) *
           static_cast<double>(tile.depth.size());
  };
  out.reads = [whole](const Tile& tile) { return reads_of(*whole, tile); };
  out.writes = [](const Tile& tile) { return std::vector<Slice>{{"C", {tile.rows, tile.cols}}}; };
  out.part = [whole](const Tile& tile) { return part(*whole, tile); };
  out.check = [whole](std::span<const Tile> tiles, std::uint64_t seed) {
    return tile_check(*whole, tiles, seed);
  };
  return out;
}

[[maybe_unused]] const bool partition_registered = (register_partition("matmul", divide), true);

// Ranks add panels of k to a block of C in the order of `simd`, with its blocks along k as panels, so results
// are bitwise identical to those of a single process.

template <class T>
Matrix<const T> matrix_of(const ArrayView& view) {
  return {static_cast<const T*>(view.data),
          {view.extents[0], view.extents[1]},
          {view.strides[0], view.strides[1]}};
}

template <class T>
class PlainSum : public PanelSum {
 public:
  PlainSum(const Arguments& part, int threads) : problem_(Problem<T>::of(part)), threads_(threads) {
    if (!is_plain(part)) after_ = EpilogueProblem<T>::of(part, nullptr);
  }

  void add(const ArrayView& left, const ArrayView& right) override {
    problem_.a = matrix_of<T>(left);
    problem_.b = matrix_of<T>(right);
    if (begun_) add_simd(problem_, threads_);
    else multiply_simd(problem_, threads_);
    begun_ = true;
  }
  void finish() override {
    if (after_) run_epilogue_on_cpu(*after_, threads_);
  }

 private:
  Problem<T> problem_;
  std::optional<EpilogueProblem<T>> after_;
  int threads_;
  bool begun_ = false;
};

// Sum: float, or std::int32_t for integer operands.
template <class Sum>
class MixedSum : public PanelSum {
 public:
  MixedSum(const Arguments& part, int threads)
      : problem_(MixedProblem::of(part)),
        threads_(threads),
        sums_(static_cast<std::size_t>(problem_.m * problem_.n)) {}

  void add(const ArrayView& left, const ArrayView& right) override {
    MixedProblem panel;
    panel.a = {left.data, left.element, left.strides[0], left.strides[1]};
    panel.b = {right.data, right.element, right.strides[0], right.strides[1]};
    panel.c = sums_.data();
    panel.c_element = element_of<Sum>;
    panel.m = problem_.m;
    panel.n = panel.c_row_stride = problem_.n;
    panel.c_col_stride = 1;
    panel.k = left.extents[1];
    if (begun_) panel.c0 = {sums_.data(), panel.c_element, panel.c_row_stride, panel.c_col_stride};
    panel.beta = begun_ ? 1.0f : 0.0f;
    multiply_packed(panel, threads_);
    begun_ = true;
  }
  void finish() override { store_packed(problem_, sums_.data(), threads_); }

 private:
  MixedProblem problem_;
  int threads_;
  std::vector<Sum> sums_;
  bool begun_ = false;
};

bool has_plain_sums(const Arguments& arguments) {
  return is_plain(arguments) || (supports_epilogue_pass(arguments) && !is_scaled(arguments));
}

std::unique_ptr<PanelSum> start(const Arguments& part, int threads) {
  if (!has_plain_sums(part)) {
    if (part.element() == Element::i8) return std::make_unique<MixedSum<std::int32_t>>(part, threads);
    return std::make_unique<MixedSum<float>>(part, threads);
  }
  if (part.element() == Element::f64) return std::make_unique<PlainSum<double>>(part, threads);
  if (part.element() == Element::i32) return std::make_unique<PlainSum<std::int32_t>>(part, threads);
  return std::make_unique<PlainSum<float>>(part, threads);
}

// Like BLAS, reads neither operand if α = 0.
std::int64_t extent(const Arguments& whole) { return whole.real("alpha") == 0 ? 0 : whole.dim("k"); }

std::int64_t depth(const Arguments& whole) {
  return simd_depth(extent(whole), whole.element() == Element::f64 ? 8 : 4);
}

Reason no_panels(const Arguments& whole) {
  if (is_plain(whole)) return std::nullopt;
  return "a sum of " + element_text(whole) +
         " is not added to from panel to panel there: f32, f64 and i32 without scales, bias and activation "
         "are";
}

Arguments panel(const Arguments& part, const ArrayView& left, const ArrayView& right, const ArrayView& result,
                bool first) {
  std::map<std::string, ArrayView> inputs{{"A", left}, {"B", right}};
  Arguments::Words words = part.words();
  words["op-a"] = words["op-b"] = "none";
  if (!first) words["beta"] = "1";
  if (!first || part.has("C0")) inputs.emplace("C0", result);
  for (const Parameter* p : part.signature().of(Parameter::Kind::input))
    if (first && part.has(p->name)) inputs.emplace(p->name, part.array(p->name));
  Arguments out(part.signature(), part.element(), std::move(inputs), words);
  out.set_array("C", result);
  return out;
}

Contraction contraction() {
  Contraction out;
  out.operation = "matmul";
  out.rows = "m";
  out.cols = "n";
  out.over = "k";
  out.left = "A";
  out.right = "B";
  out.result = "C";
  out.variant = [](const Arguments&) { return "simd"; };
  out.extent = extent;
  out.depth = depth;
  out.start = start;
  out.no_panels = no_panels;
  out.begins_as = "C0";
  out.panel = panel;
  return out;
}

[[maybe_unused]] const bool distributed_registered = (register_contraction(contraction()), true);

}  // namespace
}  // namespace tessera::matmul
