// SPDX-License-Identifier: Apache-2.0
// Products of more rows, columns or k than a kernel counts, in sections that it does. Plain arithmetic.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>
#include "ops/matmul/problem/mixed_problem.hpp"
#include "matmul.hpp"

namespace tessera::matmul {

// What every kernel for tensor cores counts to, and the copy engine's coordinates.
inline constexpr std::int64_t most_counted = std::int64_t{1} << 30;

// Part `i` of `whole`: where it begins, and how much there is of it.
struct Section {
  std::int64_t first, count;
};
// Of `whole`, 0 among them: then one that is empty. All but the last are `most` long.
std::vector<Section> sections_of(std::int64_t whole, std::int64_t most);

// Sums of k that are cut meet in C, where that is f32 or i32: the first section adds β·C0, the last the bias
// and the activation. Else they meet in f32 of this size, m·n numbers, which another step makes C of.
std::size_t section_bytes(const MixedProblem& p, std::int64_t most = most_counted);

// Why p cannot be cut: an i32 sum that C scales or rounds has one piece.
std::optional<std::string> cannot_cut(const MixedProblem& p, std::int64_t most = most_counted);

// A product; or, where `sums` are given, row after row, C = activation(sums + β·C0 + bias).
struct SectionStep {
  MixedProblem p;
  const float* sums = nullptr;
};
// What makes p, one after another. `sums`: section_bytes, aligned to f32.
std::vector<SectionStep> sections_of(const MixedProblem& p, void* sums, std::int64_t most = most_counted);

// A step with sums, of bf16 or f16, on a GPU, in its stream.
void conclude_on_gpu(const SectionStep& step, void* stream);

// The same of a plain product, whose sums meet in C.
template <class T>
std::vector<Problem<T>> sections_of(const Problem<T>& p, std::int64_t most = most_counted) {
  const auto part = [](auto matrix, const Section& rows, const Section& cols) {
    if (matrix.data != nullptr) matrix.data += rows.first * matrix.stride[0] + cols.first * matrix.stride[1];
    matrix.extent[0] = rows.count, matrix.extent[1] = cols.count;
    return matrix;
  };
  std::vector<Problem<T>> out;
  for (const Section& rows : sections_of(p.m(), most))
    for (const Section& cols : sections_of(p.n(), most))
      for (const Section& k : sections_of(p.k(), most)) {
        Problem<T> one = p;
        one.a = part(p.a, rows, k);
        one.b = part(p.b, k, cols);
        one.c = part(p.c, rows, cols);
        one.c0 = k.first == 0 ? part(p.c0, rows, cols)
                              : Matrix<const T>{
                                    one.c.data, {rows.count, cols.count}, {one.c.stride[0], one.c.stride[1]}};
        if (k.first != 0) one.beta = T{1};
        out.push_back(one);
      }
  return out;
}

}  // namespace tessera::matmul
