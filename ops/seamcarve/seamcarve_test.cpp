// SPDX-License-Identifier: Apache-2.0
// Tests that are specific to seamcarve: the seams that brute force finds, equal bits from every rung, masks.
#include "seamcarve.hpp"
#include <gtest/gtest.h>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include "tessera/core/array/random.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/run.hpp"

namespace tessera::seamcarve {
namespace {

const Operation& carving() { return *find_operation("seamcarve"); }

using Samples = std::vector<std::uint8_t>;

struct Made {
  std::int64_t rows, columns;
  Samples image, protect = {}, remove = {};
};

Array array_of(const Samples& samples, std::int64_t rows, std::int64_t columns) {
  Array out(Element::u8, {1, rows, columns, 1});
  std::copy(samples.begin(), samples.end(), out.as<std::uint8_t>());
  return out;
}

// The result of a rung for one grey picture.
Samples carved(const Made& made, Arguments::Words words, const std::string& device = "cpu",
               const std::string& variant = "") {
  std::map<std::string, Array> arrays;
  arrays.emplace("image", array_of(made.image, made.rows, made.columns));
  if (!made.protect.empty()) arrays.emplace("protect", array_of(made.protect, made.rows, made.columns));
  if (!made.remove.empty()) arrays.emplace("remove", array_of(made.remove, made.rows, made.columns));
  std::map<std::string, ArrayView> views;
  for (const auto& [name, array] : arrays) views.emplace(name, array.view());
  Arguments arguments(carving().signature, Element::u8, views, words);
  const Array out(Element::u8, arguments.array("carved").extents);
  arguments.set_array("carved", out.view());
  Request request{.device = device, .cached = false};
  if (!variant.empty()) request.variant = variant;
  (void)run(carving(), arguments, request);
  const auto* bytes = out.as<std::uint8_t>();
  return {bytes, bytes + out.view().bytes()};
}

// Pixels to keep, minus pixels to remove, energy: compared in this order.
using Cost = std::array<std::int64_t, 3>;

// The cost of a whole seam, by the formulas of the page, with nothing kept from one seam to the next.
Cost cost_of(const Made& m, const std::vector<std::int64_t>& seam, const std::string& energy) {
  const auto grey = [&](std::int64_t y, std::int64_t x) {
    y = std::clamp<std::int64_t>(y, 0, m.rows - 1);
    x = std::clamp<std::int64_t>(x, 0, m.columns - 1);
    return std::int64_t{m.image[static_cast<std::size_t>(y * m.columns + x)]};
  };
  Cost cost = {};
  std::int64_t& out = cost[2];
  for (std::int64_t y = 0; y < m.rows; ++y) {
    const std::int64_t x = seam[static_cast<std::size_t>(y)];
    const std::int64_t across = std::llabs(grey(y, x + 1) - grey(y, x - 1));
    if (energy == "gradient") out += across + std::llabs(grey(y + 1, x) - grey(y - 1, x));
    else if (energy == "laplacian")
      out += std::llabs(grey(y - 1, x) + grey(y + 1, x) + grey(y, x - 1) + grey(y, x + 1) - 4 * grey(y, x));
    else {
      out += across;
      const std::int64_t up = y == 0 ? x : seam[static_cast<std::size_t>(y - 1)];
      if (up != x) out += std::llabs(grey(y - 1, x) - grey(y, up));
    }
    const auto at = static_cast<std::size_t>(y * m.columns + x);
    if (!m.protect.empty() && m.protect[at] >= 128) ++cost[0];
    else if (!m.remove.empty() && m.remove[at] >= 128) --cost[1];
  }
  return cost;
}

// Tries every connected path; among the cheapest, the leftmost one at the bottom, then in the row above, and
// so on.
std::vector<std::int64_t> by_force(const Made& m, const std::string& energy) {
  std::vector<std::int64_t> best, seam(static_cast<std::size_t>(m.rows));
  Cost least = {};
  const std::function<void(std::int64_t)> above = [&](std::int64_t y) {
    if (y < 0) {
      const Cost cost = cost_of(m, seam, energy);
      if (best.empty() || cost < least) best = seam, least = cost;
      return;
    }
    const bool bottom = y + 1 == m.rows;
    const std::int64_t below = bottom ? 0 : seam[static_cast<std::size_t>(y + 1)];
    const std::int64_t first = bottom ? 0 : std::max<std::int64_t>(below - 1, 0),
                       last = bottom ? m.columns - 1 : std::min(below + 1, m.columns - 1);
    for (std::int64_t x = first; x <= last; ++x) {
      seam[static_cast<std::size_t>(y)] = x;
      above(y - 1);
    }
  };
  above(m.rows - 1);
  return best;
}

void take(Samples& samples, const Made& of, const std::vector<std::int64_t>& seam) {
  Samples out;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto y = i / static_cast<std::size_t>(of.columns), x = i % static_cast<std::size_t>(of.columns);
    if (static_cast<std::int64_t>(x) != seam[y]) out.push_back(samples[i]);
  }
  samples = out;
}

Samples random_samples(Random& random, std::int64_t count, std::uint64_t values) {
  Samples out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(static_cast<std::uint8_t>(random.below(values)));
  return out;
}

// Few values: many ties.
TEST(Seamcarve, BruteForceFindsTheSameSeams) {
  Random random(5);
  for (int i = 0; i < 50; ++i) {
    Made m{
        1 + static_cast<std::int64_t>(random.below(6)), 2 + static_cast<std::int64_t>(random.below(5)), {}};
    const std::int64_t count = m.rows * m.columns;
    m.image = random_samples(random, count, random.below(2) == 0 ? 3 : 256);
    if (random.below(3) == 0) m.protect = random_samples(random, count, 256);
    if (random.below(3) == 0) m.remove = random_samples(random, count, 256);
    const std::string energy = std::vector<std::string>{"gradient", "laplacian", "forward"}[random.below(3)];
    const auto seams = 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(m.columns - 1)));
    Made left = m;
    for (std::int64_t n = 0; n < seams; ++n) {
      const auto seam = by_force(left, energy);
      const Made before = left;
      take(left.image, before, seam);
      take(left.protect, before, seam);
      take(left.remove, before, seam);
      --left.columns;
    }
    const Arguments::Words words = {{"width", std::to_string(left.columns)}, {"energy", energy}};
    for (const auto& [device, rung] : {std::pair{"cpu", "naive"}, {"cpu", "banded"}, {"simt", "rows"}})
      ASSERT_EQ(carved(m, words, device, rung), left.image)
          << energy << " " << m.rows << " x " << m.columns << " " << rung;
  }
}

TEST(Seamcarve, EveryRungGivesTheSameBits) {
  Random random(8);
  for (int i = 0; i < 5; ++i) {
    Made m{40 + static_cast<std::int64_t>(random.below(90)),
           40 + static_cast<std::int64_t>(random.below(260)),
           {}};
    const std::int64_t count = m.rows * m.columns;
    m.image = random_samples(random, count, i % 3 == 0 ? 4 : 256);
    if (i % 2 == 0) m.protect = random_samples(random, count, 140);
    if (i % 4 == 1) m.remove = random_samples(random, count, 140);
    const std::string energy = std::vector<std::string>{"gradient", "laplacian", "forward"}[random.below(3)];
    const Arguments::Words words = {{"width", std::to_string(m.columns - 3 + i % 7)},
                                    {"height", std::to_string(m.rows + 2 - i % 4)},
                                    {"energy", energy}};
    const Samples wanted = carved(m, words, "cpu", "naive");
    for (const Variant* v : ladder_of("seamcarve"))
      if (v->where != Where::cuda && !v->baseline) {
        EXPECT_EQ(carved(m, words, std::string(name_of(v->where)), v->name), wanted)
            << v->name << " " << energy;
      }
  }
}

// The band must widen again wherever a seam changes costs: many seams of a picture with many ties.
TEST(Seamcarve, TheBandKeepsAllChanges) {
  Random random(9);
  for (const char* energy : {"gradient", "laplacian", "forward"})
    for (const std::uint64_t values : {2, 5, 256}) {
      const Made m{60, 90, random_samples(random, 60 * 90, values)};
      const Arguments::Words words = {{"width", "20"}, {"energy", energy}};
      EXPECT_EQ(carved(m, words, "cpu", "banded"), carved(m, words, "cpu", "naive"))
          << energy << " " << values;
    }
}

TEST(Seamcarve, AFlatPictureLosesItsLeftmostColumns) {
  Made m{3, 5, Samples(15, 9)};
  EXPECT_EQ(carved(m, {{"width", "3"}}), Samples(9, 9));
  m.image = {9, 9, 9, 9, 7, 9, 9, 9, 9, 7, 9, 9, 9, 9, 7};
  EXPECT_EQ(carved(m, {{"width", "3"}}), (Samples{9, 9, 7, 9, 9, 7, 9, 9, 7}));
}

TEST(Seamcarve, EnlargingDoublesSeamsByTheMeanOfTheirNeighbours) {
  const Made m{1, 3, {10, 10, 21}};
  // Column 0 costs nothing; then 10 21 costs 11 each, of which the left one goes.
  EXPECT_EQ(carved(m, {{"width", "4"}}), (Samples{10, 10, 10, 21}));
  EXPECT_EQ(carved(m, {{"width", "5"}}), (Samples{10, 10, 10, 16, 21}));
  EXPECT_EQ(carved(m, {{"width", "6"}}), (Samples{10, 10, 10, 16, 21, 21}));
}

TEST(Seamcarve, HeightEqualsWidthTransposed) {
  Random random(4);
  const Made m{23, 31, random_samples(random, 23 * 31, 256)};
  Made transposed{31, 23, Samples(m.image.size())};
  for (std::size_t y = 0; y < 23; ++y)
    for (std::size_t x = 0; x < 31; ++x) transposed.image[x * 23 + y] = m.image[y * 31 + x];
  const Samples low = carved(m, {{"height", "17"}}), narrow = carved(transposed, {{"width", "17"}});
  for (std::size_t y = 0; y < 17; ++y)
    for (std::size_t x = 0; x < 31; ++x) EXPECT_EQ(low[y * 31 + x], narrow[x * 17 + y]);
}

TEST(Seamcarve, RespectsMasks) {
  Random random(6);
  Made m{40, 60, random_samples(random, 40 * 60, 256), Samples(40 * 60), Samples(40 * 60)};
  const auto at = [](std::size_t y, std::size_t x) { return y * 60 + x; };
  // A protected block, and a block to remove that shifts by one column every second row.
  for (std::size_t y = 10; y < 30; ++y)
    for (std::size_t x = 0; x < 7; ++x) {
      m.image[at(y, 5 + x)] = 255;
      m.protect[at(y, 5 + x)] = 128;
      m.image[at(y, 30 + x + y / 2)] = 0;
      m.remove[at(y, 30 + x + y / 2)] = 255;
    }
  for (std::size_t i = 0; i < m.image.size(); ++i)
    if (m.remove[i] == 0 && m.image[i] == 0) m.image[i] = 1;
  for (const char* energy : {"gradient", "laplacian", "forward"}) {
    const Samples out = carved(m, {{"energy", energy}});
    ASSERT_EQ(out.size(), 40u * 53u) << energy;  // a seam for each column of the block to remove
    EXPECT_EQ(std::count(out.begin(), out.end(), 0), 0) << energy;
    for (std::size_t y = 10; y < 30; ++y)
      EXPECT_GE(std::count(out.begin() + static_cast<std::ptrdiff_t>(y * 53),
                           out.begin() + static_cast<std::ptrdiff_t>((y + 1) * 53), 255),
                7)
          << energy;
  }
  // The weights of pixels to remove are ignored while a picture grows.
  Made without = m;
  without.remove.clear();
  EXPECT_EQ(carved(m, {{"width", "66"}}), carved(without, {{"width", "66"}}));
}

// Half of either side is expensive: the cheapest way of all would cross the protected column in the middle.
TEST(Seamcarve, ProtectsPixelsAtAnyCost) {
  constexpr std::size_t rows = 4320, columns = 41, middle = 20;
  Made m{rows, columns, Samples(rows * columns, 128), Samples(rows * columns)};
  for (std::size_t y = 0; y < rows; ++y) {
    for (std::size_t x = 0; x < columns; ++x)
      if (y < rows / 2 ? x > middle : x < middle) m.image[y * columns + x] = x / 2 % 2 == 0 ? 0 : 255;
    m.image[y * columns + middle] = 77;
    m.protect[y * columns + middle] = 255;
  }
  for (const auto& [device, rung] :
       {std::pair{"cpu", "naive"}, {"cpu", "banded"}, {"simt", "shared_tiles"}, {"simt", "trapezoids"}}) {
    const Samples out = carved(m, {{"width", "39"}}, device, rung);
    EXPECT_EQ(std::count(out.begin(), out.end(), 77), std::ptrdiff_t{rows}) << rung;
  }
}

// Two pixels to remove do not outweigh one to keep, which blocks the path to the second.
TEST(Seamcarve, RemovalDoesNotOutweighProtection) {
  Made m{4, 4, Samples(16), Samples(16), Samples(16)};
  std::iota(m.image.begin(), m.image.end(), std::uint8_t{0});
  m.protect[0] = m.protect[1] = 255;
  m.remove[4] = m.remove[8] = 255;
  EXPECT_EQ(carved(m, {{"width", "3"}}), (Samples{0, 1, 3, 4, 6, 7, 9, 10, 11, 13, 14, 15}));
}

TEST(Seamcarve, ReportsInvalidOptions) {
  Random random(7);
  Made m{4, 6, random_samples(random, 24, 256)};
  const auto says = [&](const Made& made, Arguments::Words words, const std::string& what) {
    try {
      (void)carved(made, std::move(words));
      ADD_FAILURE() << what;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  };
  says(m, {{"width", "0"}}, "--width 0 is out of its range");
  says({0, 6, {}}, {{"width", "3"}}, "--height, left out, would be rows = 0, out of its range, 1 and more");
  says(m, {}, "--width, --height or --remove is missing");
  says({4, 0, {}}, {{"height", "3"}},
       "--width, left out, would be columns_left = 0, out of its range, 1 and more");
  says({0, 6, {}}, {{"height", "3"}}, "--height 3 is more than twice the picture's 0 rows");
  says(m, {{"width", "13"}}, "--width 13 is more than twice the picture's 6 columns");
  says(m, {{"height", "9"}}, "--height 9 is more than twice the picture's 4 rows");
  says(m, {{"energy", "sobel"}}, "--energy cannot be 'sobel'");
  m.remove = Samples(24, 0);
  for (std::size_t x = 0; x < 6; ++x) m.remove[12 + x] = 200;
  says(m, {}, "--remove marks all of row 2");
  Made lengthy{65536, 1, Samples(65536)};
  EXPECT_EQ(carved(lengthy, {{"width", "2"}}).size(), 2u * 65536);
  lengthy.protect = Samples(65536);
  says(lengthy, {{"width", "2"}}, "65535 are possible here, with masks");
  const Array image(Element::u8, {1, 4, 6, 1}), mask(Element::u8, {1, 4, 7, 1});
  try {
    const Arguments arguments(carving().signature, Element::u8,
                              {{"image", image.view()}, {"protect", mask.view()}}, {});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "protect has columns = 7, but image has 6");
  }
}

// Pictures like a camera's, every row against the reference: their band of changed costs crosses many rows.
struct Carving {
  std::int64_t rows, columns;
  Arguments::Words words;
};

void expect_the_references_rows(const Carving& carving, Element element, const std::string& rung) {
  const Operation& operation = *find_operation("seamcarve");
  const Case chosen{
      .dims = {{"images", 1}, {"rows", carving.rows}, {"columns", carving.columns}, {"channels", 3}},
      .words = carving.words};
  Inputs inputs(operation, element, chosen, 17);
  const Arguments& arguments = inputs.arguments();
  (void)run(operation, inputs.arguments(), {.device = "cpu", .variant = rung, .cached = false});
  const ArrayView& out = arguments.array("carved");
  std::vector<std::int64_t> rows(static_cast<std::size_t>(out.extents[1]));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  Expected expected;
  operation.reference(arguments, rows, {}, expected);
  ASSERT_EQ(static_cast<std::int64_t>(expected.value.size()), out.count());
  std::int64_t differing = 0;
  for (std::int64_t i = 0; i < out.count(); ++i)
    differing += load_as_double(element, static_cast<const char*>(out.data) +
                                             i * static_cast<std::int64_t>(size_of(element))) !=
                 expected.value[static_cast<std::size_t>(i)];
  EXPECT_EQ(differing, 0) << rung << " of " << out.count() << " samples";
}

TEST(Seamcarve, ALargerPictureMatchesTheReferenceInEveryRow) {
  for (const char* energy : {"gradient", "laplacian", "forward"})
    for (const char* rung : {"naive", "banded"})
      expect_the_references_rows({130, 240, {{"width", "222"}, {"energy", energy}}}, Element::u8, rung);
  expect_the_references_rows({130, 240, {{"width", "250"}, {"height", "124"}}}, Element::u16, "banded");
}

}  // namespace
}  // namespace tessera::seamcarve
