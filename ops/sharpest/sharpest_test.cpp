// SPDX-License-Identifier: Apache-2.0
// Tests that the plane with the texture is found, the first of equal planes, and the same plane on every
// rung.
#include "sharpest.hpp"
#include <gtest/gtest.h>
#include <cstring>
#include "tessera/core/array/random.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/run.hpp"

namespace tessera::sharpest {
namespace {

constexpr int planes = 4, height = 20, width = 48, channels = 3;

// Plane k has texture in its quarter of the columns, and is flat elsewhere.
std::vector<std::uint8_t> stack() {
  Random random(5);
  std::vector<std::uint8_t> out;
  for (int k = 0; k < planes; ++k)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        for (int c = 0; c < channels; ++c)
          out.push_back(static_cast<std::uint8_t>(x / 12 == k ? random.below(256)
                                                              : static_cast<std::uint64_t>(100 + k)));
  return out;
}

std::vector<std::uint8_t> found(const std::vector<std::uint8_t>& pixels, int count, Arguments::Words words,
                                const Request& request) {
  const Operation& operation = *find_operation("sharpest");
  const Case chosen{.dims = {{"planes", count}, {"height", height}, {"width", width}, {"channels", channels}},
                    .words = std::move(words)};
  Inputs inputs(operation, Element::u8, chosen, 1);
  std::memcpy(inputs.arguments().array("stack").data, pixels.data(), pixels.size());
  const Outcome outcome = run(operation, inputs.arguments(), request, true);
  EXPECT_TRUE(outcome.verdict && outcome.verdict->passed);
  const ArrayView& out = inputs.arguments().array("found");
  const auto* bytes = static_cast<const std::uint8_t*>(out.data);
  return {bytes, bytes + out.bytes()};
}

std::vector<Request> every_rung() {
  std::vector<Request> out;
  for (const Variant* v : ladder_of("sharpest"))
    if (v->where != Where::cuda)
      for (const Choice& choice : v->choices)
        out.push_back({.device = std::string(name_of(v->where)),
                       .variant = v->name,
                       .tuning = choice.tuning,
                       .cached = false});
  return out;
}

TEST(Sharpest, FindsThePlaneWithTexture) {
  const auto pixels = stack();
  for (const Request& request : every_rung()) {
    const auto picture = found(pixels, planes, {{"radius", "2"}}, request);
    const auto depth = found(pixels, planes, {{"radius", "2"}, {"give", "depth"}}, request);
    ASSERT_EQ(depth.size(), std::size_t{2 * height * width});
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        if (x % 12 < 3 || x % 12 > 8) continue;  // windows that overlap two textures
        const int plane = x / 12, at = y * width + x;
        std::uint16_t reported = 0;
        std::memcpy(&reported, depth.data() + 2 * at, 2);
        ASSERT_EQ(reported, plane * 21845) << request.variant.value_or("") << " " << y << " " << x;
        for (int c = 0; c < channels; ++c)
          ASSERT_EQ(picture[static_cast<std::size_t>(at * channels + c)],
                    pixels[static_cast<std::size_t>(((plane * height + y) * width + x) * channels + c)]);
      }
  }
}

TEST(Sharpest, TakesTheFirstOfEquallySharpPlanes) {
  std::vector<std::uint8_t> twice;
  const auto pixels = stack();
  const std::size_t plane = height * width * channels;
  for (int i = 0; i < 3; ++i)
    twice.insert(twice.end(), pixels.begin(), pixels.begin() + static_cast<std::ptrdiff_t>(plane));
  for (const Request& request : every_rung())
    for (const std::uint8_t byte : found(twice, 3, {{"give", "depth"}}, request)) ASSERT_EQ(byte, 0);
}

}  // namespace
}  // namespace tessera::sharpest
