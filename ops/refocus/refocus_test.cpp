// SPDX-License-Identifier: Apache-2.0
// Tests of refocusing and new viewpoints: planes come back bit for bit where nothing hides them, and every
// rung gives the same bits.
#include "refocus.hpp"
#include <gtest/gtest.h>
#include <cstring>
#include "tessera/core/array/random.hpp"
#include "tessera/run/conformance.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/run.hpp"

namespace tessera::lightfield {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct Size {
  std::int64_t rows = 5, cols = 5, height = 40, width = 60, channels = 3;
  std::size_t samples() const { return static_cast<std::size_t>(height * width * channels); }
};

// A textured plane, whose texture shifts by `disparity` pixels from one view to the next.
struct Plane {
  int disparity = 0, top = 0, left = 0, bottom = 0, right = 0;  // in the central view
  std::uint64_t seed = 0;
};

std::uint8_t texture(const Plane& plane, std::int64_t y, std::int64_t x, std::int64_t c) {
  std::uint64_t v =
      plane.seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(y * 8191 + x * 131 + c + 100000);
  v = (v ^ (v >> 29)) * 0xbf58476d1ce4e5b9u;
  return static_cast<std::uint8_t>((v ^ (v >> 32)) >> 7);
}

// Paints the planes from the farthest to the nearest, each over the ones before.
Bytes painted(const Size& s, const std::vector<Plane>& planes) {
  Bytes out(static_cast<std::size_t>(s.rows * s.cols) * s.samples());
  std::size_t at = 0;
  for (std::int64_t t = 0; t < s.rows; ++t)
    for (std::int64_t u = 0; u < s.cols; ++u)
      for (std::int64_t y = 0; y < s.height; ++y)
        for (std::int64_t x = 0; x < s.width; ++x)
          for (std::int64_t c = 0; c < s.channels; ++c, ++at)
            for (const Plane& p : planes) {
              // out(x) is gathered from x + slope·(u − centre).
              const std::int64_t up = y - p.disparity * (t - s.rows / 2),
                                 right = x - p.disparity * (u - s.cols / 2);
              if (up >= p.top && up < p.bottom && right >= p.left && right < p.right)
                out[at] = texture(p, up, right, c);
            }
  return out;
}

// The result of the default rung as numbers, checked against the reference.
std::vector<double> computed(const char* name, const Size& s, const std::vector<double>& views,
                             Element element, Arguments::Words words) {
  const Operation& operation = *find_operation(name);
  const Case chosen{.dims = {{"rows", s.rows},
                             {"cols", s.cols},
                             {"height", s.height},
                             {"width", s.width},
                             {"channels", s.channels}},
                    .words = std::move(words)};
  Inputs inputs(operation, element, chosen, 1);
  const std::size_t size = size_of(element);
  for (std::size_t i = 0; i < views.size(); ++i)
    store_from_double(element, static_cast<char*>(inputs.arguments().array("views").data) + i * size,
                      views[i]);
  const Outcome outcome = run(operation, inputs.arguments(), {.device = "cpu"}, true);
  EXPECT_TRUE(outcome.verdict && outcome.verdict->passed);
  const ArrayView& out = inputs.arguments().array(operation.output);
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < out.count(); ++i)
    numbers.push_back(
        load_as_double(element, static_cast<const char*>(out.data) + static_cast<std::size_t>(i) * size));
  return numbers;
}

std::vector<double> numbers(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

const std::vector<Plane> scene = {
    {.disparity = -1, .top = -99, .left = -99, .bottom = 99, .right = 199, .seed = 1},
    {.disparity = 1, .top = 4, .left = 3, .bottom = 22, .right = 24, .seed = 2},
    {.disparity = 2, .top = 12, .left = 36, .bottom = 33, .right = 56, .seed = 3}};

TEST(Refocus, RestoresAnUnoccludedPlane) {
  const Size s;
  const std::vector<double> views = numbers(painted(s, scene));
  for (const Plane& plane : {scene[1], scene[2]})
    for (const char* interpolation : {"linear", "nearest", "cubic"}) {
      const auto got =
          computed("refocus", s, views, Element::u8,
                   {{"slope", std::to_string(plane.disparity)}, {"interpolation", interpolation}});
      for (std::int64_t y = plane.top; y < plane.bottom; ++y)
        for (std::int64_t x = plane.left; x < plane.right; ++x)
          for (std::int64_t c = 0; c < 3; ++c)
            ASSERT_EQ(got[static_cast<std::size_t>((y * s.width + x) * 3 + c)], texture(plane, y, x, c))
                << y << " " << x;
    }
}

TEST(Refocus, WhatIsBehindIsBlurred) {
  const Size s;
  const auto got = computed("refocus", s, numbers(painted(s, scene)), Element::u8, {{"slope", "-1"}});
  int equal = 0;
  for (std::int64_t y = 14; y < 20; ++y)
    for (std::int64_t x = 8; x < 18; ++x)
      equal += got[static_cast<std::size_t>((y * s.width + x) * 3)] == texture(scene[1], y, x, 0) ? 1 : 0;
  EXPECT_LT(equal, 20);
}

// Two views, half a pixel to each side of the plane's own position: the mean of neighbours.
TEST(Refocus, HalfAPixelIsTheMeanOfTwo) {
  const Size s{.rows = 1, .cols = 2, .height = 3, .width = 40, .channels = 1};
  Random random(7);
  std::vector<double> views;
  for (int i = 0; i < 2 * 3 * 40; ++i) views.push_back(static_cast<double>(random.below(256)));
  const auto got = computed("refocus", s, views, Element::u8, {{"slope", "1"}, {"border", "wrap"}});
  for (std::size_t y = 0; y < 3; ++y)
    for (std::size_t x = 0; x < 40; ++x) {
      const auto at = [&](std::size_t view, std::size_t col) {
        return static_cast<int>(views[view * 120 + y * 40 + col % 40]);
      };
      const int sum = at(0, x + 39) + at(0, x) + at(1, x) + at(1, x + 1);
      ASSERT_EQ(got[y * 40 + x], (sum + 2) / 4);
    }
}

TEST(Refocus, WithoutASlopeItIsTheMean) {
  const Size s{.rows = 3, .cols = 4, .height = 7, .width = 9, .channels = 3};
  Random random(8);
  std::vector<double> views;
  for (std::size_t i = 0; i < 12 * s.samples(); ++i)
    views.push_back(static_cast<double>(random.below(65536)));
  const auto got = computed("refocus", s, views, Element::u16, {});
  for (std::size_t i = 0; i < s.samples(); ++i) {
    std::int64_t sum = 0;
    for (std::size_t v = 0; v < 12; ++v) sum += static_cast<std::int64_t>(views[v * s.samples() + i]);
    ASSERT_EQ(got[i], static_cast<double>((2 * sum + 12) / 24));
  }
}

TEST(Refocus, OneViewIsShifted) {
  const Size s{.rows = 1, .cols = 1, .height = 9, .width = 20, .channels = 2};
  std::vector<double> view;
  for (std::size_t i = 0; i < s.samples(); ++i) view.push_back(static_cast<double>(i) * 0.5);
  EXPECT_EQ(computed("refocus", s, view, Element::f32, {{"slope", "3"}}), view);
  // One view of two, a whole position from the aperture's centre.
  const Size two{.rows = 2, .cols = 1, .height = 9, .width = 20, .channels = 2};
  std::vector<double> views(s.samples(), 1e9);
  views.insert(views.end(), view.begin(), view.end());
  const auto got = computed("viewpoint", two, views, Element::f32,
                            {{"at", "0.75,0"}, {"slope", "8"}, {"cameras", "nearest"}});
  for (std::size_t y = 0; y < 7; ++y)
    for (std::size_t i = 0; i < 40; ++i) ASSERT_EQ(got[y * 40 + i], view[(y + 2) * 40 + i]);
}

TEST(Refocus, AcceptsExtremeRadii) {
  const Size s{.rows = 3, .cols = 3, .height = 12, .width = 30, .channels = 3};
  const std::vector<double> views = numbers(painted(s, scene));
  const auto by = [&](const char* aperture, const char* radius) {
    return computed("refocus", s, views, Element::u8,
                    {{"slope", "1"}, {"aperture", aperture}, {"radius", radius}});
  };
  const auto all = by("mean", "0"), one = by("disc", "1e-300");
  EXPECT_NE(all, one);
  for (const char* radius : {"46341", "65536", "1e9", "1e18", "1e300"})
    EXPECT_EQ(by("disc", radius), all) << radius;
  for (const char* radius : {"1e-100", "1e-161", "1e-200", "1e-300"})
    EXPECT_EQ(by("weighted", radius), one) << radius;
}

// A disc's radius, like every position on the grid, is a multiple of 2^-16: 92682 units exceed the distance
// to a corner, which is a little more than the 92681.5 units that are rounded up to them.
TEST(Refocus, RoundsRadiiLikePositions) {
  const Size s{.rows = 3, .cols = 3, .height = 12, .width = 30, .channels = 3};
  const std::vector<double> views = numbers(painted(s, scene));
  const auto disc = [&](double radius) {
    return computed("refocus", s, views, Element::u8,
                    {{"slope", "1"}, {"aperture", "disc"}, {"radius", std::to_string(radius)}});
  };
  const auto all = computed("refocus", s, views, Element::u8, {{"slope", "1"}}), cross = disc(1);
  EXPECT_NE(all, cross);
  EXPECT_EQ(disc(1.414208), all) << "92681.53 units, though shorter than the root of 2";
  EXPECT_EQ(disc(1.414207), cross) << "92681.47 units";
}

TEST(Refocus, AStackEqualsItsPlanes) {
  const Size s{.rows = 3, .cols = 3, .height = 12, .width = 30, .channels = 3};
  const std::vector<double> views = numbers(painted(s, scene));
  const auto stack = computed("refocus", s, views, Element::u8,
                              {{"slopes", "-1:2:4"}, {"aperture", "disc"}, {"radius", "1"}});
  ASSERT_EQ(stack.size(), 4 * s.samples());
  for (std::size_t k = 0; k < 4; ++k) {
    const auto one =
        computed("refocus", s, views, Element::u8,
                 {{"slope", std::to_string(static_cast<int>(k) - 1)}, {"aperture", "disc"}, {"radius", "1"}});
    EXPECT_TRUE(
        std::equal(one.begin(), one.end(), stack.begin() + static_cast<std::ptrdiff_t>(k * s.samples())));
  }
}

TEST(Viewpoint, EqualsTheViewAtACamera) {
  const Size s{.rows = 3, .cols = 5, .height = 11, .width = 17, .channels = 3};
  const std::vector<double> views = numbers(painted(s, scene));
  for (int row = 0; row < 3; ++row)
    for (int col = 0; col < 5; ++col) {
      const std::string at = std::to_string(row) + "," + std::to_string(col);
      const auto got =
          computed("viewpoint", s, views, Element::u8, {{"at", at}, {"units", "views"}, {"slope", "1.37"}});
      const auto view =
          views.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row * 5 + col) * s.samples());
      EXPECT_TRUE(std::equal(got.begin(), got.end(), view)) << at;
    }
}

// Between cameras the plane appears where the slope says, unchanged.
TEST(Viewpoint, APlaneMovesWithTheCamera) {
  const Size s;
  const auto got = computed("viewpoint", s, numbers(painted(s, scene)), Element::u8,
                            {{"at", "2.5,1.5"}, {"units", "views"}, {"slope", "2"}});
  const Plane& plane = scene[2];
  for (std::int64_t y = plane.top; y < plane.bottom; ++y)
    for (std::int64_t x = plane.left; x < plane.right; ++x)
      ASSERT_EQ(got[static_cast<std::size_t>(((y + 1) * s.width + x - 1) * 3)], texture(plane, y, x, 0));
}

TEST(Weights, ShiftsAndCubics) {
  for (int f = 0; f < 128; ++f) {
    std::int32_t weights[4], mirrored[4];
    cubic_weights<7>(f, weights);
    cubic_weights<7>(128 - f, mirrored);
    EXPECT_EQ(weights[0] + weights[1] + weights[2] + weights[3], 128);
    for (int j = 0; j < 4; ++j) EXPECT_NEAR(weights[j], mirrored[3 - j], 1.01) << f;
  }
  // 1.5 pixels for each of three views to the left: −4.5.
  EXPECT_EQ(shift_of<7>(0, 3 << place_bits, 3 << (place_bits - 1)), -9 * 64);
  const Taps taps = taps_of<7>(-9 * 64, Interpolation::linear);
  EXPECT_EQ(taps.first, -5);
  EXPECT_EQ(taps.weight[0], 64);
  EXPECT_EQ(taps_of<7>(-9 * 64, Interpolation::nearest).first, -4);
}

std::vector<char> bytes_of(const Operation& operation, const Variant& v, const Choice& choice,
                           const Case& chosen, Element element, std::uint64_t seed) {
  Inputs inputs(operation, element, chosen, seed);
  (void)run(
      operation, inputs.arguments(),
      {.device = std::string(name_of(v.where)), .variant = v.name, .tuning = choice.tuning, .cached = false});
  const ArrayView& out = inputs.arguments().array(operation.output);
  const auto* bytes = static_cast<const char*>(out.data);
  return {bytes, bytes + out.bytes()};
}

Case random_case(const std::string& name, Random& random) {
  const auto pick = [&](std::vector<std::string> words) { return words[random.below(words.size())]; };
  Case out;
  out.dims = {{"rows", 1 + random.below(5)},
              {"cols", 1 + random.below(5)},
              {"height", 1 + random.below(14)},
              {"width", 1 + random.below(60)},
              {"channels", std::vector<int>{1, 3, 3, 4, 2}[random.below(5)]}};
  out.words = {{"interpolation", pick({"linear", "linear", "nearest", "cubic"})},
               {"border", pick({"constant", "replicate", "reflect", "reflect_101", "wrap"})},
               {"at", pick({"0.5,0.5", "0.3,0.7", "1,0"})}};
  if (name == "viewpoint") {
    out.words["slope"] = pick({"0", "1.5", "-3.3", "0.25", "17.01"});
    out.words["cameras"] = pick({"linear", "nearest"});
  } else {
    out.words["slopes"] = pick({"0", "1.5", "-3.3", "-1:1:3", "0.7,-0.31,4", "-2:2.5:6"});
    out.words["aperture"] = pick({"mean", "mean", "weighted", "disc"});
    if (out.words["aperture"] != "mean") out.words["radius"] = "9";
  }
  return out;
}

TEST(Rungs, AllGiveTheSameBits) {
  Random random(3);
  int compared = 0;
  for (int i = 0; i < 45; ++i) {
    const Operation& operation = *find_operation(i % 3 == 2 ? "viewpoint" : "refocus");
    const Case chosen = random_case(operation.name, random);
    const Element element = operation.elements[i % 2 == 0 ? 0 : random.below(3)];
    std::vector<char> wanted;
    for (const Variant* v : ladder_of(operation.name)) {
      if (v->where == Where::cuda || v->baseline) continue;
      const Choice& choice = v->choices[random.below(v->choices.size())];
      const Inputs inputs(operation, element, chosen, 1);
      if (v->refuses(choice, inputs.arguments(), choice.defaults(), find_backend(v->where)->devices().at(0)))
        continue;
      const auto got = bytes_of(operation, *v, choice, chosen, element, static_cast<std::uint64_t>(i));
      if (wanted.empty()) wanted = got;
      ASSERT_EQ(got.size(), wanted.size());
      EXPECT_EQ(std::memcmp(got.data(), wanted.data(), got.size()), 0)
          << operation.name << " " << v->name << " " << name_of(element) << " " << to_string(chosen);
      ++compared;
    }
  }
  EXPECT_GT(compared, 120);
}

TEST(Refocus, ReportsInvalidOptions) {
  const auto says = [](const char* name, Arguments::Words words, const std::string& what) {
    try {
      (void)computed(name, {.rows = 2, .cols = 2, .height = 2, .width = 2}, {}, Element::u8,
                     std::move(words));
      ADD_FAILURE() << what;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  };
  says("refocus", {{"slope", "nan"}}, "--slope needs a finite number, not 'nan'");
  says("refocus", {{"slopes", "1,nan"}}, "'nan' is no finite number");
  says("refocus", {{"slope", "1e4"}}, "a slope of 10000 pixels per view is beyond ±1024");
  says("refocus", {{"slope", "1"}, {"slopes", "1,2"}}, "give one of them");
  says("refocus", {{"slopes", "0:1:300"}}, "more than 256");
  says("refocus", {{"aperture", "disc"}, {"radius", "0.25"}}, "no view has a weight");
  says("refocus", {{"radius", "2"}}, "--radius 2 is only for --aperture weighted or disc");
  for (const char* slopes : {" ", ",", "1,,2", "1,2,", "1,2 3"})
    says("refocus", {{"slopes", slopes}}, slopes);
  says("refocus", {{"border", "mirorr"}}, "did you mean 'mirror'");
  says("viewpoint", {{"at", "0.5"}}, "should be row,column");
  says("viewpoint", {{"at", "0:1:2"}}, "should be row,column");
  says("viewpoint", {{"at", "0.5,1.5"}}, "lies outside the grid");
  says("viewpoint", {{"at", "2,0"}, {"units", "views"}}, "counted from 0 to 1");
}

}  // namespace
}  // namespace tessera::lightfield
