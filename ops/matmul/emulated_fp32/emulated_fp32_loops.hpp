// SPDX-License-Identifier: Apache-2.0
// The product of f32 by parts (emulated_fp32.hpp) in plain loops: the steps of the GPU's rungs of the same
// names (Hopper's tf32x3 and bf16x6 promote twice as often), and the bits of the executor's.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "ops/matmul/emulated_fp32/emulated_fp32.hpp"
#include "ops/matmul/matmul.hpp"
#include "tessera/core/device/parallel.hpp"
#include "tessera/rung.hpp"

namespace tessera::matmul {

// Lines of an operand along k, rows of A or columns of B: their parts, their scales, and the statistics that
// decide whether the parts may be used.
class DecomposedLines {
 public:
  DecomposedLines(Compute compute, const Matrix<const float>& lines)
      : lines_(lines.rows()),
        k_(lines.cols()),
        parts_(static_cast<std::size_t>(parts_of(compute) * lines_ * k_)) {
    for (std::int64_t i = 0; i < lines_; ++i) {
      LineRange line;
      for (std::int64_t first = 0; first < k_; first += emulation_chunk) {
        const std::int64_t last = std::min(k_, first + emulation_chunk);
        ChunkRange seen;
        for (std::int64_t l = first; l < last; ++l) seen.add(lines(i, l));
        const float scale = compute == Compute::f16x3 && seen.unfit == 0 ? chunk_scale(seen.largest) : 1;
        line.add(seen);
        range_.add_scale(scale);
        scales_.push_back(scale);
        for (std::int64_t l = first; seen.unfit == 0 && l < last; ++l)
          for (int part = 0; part < parts_of(compute); ++part)
            parts_[at(i, l, part)] = part_of(compute, lines(i, l), scale, part);
      }
      range_.add(line, k_);
    }
  }

  std::int64_t k() const { return k_; }
  const OperandRange& range() const { return range_; }
  float part(std::int64_t i, std::int64_t l, int part) const { return parts_[at(i, l, part)]; }
  float scale(std::int64_t i, std::int64_t l) const {
    const std::int64_t chunks = (k_ + emulation_chunk - 1) / emulation_chunk;
    return scales_[static_cast<std::size_t>(i * chunks + l / emulation_chunk)];
  }

 private:
  std::size_t at(std::int64_t i, std::int64_t l, int part) const {
    return static_cast<std::size_t>((part * lines_ + i) * k_ + l);
  }

  std::int64_t lines_, k_;
  std::vector<float> parts_, scales_;
  OperandRange range_;
};

template <class T>
Matrix<T> transposed(const Matrix<T>& x) {
  return {x.data, {x.extent[1], x.extent[0]}, {x.stride[1], x.stride[0]}};
}

inline float sum_of_parts(Compute compute, const DecomposedLines& a, std::int64_t i, const DecomposedLines& b,
                          std::int64_t j) {
  float sum = 0;
  for (std::int64_t first = 0; first < a.k(); first += emulation_chunk) {
    const int count = static_cast<int>(std::min<std::int64_t>(emulation_chunk, a.k() - first));
    const float chunk = chunk_sum(
        compute, [&](int part, int l) { return a.part(i, first + l, part); },
        [&](int part, int l) { return b.part(j, first + l, part); }, count);
    sum = promoted(sum, chunk, a.scale(i, first), b.scale(j, first));
  }
  return sum;
}

inline void multiply_emulated(Compute compute, const Problem<float>& p, int threads) {
  if (p.m() == 0 || p.n() == 0) return;
  const DecomposedLines a(compute, p.a), b(compute, transposed(p.b));
  const Compute used = used_arithmetic(compute, a.range(), b.range(), p.k());
  if (used != compute && used != Compute::strict) return multiply_emulated(used, p, threads);
  const auto element = [&](std::int64_t i, std::int64_t j) {
    if (used != Compute::strict) return sum_of_parts(compute, a, i, b, j);
    float sum = 0;
    for (std::int64_t l = 0; l < p.k(); ++l) sum = multiply_add(p.a(i, l), p.b(l, j), sum);
    return sum;
  };
  parallel(threads, [&](int thread) {
    for (std::int64_t i = thread; i < p.m(); i += threads)
      for (std::int64_t j = 0; j < p.n(); ++j) p.store(i, j, element(i, j));
  });
}

template <Compute compute>
Choice emulated_choice() {
  Choice out = choice_of<Problem, Types<float>>([](const Problem<float>& p, const Tuning&, Run& run) {
    multiply_emulated(compute, p, run.device->threads);
  });
  out.refuses = [](const Arguments& arguments, const Tuning&, const Device&) {
    return refuses_other(compute, arguments);
  };
  return out;
}

}  // namespace tessera::matmul
