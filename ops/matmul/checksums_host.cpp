// SPDX-License-Identifier: Apache-2.0
// Checksums on the CPU, for what was computed there or by the executor: a pass goes through memory as
// that lies, whichever way its sums run.
#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>
#include "ops/matmul/checksums.hpp"
#include "ops/matmul/checksums_vectors.hpp"
#include "tessera/core/parallel.hpp"
#include "ops/matmul/problem/typed_operands.hpp"

namespace tessera::matmul {
namespace {

// What a loop over elements of type T reads.
template <class T>
using Read = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Elements a step apart as adjacent numbers: where they lie, or copied.
template <class T>
const Read<T>* adjacent(const T* from, std::int64_t step, std::int64_t length, std::vector<Read<T>>& copy) {
  if constexpr (std::is_same_v<T, Read<T>>)
    if (step == 1) return from;
  copy.resize(static_cast<std::size_t>(length));
  for (std::int64_t i = 0; i < length; ++i)
    copy[static_cast<std::size_t>(i)] = static_cast<Read<T>>(widened(from[i * step]));
  return copy.data();
}

// Of sum i, whose squares are these.
template <class T>
double norm_of(const Pass& pass, std::int64_t i, double squares) {
  if (squares_hold(squares)) return std::sqrt(squares);
  const T* const data = static_cast<const T*>(pass.matrix.data) + i * pass.matrix.row;
  const auto addend = [&](std::int64_t j) {
    return term_of(widened(data[j * pass.matrix.col]), pass.sizes[j]);
  };
  int largest = Term::nothing;
  for (std::int64_t j = 0; j < pass.cols; ++j) largest = std::max(largest, addend(j).exponent);
  double scaled = 0;
  if (largest != Term::nothing)
    for (std::int64_t j = 0; j < pass.cols; ++j) scaled += scaled_square(addend(j), largest);
  return norm_of_scaled(scaled, largest);
}

// Each row's elements lie along memory, or nowhere in a row.
template <class T>
void sum_along(const Pass& pass, std::int64_t first, std::int64_t last) {
  const T* const data = static_cast<const T*>(pass.matrix.data);
  std::vector<Read<T>> copy;
  for (std::int64_t i = first; i < last; ++i) {
    const Summed found = weighted_sums(adjacent(data + i * pass.matrix.row, pass.matrix.col, pass.cols, copy),
                                       pass.weights, pass.sizes, pass.cols);
    pass.sums[i] = found.sum;
    pass.norms[i] = norm_of<T>(pass, i, found.squares);
  }
}

// Adjacent elements belong to different rows. A piece of their sums stays in the first cache. Sums of long
// columns are made of pieces too, lest one long sum round more than the product itself.
template <class T>
void sum_across(const Pass& pass, std::int64_t first, std::int64_t last) {
  constexpr std::int64_t piece = 512, deep = 256;
  const T* const data = static_cast<const T*>(pass.matrix.data);
  std::array<std::vector<Read<T>>, lines_at_once> copies;
  std::array<double, piece> sums, squares;
  for (std::int64_t begin = first; begin < last; begin += piece) {
    const std::int64_t length = std::min(piece, last - begin);
    std::fill_n(pass.sums + begin, length, 0.0);
    std::fill_n(pass.norms + begin, length, 0.0);
    for (std::int64_t from = 0; from < pass.cols; from += deep) {
      sums.fill(0);
      squares.fill(0);
      const std::int64_t end = std::min(pass.cols, from + deep);
      for (std::int64_t l = from; l < end; l += lines_at_once) {
        const Read<T>* lines[lines_at_once];
        double weights[lines_at_once] = {}, sizes[lines_at_once] = {};
        for (std::int64_t q = 0; q < lines_at_once; ++q) {
          // Beyond the last line it repeats, with weights of 0 – but for infinities, whose sums are none
          // anyway.
          const std::int64_t line = std::min(l + q, end - 1);
          lines[q] =
              adjacent(data + begin + line * pass.matrix.col, 1, length, copies[static_cast<std::size_t>(q)]);
          if (l + q < end) weights[q] = pass.weights[line], sizes[q] = pass.sizes[line];
        }
        add_weighted(lines, weights, sizes, length, sums.data(), squares.data());
      }
      for (std::int64_t i = 0; i < length; ++i) {
        pass.sums[begin + i] += sums[static_cast<std::size_t>(i)];
        pass.norms[begin + i] += squares[static_cast<std::size_t>(i)];
      }
    }
    for (std::int64_t i = begin; i < begin + length; ++i) pass.norms[i] = norm_of<T>(pass, i, pass.norms[i]);
  }
}

template <class T>
void sum(const Pass& pass, int threads) {
  constexpr std::int64_t worth_a_thread = 1 << 16, granule = 64;
  const std::int64_t lots = (pass.rows + granule - 1) / granule;
  const auto parts = std::clamp<std::int64_t>(pass.rows * pass.cols / worth_a_thread, 1,
                                              std::clamp<std::int64_t>(lots, 1, std::max(1, threads)));
  const bool across = pass.matrix.row == 1 && pass.matrix.col != 1;
  parallel(static_cast<int>(parts), [&](int part) {
    const std::int64_t first = lots * part / parts * granule,
                       last = std::min(pass.rows, lots * (part + 1) / parts * granule);
    if (across) sum_across<T>(pass, first, last);
    else sum_along<T>(pass, first, last);
  });
}

class HostSumming final : public Summing {
 public:
  explicit HostSumming(int threads) : threads_(threads) {}

  void run(std::span<const Pass> passes, const Run&) override {
    for (const Pass& pass : passes)
      dispatch(pass.matrix.element, [&](auto type) { sum<typename decltype(type)::type>(pass, threads_); });
  }

  void count(const Lines& lines, const Tolerance& tolerance, const Run&) override {
    tally_ = {};
    for (std::int64_t i = 0; i < lines.count; ++i) tally_.add(residual_ratio(tolerance, lines.at(i)));
  }
  Tally counted(const Run&) override { return tally_; }

 private:
  int threads_;
  Tally tally_;
};

std::unique_ptr<Checksums> on_host(const Arguments& whole, const Device& device) {
  return make_checksums(whole, device, std::make_unique<HostSumming>(device.threads));
}

[[maybe_unused]] const bool checksums_host_registered =
    (register_checksums("matmul", Where::cpu, on_host), register_checksums("matmul", Where::simt, on_host),
     true);

}  // namespace
}  // namespace tessera::matmul
