// SPDX-License-Identifier: Apache-2.0
// A product of matrices that lie with several ranks, made up there and held against exact sums:
//   mpirun -n P resident_check cpu|cuda f32|bf16 rows|columns M N K [RUNS]
// Factors are whole numbers so small that every sum is exact in f32, however it is made. Processors count as
// devices that copy and compute at a time (tests/lanes). Rank 0 tells the median time; 1: a rank found a
// wrong element.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include "ops/matmul/resident.hpp"
#include "tessera/core/random.hpp"
#include "tessera/dist/grid.hpp"
#include "tessera/dist/mpi_launcher.hpp"
#include "tessera/dist/mpi_library.hpp"

namespace {

using namespace tessera;
using matmul::Along;

struct Sizes {
  std::int64_t m, n, k;
  Along along;
};

int left(std::int64_t i, std::int64_t l) { return static_cast<int>((i * 31 + l * 17 + i * l % 13) % 11) - 5; }
int right(std::int64_t l, std::int64_t j) { return static_cast<int>((l * 7 + j * 29 + l * j % 17) % 11) - 5; }

// A matrix of which this rank holds one part, in its device's memory.
template <class T>
class Part {
 public:
  Part(const dist::Communicator& ranks, const Device& device, std::int64_t rows, std::int64_t cols,
       Along along)
      : device_(device) {
    matrix.rows = rows;
    matrix.cols = cols;
    matrix.along = along;
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const Interval range = dist::nth_part(along == Along::rows ? rows : cols, ranks.size(), rank);
      matrix.blocks.push_back({rank, nullptr, range.first, range.last});
    }
    auto& own = matrix.blocks[static_cast<std::size_t>(ranks.rank())];
    first_row = along == Along::rows ? own.first : 0;
    first_col = along == Along::rows ? 0 : own.first;
    own_rows = along == Along::rows ? own.last - own.first : rows;
    own_cols = along == Along::rows ? cols : own.last - own.first;
    memory_ = Array(element_of<T>, {own_rows, own_cols}, backend_of(device).memory(device));
    own.data = memory_.as<T>();
  }

  void fill(int (*value)(std::int64_t, std::int64_t)) {
    constexpr int least = -5, most = 5;
    std::vector<T> numbers(most - least + 1);
    for (int x = least; x <= most; ++x)
      store_from_double(element_of<T>, &numbers[static_cast<std::size_t>(x - least)], x);
    std::vector<T> host(static_cast<std::size_t>(own_rows * own_cols));
    for (std::int64_t i = 0; i < own_rows; ++i)
      for (std::int64_t j = 0; j < own_cols; ++j)
        host[static_cast<std::size_t>(i * own_cols + j)] =
            numbers[static_cast<std::size_t>(value(first_row + i, first_col + j) - least)];
    copy(memory_.as<void>(), host.data());
  }
  std::vector<T> read() {
    std::vector<T> host(static_cast<std::size_t>(own_rows * own_cols));
    copy(host.data(), memory_.as<void>());
    return host;
  }

  matmul::SpreadMatrix<const T> seen() const {
    matmul::SpreadMatrix<const T> out{matrix.rows, matrix.cols, matrix.along, {}, matrix.order};
    for (const auto& b : matrix.blocks)
      out.blocks.push_back({b.device, b.data, b.first, b.last, b.leading_dimension});
    return out;
  }

  matmul::SpreadMatrix<T> matrix;
  std::int64_t first_row = 0, first_col = 0, own_rows = 0, own_cols = 0;

 private:
  void copy(void* to, const void* from) {
    const Run run{&device_};
    backend_of(device_).copy(run, to, from, memory_.view().bytes());
    backend_of(device_).synchronize(run);
  }

  Device device_;
  Array memory_;
};

// All elements of a small problem, some of a large one.
bool is_right(Part<float>& c, std::int64_t k, int rank) {
  constexpr std::int64_t most = 50'000'000;
  const std::vector<float> host = c.read();
  const std::int64_t count = c.own_rows * c.own_cols,
                     looked = std::min(count, std::max<std::int64_t>(1, most / std::max<std::int64_t>(1, k)));
  Random random(static_cast<std::uint64_t>(rank) + 1);
  for (std::int64_t one = 0; one < looked; ++one) {
    const std::int64_t at =
        looked == count ? one : static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(count));
    const std::int64_t i = c.first_row + at / c.own_cols, j = c.first_col + at % c.own_cols;
    std::int64_t sum = 0;
    for (std::int64_t l = 0; l < k; ++l) sum += left(i, l) * right(l, j);
    if (!(host[static_cast<std::size_t>(at)] == static_cast<float>(sum))) {
      std::fprintf(stderr, "rank %d: element %ld, %ld is %g, not %ld\n", rank, static_cast<long>(i),
                   static_cast<long>(j), static_cast<double>(host[static_cast<std::size_t>(at)]),
                   static_cast<long>(sum));
      return false;
    }
  }
  return true;
}

template <class T>
bool check(dist::Communicator& ranks, const std::string& where, const Sizes& sizes, int runs) {
  const auto& gpus = find_backend(Where::cuda);
  const int place = ranks.on_host().rank;
  const Device device =
      where == "cpu"
          ? find_device("cpu:threads=1")
          : find_device("cuda:" + std::to_string(gpus == nullptr || gpus->devices().empty()
                                                     ? 0
                                                     : place % static_cast<int>(gpus->devices().size())));
  Part<T> a(ranks, device, sizes.m, sizes.k, sizes.along), b(ranks, device, sizes.k, sizes.n, sizes.along);
  Part<float> c(ranks, device, sizes.m, sizes.n, sizes.along);
  a.fill(left);
  b.fill(right);
  ResidentRanks product =
      matmul::detail::spread_product(ranks, matmul::detail::any(a.seen()), matmul::detail::any(b.seen()),
                                     matmul::detail::any(c.matrix), {}, device);
  std::vector<double> seconds;
  for (int i = 0; i <= runs; ++i) seconds.push_back(product.run().seconds);
  seconds.erase(seconds.begin());  // it loads code
  std::ranges::sort(seconds);
  const double median = seconds[seconds.size() / 2];
  const bool wrong = ranks.largest(is_right(c, sizes.k, ranks.rank()) ? 0 : 1) != 0;
  if (ranks.rank() == 0)
    std::printf("%d ranks by %s, %s, m = %ld, n = %ld, k = %ld: %.3f ms, %.0f GFLOP/s: %s\n", ranks.size(),
                product.connected_by().c_str(), device.label().c_str(), static_cast<long>(sizes.m),
                static_cast<long>(sizes.n), static_cast<long>(sizes.k), median * 1e3,
                2e-9 * static_cast<double>(sizes.m) * static_cast<double>(sizes.n) *
                    static_cast<double>(sizes.k) / median,
                wrong ? "wrong" : "ok");
  return !wrong;
}

}  // namespace

int main(int count, char** words) {
  if (count < 7)
    return std::fprintf(stderr, "resident_check cpu|cuda f32|bf16 rows|columns M N K [RUNS]\n"), 2;
  try {
    const auto ranks = dist::open_mpi(
        dist::find_launcher([](const char* name) -> const char* { return std::getenv(name); }));
    const auto number = [&](int i) { return std::stoll(words[i]); };
    const Sizes sizes{number(4), number(5), number(6),
                      words[3] == std::string("rows") ? Along::rows : Along::columns};
    const int runs = count > 7 ? std::stoi(words[7]) : 1;
    const bool right = words[2] == std::string("bf16") ? check<bf16>(*ranks, words[1], sizes, runs)
                                                       : check<float>(*ranks, words[1], sizes, runs);
    return right ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "resident_check: %s\n", error.what());
    return 5;
  }
}
