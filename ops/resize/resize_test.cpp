// SPDX-License-Identifier: Apache-2.0
// What resizing alone promises: the same bits from every rung, tables by their definitions, names as
// libraries have them. tests/resize_test.py holds it against those libraries.
#include "resize.hpp"
#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include <numeric>
#include "axis.hpp"
#include "tessera/core/random.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/run.hpp"
#include "resize_options.hpp"

namespace tessera::resize {
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
  if (out.words["method"].starts_with("nearest"))  // copies have no use for them
    for (const char* name : {"antialias", "exclude-outside", "light"}) out.words.erase(name);
  return out;
}

std::string reported(const Case& chosen) {
  std::string out;
  for (const auto& [name, size] : chosen.dims) out += name + "=" + std::to_string(size) + " ";
  for (const auto& [name, word] : chosen.words) out += "--" + name + " " + word + " ";
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

// The result's bytes by one rung.
std::vector<char> computed(const Variant& v, const Choice& choice, const Case& chosen, Element element,
                           std::uint64_t seed) {
  Inputs inputs(resizing(), element, chosen, seed);
  Request request{
      .device = std::string(name_of(v.where)), .variant = v.name, .tuning = choice.tuning, .cached = false};
  run(resizing(), inputs.arguments(), request);
  const ArrayView& out = inputs.arguments().array("resized");
  const auto* bytes = static_cast<const char*>(out.data);
  return {bytes, bytes + out.bytes()};
}

TEST(Resize, EveryRungGivesTheSameBits) {
  Random random(5);
  int compared = 0;
  for (int i = 0; i < 150; ++i) {
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
          << v->name << " " << name_of(element) << " " << reported(chosen);
      ++compared;
    }
  }
  EXPECT_GT(compared, 400);
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
      for (const int source : {1, 2, 7, 40, 333})
        for (const int result : {1, 3, 40, 157, 700}) {
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

TEST(Axis, OverlapsByHand) {
  const Axis axis = weighted_axis(options_for(Convention::pillow, Method::area), 5, 2, Area::overlap);
  EXPECT_EQ(axis.start, (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(axis.count, (std::vector<std::int32_t>{3, 3}));
  for (int k = 0; k < 3; ++k) {
    EXPECT_DOUBLE_EQ(axis.weights(0)[k], k == 2 ? 0.2 : 0.4);
    EXPECT_DOUBLE_EQ(axis.weights(1)[k], k == 0 ? 0.2 : 0.4);
  }
}

TEST(Axis, TheNearestOfEachConvention) {
  // Of 5 samples, 2: 1.25 and 3.75 are their middles.
  EXPECT_EQ(nearest_axis(options_for(Convention::opencv, Method::nearest), 5, 2).start,
            (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(nearest_axis(options_for(Convention::pillow, Method::nearest), 5, 2).start,
            (std::vector<std::int32_t>{1, 3}));
  // Of 4 samples, 2: 1 and 3 lie between two; OpenCV's exact one takes the lower.
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

TEST(Words, WithoutEffectAreRefused) {
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
  says({{"scale", "0.5"}, {"height", "5"}}, "");  // what the width is anyway
  says({{"scale", "0.25"}}, "");
}

TEST(Words, WhatLibrariesCallThem) {
  EXPECT_EQ(method_named("cv2.INTER_LANCZOS4", Convention::opencv), Method::lanczos4);
  EXPECT_EQ(method_named("Image.BICUBIC", Convention::pillow), Method::cubic);
  EXPECT_EQ(method_named("lanczos", Convention::pillow), Method::lanczos3);
  EXPECT_EQ(method_named("lanczos", Convention::opencv), Method::lanczos4);
  EXPECT_THROW(method_named("sinc", Convention::pillow), Error);
}

}  // namespace
}  // namespace tessera::resize
