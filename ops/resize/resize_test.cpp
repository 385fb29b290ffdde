// SPDX-License-Identifier: Apache-2.0
// Tests that are specific to resize: equal bits from every rung, tables by their definitions, the libraries'
// names. tests/resize_test.py compares it with those libraries.
#include "resize.hpp"
#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>
#include "axis.hpp"
#include "lookup.hpp"
#include "tessera/core/array/random.hpp"
#include "tessera/run/choose.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/run.hpp"
#include "tests/every_target.hpp"

namespace tessera::resizing {
namespace {

const Operation& resizing() { return *find_operation("resize"); }

Case random_case(Random& random, Element element) {
  const auto pick = [&](std::vector<std::string> words) { return words[random.below(words.size())]; };
  const auto text = [](std::uint64_t n) { return std::to_string(n); };
  const std::string convention = pick({"opencv", "pillow", "onnx"});
  std::vector<std::string> methods = {"nearest", "linear", "cubic", "lanczos2", "lanczos3", "lanczos4"};
  if (convention != "onnx") methods.insert(methods.end(), {"area", "area"});
  if (convention == "pillow") methods.insert(methods.end(), {"box", "hamming"});
  if (convention == "opencv") methods.insert(methods.end(), {"nearest_exact", "linear_exact"});
  const std::uint64_t factor = 1 + random.below(3), width = 1 + random.below(40),
                      height = 1 + random.below(24);
  Case out;
  out.dims = {{"images", 1 + random.below(2)},
              {"from_height", random.below(3) == 0 ? height * factor : 1 + random.below(40)},
              {"from_width", random.below(3) == 0 ? width * factor : 1 + random.below(90)},
              {"channels", 1 + random.below(5)}};
  out.words = {{"width", text(width)},
               {"height", text(height)},
               {"method", pick(methods)},
               {"convention", convention}};
  if (convention == "onnx")
    out.words.insert({{"coordinate", pick({"auto", "pytorch_half_pixel", "align_corners", "asymmetric"})},
                      {"antialias", pick({"yes", "no"})},
                      {"exclude-outside", pick({"yes", "no"})}});
  if ((element == Element::u8 || element == Element::u16) && random.below(4) == 0)
    out.words["light"] = "linear";
  if (out.words["method"].starts_with("nearest"))  // copies do not have these options
    for (const char* name : {"antialias", "exclude-outside", "light"}) out.words.erase(name);
  return out;
}

TEST(Resize, SidesAreScaledExactly) {
  EXPECT_EQ(scaled(320, "0.5015625"), 161);  // 160.5
  EXPECT_EQ(scaled(3, "0.16666666666666666"), 0);
  EXPECT_EQ(scaled(3, "0.16666666666666667"), 1);
  EXPECT_EQ(scaled(5, ".1"), 1);
  EXPECT_EQ(scaled(4, "0.1"), 0);
  EXPECT_EQ(scaled(300, "0.47"), 141);
  EXPECT_EQ(scaled(300, "1"), 300);
  EXPECT_EQ(scaled(7, "1.25e2"), 875);
  EXPECT_EQ(scaled(7, "12.5E+1"), 875);
  EXPECT_EQ(scaled(7, "1e3"), 7000);
  EXPECT_EQ(scaled(1000000, "1e-6"), 1);
  const Inputs inputs(resizing(), Element::u8,
                      {.dims = {{"images", 1}, {"from_height", 320}, {"from_width", 3}, {"channels", 1}},
                       .words = {{"scale", "0.5015625"}}},
                      1);
  EXPECT_EQ(inputs.arguments().dim("height"), 161);
  EXPECT_EQ(inputs.arguments().dim("width"), 2);
}

// The result's bytes from one rung.
std::vector<char> computed(const Variant& v, const Choice& choice, const Case& chosen, Element element,
                           std::uint64_t seed) {
  Inputs inputs(resizing(), element, chosen, seed);
  Request request{
      .device = std::string(name_of(v.where)), .variant = v.name, .tuning = choice.tuning, .cached = false};
  (void)run(resizing(), inputs.arguments(), request);
  const ArrayView& out = inputs.arguments().array("resized");
  const auto* bytes = static_cast<const char*>(out.data);
  return {bytes, bytes + out.bytes()};
}

TEST(Resize, EveryRungGivesTheSameBits) {
  Random random(5);
  int compared = 0;
  for (int i = 0; i < 50; ++i) {
    const Element element = resizing().elements[random.below(5)];
    const Case chosen = random_case(random, element);
    std::vector<char> wanted;
    for (const Variant* v : ladder_of("resize")) {
      if (v->where == Where::cuda || v->baseline) continue;
      const Choice& choice = v->choices[random.below(v->choices.size())];
      const Inputs inputs(resizing(), element, chosen, 1);
      if (v->refuses(choice, inputs.arguments(), choice.defaults(), find_backend(v->where)->devices().at(0)))
        continue;
      const std::vector<char> got = computed(*v, choice, chosen, element, static_cast<std::uint64_t>(i));
      if (wanted.empty()) wanted = got;
      ASSERT_EQ(got.size(), wanted.size());
      EXPECT_EQ(std::memcmp(got.data(), wanted.data(), got.size()), 0)
          << v->name << " " << name_of(element) << " " << to_string(chosen);
      ++compared;
    }
  }
  EXPECT_GT(compared, 130);
}

Options options_for(Convention convention, Method method) {
  Options out;
  out.convention = convention;
  out.method = method;
  out.cubic_a = convention == Convention::pillow ? -0.5 : -0.75;
  return out;
}

TEST(Axis, WeightsAddUpToOneAndStayInside) {
  for (const Convention convention : {Convention::opencv, Convention::pillow, Convention::onnx})
    for (const Method method :
         {Method::linear, Method::cubic, Method::lanczos2, Method::lanczos3, Method::lanczos4})
      for (const int source : {1, 7, 333})
        for (const int result : {1, 40, 700}) {
          const Axis axis = weighted_axis(options_for(convention, method), source, result, Area::overlap);
          for (int i = 0; i < result; ++i) {
            const auto at = static_cast<std::size_t>(i);
            ASSERT_GE(axis.start[at], 0);
            ASSERT_GE(axis.count[at], 1);
            ASSERT_LE(axis.start[at] + axis.count[at], source);
            ASSERT_LE(axis.count[at], axis.most);
            const double sum = std::accumulate(axis.weights(i), axis.weights(i) + axis.count[at], 0.0);
            EXPECT_NEAR(sum, 1, 1e-6) << source << " to " << result;
          }
        }
}

TEST(Axis, AreaWeightsMatchHandComputedOverlaps) {
  const Axis axis = weighted_axis(options_for(Convention::pillow, Method::area), 5, 2, Area::overlap);
  EXPECT_EQ(axis.start, (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(axis.count, (std::vector<std::int32_t>{3, 3}));
  for (int k = 0; k < 3; ++k) {
    EXPECT_DOUBLE_EQ(axis.weights(0)[k], k == 2 ? 0.2 : 0.4);
    EXPECT_DOUBLE_EQ(axis.weights(1)[k], k == 0 ? 0.2 : 0.4);
  }
}

TEST(Axis, NearestFollowsEachConvention) {
  // 2 of 5 samples: their centres are 1.25 and 3.75.
  EXPECT_EQ(nearest_axis(options_for(Convention::opencv, Method::nearest), 5, 2).start,
            (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(nearest_axis(options_for(Convention::pillow, Method::nearest), 5, 2).start,
            (std::vector<std::int32_t>{1, 3}));
  // 2 of 4 samples: 1 and 3 lie between two; OpenCV's exact method takes the lower one.
  EXPECT_EQ(nearest_axis(options_for(Convention::opencv, Method::nearest_exact), 4, 2).start,
            (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(nearest_axis(options_for(Convention::pillow, Method::nearest), 4, 2).start,
            (std::vector<std::int32_t>{1, 3}));
}

TEST(Light, EveryCodeIsItselfAgain) {
  for (const int most : {255, 65535}) {
    std::vector<std::int32_t> table;
    std::int32_t decode = 0, encode = 0;
    put_light(most, decode, encode, table);
    for (int code = 0; code <= most; ++code)
      ASSERT_EQ(code_of(table.data() + encode, most,
                        weight_as<float>(table[static_cast<std::size_t>(decode + code)])),
                code);
    EXPECT_EQ(code_of(table.data() + encode, most, NAN), 0);
    EXPECT_EQ(code_of(table.data() + encode, most, 2.0F), most);
    EXPECT_EQ(code_of(table.data() + encode, most, -1.0F), 0);
  }
}

TEST(Words, RefusesWordsWithoutEffect) {
  const auto says = [](Arguments::Words words, const std::string& what) {
    Case c{.dims = {{"images", 1}, {"from_height", 6}, {"from_width", 8}, {"channels", 4}},
           .words = std::move(words)};
    c.words.insert({{"width", "4"}});
    try {
      Inputs inputs(resizing(), Element::u8, c, 1);
      (void)plan_of(inputs.arguments());
      EXPECT_EQ(what, "");
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), what);
    }
  };
  const std::string sums = " is only for methods that sum; --method nearest and nearest_exact copy";
  for (const char* method : {"linear", "lanczos3", "area", "nearest"})
    says({{"method", method}, {"cubic-a", "-0.6"}}, "--cubic-a -0.6 is only for --method cubic");
  for (const char* method : {"cubic", "bicubic", "INTER_CUBIC"})
    says({{"method", method}, {"cubic-a", "-0.6"}}, "");
  says({{"method", "linear"}, {"cubic-a", "auto"}}, "");
  for (const char* convention : {"pillow", "opencv"}) {
    says({{"method", "nearest"}, {"convention", convention}, {"light", "linear"}}, "--light linear" + sums);
    says({{"method", "linear"}, {"convention", convention}, {"light", "linear"}}, "");
  }
  says({{"method", "nearest_exact"}, {"convention", "opencv"}, {"light", "linear"}}, "--light linear" + sums);
  says({{"method", "nearest"}, {"premultiply", "yes"}}, "--premultiply yes" + sums);
  says({{"method", "nearest"}, {"premultiply", "no"}}, "");
  const auto onnx = [&](const char* method, const char* name, const char* word, const std::string& what) {
    says({{"convention", "onnx"}, {"method", method}, {name, word}}, what);
  };
  onnx("linear", "nearest-mode", "ceil", "--nearest-mode ceil is only for --method nearest");
  onnx("nearest", "nearest-mode", "ceil", "");
  onnx("nearest", "antialias", "yes", "--antialias yes" + sums);
  onnx("nearest", "antialias", "no", "");
  onnx("linear", "antialias", "yes", "");
  onnx("nearest", "exclude-outside", "yes", "--exclude-outside yes" + sums);
  onnx("cubic", "exclude-outside", "yes", "");
  says({{"scale", "0.25"}, {"height", "5"}}, "--scale 0.25 is only for sides that are not given");
  says({{"scale", "0.5"}, {"height", "5"}}, "");  // the width that it has anyway
  says({{"scale", "0.25"}}, "");
}

TEST(Words, AcceptsNamesOfOtherLibraries) {
  EXPECT_EQ(method_named("cv2.INTER_LANCZOS4", Convention::opencv), Method::lanczos4);
  EXPECT_EQ(method_named("Image.BICUBIC", Convention::pillow), Method::cubic);
  EXPECT_EQ(method_named("lanczos", Convention::pillow), Method::lanczos3);
  EXPECT_EQ(method_named("lanczos", Convention::opencv), Method::lanczos4);
  EXPECT_THROW(method_named("sinc", Convention::pillow), Error);
}

// Sums of packed samples: every form is reached and gives the formula's bits, wherever rows lie in memory;
// weights are what their digits add up to; sums that would not fit are refused.
struct Tried {
  const char *convention, *method;
  int images, channels, from_height, from_width, height, width;
  std::int64_t padding;  // samples between rows
};

// To half, to 0.47, larger; incomplete strips; rows that begin at any byte.
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

// The samples that a rung computes; none if it refuses.
std::vector<unsigned char> result_of(const Variant& v, const Choice& choice, const Tried& t) {
  Inputs inputs(resizing(), Element::u8, case_of(t), 7, {.padding = t.padding});
  if (v.refuses(choice, inputs.arguments(), choice.defaults(), find_backend(v.where)->devices().at(0)))
    return {};
  inputs.poison();
  (void)run(
      resizing(), inputs.arguments(),
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

TEST(Packed, ChoosesTheHighestRungThatSupportsThePlan) {
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
Packing packed(ResizePlan plan, const std::vector<std::int32_t>& weights, std::vector<std::int32_t>& table) {
  const auto taps = static_cast<std::int32_t>(weights.size());
  table = {3, taps};
  table.insert(table.end(), weights.begin(), weights.end());
  plan.along = plan.across = {0, 1, 2, taps};
  return packing_of(plan, 1, 1, table);
}

ResizePlan pillow() {
  ResizePlan out;
  out.recipe = Recipe::whole;
  out.along_shift = out.across_shift = 22;
  return out;
}

TEST(Packed, DigitsAddUpToTheWeights) {
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

TEST(Packed, RefusesWeightsThatDoNotFit) {
  std::vector<std::int32_t> table;
  EXPECT_EQ(packed(pillow(), {127 * 0x010101}, table).kind, Packed::bytes);
  EXPECT_EQ(packed(pillow(), {127 * 0x010101 + 1}, table).kind, Packed::none);  // not three signed bytes
  EXPECT_EQ(packed(pillow(), {8355711, 66000}, table).kind, Packed::none);      // 255 times is more than 2^31
  EXPECT_EQ(packed(pillow(), {-8355711, -80000}, table).kind, Packed::none);
  EXPECT_EQ(packed(pillow(), std::vector<std::int32_t>(25, 1000), table).kind,
            Packed::none);  // more than six words
  ResizePlan opencv;
  opencv.recipe = Recipe::whole;
  opencv.across_shift = 22;
  EXPECT_EQ(packed(opencv, {-300, 2048, 300}, table).kind, Packed::whole);
  EXPECT_EQ(packed(opencv, {-1024, 2048, 1024}, table).kind, Packed::none);
  EXPECT_EQ(packed(opencv, {2048, 32640}, table).kind, Packed::none);
  opencv.linear_light = true;
  EXPECT_EQ(packed(opencv, {2048}, table).kind, Packed::none);
}

// The CPU's summit against the rung below, with each instruction set of this machine: it decides how bytes
// are looked up.
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
  for (const std::int64_t channels : {1, 3, 4, 17})
    for (const Size to : {Size{11, 29}, {4, 6}, {24, 77}}) {
      for (const char* method : {"linear", "linear_exact", "cubic", "lanczos4", "lanczos3", "area"})
        check(bytes({22, 62}, to, channels, "opencv", method));
      for (const char* method : {"linear", "cubic", "lanczos3", "area"}) {
        check(bytes({22, 62}, to, channels, "pillow", method));
        check(bytes({22, 62}, to, channels, "onnx", method == std::string("area") ? "lanczos4" : method));
      }
    }
}

// Means whose sums take 16 bits, and more than 16 bits.
TEST_F(EveryTarget, MeansOfAFewAndOfMany) {
  for (const std::int64_t factor : {2, 3, 8, 11, 12, 40})
    for (const std::int64_t channels : {1, 2, 3, 4})
      check(bytes({3 * factor, 37 * factor}, {3, 37}, channels, "opencv", "area"));
}

TEST_F(EveryTarget, RowsShorterThanALoad) {
  for (std::int64_t width = 1; width < 20; width += 3)
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
}  // namespace tessera::resizing
