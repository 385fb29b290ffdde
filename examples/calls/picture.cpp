// SPDX-License-Identifier: Apache-2.0
// An operation by its name: stripes in host memory are blurred, and the result compared with the
// reference. The words are those of the command `tessera filter`.
#include <cstdio>
#include <vector>
#include "tessera/tessera.hpp"

int main() {
  using namespace tessera;
  const std::int64_t height = 120, width = 160, channels = 3;
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(height * width * channels));
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = i / 24 % 2 == 0 ? 200 : 50;

  const Operation& filter = *find_operation("filter");
  const Extents extents{1, height, width, channels};  // as --help says: images, height, width, channels
  const ArrayView image{pixels.data(), element_of<std::uint8_t>, extents, row_major_strides(extents)};
  Arguments arguments(filter.signature, image.element, {{"image", image}},
                      {{"kernel", "gaussian"}, {"size", "15"}});
  Outcome outcome = run(filter, arguments, {.device = "auto"}, true);

  const auto* blurred = outcome.outputs.at("filtered").as<std::uint8_t>();
  std::printf("%d instead of %d by %s: %s\n", blurred[21], pixels[21], outcome.plan.variant->name.c_str(),
              outcome.verdict->passed ? "right" : "wrong");
  return outcome.verdict->passed ? 0 : 1;
}
