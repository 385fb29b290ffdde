// SPDX-License-Identifier: Apache-2.0
// Predicts products on 1 to 16 devices with invented links, and holds how well their tiles use these.
#include "tessera/run/multi_device/prediction.hpp"
#include <gtest/gtest.h>
#include <algorithm>
#include <cstdio>
#include "tessera/run/inputs.hpp"
#include "tessera/run/multi_device/tile_queue.hpp"
#include "tessera/run/multi_device/tiles.hpp"

namespace tessera {
namespace {

constexpr double giga = 1e9, tera = 1e12;

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
  double bytes() const {
    return static_cast<double>(bytes_of(partition, arguments, partition.whole()));
  }
};

Prediction predicted(const Product& product, std::int64_t devices, double flops_per_second, const LinkRates& rates, std::int64_t wanted, std::size_t once) {
  const Grid grid = grid_of(product.partition, devices);
  const auto tiles = tiles_of(product.partition, product.arguments, {0, product.partition.rows},
                              {.wanted = wanted, .grid = grid});
  TileQueue queue(std::vector<double>(tiles.size(), 1.0), std::vector<double>(static_cast<std::size_t>(devices), 1.0));
  queue.set_order([&](std::size_t d, const std::vector<std::size_t>& band) {
    return in_growing_squares(tiles, band, grid, static_cast<std::int64_t>(d));
  });
  std::vector<PredictedDevice> all;
  for (std::size_t d = 0; d < static_cast<std::size_t>(devices); ++d)
    all.push_back({flops_per_second, {queue.band(d).begin(), queue.band(d).end()}, once});
  return predict(product.partition, product.arguments, tiles, all, rates);
}

TEST(Prediction, Print) {
  for (const auto& [element, flops] : {std::pair(Element::f32, 50 * tera), std::pair(Element::f64, 60 * tera)})
    for (std::int64_t devices : {1, 2, 3, 4, 8})
      for (std::int64_t wanted : {36, 64, 100, 144, 256}) for (std::size_t once : {2, 3, 4, 6, 8}) {
      const Product product(16384, element);
      const LinkRates rates{55 * giga, 55 * giga, 144 * giga, 388 * giga};
      const Prediction with = predicted(product, devices, flops, rates, wanted, once);
      std::printf("%d %d %d: %s\n", (int)devices, (int)wanted, (int)once, with.text().c_str());
    }
}

}  // namespace
}  // namespace tessera
