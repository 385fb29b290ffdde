// SPDX-License-Identifier: Apache-2.0
// Random small products in all layouts, including single rows and columns, odd depths and padded lines; every
// operand ends at the end of its allocation. Operands are small integers, so results are exact.
// compute-sanitizer (tools/gpu run small-shapes) checks for reads beyond an operand and for races.
#include <optional>
#include <random>
#include "ops/matmul/api/enqueue_testing.cuh"
#include "tessera/matmul.hpp"

namespace tessera::matmul {
namespace {

class SmallShapesOnGpu : public on_gpu::OnGpu {};
class SmallShapesOnHopper : public on_gpu::OnHopper {};

// A matrix of padded lines, the last without padding.
template <class T>
struct Lines {
  std::int64_t rows, cols, step;
  std::vector<T> host;
  cuda::DeviceBuffer device;

  Lines(std::int64_t rows_, std::int64_t cols_, std::int64_t gap)
      : rows(rows_),
        cols(cols_),
        step(cols_ + gap),
        host(static_cast<std::size_t>((rows_ - 1) * step + cols_), T(77)),
        device(host.size() * sizeof(T)) {}

  T& at(std::int64_t i, std::int64_t j) { return host[static_cast<std::size_t>(i * step + j)]; }
  T* data() const { return static_cast<T*>(device.get()); }
  void send() const {
    cuda::check(cudaMemcpy(data(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
};

template <class T>
Lines<T> drawn_lines(std::int64_t rows, std::int64_t cols, std::int64_t gap, std::mt19937& random) {
  Lines<T> out(rows, cols, gap);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j)
      store_from_double(element_of<T>, &out.at(i, j), static_cast<double>(random() % 7) - 3);
  out.send();
  return out;
}

// of_cluster: a tuning of `cluster` whose tile needs K-major operands; so k > 1, because a column of A could
// be read as MN-major.
template <class T, class Out = T>
void expect_small_shapes(cudaStream_t stream, Options options = {},
                         const std::optional<Tuning>& of_cluster = std::nullopt, unsigned largest = 260,
                         unsigned deepest = 900) {
  std::mt19937 random(24);
  const auto extent = [&](unsigned most) {
    const unsigned of[] = {1, 9, 70, most};
    return static_cast<std::int64_t>(random() % of[random() % 4] + 1);
  };
  options.request = on_gpu::on_gpu();
  if (of_cluster) options.request.variant = "cluster", options.request.tuning = of_cluster;
  for (unsigned i = 0; i < 100; ++i) {
    const std::int64_t m = extent(largest), n = extent(largest), k = extent(deepest) + (of_cluster ? 1 : 0);
    const auto gap = [&] { return static_cast<std::int64_t>(random() % 3); };
    options.transpose_a = !of_cluster && i % 2 != 0;
    options.transpose_b = of_cluster || i / 2 % 2 != 0;
    const bool columns = i / 4 % 2 != 0;
    Lines<T> a = drawn_lines<T>(options.transpose_a ? k : m, options.transpose_a ? m : k, gap(), random),
             b = drawn_lines<T>(options.transpose_b ? n : k, options.transpose_b ? k : n, gap(), random);
    Lines<Out> c(columns ? n : m, columns ? m : n, gap());
    c.send();
    const Plan plan =
        enqueue<T, Out>(stream, {a.data(), a.rows, a.cols, a.step}, {b.data(), b.rows, b.cols, b.step},
                        {c.data(), m, n, c.step, columns ? Order::columns : Order::rows}, options);
    cuda::check(cudaStreamSynchronize(stream));
    Lines<Out> wanted = std::move(c);
    std::vector<Out> got(wanted.host.size());
    cuda::check(cudaMemcpy(got.data(), wanted.data(), got.size() * sizeof(Out), cudaMemcpyDeviceToHost));
    for (std::int64_t x = 0; x < m; ++x)
      for (std::int64_t y = 0; y < n; ++y) {
        float sum = 0;
        for (std::int64_t l = 0; l < k; ++l)
          sum += static_cast<float>(options.transpose_a ? a.at(l, x) : a.at(x, l)) *
                 static_cast<float>(options.transpose_b ? b.at(y, l) : b.at(l, y));
        (columns ? wanted.at(y, x) : wanted.at(x, y)) = static_cast<Out>(sum);
      }
    on_gpu::expect_same_bits(got, wanted.host,
                             plan.variant->name + " " + std::to_string(m) + "x" + std::to_string(n) + "x" +
                                 std::to_string(k) + ", layout " + std::to_string(i % 8));
  }
}

TEST_F(SmallShapesOnGpu, F32) { expect_small_shapes<float>(stream()); }
TEST_F(SmallShapesOnGpu, F64) { expect_small_shapes<double>(stream()); }
TEST_F(SmallShapesOnGpu, Tf32) { expect_small_shapes<float>(stream(), {.compute = Compute::tf32}); }
TEST_F(SmallShapesOnGpu, Bf16) { expect_small_shapes<bf16, float>(stream()); }
TEST_F(SmallShapesOnGpu, F16) { expect_small_shapes<f16, float>(stream()); }
TEST_F(SmallShapesOnGpu, I8) { expect_small_shapes<std::int8_t, std::int32_t>(stream()); }
TEST_F(SmallShapesOnHopper, E4m3) { expect_small_shapes<e4m3, float>(stream()); }
// Blocks compute several tiles of short_sums.
TEST_F(SmallShapesOnGpu, ShortSums) {
  expect_small_shapes<float>(stream(), {}, {}, 2000, 20);
  expect_small_shapes<bf16, float>(stream(), {}, {}, 2000, 20);
}
TEST_F(SmallShapesOnHopper, SplitSumsOfTilesOfAnyColumns) {
  for (const int cols : {16, 48, 80, 112, 144, 176})
    expect_small_shapes<bf16, float>(stream(), {},
                                     Tuning{{"tile", 5}, {"splits", 3}, {"rows", 128}, {"cols", cols}});
}

}  // namespace
}  // namespace tessera::matmul
