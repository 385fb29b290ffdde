// SPDX-License-Identifier: Apache-2.0
// GPU rung 16: Hopper's tensor cores, fed by its copy engine, blocks in clusters.
//
// The tensor cores read both factors from shared memory, where one thread's copies put them, swizzled, stage
// after stage; no other thread spends an instruction on that. Blocks stay for tile after tile, and the two of a
// cluster copy each other half of what both need. A model of what each tile takes chooses tile and splits;
// operands that the engine cannot read as they lie are packed first. What limits it now: power, and where k is
// short the results, which nobody multiplies beside.
#include "tensor_run.cuh"
#include "tessera/rung.hpp"

namespace tessera::matmul {
namespace {

// The problem whose C has its columns next to each other: this one, or Cᵀ = Bᵀ·Aᵀ.
LowProblem with_rows(LowProblem p) {
  if (p.c_col == 1 || p.n == 1) return p;
  LowProblem t = p;
  const auto turned = [](const Operand& x) { return Operand{x.data, x.element, x.col, x.row}; };
  t.a = turned(p.b);
  t.b = turned(p.a);
  t.c0 = turned(p.c0);
  std::swap(t.m, t.n);
  std::swap(t.c_row, t.c_col);
  std::swap(t.bias_row, t.bias_col);
  std::swap(t.scale_a, t.scale_b);
  std::swap(t.scale_a_step, t.scale_b_step);
  return t;
}

TensorEpilogue epilogue_of(const LowProblem& p) {
  TensorEpilogue e;
  e.alpha = p.alpha;
  e.beta = p.beta;
  e.c0 = p.c0.data;
  e.c0_row = p.c0.row;
  e.c0_col = p.c0.col;
  e.bias = p.bias;
  e.bias_row = p.bias_row;
  e.bias_col = p.bias_col;
  e.scale_a = p.k == 0 ? nullptr : p.scale_a;
  e.scale_b = p.k == 0 ? nullptr : p.scale_b;
  e.scale_a_step = p.scale_a_step;
  e.scale_b_step = p.scale_b_step;
  e.relu = p.activation == Activation::relu;
  e.plain = p.beta == 0 && e.bias == nullptr && e.scale_a == nullptr && e.scale_b == nullptr && !e.relu;
  return e;
}

void run(const Arguments& arguments, const Tuning& tuning, Run& here) {
  const LowProblem p = with_rows(LowProblem::of(arguments));
  if (p.m == 0 || p.n == 0) return;
  TensorJob job{.a = {p.a.data, p.m, p.k, p.a.row, p.a.col},
                .b = {p.b.data, p.n, p.k, p.b.col, p.b.row},
                .args = {},
                .c = {p.c, p.m, p.n, p.c_row},
                .wish = {tuning.find("tile").value_or(0), tuning["splits"], tuning["group"]}};
  job.args.m = p.m;
  job.args.n = p.n;
  job.args.epilogue = epilogue_of(p);
  job.args.out = p.c;
  job.args.out_row = p.c_row;
  const bool f32 = p.c_element == Element::f32;
  if (p.a.element == Element::bf16) run_bf16(job, f32, here);
  else run_f16(job, f32, here);
}

std::size_t workspace_bytes(const Arguments& arguments, const Tuning&) {
  const LowProblem p = with_rows(LowProblem::of(arguments));
  const Factor a{p.a.data, p.m, p.k, p.a.row, p.a.col}, b{p.b.data, p.n, p.k, p.b.col, p.b.row};
  return counter_bytes + partial_bytes + packed_bytes(a) + packed_bytes(b);
}

Reason refuses(const Arguments& arguments, const Tuning&, const Device&) {
  const LowProblem p = LowProblem::of(arguments);
  if (p.a.element != p.b.element) return "its factors are of one element";
  if (p.c_element != p.a.element && p.c_element != Element::f32) return "its result is f32, or of the factors' element";
  if (p.bias != nullptr && p.bias_element != p.c_element) return "its bias is of the result's element";
  if (p.activation != Activation::none && p.activation != Activation::relu) return "its only activation is relu";
  if (p.c_col != 1 && p.c_row != 1 && p.n != 1 && p.m != 1) return "C's rows, or its columns, are not contiguous";
  constexpr std::int64_t most = std::int64_t{1} << 30;
  if (p.m > most || p.n > most || p.k > most) return "it counts rows, columns and k up to 2^30";
  return std::nullopt;
}

Choice with_tile(int tile) {
  Choice out;
  if (tile != 0) out.tuning = Tuning{{"tile", tile}};
  out.ranges = {{.name = "splits", .first = 0, .last = 16, .value = 0},
                {.name = "group", .first = 0, .last = 64, .value = 0}};
  out.run = {{Element::bf16, run}, {Element::f16, run}};
  out.refuses = refuses;
  out.workspace_bytes = workspace_bytes;
  return out;
}

Variant variant() {
  Variant out;
  out.idea = "tensor cores fed by the copy engine, blocks that stay, clusters that share; tile and splits by a model";
  out.where = Where::cuda;
  out.needs = [](const Device& device) -> Reason {
    if (device.compute_capability != 90) return "it needs a Hopper GPU (compute capability 9.0)";
    return cuda::no_tensor_maps();
  };
  // The model's choice first; then each tile, for those who look for themselves.
  for (int tile = 0; tile <= tile_count; ++tile) out.choices.push_back(with_tile(tile));
  return out;
}

const Rung rung(variant());

}  // namespace
}  // namespace tessera::matmul
