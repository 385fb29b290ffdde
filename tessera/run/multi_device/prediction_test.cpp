// SPDX-License-Identifier: Apache-2.0
// Predicts products on 1 to 16 devices with invented links, and holds how well their tiles use these.
#include "tessera/run/multi_device/prediction.hpp"
#include <gtest/gtest.h>
#include <algorithm>
#include "tessera/run/inputs.hpp"
#include "tessera/run/multi_device/tile_queue.hpp"
#include "tessera/run/multi_device/tiles.hpp"

namespace tessera {
namespace {

constexpr double giga = 1e9, tera = 1e12;
constexpr LinkRates links{55 * giga, 55 * giga, 33 * giga, 144 * giga, 388 * giga};

// A square product without data.
struct Product {
  Arguments arguments;
  Partition partition;

  Product(std::int64_t n, Element element)
      : arguments{find_operation("matmul")->signature,
                  element,
                  {{"A", view(n, element)}, {"B", view(n, element)}},
                  {}},
        partition((*find_partition("matmul"))(arguments)) {
    arguments.set_array("C", view(n, element));
  }
  static ArrayView view(std::int64_t n, Element element) { return {nullptr, element, {n, n}, {n, 1}}; }
  std::int64_t bytes() const { return bytes_of(partition, arguments, partition.whole()); }
};

Prediction predicted(const Product& product, std::int64_t devices, double flops_per_second,
                     const LinkRates& rates) {
  const Grid grid = grid_of(product.partition, devices);
  const auto tiles = tiles_of(product.partition, product.arguments, {0, product.partition.rows},
                              {.wanted = std::max<std::int64_t>(64, 16 * devices), .grid = grid});
  const auto count = static_cast<std::size_t>(devices);
  TileQueue queue(std::vector<double>(tiles.size(), 1.0), std::vector<double>(count, 1.0));
  queue.set_order([&](std::size_t d, const std::vector<std::size_t>& band) {
    return in_growing_squares(tiles, band, grid, static_cast<std::int64_t>(d));
  });
  std::vector<PredictedDevice> all;
  for (std::size_t d = 0; d < count; ++d)
    all.push_back({flops_per_second, {queue.band(d).begin(), queue.band(d).end()}, 6});
  return predict(product.partition, product.arguments, tiles, all, rates);
}

TEST(Prediction, EachInputCrossesTheHostsLinksOnce) {
  for (const Element element : {Element::f32, Element::f64})
    for (const std::int64_t n : {4096, 16384, 20000})
      for (std::int64_t devices = 1; devices <= 16; ++devices) {
        const Product product(n, element);
        const Prediction found = predicted(product, devices, 50 * tera, links);
        EXPECT_EQ(found.host_bytes, product.bytes()) << n << " on " << devices;
        EXPECT_EQ(found.peer_bytes > 0, devices > 1);
      }
}

TEST(Prediction, WithoutPeersAGridReadsLessThanRows) {
  const Product product(16384, Element::f64);
  LinkRates rates = links;
  rates.between = 0;
  const std::int64_t input = product.bytes() / 3;
  // 2 × 2 devices read half of A and of B each; four bands of rows would read a quarter of A and all of B.
  EXPECT_EQ(predicted(product, 4, 50 * tera, rates).host_bytes, product.bytes() + 2 * input);
  EXPECT_EQ(predicted(product, 16, 50 * tera, rates).host_bytes, product.bytes() + 6 * input);
}

TEST(Prediction, IsNearTheSlowerOfArithmeticAndLinks) {
  const Product product(16384, Element::f32);
  for (const double flops : {10 * tera, 50 * tera, 200 * tera})
    for (std::int64_t devices = 1; devices <= 16; ++devices) {
      const Prediction found = predicted(product, devices, flops, links);
      EXPECT_GE(found.seconds, std::max(found.arithmetic, found.links));
      // Nothing can be computed before the first inputs have come, and the last tile must leave.
      EXPECT_LE(found.seconds, found.arithmetic + 1.5 * found.links) << devices << ": " << found.text();
    }
}

TEST(Prediction, FollowsTheLinks) {
  const Product product(8192, Element::f64);
  LinkRates slow = links;
  for (double* const rate : {&slow.to_device, &slow.from_device, &slow.short_rows, &slow.host, &slow.between})
    *rate /= 10;
  const Prediction fast = predicted(product, 4, 1e18, links), found = predicted(product, 4, 1e18, slow);
  EXPECT_NEAR(found.seconds, 10 * fast.seconds, 1e-6 * found.seconds);
  EXPECT_GT(fast.seconds, 0.99 * fast.links);
}

}  // namespace
}  // namespace tessera
