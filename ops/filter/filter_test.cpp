// SPDX-License-Identifier: Apache-2.0
// Tests that are specific to filter: equal bits from every rung, borders, and kernels by name.
#include "filter.hpp"
#include <gtest/gtest.h>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <set>
#include "options.hpp"
#include "tessera/core/array/random.hpp"
#include "tessera/run/conformance.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/run.hpp"
#include "tests/every_target.hpp"

namespace tessera::filtering {
namespace {

const Operation& filtering() { return *find_operation("filter"); }

TEST(Border, ExtendsAsDocumented) {
  // Ten samples before abcd, abcd, ten samples after; '.' is the constant.
  const std::pair<Border, const char*> drawn[] = {{Border::constant, "..........abcd.........."},
                                                  {Border::replicate, "aaaaaaaaaaabcddddddddddd"},
                                                  {Border::reflect, "baabcddcbaabcddcbaabcddc"},
                                                  {Border::reflect_101, "cdcbabcdcbabcdcbabcdcbab"},
                                                  {Border::wrap, "cdabcdabcdabcdabcdabcdab"}};
  for (const auto& [border, text] : drawn) {
    std::string seen;
    for (int i = -10; i < 14; ++i) {
      const int at = border_index(i, 4, border);
      seen += at == from_constant ? '.' : "abcd"[at];
    }
    EXPECT_EQ(seen, text);
  }
}

TEST(Border, WorksForASinglePixel) {
  for (const Border border : {Border::replicate, Border::reflect, Border::reflect_101, Border::wrap})
    for (int i = -40; i < 40; ++i) EXPECT_EQ(border_index(i, 1, border), 0);
}

// Options that have no effect on the kernel or the border are rejected.
void leave_out_the_idle(Arguments::Words& words) {
  const std::string kernel = words.at("kernel");
  if (kernel != "gaussian" && kernel != "box") words.erase("size");
  if (kernel != "gaussian") words.erase("sigma");
  if (words.at("border") != "constant") words.erase("border-value");
}

Case random_case(Random& random) {
  const auto pick = [&](std::vector<std::string> words) { return words[random.below(words.size())]; };
  const auto text = [](std::uint64_t n) { return std::to_string(n); };
  Case out;
  out.dims = {{"images", 1 + random.below(2)},
              {"height", 1 + random.below(24)},
              {"width", 1 + random.below(90)},
              {"channels", 1 + random.below(4)}};
  out.words = {{"kernel", pick({"laplacian4", "laplacian8", "laplacian_ksize3", "gaussian", "box", "sobel_x",
                                "sobel_y", "scharr_x", "sharpen", "1 -2 0.5", "3; -1; 4", "0.3 0.1; -0.2 1",
                                "0.1 0.2; 0.3 0.6", "1 2 3; 4 5 6; 7 8 10", "0 0 0; 0 -7 0; 0 0 0"})},
               {"size", text(1 + 2 * random.below(8))},
               {"mode", pick({"correlation", "convolution"})},
               {"border", pick({"constant", "replicate", "reflect", "reflect_101", "wrap"})},
               {"border-value", text(random.below(9))},
               {"abs", pick({"no", "yes"})},
               {"scale", pick({"1", "1", "0.37", "-2"})},
               {"offset", pick({"0", "0", "12", "0.5"})},
               {"output-element", pick({"same", "same", "u8", "u16", "i16", "f16", "f32"})}};
  leave_out_the_idle(out.words);
  return out;
}

// The result's bytes from one rung.
std::vector<char> computed(const Variant& v, const Tuning& tuning, const Case& chosen, Element element,
                           std::uint64_t seed) {
  Inputs inputs(filtering(), element, chosen, seed);
  Request request{
      .device = std::string(name_of(v.where)), .variant = v.name, .tuning = tuning, .cached = false};
  (void)run(filtering(), inputs.arguments(), request);
  const ArrayView& out = inputs.arguments().array("filtered");
  const auto* bytes = static_cast<const char*>(out.data);
  return {bytes, bytes + out.bytes()};
}

TEST(Filter, EveryRungGivesTheSameBits) {
  Random random(3);
  int compared = 0;
  for (int i = 0; i < 40; ++i) {
    const Case chosen = random_case(random);
    const Element element = filtering().elements[random.below(5)];
    std::vector<char> wanted;
    for (const Variant* v : ladder_of("filter")) {
      if (v->where == Where::cuda || v->baseline) continue;
      const Choice& choice = v->choices[random.below(v->choices.size())];
      const Inputs inputs(filtering(), element, chosen, 1);
      if (v->refuses(choice, inputs.arguments(), choice.defaults(), find_backend(v->where)->devices().at(0)))
        continue;
      const std::vector<char> got =
          computed(*v, choice.tuning, chosen, element, static_cast<std::uint64_t>(i));
      if (wanted.empty()) wanted = got;
      ASSERT_EQ(got.size(), wanted.size());
      EXPECT_EQ(std::memcmp(got.data(), wanted.data(), got.size()), 0)
          << v->name << " " << name_of(element) << " " << to_string(chosen);
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
}

const Variant& named(Where where, const std::string& name) {
  for (const Variant* v : ladder_of("filter"))
    if (v->where == where && v->name.ends_with(name)) return *v;
  throw Error("no " + name);
}

// Several strips and steps, unaligned rows, every number of taps.
Case wide_case(Random& random) {
  const auto pick = [&](std::vector<std::string> words) { return words[random.below(words.size())]; };
  const std::int64_t width = random.below(2) == 0 ? 16 * (1 + random.below(36)) : 1 + random.below(560);
  Case out{.dims = {{"images", 1},
                    {"height", 1 + random.below(90)},
                    {"width", width},
                    {"channels", 1 + random.below(4) / 3}},
           .words = {{"kernel", pick({"gaussian", "gaussian", "box", "1 2 1 3 9; 2 4 2 6 18", "scharr_x"})},
                     {"size", std::to_string(1 + 2 * random.below(16))},
                     {"sigma", pick({"0", "0", "1.2"})},
                     {"border", pick({"constant", "replicate", "reflect", "reflect_101", "wrap"})},
                     {"border-value", "7"},
                     {"roi_x", std::to_string(random.below(std::min<std::uint64_t>(width, 20)))},
                     {"output-element", pick({"same", "same", "same", "f32"})}}};
  leave_out_the_idle(out.words);
  return out;
}

// Compares cases of strips on the rung of this name with rows from the CPU; returns their number.
int compare_strips(const std::string& name, Element usual) {
  Random random(11);
  const Variant &strips = named(Where::simt, name), &rows = named(Where::cpu, "simd");
  int compared = 0;
  for (std::uint64_t i = 0; i < 20; ++i) {
    const Case chosen = wide_case(random);
    const Element element = i % 2 == 0 ? usual : filtering().elements[random.below(5)];
    const Choice& choice = strips.choices[random.below(strips.choices.size())];
    Tuning tuning = choice.defaults();
    tuning.set("rows", static_cast<int>(1 + random.below(80)));
    const Inputs inputs(filtering(), element, chosen, 1);
    if (strips.refuses(choice, inputs.arguments(), tuning, find_backend(Where::simt)->devices().at(0)))
      continue;
    const std::vector<char> got = computed(strips, tuning, chosen, element, i),
                            wanted = computed(rows, rows.choices[0].tuning, chosen, element, i);
    EXPECT_EQ(got, wanted) << name_of(element) << " rows=" << tuning["rows"] << " " << to_string(chosen);
    ++compared;
  }
  return compared;
}

TEST(Filter, StripsOfAnyWidthAndHeightGiveTheSameBits) {
  EXPECT_GT(compare_strips("separable", Element::u8), 15);
  EXPECT_GT(compare_strips("streamed_strips", Element::f32), 2);
}

// Rows of whole runs of 16 bytes, at most `max_runs` and some, of a picture of about `samples` samples; some
// are narrower than a strip.
Case streamed_case(Random& random, Element element, std::uint64_t max_runs, std::int64_t samples,
                   const std::vector<std::string>& kernels) {
  const auto pick = [&](std::vector<std::string> words) { return words[random.below(words.size())]; };
  const std::int64_t run = element == Element::u8 ? 16 : 4, runs = 3 + random.below(max_runs),
                     channels = 1 + 2 * random.below(2);
  const std::int64_t before = run * random.below(3), above = random.below(3), width = run * runs - before;
  const std::int64_t height = samples / (width * channels) + 1 + random.below(9);
  Case out{.dims = {{"images", 1 + random.below(2)},
                    {"height", height + above + random.below(2)},
                    {"width", run * (runs + random.below(2))},
                    {"channels", channels}},
           .words = {{"kernel", pick(kernels)},
                     {"size", std::to_string(1 + 2 * random.below(16))},
                     {"sigma", pick({"0", "1.2"})},
                     {"border", pick({"constant", "replicate", "reflect", "reflect_101", "wrap"})},
                     {"border-value", "200"},
                     {"abs", pick({"no", "yes"})},
                     {"roi_x", std::to_string(before)},
                     {"roi_y", std::to_string(above)},
                     {"roi_width", std::to_string(width)},
                     {"roi_height", std::to_string(height)}}};
  leave_out_the_idle(out.words);
  return out;
}

TEST(Filter, StreamedRowsGiveTheSameBits) {
  Random random(5);
  const Variant &streamed = named(Where::simt, "streamed"), &rows = named(Where::cpu, "simd");
  for (std::uint64_t i = 0; i < 8; ++i) {
    const Element element = i % 2 == 0 ? Element::u8 : Element::f32;
    const Case chosen = streamed_case(random, element, 320, 1 << 17,
                                      {"laplacian4", "laplacian8", "1 -1 0; 2 0 1; 0 -1 1", "1 2", "3; -1; 4",
                                       element == Element::u8 ? "sobel_x" : "1 2 1; 2 4 2; 1 2 1"});
    const Choice& choice = streamed.choices[random.below(streamed.choices.size())];
    Tuning tuning = choice.defaults();
    tuning.set("rows", static_cast<int>(1 + random.below(40)));
    const std::vector<char> got = computed(streamed, tuning, chosen, element, i),
                            wanted = computed(rows, rows.choices[0].tuning, chosen, element, i);
    EXPECT_EQ(got, wanted) << name_of(element) << " rows=" << tuning["rows"] << " " << to_string(chosen);
  }
}

TEST(Filter, ProductsOfMatricesGiveTheSameBits) {
  Random random(8);
  const Variant &matrices = named(Where::simt, "matrices"), &rows = named(Where::cpu, "simd");
  std::set<std::size_t> forms;
  for (std::uint64_t i = 0; i < 12; ++i) {
    const Case chosen =
        streamed_case(random, Element::u8, 80, 1 << 12,
                      {"gaussian", "gaussian", "box", "1 2 1 3 9; 2 4 2 6 18", "1 0; 2 0; 0 0; 3 0; 1 0"});
    const Inputs inputs(filtering(), Element::u8, chosen, 1);
    for (std::size_t form = 0; form < matrices.choices.size(); ++form) {
      const Choice& choice = matrices.choices[form];
      Tuning tuning = choice.defaults();
      tuning.set("rows", static_cast<int>(1 + random.below(40)));
      if (matrices.refuses(choice, inputs.arguments(), tuning, find_backend(Where::simt)->devices().at(0)))
        continue;
      const std::vector<char> got = computed(matrices, tuning, chosen, Element::u8, i),
                              wanted = computed(rows, rows.choices[0].tuning, chosen, Element::u8, i);
      EXPECT_EQ(got, wanted) << to_string(tuning) << " " << to_string(chosen);
      forms.insert(form);
      break;  // the first that serves, as in a plain call
    }
  }
  EXPECT_EQ(forms.size(), matrices.choices.size());
}

TEST(Kernel, GaussiansOfBytesSumTo256) {
  for (int size = 1; size <= max_taps; size += 2)
    for (const double sigma : {0.0, 0.5, 1.5, 7.0}) {
      const Kernel k = kernel_of("gaussian", size, sigma, Element::u8);
      EXPECT_EQ(std::accumulate(k.row.begin(), k.row.end(), 0.0), 256) << size;
      for (std::size_t i = 0; i < k.row.size(); ++i) {
        EXPECT_EQ(k.row[i], k.row[k.row.size() - 1 - i]);
        EXPECT_GE(k.row[i], 0);
      }
    }
  // 18.12, 62.58 and 94.60: the second takes the rounding error of the first.
  EXPECT_EQ(kernel_of("gaussian", 5, 1.1, Element::u8).row, (std::vector<double>{18, 63, 94, 63, 18}));
}

// Rounded, they equal the bytes of the same call with a result of u8.
TEST(Filter, AGaussianOfBytesIntoFloatsKeepsItsFractions) {
  const auto filtered = [](const char* to, auto& values) {
    const Case chosen{.dims = {{"images", 1}, {"height", 20}, {"width", 30}, {"channels", 1}},
                      .words = {{"kernel", "gaussian"}, {"size", "5"}, {"output-element", to}}};
    Inputs inputs(filtering(), Element::u8, chosen, 3);
    (void)run(filtering(), inputs.arguments(), {.device = "cpu", .cached = false});
    using T = typename std::decay_t<decltype(values)>::value_type;
    const auto* const from = static_cast<const T*>(inputs.arguments().array("filtered").data);
    values.assign(from, from + 600);
  };
  std::vector<float> floats;
  std::vector<std::uint8_t> bytes;
  filtered("f32", floats);
  filtered("u8", bytes);
  int fractions = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(std::floor(floats[i] + 0.5f), static_cast<float>(bytes[i]));
    fractions += floats[i] != std::floor(floats[i]);
  }
  EXPECT_GT(fractions, 500);
}

TEST(Kernel, ShortGaussiansOfNoWidthAreOpenCvs) {
  using Row = std::vector<double>;
  for (const Element element : {Element::u8, Element::f32}) {
    const double one = element == Element::u8 ? 256 : 1;
    const auto row = [&](int size) {
      Row out = kernel_of("gaussian", size, 0, element).row;
      for (double& w : out) w *= 256 / one;
      return out;
    };
    EXPECT_EQ(row(1), Row({256}));
    EXPECT_EQ(row(3), Row({64, 128, 64}));
    EXPECT_EQ(row(5), Row({16, 64, 96, 64, 16}));
    EXPECT_EQ(row(7), Row({8, 28, 56, 72, 56, 28, 8}));
    EXPECT_EQ(row(9), Row({4, 13, 30, 51, 60, 51, 30, 13, 4}));
  }
  // A given sigma is used.
  EXPECT_NE(kernel_of("gaussian", 3, 0.8, Element::f32).row[0], 0.25);
  EXPECT_NEAR(kernel_of("gaussian", 11, 0, Element::f32).row[0], 2.2559306989 / 256, 1e-9);
}

TEST(Kernel, ReportsUnreadableKernels) {
  const auto says = [](const std::string& text, const std::string& what) {
    try {
      (void)kernel_of(text, 4, 0, Element::u8);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  };
  says("laplacain4", "did you mean 'laplacian4'");
  says("1 2; 3", "rows have 2 and 1 weights");
  says("1 2 ?", "'?' is no finite number");
  says("", "it has no number");
  says("gaussian", "odd");
  std::string wide = "1";
  for (int i = 0; i < 31; ++i) wide += " 1";
  says(wide, "1 × 32 weights");
}

std::vector<std::uint8_t> filtered(const Case& chosen, const std::vector<std::uint8_t>& pixels) {
  Inputs inputs(filtering(), Element::u8, chosen, 1);
  std::memcpy(inputs.arguments().array("image").data, pixels.data(), pixels.size());
  EXPECT_TRUE(run(filtering(), inputs.arguments(), {.device = "cpu"}, true).verdict->passed);
  const ArrayView& out = inputs.arguments().array("filtered");
  const auto* bytes = static_cast<const std::uint8_t*>(out.data);
  return {bytes, bytes + out.bytes()};
}

Case sized(std::int64_t height, std::int64_t width, Arguments::Words words) {
  return {.dims = {{"images", 1}, {"height", height}, {"width", width}, {"channels", 1}},
          .words = std::move(words)};
}

TEST(Filter, ALaplacianByHand) {
  const std::vector<std::uint8_t> picture = {10, 20, 30, 40, 55, 60, 70, 80, 90};
  EXPECT_EQ(
      filtered(sized(3, 3, {{"kernel", "laplacian8"}, {"abs", "yes"}, {"border", "constant"}}), picture)[4],
      40);
  EXPECT_EQ(filtered(sized(3, 3, {{"kernel", "laplacian4"}}), picture)[4], 0);  // 200 − 220, saturated
  EXPECT_EQ(filtered(sized(3, 3, {{"kernel", "laplacian4"}, {"offset", "100"}}), picture)[4], 80);
  // reflect_101 at the corner: 2·20 + 2·40 − 4·10
  EXPECT_EQ(filtered(sized(3, 3, {{"kernel", "laplacian4"}}), picture)[0], 80);
}

TEST(Filter, ConstantsAndRampsHaveNoLaplacian) {
  std::vector<std::uint8_t> ramp(12 * 20);
  for (std::size_t i = 0; i < ramp.size(); ++i)
    ramp[i] = static_cast<std::uint8_t>(3 * (i / 20) + 5 * (i % 20));
  for (const char* kernel : {"laplacian4", "laplacian8", "laplacian_ksize3"}) {
    const auto out = filtered(sized(12, 20, {{"kernel", kernel}, {"abs", "yes"}}), ramp);
    for (std::size_t y = 1; y < 11; ++y)
      for (std::size_t x = 1; x < 19; ++x) EXPECT_EQ(out[y * 20 + x], 0);
  }
  const std::vector<std::uint8_t> flat(12 * 20, 201);
  for (const char* kernel : {"gaussian", "box"})
    EXPECT_EQ(filtered(sized(12, 20, {{"kernel", kernel}, {"size", "7"}}), flat), flat) << kernel;
  EXPECT_EQ(filtered(sized(12, 20, {{"kernel", "sharpen"}}), flat), flat);
}

TEST(Filter, AcceptsTheNarrowestAndTheWidestGaussian) {
  std::vector<std::uint8_t> picture(11 * 13);
  for (std::size_t i = 0; i < picture.size(); ++i) picture[i] = static_cast<std::uint8_t>(i * 37);
  const auto with = [&](const char* kernel, const char* sigma) {
    Case c =
        sized(11, 13, {{"kernel", kernel}, {"size", "5"}, {"output-element", "f32"}, {"border", "wrap"}});
    if (sigma != nullptr) c.words["sigma"] = sigma;
    return filtered(c, picture);
  };
  Case same = sized(11, 13, {{"kernel", "1"}, {"output-element", "f32"}});
  EXPECT_EQ(with("gaussian", "1e-300"), filtered(same, picture));
  const auto flat = with("gaussian", "1e300"), box = with("box", nullptr);
  for (std::size_t i = 0; i + 4 <= flat.size(); i += 4) {
    float one = 0, other = 0;
    std::memcpy(&one, &flat[i], 4);
    std::memcpy(&other, &box[i], 4);
    EXPECT_NEAR(one, other, 6) << "weights of u8 are 256ths";
  }
}

TEST(Filter, ABadRegionOrBorderIsReported) {
  const auto says = [](Arguments::Words words, const std::string& what) {
    try {
      (void)filtered(sized(4, 5, std::move(words)), std::vector<std::uint8_t>(20));
      ADD_FAILURE() << what;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  };
  says({{"roi_x", "3"}, {"roi_width", "3"}}, "beyond the image: 3 + 3 > width = 5");
  says({{"border", "mirorr"}}, "did you mean 'mirror'");
  says({{"border", "constant"}, {"border-value", "256"}}, "no value of u8");
  says({{"kernel", "1e39"}}, "the weight 1e+39 is outside the range of f32");
}

TEST(Kernel, RowsOfNumbersAsTheyAreTyped) {
  using Rows = std::vector<std::vector<double>>;
  const Rows square{{1, 2}, {3, -4}};
  for (const char* text :
       {"1 2; 3 -4", "1,2;3,-4", " 1 , +2 ;\t3 -4 ; ", "1 2\n3 -4\n", "1 2\r\n3 -4\r\n", "1 2;\n3 -4;"})
    EXPECT_EQ(rows_of_numbers(text), square) << text;
  EXPECT_EQ(rows_of_numbers(".5 1e-3 -2E2"), (Rows{{0.5, 1e-3, -200}}));
}

TEST(Kernel, ReportsInvalidRowsOfNumbers) {
  const auto says = [](const char* text, const std::string& what) {
    try {
      (void)rows_of_numbers(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      const std::string said = error.what();
      EXPECT_TRUE(said.starts_with(std::string("--kernel '") + text + "': ")) << said;
      EXPECT_NE(said.find(what), std::string::npos) << said;
    }
  };
  for (const char* text : {" ", ";", ";;"}) says(text, "it has no number");
  for (const char* text : {"1,,2", ",1", "1,2,"}) says(text, "a number is missing beside a comma");
  says("1 2; 3", "its rows have 2 and 1 weights");
  for (const char* text : {"1-2", "0x10", "1/16", "--3", "1 + 2", "nan", "[1]"})
    says(text, "is no finite number");
}

TEST(Filter, RefusesFactorsOutsideTheRangeOfFloat) {
  const auto says = [](Element element, Arguments::Words words, const std::string& what) {
    try {
      Inputs inputs(*find_operation("filter"), element, sized(4, 5, std::move(words)), 1);
      (void)options_of(inputs.arguments());
      EXPECT_EQ(what, "");
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), what);
    }
  };
  for (const char* scale : {"1e39", "-1e300", "1e-60"})
    says(Element::u8, {{"scale", scale}},
         std::string("--scale ") + scale + " is not a number that f32 can hold");
  says(Element::u8, {{"scale", "1e-44"}}, "");
  says(Element::u8, {{"scale", "0"}}, "");
  says(Element::u8, {{"offset", "-1e39"}}, "--offset -1e39 is not a number that f32 can hold");
  says(Element::u8, {{"offset", "1e-60"}}, "");
  const auto beyond = [](const char* value) {
    return Arguments::Words{{"border", "constant"}, {"border-value", value}};
  };
  says(Element::f32, beyond("1e39"), "--border-value 1e39 is more than f32 can hold");
  says(Element::f16, beyond("65520"), "--border-value 65520 is more than f16 can hold");
  says(Element::f16, beyond("65519"), "");
}

TEST(Filter, RefusesOptionsWithoutEffect) {
  const auto says = [](Arguments::Words words, const std::string& what) {
    try {
      Inputs inputs(*find_operation("filter"), Element::u8, sized(4, 5, std::move(words)), 1);
      (void)options_of(inputs.arguments());
      EXPECT_EQ(what, "");
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), what);
    }
  };
  for (const std::string& kernel : kernel_names()) {
    const bool bell = kernel == "gaussian", sized = bell || kernel == "box";
    says({{"kernel", kernel}, {"size", "5"}}, sized ? "" : "--size 5 is only for --kernel gaussian or box");
    says({{"kernel", kernel}, {"size", "3"}}, "");
    says({{"kernel", kernel}, {"sigma", "2"}}, bell ? "" : "--sigma 2 is only for --kernel gaussian");
  }
  says({{"kernel", "1 2 1"}, {"size", "5"}}, "--size 5 is only for --kernel gaussian or box");
  for (const char* border : {"constant", "BORDER_CONSTANT", "grid-constant"})
    says({{"border", border}, {"border-value", "5"}}, "");
  for (const char* border : {"replicate", "reflect", "reflect_101", "wrap", "nearest"})
    says({{"border", border}, {"border-value", "5"}}, "--border-value 5 is only for --border constant");
}

constexpr double half_place = 0x1p-24;  // half an ulp of f32, relative: the largest rounding error

Kernel rounded(const std::string& text) {
  Kernel out = kernel_of(text, 3, 0, Element::f32);
  round_weights(out);
  return out;
}

bool is_product(Kernel kernel) {
  find_factors(kernel);
  return !kernel.column.empty();
}

TEST(Kernel, SeparatesExactProducts) {
  Kernel product = rounded("2 4 2; -1 -2 -1");
  find_factors(product);
  EXPECT_EQ(product.row, (std::vector<double>{1, 2, 1}));
  EXPECT_EQ(product.column, (std::vector<double>{2, -1}));
  Kernel fractions = rounded("0.5 0.25; 0.25 0.125");
  find_factors(fractions);
  EXPECT_EQ(fractions.row, (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(fractions.column, (std::vector<double>{1, 0.5}));
  for (const char* text :
       {"1 1 1; 1 -8 1; 1 1 1", "1 2; 2 4.000005", "0 0; 0 0", "1 2 3", "1 0; 0 1", "1 1; 1 0"})
    EXPECT_FALSE(is_product(rounded(text))) << text;
  EXPECT_FALSE(
      is_product(rounded("16777216 16777215; 16777215 16777213")));  // whole weights are not rounded ones
}

// A bell, or numbers of any sign and size, of `taps` taps.
std::vector<double> line(Random& random, int taps, double sigma) {
  std::vector<double> out;
  for (int i = 0; i < taps; ++i) {
    const double x = i - (taps - 1) * 0.5;
    out.push_back(sigma > 0 ? std::exp(-x * x / (2 * sigma * sigma)) : random.normal());
  }
  return out;
}

Kernel outer(const std::vector<double>& column, const std::vector<double>& row, double factor) {
  Kernel out{static_cast<int>(column.size()), static_cast<int>(row.size()), {}, {}, {}};
  for (const double c : column)
    for (const double r : row) out.weights.push_back(c * r * factor);
  return out;
}

TEST(Kernel, SeparatesRoundedProductsOfDoubles) {
  Random random(11);
  for (int rows = 2; rows <= max_taps; ++rows)
    for (const double sigma : {0.0, 0.4, 1.1, 6.0})  // 0.4: the corners of 31 × 31 are beyond f32's least
      for (const double factor : {1.0, 1.0 / 273, 1e-30}) {
        const int cols = 2 + static_cast<int>(random.below(max_taps - 1));
        Kernel kernel = outer(line(random, rows, sigma), line(random, cols, sigma), factor);
        round_weights(kernel);
        EXPECT_TRUE(is_product(kernel))
            << rows << " x " << cols << " sigma " << sigma << " factor " << factor;
      }
}

TEST(Kernel, KeepsKernelsThatDifferFromAProductByMoreThanRounding) {
  Random random(12);
  for (int i = 0; i < 50; ++i) {
    Kernel kernel = outer(line(random, 5, 2), line(random, 7, 2), 1);
    round_weights(kernel);
    ASSERT_TRUE(is_product(kernel));
    double& w = kernel.weights[random.below(kernel.weights.size())];
    w = static_cast<float>(w * (1 + 20 * half_place));
    EXPECT_FALSE(is_product(kernel));
  }
}

// A Gaussian as tables print it.
std::string printed(int taps, double sigma, int digits) {
  Random none(1);
  const std::vector<double> bell = line(none, taps, sigma);
  double sum = 0;
  for (const double b : bell) sum += b;
  std::string out;
  for (const double c : bell)
    for (std::size_t j = 0; j < bell.size(); ++j) {
      char word[40];
      std::snprintf(word, sizeof word, "%.*f", digits, c * bell[j] / (sum * sum));
      out += std::string(word) + (j + 1 < bell.size() ? " " : "; ");
    }
  return out;
}

// Compares |result − Σ w·x| of a picture of floats, w being the given weights, with the bound for each
// |w|·|x|: a rounding for each tap of the column and the row, one for the column's quotient, five half ulps
// between a weight and its product.
void expect_sums(const std::string& text, bool separable) {
  constexpr int size = 40;
  Arguments::Words words{{"kernel", text}, {"border", "wrap"}};
  Inputs inputs(*find_operation("filter"), Element::f32, sized(size, size, words), 3);
  const Arguments& arguments = inputs.arguments();
  EXPECT_EQ(options_of(arguments).taps.separable, separable) << text;
  EXPECT_TRUE(run(*find_operation("filter"), inputs.arguments(), {.device = "cpu"}, true).verdict->passed);
  const Kernel kernel = rounded(text);
  const auto* const x = static_cast<const float*>(arguments.array("image").data);
  const auto* const out = static_cast<const float*>(arguments.array("filtered").data);
  const double roundings = separable ? kernel.rows + kernel.cols + 1 + 5 + 1 : kernel.rows * kernel.cols + 1;
  for (int y = 0; y < size; ++y)
    for (int at = 0; at < size; ++at) {
      double sum = 0, bound = 0;
      for (int i = 0; i < kernel.rows; ++i)
        for (int j = 0; j < kernel.cols; ++j) {
          const double w = kernel.weights[static_cast<std::size_t>(i * kernel.cols + j)];
          const double sample =
              x[(y + i - kernel.rows / 2 + size) % size * size + (at + j - kernel.cols / 2 + size) % size];
          sum += w * sample;
          bound += roundings * half_place * std::fabs(w) * std::fabs(sample);
        }
      EXPECT_LE(std::fabs(out[y * size + at] - sum), bound);
    }
}

TEST(Filter, SeparableSumsAreAsAccurateAsOthers) {
  expect_sums(printed(9, 2, 12), true);
  expect_sums(printed(15, 1.5, 30), true);
  expect_sums("0.111111 0.111111 0.111111; 0.111111 0.111111 0.111111", true);
  expect_sums("0.003663 0.014652; 0.014652 0.0586081", false);
  expect_sums(printed(9, 2, 6), false);
}

// The CPU's summit against the rung below, with each instruction set of this machine.
class EveryTarget : public tessera::EveryTarget {
 protected:
  EveryTarget() : tessera::EveryTarget("filter") {}

  void check(std::int64_t height, std::int64_t width, std::int64_t channels, Arguments::Words words,
             Element element = Element::u8) const {
    tessera::EveryTarget::check(
        {.dims = {{"images", 1}, {"height", height}, {"width", width}, {"channels", channels}},
         .words = std::move(words)},
        element);
  }
};

const char* const kernels[] = {
    "laplacian4", "laplacian8", "laplacian_ksize3", "sharpen", "0 3 0 -1; 2 -70 1 0; 0 0 5 1",
    "1 1; 1 2",   "-1 0; 0 1"};

TEST_F(EveryTarget, EveryWidth) {
  Random random(1);
  for (std::int64_t width = 1; width < 300; width += 1 + static_cast<std::int64_t>(random.below(25)))
    for (const char* kernel : kernels)
      if (random.below(2) == 0) check(4, width, 1, {{"kernel", kernel}, {"border", "wrap"}});
      else check(4, width, 1, {{"kernel", kernel}, {"border", "constant"}, {"border-value", "9"}});
}

TEST_F(EveryTarget, MagnitudesAndOffsets) {
  for (const char* kernel : {"laplacian8", "sharpen", "0 3 0 -1; 2 -70 1 0; 0 0 5 1"})
    for (const char* offset : {"0", "100", "-100"})
      for (const char* magnitude : {"no", "yes"})
        for (const std::int64_t channels : {1, 3, 4})
          check(6, 70, channels, {{"kernel", kernel}, {"abs", magnitude}, {"offset", offset}});
}

TEST_F(EveryTarget, SeveralStrips) {
  for (const std::int64_t channels : {1, 3, 20000})
    check(3, channels < 9 ? 20000 : 3, channels, {{"kernel", "laplacian4"}, {"roi_x", "1"}});
}

// Every type of sums into every type of results.
TEST_F(EveryTarget, SumsOfEveryType) {
  for (const Element element : {Element::u8, Element::u16, Element::i16, Element::f16, Element::f32})
    for (const char* kernel : {"sobel_x", "laplacian8", "gaussian", "0.1 -0.7 0.2; 1.5 0.3 -0.4"})
      for (const char* to : {"u8", "u16", "i16", "f16", "f32"})
        check(5, 371, 3, {{"kernel", kernel}, {"output-element", to}, {"border", "reflect"}}, element);
}

// A result of 16 MiB is written by non-temporal stores; in two parts it is not. Rows are unaligned.
TEST(Filter, LargeResultsEqualTheirTiles) {
  constexpr std::int64_t large = std::int64_t{16} << 20;
  const auto& simd = named(Where::cpu, "simd");
  const auto compare = [&](Element element, std::int64_t width, Arguments::Words words) {
    const std::int64_t height = large / static_cast<std::int64_t>(size_of(element)) / width + 1;
    const auto rows = [&](std::int64_t first, std::int64_t count) {
      Case part{.dims = {{"images", 1}, {"height", height}, {"width", width}, {"channels", 1}},
                .words = words};
      part.words["roi_y"] = std::to_string(first);
      part.words["roi_height"] = std::to_string(count);
      return computed(simd, simd.choices[0].tuning, part, element, 1);
    };
    std::vector<char> parts = rows(0, height / 2);
    const std::vector<char> rest = rows(height / 2, height - height / 2);
    parts.insert(parts.end(), rest.begin(), rest.end());
    EXPECT_TRUE(rows(0, height) == parts) << name_of(element);
  };
  compare(Element::u8, 8209, {{"kernel", "laplacian4"}});
  compare(Element::f32, 2051, {{"kernel", "-1 0.5; 0.5 0.25"}, {"abs", "yes"}, {"scale", "0.7"}});
  compare(Element::u16, 4099, {{"kernel", "gaussian"}});
}

}  // namespace
}  // namespace tessera::filtering
