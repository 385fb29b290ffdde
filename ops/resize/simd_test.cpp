// SPDX-License-Identifier: Apache-2.0
// The processors' summit, by each instruction set that this machine has, against the rung below: what decides
// how bytes are looked up.
#include "tests/every_target.hpp"
#include "lookup.hpp"

namespace tessera::resize {
namespace {

struct Size {
  std::int64_t height, width;
};

Case bytes(Size from, Size to, std::int64_t channels, const std::string& convention,
           const std::string& method) {
  return {.dims = {{"images", 1},
                   {"from_height", from.height},
                   {"from_width", from.width},
                   {"channels", channels}},
          .words = {{"height", std::to_string(to.height)},
                    {"width", std::to_string(to.width)},
                    {"convention", convention},
                    {"method", method}}};
}

class EveryTarget : public tessera::EveryTarget {
 protected:
  EveryTarget() : tessera::EveryTarget("resize") {}
};

TEST_F(EveryTarget, EveryRecipeAndNumberOfChannels) {
  for (const std::int64_t channels : {1, 2, 3, 4, 17})
    for (const Size to : {Size{11, 29}, {4, 6}, {24, 77}}) {
      for (const char* method : {"linear", "linear_exact", "cubic", "lanczos4", "lanczos3", "area"})
        check(bytes({22, 62}, to, channels, "opencv", method));
      for (const char* method : {"linear", "cubic", "lanczos3", "area"}) {
        check(bytes({22, 62}, to, channels, "pillow", method));
        check(bytes({22, 62}, to, channels, "onnx", method == std::string("area") ? "lanczos4" : method));
      }
    }
}

// Means whose sums take 16 bits, and more.
TEST_F(EveryTarget, MeansOfAFewAndOfMany) {
  for (const std::int64_t factor : {2, 3, 8, 11, 12, 40})
    for (const std::int64_t channels : {1, 2, 3, 4})
      check(bytes({3 * factor, 37 * factor}, {3, 37}, channels, "opencv", "area"));
}

TEST_F(EveryTarget, RowsShorterThanALoad) {
  for (std::int64_t width = 1; width < 20; ++width)
    for (const std::int64_t channels : {1, 3})
      for (const char* method : {"linear", "cubic", "area"})
        check(bytes({5, width}, {3, 2 + width / 2}, channels, "opencv", method));
}

TEST_F(EveryTarget, SeveralStrips) {
  for (const char* method : {"linear", "cubic", "lanczos4", "area"})
    check(bytes({9, 6200}, {4, 2914}, 3, "opencv", method));
  check(bytes({9, 20000}, {4, 9001}, 1, "pillow", "cubic"));
  check(bytes({2, 50}, {3, 60}, 9000, "opencv", "linear"));
}

TEST(Lookup, FollowsTheCall) {
  const auto looks_up = [](const Case& chosen) {
    const Inputs inputs(*find_operation("resize"), Element::u8, chosen, 1);
    return can_look_up(Problem<std::uint8_t>::of(inputs.arguments()));
  };
  EXPECT_TRUE(looks_up(bytes({9, 9}, {4, 4}, 3, "pillow", "cubic")));
  EXPECT_FALSE(looks_up(bytes({9, 9}, {4, 4}, 4, "pillow", "cubic")));  // premultiplied
  EXPECT_FALSE(looks_up(bytes({9, 9}, {4, 4}, 3, "opencv", "nearest")));
}

}  // namespace
}  // namespace tessera::resize
