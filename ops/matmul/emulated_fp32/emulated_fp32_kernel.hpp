// SPDX-License-Identifier: Apache-2.0
// The product of f32 by parts (emulated_fp32.hpp) for the executor, in two launches like Hopper's kernels of
// the same names. The first reads both operands and writes the statistics that decide which parts may be
// used; the second reads them, and multiplies parts or computes strict f32.
#pragma once
#include <typeinfo>
#include "ops/matmul/emulated_fp32/emulated_fp32.hpp"
#include "ops/matmul/matmul.hpp"
#include "tessera/kernel.hpp"

namespace tessera::matmul {
inline namespace TESSERA_UNIT {

struct EmulatedProblem {
  Problem<float> p;
  OperandRange* ranges;  // A's, B's

  SIMT std::int64_t lines(bool of_b) const { return of_b ? p.n() : p.m(); }
  SIMT float element(bool of_b, std::int64_t line, std::int64_t l) const {
    return of_b ? p.b(l, line) : p.a(line, l);
  }
};

// One block for each operand; thread t takes lines t, t + threads, …
template <Compute compute>
struct EmulatedRanges {
  static constexpr int threads = 64, words = sizeof(OperandRange) / 4;
  struct Words {
    std::uint32_t word[words];
  };
  struct Shared {
    Words found[threads];
  };

  static Launch launch() { return {.grid = {2}, .block = {threads}}; }

  SIMT void operator()(Thread thread, Shared& shared, const EmulatedProblem& args) const {
    const bool of_b = thread.block().x == 1;
    OperandRange range;
    for (std::int64_t i = thread.rank(); i < args.lines(of_b); i += threads) {
      LineRange line;
      for (std::int64_t first = 0; first < args.p.k(); first += emulation_chunk) {
        ChunkRange seen;
        for (std::int64_t l = first; l < first + emulation_chunk && l < args.p.k(); ++l)
          seen.add(args.element(of_b, i, l));
        line.add(seen);
        range.add_scale(compute == Compute::f16x3 && seen.unfit == 0 ? chunk_scale(seen.largest) : 1);
      }
      range.add(line, args.p.k());
    }
    shared.found[thread.rank()] = __builtin_bit_cast(Words, range);
    thread.sync();
    if (thread.rank() != 0) return;
    for (int t = 1; t < threads; ++t) range.add(__builtin_bit_cast(OperandRange, shared.found[t]));
    args.ranges[of_b ? 1 : 0] = range;
  }
};

// A tile of 16 × 16 elements of C, one for each thread, and a chunk of k at a time.
template <Compute compute>
struct EmulatedProduct {
  static constexpr int tile = 16, threads = tile * tile;
  struct Shared {
    float part[2][3][tile][emulation_chunk];  // rows of A, columns of B
    float scale[2][tile];
    Compute used;
  };

  static Launch launch(const EmulatedProblem& args) {
    return {.grid = {(args.p.n() + tile - 1) / tile, (args.p.m() + tile - 1) / tile}, .block = {tile, tile}};
  }

  SIMT void operator()(Thread thread, Shared& shared, const EmulatedProblem& args) const {
    const auto [x, y, z] = thread.index();
    const Problem<float>& p = args.p;
    const std::int64_t row = std::int64_t{thread.block().y} * tile + y,
                       col = std::int64_t{thread.block().x} * tile + x;
    if (thread.rank() == 0) shared.used = used_arithmetic(compute, args.ranges[0], args.ranges[1], p.k());
    thread.sync();
    const Compute used = shared.used;
    const bool scaled = used == Compute::f16x3;
    float sum = 0;
    if (used == Compute::strict) {
      for (std::int64_t l = 0; l < p.k(); ++l)
        sum = multiply_add(p.a_or_zero(row, l), p.b_or_zero(l, col), sum);
      return p.store(row, col, sum);
    }
    for (std::int64_t first = 0; first < p.k(); first += emulation_chunk) {
      const int count = static_cast<int>(p.k() - first < emulation_chunk ? p.k() - first : emulation_chunk);
      if (scaled) {
        // Each of 32 threads computes the scale of a line.
        if (thread.rank() < 2 * tile) {
          const bool of_b = thread.rank() >= tile;
          const int line = thread.rank() % tile;
          float largest = 0;
          for (int l = 0; l < count; ++l)
            largest = std::fmax(largest, std::fabs(element(args, of_b, line, first + l, thread)));
          shared.scale[of_b ? 1 : 0][line] = chunk_scale(largest);
        }
        thread.sync();
      }
      const auto scale = [&](int of, int line) { return scaled ? shared.scale[of][line] : 1.0f; };
      for (int e = thread.rank(); e < 2 * tile * count; e += threads) {
        const int of = e / (tile * count), line = e / count % tile, l = e % count;
        const float value = element(args, of == 1, line, first + l, thread);
        for (int part = 0; part < parts_of(used); ++part)
          shared.part[of][part][line][l] = part_of(used, value, scale(of, line), part);
      }
      thread.sync();
      const float part_sum = chunk_sum(
          used, [&](int part, int l) { return shared.part[0][part][y][l]; },
          [&](int part, int l) { return shared.part[1][part][x][l]; }, count);
      sum = promoted(sum, part_sum, scale(0, y), scale(1, x));
      thread.sync();
    }
    p.store(row, col, sum);
  }

 private:
  // Returns an element of the block's own rows or columns; 0 beyond the edge.
  SIMT static float element(const EmulatedProblem& args, bool of_b, int line, std::int64_t l, Thread thread) {
    if (of_b) return args.p.b_or_zero(l, std::int64_t{thread.block().x} * tile + line);
    return args.p.a_or_zero(std::int64_t{thread.block().y} * tile + line, l);
  }
};

template <Compute compute>
void run_emulated(const Arguments& arguments, const Tuning&, Run& run) {
  const EmulatedProblem args{Problem<float>::of(arguments), static_cast<OperandRange*>(run.workspace)};
  if (args.p.m() == 0 || args.p.n() == 0) return;
  launch_kernel<EmulatedRanges<compute>>(EmulatedRanges<compute>::launch(), args, run);
  launch_kernel<EmulatedProduct<compute>>(EmulatedProduct<compute>::launch(args), args, run);
}

template <Compute compute>
Variant emulated_variant(std::string idea) {
  Choice choice;
  choice.prepare[Element::f32] = without_plan(
      run_emulated<compute>, [](const Arguments&, const Tuning&) { return 2 * sizeof(OperandRange); });
#if !defined(__CUDACC__)
  choice.kernels[Element::f32] = typeid(EmulatedProduct<compute>).name();
#endif
  bind_limits<Problem>(choice, Types<float>{});
  choice.refuses = [](const Arguments& arguments, const Tuning&, const Device& device) -> Reason {
    if (const Reason reason = refuses_other(compute, arguments)) return reason;
    const EmulatedProblem args{Problem<float>::of(arguments), nullptr};
    return tessera::detail::device_refuses(EmulatedProduct<compute>::launch(args),
                                           sizeof(typename EmulatedProduct<compute>::Shared), device);
  };
  choice.footprint = [](const Arguments& arguments, const Tuning&) -> std::optional<Footprint> {
    const Launch launch = EmulatedProduct<compute>::launch({Problem<float>::of(arguments), nullptr});
    return Footprint{launch.blocks(), launch.threads(), sizeof(typename EmulatedProduct<compute>::Shared)};
  };
  Variant out;
  out.idea = std::move(idea);
  out.where = kernels_run_on;
  out.choices.push_back(std::move(choice));
  return out;
}

template <Compute compute>
struct EmulatedFp32Rung {
  explicit EmulatedFp32Rung(std::string idea, SourceLocation location = SourceLocation::current()) {
    register_kernels(emulated_variant<compute>(std::move(idea)), location);
    // The workspace holds no packed operands.
    register_layouts([](Element, const OperandLayout&) { return LayoutHandling::direct; }, location);
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::matmul
