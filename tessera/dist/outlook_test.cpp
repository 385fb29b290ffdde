// SPDX-License-Identifier: Apache-2.0
// The outlook against what can be worked out by hand for square products of n rows: s·n² bytes a matrix.
#include "tessera/dist/outlook.hpp"
#include <gtest/gtest.h>
#include "tessera/core/operation.hpp"

namespace tessera::dist {
namespace {

constexpr Machines h200s(std::int64_t devices) {
  return {.devices = devices,
          .per_host = 8,
          .flops_per_second = 60.4e12,
          .link_bytes_per_second = 55.6e9,
          .peer_bytes_per_second = 370e9,
          .network_bytes_per_second = 50e9};
}

Outlook of(std::int64_t m, std::int64_t n, std::int64_t k, const Machines& machines,
           Element element = Element::f64) {
  const ArrayView a{nullptr, element, {m, k}, {k, 1}}, b{nullptr, element, {k, n}, {n, 1}};
  const Arguments arguments(find_operation("matmul")->signature, element, {{"A", a}, {"B", b}}, {});
  return outlook((*find_division("matmul"))(arguments), arguments, machines);
}

Outlook of(std::int64_t n, const Machines& machines) { return of(n, n, n, machines); }

TEST(Outlook, OneDeviceReceivesNothing) {
  const Outlook one = of(16384, h200s(1));
  EXPECT_EQ(one.received_bytes, 0);
  EXPECT_NEAR(one.seconds, 145.6e-3, 0.1e-3);
  EXPECT_EQ(one.seconds, one.compute_seconds);
  EXPECT_GT(one.host_seconds, one.seconds);
  EXPECT_LT(one.host_seconds, 165e-3);
}

TEST(Outlook, AGridReceivesWhatItsBlocksReadWithoutWhatTheyHold) {
  const double matrix = 8.0 * 16384 * 16384;
  EXPECT_NEAR(of(16384, h200s(4)).received_bytes, 0.5 * matrix, 1);
  Machines machines = h200s(16);
  machines.per_host = 16;
  EXPECT_NEAR(of(16384, machines).received_bytes, 2 * 0.25 * 0.75 * matrix, 1);
  // Two hosts as 2 × 8: a row of the grid is a host, and only half of a block of the other input comes over
  // the network.
  const Outlook two = of(16384, h200s(16));
  EXPECT_NEAR(two.received_bytes, (0.5 * 7 / 8 + 0.125 / 2) * matrix, 1);
  EXPECT_NEAR(two.network_bytes, 0.125 / 2 * matrix, 1);
}

TEST(Outlook, CopiesBindSmallProductsAndComputingLargeOnes) {
  const Outlook small = of(2048, h200s(64)), large = of(65536, h200s(64));
  EXPECT_GT(small.seconds, 2 * small.compute_seconds);
  EXPECT_LT(large.seconds, 1.1 * large.compute_seconds);
  EXPECT_LT(of(65536, h200s(1024)).seconds, large.seconds);
}

TEST(Outlook, FromHostMemoryTheLinkBindsBelowTheCriticalSize) {
  // s·F/B: 8690 rows, on any number of devices that share what they read.
  for (const std::int64_t devices : {1, 4}) {
    const Outlook below = of(4096, h200s(devices)), above = of(16384, h200s(devices));
    EXPECT_GT(below.host_seconds, 1.9 * below.compute_seconds);
    EXPECT_LT(above.host_seconds, 1.1 * above.compute_seconds);
  }
}

TEST(Outlook, SumsThatAreNotCutLeaveWhenTheInputsAreThere) {
  Machines one = h200s(1);
  one.flops_per_second = 700e12;
  const double matrix = 2.0 * 32768 * 32768, link = 55.6e9 * beside_computing;
  const Outlook whole = of(32768, 32768, 32768, one, Element::bf16);
  EXPECT_NEAR(whole.host_seconds, 3 * matrix / link + 2 * matrix / link / 32 + matrix / link / 64, 1e-4);
  EXPECT_GT(whole.host_seconds, whole.compute_seconds);
}

TEST(Outlook, DevicesOfAHostHinderEachOthersCopies) {
  Machines together = h200s(2), apart = together;
  apart.per_host = 1;
  apart.network_bytes_per_second = apart.peer_bytes_per_second;
  EXPECT_NEAR(of(2048, together).host_seconds / of(2048, apart).host_seconds, 1 / beside_others, 0.05);
}

TEST(Outlook, AGridHasNoMorePartsThanTheResult) {
  for (const std::int64_t devices : {8, 64, 1024})
    for (const auto& [m, n] : {std::pair{1, 1}, {16, 100}, {33, 20}, {100, 1}, {1, 4096}}) {
      const Outlook out = of(m, n, 64, h200s(devices));
      EXPECT_LE(out.grid_rows, (m + 15) / 16) << m << " × " << n << " on " << devices;
      EXPECT_LE(out.grid_cols, (n + 15) / 16) << m << " × " << n << " on " << devices;
    }
  for (const auto& [m, n] : {std::pair{0, 0}, {0, 5}, {5, 0}}) {
    const Outlook nothing = of(m, n, 3, h200s(8));
    EXPECT_EQ(nothing.used(), 0);
    EXPECT_EQ(nothing.host_seconds, 0);
  }
}

TEST(Outlook, ANumberOfDevicesThatMakesNoGridLeavesSomeOver) {
  const Outlook seven = of(16384, h200s(7)), six = of(16384, h200s(6));
  EXPECT_LE(seven.used(), 7);
  EXPECT_LE(seven.seconds, six.seconds);
  EXPECT_THROW(of(16384, h200s(0)), Error);
}

}  // namespace
}  // namespace tessera::dist
