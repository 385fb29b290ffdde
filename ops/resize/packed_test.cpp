// SPDX-License-Identifier: Apache-2.0
// Sums of packed samples: every form is reached and gives the formula's bits, wherever rows lie in memory;
// weights are what their digits add up to; sums that would not fit are refused.
#include <gtest/gtest.h>
#include <cstring>
#include <limits>
#include <set>
#include "resize.hpp"
#include "tessera/run/choose.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/run.hpp"

namespace tessera::resize {
namespace {

const Operation& resizing() { return *find_operation("resize"); }

struct Tried {
  const char *convention, *method;
  int images, channels, from_height, from_width, height, width;
  std::int64_t padding;  // samples between rows
};

// To half, to 0.47, larger; strips that end in their middle; rows that begin at any byte.
constexpr Tried tried[] = {
    {"pillow", "cubic", 1, 3, 60, 402, 30, 201, 0},      {"pillow", "cubic", 1, 3, 64, 400, 30, 188, 4},
    {"pillow", "cubic", 2, 1, 30, 333, 14, 157, 3},      {"pillow", "cubic", 1, 4, 9, 40, 29, 107, 0},
    {"pillow", "lanczos3", 1, 3, 50, 260, 25, 130, 0},   {"pillow", "lanczos3", 1, 1, 51, 900, 24, 423, 5},
    {"pillow", "lanczos3", 1, 3, 60, 200, 20, 62, 0},    {"pillow", "linear", 1, 4, 33, 120, 16, 60, 16},
    {"pillow", "area", 1, 3, 33, 100, 15, 47, 1},        {"opencv", "cubic", 1, 3, 60, 402, 30, 201, 0},
    {"opencv", "cubic", 1, 4, 31, 101, 60, 202, 1},      {"opencv", "lanczos4", 1, 3, 60, 300, 28, 141, 0},
    {"opencv", "lanczos4", 2, 1, 40, 800, 20, 400, 0},   {"opencv", "linear", 1, 3, 61, 401, 28, 188, 0},
    {"opencv", "linear", 1, 1, 20, 33, 41, 90, 3},       {"opencv", "linear", 1, 1, 20, 1, 41, 5, 0},
    {"opencv", "linear_exact", 1, 3, 21, 40, 10, 19, 0}, {"opencv", "area", 1, 3, 61, 401, 28, 188, 0},
    {"opencv", "area", 1, 3, 48, 270, 12, 90, 0},        {"opencv", "area", 1, 3, 60, 402, 30, 201, 0},
    {"opencv", "area", 2, 1, 20, 640, 10, 320, 0},       {"opencv", "linear", 1, 4, 20, 70, 10, 35, 0},
    {"opencv", "linear", 1, 3, 12, 1600, 6, 800, 16},    {"onnx", "cubic", 1, 3, 40, 120, 20, 60, 0},
    {"onnx", "lanczos4", 1, 1, 30, 90, 20, 60, 2},       {"pillow", "lanczos3", 2, 3, 150, 432, 70, 203, 16},
    {"pillow", "lanczos3", 1, 3, 200, 400, 99, 203, 0},  {"pillow", "cubic", 1, 3, 64, 400, 30, 188, 16},
    {"pillow", "lanczos3", 1, 4, 90, 260, 45, 130, 32},  {"pillow", "lanczos3", 1, 1, 40, 400, 19, 199, 0},
};

constexpr const char* rungs[] = {"packed", "halved", "matrices"};

Case case_of(const Tried& t) {
  Case out;
  out.dims = {{"images", t.images},
              {"from_height", t.from_height},
              {"from_width", t.from_width},
              {"channels", t.channels}};
  out.words = {{"width", std::to_string(t.width)},
               {"height", std::to_string(t.height)},
               {"convention", t.convention},
               {"method", t.method}};
  if (std::string(t.convention) == "pillow") out.words["premultiply"] = "no";
  return out;
}

// The samples that a rung gives; none where it refuses.
std::vector<unsigned char> result_of(const Variant& v, const Choice& choice, const Tried& t) {
  Inputs inputs(resizing(), Element::u8, case_of(t), 7, {.padding = t.padding});
  if (v.refuses(choice, inputs.arguments(), choice.defaults(), find_backend(v.where)->devices().at(0)))
    return {};
  inputs.poison();
  run(resizing(), inputs.arguments(),
      {.device = std::string(name_of(v.where)), .variant = v.name, .tuning = choice.tuning, .cached = false});
  EXPECT_TRUE(inputs.padding_intact());
  const ArrayView& out = inputs.arguments().array("resized");
  std::vector<unsigned char> bytes;
  for (std::int64_t n = 0; n < out.extents[0]; ++n)
    for (std::int64_t y = 0; y < out.extents[1]; ++y) {
      const auto* row = static_cast<const unsigned char*>(out.data) + n * out.strides[0] + y * out.strides[1];
      bytes.insert(bytes.end(), row, row + out.extents[2] * out.extents[3]);
    }
  return bytes;
}

const Variant& variant(Where where, const std::string& name) {
  for (const Variant* v : ladder_of("resize"))
    if (v->where == where && v->name == name) return *v;
  throw Error("no variant " + name);
}

TEST(Packed, EveryFormGivesTheBitsOfTheFormula) {
  const Variant& naive = variant(Where::cpu, "naive");
  std::set<std::string> reached;
  for (const Tried& t : tried) {
    const auto wanted = result_of(naive, naive.choices[0], t);
    ASSERT_FALSE(wanted.empty());
    bool served = false;
    for (const char* name : rungs)
      for (const Choice& choice : variant(Where::simt, name).choices) {
        const auto got = result_of(variant(Where::simt, name), choice, t);
        if (got.empty()) continue;
        EXPECT_EQ(got, wanted) << name << " " << to_string(choice.tuning) << " " << t.convention << " "
                               << t.method << " " << t.width << " x " << t.height;
        reached.insert(name + to_string(choice.tuning));
        served = true;
      }
    EXPECT_TRUE(served) << t.convention << " " << t.method;
  }
  std::size_t forms = 0;
  for (const char* name : rungs) forms += variant(Where::simt, name).choices.size();
  EXPECT_EQ(reached.size(), forms);
}

TEST(Packed, TheHighestRungThatServesIsTaken) {
  const auto taken = [](const Tried& t, const std::string& premultiply) {
    Case chosen = case_of(t);
    if (!premultiply.empty()) chosen.words["premultiply"] = premultiply;
    const Inputs inputs(resizing(), Element::u8, chosen, 1);
    return choose(resizing(), inputs.arguments(), {.device = "simt", .cached = false}).variant->name;
  };
  EXPECT_EQ(taken({"opencv", "area", 1, 3, 800, 800, 400, 400, 0}, ""), "halved");
  EXPECT_EQ(taken({"opencv", "linear", 1, 4, 800, 800, 400, 400, 0}, ""), "halved");
  EXPECT_EQ(taken({"opencv", "linear", 1, 3, 800, 800, 400, 401, 0}, ""), "packed");
  EXPECT_EQ(taken({"pillow", "lanczos3", 1, 3, 800, 800, 400, 401, 0}, ""), "matrices");
  EXPECT_EQ(taken({"pillow", "lanczos3", 1, 3, 800, 801, 400, 401, 0}, ""), "packed");
  EXPECT_EQ(taken({"pillow", "cubic", 1, 3, 800, 800, 400, 400, 0}, ""), "packed");  // eight taps
  EXPECT_EQ(taken({"pillow", "lanczos3", 1, 4, 800, 800, 400, 401, 0}, "yes"), "separable");
  EXPECT_EQ(taken({"pillow", "lanczos3", 1, 2, 800, 800, 400, 401, 0}, "no"), "fused");
  EXPECT_EQ(taken({"opencv", "area", 1, 3, 80, 80, 40, 40, 0}, ""), "samples");
}

// One result of each axis, with these weights.
Packing packed(Plan plan, const std::vector<std::int32_t>& weights, std::vector<std::int32_t>& table) {
  const auto taps = static_cast<std::int32_t>(weights.size());
  table = {3, taps};
  table.insert(table.end(), weights.begin(), weights.end());
  plan.along = plan.across = {0, 1, 2, taps};
  return packing_of(plan, 1, 1, table);
}

Plan pillow() {
  Plan out;
  out.recipe = Recipe::whole;
  out.along_shift = out.across_shift = 22;
  return out;
}

TEST(Packed, WeightsAreWhatTheirDigitsAddUpTo) {
  const std::vector<std::int32_t> weights = {-128, 127, 128, 4194304, -400000, 65535, -65536, -32897, 1};
  std::vector<std::int32_t> table;
  const Packing packing = packed(pillow(), weights, table);
  ASSERT_EQ(packing.kind, Packed::bytes);
  ASSERT_EQ(packing.words, 3);
  ASSERT_EQ(packing.rows % 4, 0);
  std::vector<std::int32_t> sums(12);
  for (int i = 0; i < 12; ++i)
    for (int d = 0; d < 3; ++d) {
      const auto word =
          static_cast<std::uint32_t>(table[static_cast<std::size_t>(packing.rows + i / 4 * 3 + d)]);
      sums[static_cast<std::size_t>(i)] += static_cast<std::int8_t>(word >> i % 4 * 8) * (1 << (16 - 8 * d));
    }
  // The last row is 11, which ends a word whether words are turned or not.
  EXPECT_EQ(std::vector<std::int32_t>(sums.begin() + 3, sums.end()), weights);
  EXPECT_EQ(table[static_cast<std::size_t>(packing.rows + packing.entry - 1)],
            std::numeric_limits<std::int32_t>::max());
}

TEST(Packed, WhatWouldNotFitIsRefused) {
  std::vector<std::int32_t> table;
  EXPECT_EQ(packed(pillow(), {127 * 0x010101}, table).kind, Packed::bytes);
  EXPECT_EQ(packed(pillow(), {127 * 0x010101 + 1}, table).kind, Packed::none);  // not three signed bytes
  EXPECT_EQ(packed(pillow(), {8355711, 66000}, table).kind, Packed::none);      // 255 times is more than 2^31
  EXPECT_EQ(packed(pillow(), {-8355711, -80000}, table).kind, Packed::none);
  EXPECT_EQ(packed(pillow(), std::vector<std::int32_t>(25, 1000), table).kind,
            Packed::none);  // more than six words
  Plan opencv;
  opencv.recipe = Recipe::whole;
  opencv.across_shift = 22;
  EXPECT_EQ(packed(opencv, {-300, 2048, 300}, table).kind, Packed::whole);
  EXPECT_EQ(packed(opencv, {-1024, 2048, 1024}, table).kind, Packed::none);
  EXPECT_EQ(packed(opencv, {2048, 32640}, table).kind, Packed::none);
  opencv.linear_light = true;
  EXPECT_EQ(packed(opencv, {2048}, table).kind, Packed::none);
}

}  // namespace
}  // namespace tessera::resize
