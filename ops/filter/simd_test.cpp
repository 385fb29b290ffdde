// SPDX-License-Identifier: Apache-2.0
// The processors' summit, by each instruction set that this machine has, against the rung below: bytes whose
// sums take 16 bits.
#include "tests/every_target.hpp"
#include "tessera/core/random.hpp"

namespace tessera::filter {
namespace {

class EveryTarget : public tessera::EveryTarget {
 protected:
  EveryTarget() : tessera::EveryTarget("filter") {}

  void check(std::int64_t height, std::int64_t width, std::int64_t channels, Arguments::Words words,
             Element element = Element::u8) const {
    tessera::EveryTarget::check(
        {.dims = {{"images", 1}, {"height", height}, {"width", width}, {"channels", channels}},
         .words = std::move(words)},
        element);
  }
};

const char* const kernels[] = {
    "laplacian4", "laplacian8", "laplacian_ksize3", "sharpen", "0 3 0 -1; 2 -70 1 0; 0 0 5 1",
    "1 1; 1 2",   "-1 0; 0 1"};

TEST_F(EveryTarget, EveryWidth) {
  Random random(1);
  for (std::int64_t width = 1; width < 300; width += 1 + static_cast<std::int64_t>(random.below(9)))
    for (const char* kernel : kernels)
      if (random.below(2) == 0) check(4, width, 1, {{"kernel", kernel}, {"border", "wrap"}});
      else check(4, width, 1, {{"kernel", kernel}, {"border", "constant"}, {"border-value", "9"}});
}

TEST_F(EveryTarget, MagnitudesAndOffsets) {
  for (const char* kernel : kernels)
    for (const char* offset : {"0", "100", "-100"})
      for (const char* magnitude : {"no", "yes"})
        for (const std::int64_t channels : {1, 3, 4})
          check(6, 70, channels, {{"kernel", kernel}, {"abs", magnitude}, {"offset", offset}});
}

TEST_F(EveryTarget, SeveralStrips) {
  for (const std::int64_t channels : {1, 3, 20000})
    check(3, channels < 9 ? 20000 : 3, channels, {{"kernel", "laplacian4"}, {"roi_x", "1"}});
}

// Results that go past the caches, of rows that begin anywhere in a vector.
TEST_F(EveryTarget, LargeResults) {
  constexpr std::int64_t large = std::int64_t{16} << 20;
  check(large / 8209 + 1, 8209, 1, {{"kernel", "laplacian4"}});
  check(large / 4 / 2051 + 1, 2051, 1, {{"kernel", "-1 0.5; 0.5 0.25"}, {"abs", "yes"}, {"scale", "0.7"}},
        Element::f32);
}

}  // namespace
}  // namespace tessera::filter
