// SPDX-License-Identifier: Apache-2.0
// The sharpest plane as an operation: its arguments, cost, checks and test cases.
#include "sharpest.hpp"
#include <algorithm>
#include <cmath>
#include "ops/imaging/image_operation.hpp"

namespace tessera::sharpest {
using imaging::sample_at;
namespace {

Element element_of_result(Element element, const Arguments::Words& words) {
  const auto word = words.find("give");
  return word != words.end() && word->second == "depth" ? Element::u16 : element;
}

Signature signature() {
  using namespace parameter;
  Parameter stack = input("stack", {"planes", "height", "width", "channels"},
                          "one picture focused on several planes, .npy");
  Parameter found =
      output("found", {"1", "height", "width", "channels"}, "the sharpest plane's pixels, or its number");
  stack.picture = found.picture = Picture::whole;
  found.shaped_by = "give";
  found.shapes = {{"depth", {"1", "height", "width", "1"}}};
  found.element_from = element_of_result;
  Signature out;
  out.parameters = {
      stack,
      choice("give", {"picture", "depth"},
             "the picture that is sharp everywhere; or the plane's number from 0, times ⌊65535/(planes − "
             "1)⌋, as u16"),
      integer("radius", 2, 0, max_radius, "of the window over which sharpness is summed: 2 is 5 × 5 pixels"),
      found,
  };
  return out;
}

double flops(const Arguments& arguments) {
  const double side = 2 * static_cast<double>(arguments.integer("radius")) + 1;
  return static_cast<double>(arguments.array("stack").count()) * (8 + side * side);
}

// The reference, plane by plane: edges of all pixels first, then the windows.
class Definition {
 public:
  explicit Definition(const Arguments& arguments)
      : stack_(arguments.array("stack")), radius_(arguments.integer("radius")) {}

  std::int64_t plane_at(std::int64_t y, std::int64_t x) const {
    std::int64_t best = 0;
    double most = -1;
    for (std::int64_t k = 0; k < stack_.extents[0]; ++k) {
      double sum = 0;
      for (std::int64_t i = -radius_; i <= radius_; ++i)
        for (std::int64_t j = -radius_; j <= radius_; ++j)
          if (inside(y + i, 1) && inside(x + j, 2)) sum += edge(k, y + i, x + j);
      if (sum > most) most = sum, best = k;
    }
    return best;
  }

  double sample(std::int64_t k, std::int64_t y, std::int64_t x, std::int64_t c) const {
    const std::int64_t row = std::clamp<std::int64_t>(y, 0, stack_.extents[1] - 1),
                       col = std::clamp<std::int64_t>(x, 0, stack_.extents[2] - 1);
    return sample_at(stack_, {k, row, col, c});
  }

 private:
  bool inside(std::int64_t i, std::size_t axis) const { return i >= 0 && i < stack_.extents[axis]; }

  double edge(std::int64_t k, std::int64_t y, std::int64_t x) const {
    double sum = 0;
    for (std::int64_t c = 0; c < stack_.extents[3]; ++c) {
      const double here = 2 * sample(k, y, x, c);
      sum += std::fabs(here - sample(k, y, x - 1, c) - sample(k, y, x + 1, c)) +
             std::fabs(here - sample(k, y - 1, x, c) - sample(k, y + 1, x, c));
    }
    return sum;
  }

  const ArrayView& stack_;
  std::int64_t radius_;
};

void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data, Expected& expected) {
  const Definition definition(arguments);
  const bool depth = arguments.text("give") == "depth";
  const Extents& extents = arguments.array("stack").extents;
  const double step = extents[0] == 1 ? 0 : std::floor(65535.0 / static_cast<double>(extents[0] - 1));
  for (const std::int64_t y : rows)
    for (std::int64_t x = 0; x < extents[2]; ++x) {
      const std::int64_t plane = definition.plane_at(y, x);
      for (std::int64_t c = 0; c < (depth ? 1 : extents[3]); ++c) {
        expected.value.push_back(depth ? static_cast<double>(plane) * step
                                       : definition.sample(plane, y, x, c));
        expected.bound.push_back(0);
      }
    }
}

Case made(std::int64_t planes, std::int64_t height, std::int64_t width, std::int64_t channels,
          Arguments::Words words) {
  return {.dims = {{"planes", planes}, {"height", height}, {"width", width}, {"channels", channels}},
          .words = std::move(words)};
}

Operation operation() {
  Operation out;
  out.name = "sharpest";
  out.summary = "of a focal stack, the sharpest plane at every pixel";
  out.signature = signature();
  out.elements = {Element::u8, Element::u16};
  out.output = "found";
  out.row_dimensions = 2;
  out.flops = flops;
  out.reference = reference;
  out.cases = {made(4, 11, 17, 3, {}),
               made(3, 9, 30, 1, {{"give", "depth"}, {"radius", "1"}}),
               made(7, 8, 40, 3, {{"give", "depth"}, {"radius", "0"}}),
               made(2, 5, 6, 4, {{"radius", "9"}}),
               made(1, 4, 4, 1, {{"give", "depth"}}),
               made(3, 1, 1, 2, {}),
               made(3, 0, 4, 3, {})};
  return out;
}

[[maybe_unused]] const bool sharpest_registered = (register_operation(operation()), true);

}  // namespace
}  // namespace tessera::sharpest
