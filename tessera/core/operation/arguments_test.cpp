// SPDX-License-Identifier: Apache-2.0
// A toy operation with what the product lacks: no array input, an optional array, an output sized
// by an argument and an expression of it.
#include "tessera/core/operation/arguments.hpp"
#include <gtest/gtest.h>

namespace tessera {
namespace {

const Signature& toy() {
  static const Signature signature{{
      parameter::integer("width", 4, 1, 100, "columns"),
      parameter::real("scale", 1.5, "a factor"),
      parameter::choice("mode", {"plain", "fancy"}, "how"),
      parameter::optional_input("mask", {"width"}, "what to keep"),
      parameter::output("out", {"2*width", "width"}, "the picture"),
  }};
  return signature;
}

const Signature& product() {
  static const Signature signature = [] {
    Signature s{{parameter::input("A", {"m", "k"}, ""), parameter::input("B", {"k", "n"}, ""),
                 parameter::choice("op-a", {"none", "transpose"}, ""),
                 parameter::output("C", {"m", "n"}, "")}};
    s.parameters[0].transposed_by = "op-a";
    return s;
  }();
  return signature;
}

template <class F>
std::string complaint_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Arguments, SizesOutputsByExpressions) {
  const Arguments by_default(toy(), Element::f32, {}, {});
  EXPECT_EQ(by_default.array("out").extents, (Extents{8, 4}));
  EXPECT_FALSE(by_default.has("mask"));
  EXPECT_EQ(by_default.real("scale"), 1.5);
  EXPECT_EQ(by_default.text("mode"), "plain");
  const Array mask(Element::f32, {7});
  const Arguments given(toy(), Element::f32, {{"mask", mask.view()}}, {{"width", "7"}, {"mode", "fancy"}});
  EXPECT_EQ(given.array("out").extents, (Extents{14, 7}));
  EXPECT_EQ(given.integer("width"), 7);
}

TEST(Arguments, ChecksAnOptionalArrayAgainstTheOtherArguments) {
  const Array mask(Element::f32, {9});
  EXPECT_EQ(complaint_of([&] {
              Arguments(toy(), Element::f32, {{"mask", mask.view()}}, {});
            }),
            "mask has width = 9, but --width has 4");
}

TEST(Arguments, NamesTheArraysThatDisagree) {
  const Array a(Element::f32, {10, 65}), b(Element::f32, {33, 7});
  EXPECT_EQ(complaint_of([&] {
              Arguments(product(), Element::f32, {{"A", a.view()}, {"B", b.view()}}, {});
            }),
            "B has k = 33, but A has 65");
  EXPECT_EQ(complaint_of([&] {
              Arguments(product(), Element::f32, {{"A", a.view()}}, {});
            }),
            "the array B is missing");
  const Array wrong(Element::f64, {65, 7});
  EXPECT_EQ(complaint_of([&] {
              Arguments(product(), Element::f32, {{"A", a.view()}, {"B", wrong.view()}}, {});
            }),
            "B holds f64, not f32");
  const Array flat(Element::f32, {65});
  EXPECT_EQ(complaint_of([&] {
              Arguments(product(), Element::f32, {{"A", a.view()}, {"B", flat.view()}}, {});
            }),
            "B has 1 dimension, not 2");
}

TEST(Arguments, RefusesAnOutputLargerThanMemory) {
  const std::int64_t wide = std::int64_t{1} << 31;
  const Array a(Element::f32, {wide, 0}), b(Element::f32, {0, wide});
  EXPECT_EQ(complaint_of([&] {
              Arguments(product(), Element::f32, {{"A", a.view()}, {"B", b.view()}}, {});
            }),
            "an array of 2147483648 × 2147483648 elements of f32 is larger than any memory");
}

TEST(Arguments, TransposesByStrides) {
  const Array a(Element::f32, {65, 10}), b(Element::f32, {65, 7});
  const Arguments x(product(), Element::f32, {{"A", a.view()}, {"B", b.view()}}, {{"op-a", "transpose"}});
  EXPECT_EQ(x.array("C").extents, (Extents{10, 7}));
  const auto view = x.view<const float, 2>("A");
  EXPECT_EQ(view.rows(), 10);
  EXPECT_EQ(view.stride[0], 1);
  EXPECT_EQ(view.stride[1], 10);
}

TEST(Arguments, SuggestsTheNearestChoice) {
  EXPECT_EQ(complaint_of([] {
              Arguments(toy(), Element::f32, {}, {{"mode", "fancyy"}});
            }),
            "--mode cannot be 'fancyy'; did you mean 'fancy'?");
  EXPECT_NE(complaint_of([] {
              Arguments(toy(), Element::f32, {}, {{"width", "101"}});
            }).find("1 to 100"),
            std::string::npos);
  EXPECT_NE(complaint_of([] {
              Arguments(toy(), Element::f32, {}, {{"scale", "nan"}});
            }).find("needs a finite number"),
            std::string::npos);
}

const Signature& spoken() {
  using namespace parameter;
  static const Signature signature{{word("WHAT", "what to do"), words("MORE", "the rest"),
                                    text("how", "well", "the manner"),
                                    optional_integer("often", 1, 9, "how often"),
                                    output("answer", {}, "one number"), value("doubt", "how sure")}};
  return signature;
}

TEST(Arguments, AcceptsPositionalTextAndOptionalNumbers) {
  const Arguments some(spoken(), Element::f64, {}, {{"WHAT", "sing"}});
  EXPECT_EQ(some.text("MORE"), "");
  EXPECT_EQ(some.text("how"), "well");
  EXPECT_EQ(some.text("often"), "");
  EXPECT_TRUE(some.dims().empty());
  EXPECT_EQ(some.array("answer").count(), 1);
  const Arguments all(spoken(), Element::f64, {},
                      {{"WHAT", "sing"}, {"MORE", "and dance"}, {"often", "2*3"}});
  EXPECT_EQ(all.integer("often"), 6);
  EXPECT_EQ(all.dim("often"), 6);
  EXPECT_EQ(complaint_of([] { Arguments(spoken(), Element::f64, {}, {}); }),
            "the WHAT is missing: what to do");
  EXPECT_NE(complaint_of([] {
              Arguments(spoken(), Element::f64, {}, {{"WHAT", "sing"}, {"often", "0"}});
            }).find("1 to 9"),
            std::string::npos);
  EXPECT_EQ(spoken().usage(), "WHAT [MORE…] [OPTIONS] -> answer doubt");
}

TEST(Arguments, RefusesAParameterGivenTwice) {
  Signature signature;
  signature.parameters = {parameter::input("A", {"m"}, ""), parameter::integer("roi_width", 1, 0, 9, "")};
  float a[2] = {};
  EXPECT_EQ(complaint_of([&] {
              Arguments(signature, Element::f32, {{"A", {a, Element::f32, {2}, {1}}}},
                        {{"roi-width", "3"}, {"roi_width", "2"}});
            }),
            "--roi-width is given twice");
}

TEST(Arguments, RefusesWordsWithoutEffect) {
  const auto says = [](const char* name, const Arguments::Words& words, bool serves = false) {
    return complaint_of(
        [&] { require_option_used(Arguments(toy(), Element::f32, {}, words), name, serves, "wide ones"); });
  };
  EXPECT_EQ(says("width", {{"width", "5"}}), "--width 5 is only for wide ones");
  EXPECT_EQ(says("width", {{"width", "5"}}, true), "no error");
  EXPECT_EQ(says("width", {{"width", "2+2"}}), "no error") << "the default in other words";
  EXPECT_EQ(says("scale", {{"scale", "2"}}), "--scale 2 is only for wide ones");
  EXPECT_EQ(says("scale", {{"scale", "1.50"}}), "no error");
  EXPECT_EQ(says("mode", {{"mode", "fancy"}}), "--mode fancy is only for wide ones");
  EXPECT_EQ(says("mode", {}), "no error");
}

TEST(Arguments, ReportsTheRangeOfANumber) {
  Signature s = toy();
  Parameter& scale = s.parameters[1];
  const auto says = [&](const char* word) {
    return complaint_of([&] { Arguments(s, Element::f32, {}, {{"scale", word}}); });
  };
  scale.minimum = 0.5;
  EXPECT_EQ(says("0.25"), "--scale 0.25 is out of its range, 0.5 and more");
  scale.maximum = 2e9;
  EXPECT_EQ(says("1e39"), "--scale 1e39 is out of its range, 0.5 to 2e+09");
}

TEST(Arguments, UsageNamesArraysAndDimensions) {
  EXPECT_EQ(toy().usage(), "[OPTIONS] -> out[2*width,width]");
  EXPECT_EQ(product().dimensions(), (std::vector<std::string>{"m", "n", "k"}));
}

}  // namespace
}  // namespace tessera
