// SPDX-License-Identifier: Apache-2.0
// Typed calls that repeat themselves: they allocate nothing, make and read no text, and serve several
// threads.
#include <gtest/gtest.h>
#include <atomic>
#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <new>
#include <thread>
#include <vector>
#include <algorithm>
#include <string>
#include "tessera/filter.hpp"
#include "tessera/matmul.hpp"
#include "tessera/resize.hpp"
#include "tessera/core/array/random.hpp"
#include "tessera/run/enqueue.hpp"
#include "tessera/io/npy.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/typed_call.hpp"
#include "tests/complaint.hpp"

namespace {
std::atomic<long> allocations = 0, texts = 0;
}

// The program's own definitions are those that its libraries find.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // which does not know that both are replaced
void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* const out = std::malloc(bytes == 0 ? 1 : bytes)) return out;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t) noexcept { std::free(data); }

extern "C" int snprintf(char* to, std::size_t size, const char* format, ...) noexcept {
  ++texts;
  va_list values;
  va_start(values, format);
  const int out = std::vsnprintf(to, size, format, values);
  va_end(values);
  return out;
}
std::from_chars_result std::from_chars(const char* first, const char* last, double& value,
                                       std::chars_format) noexcept {
  ++texts;
  char* end = nullptr;
  value = std::strtod(std::string(first, last).c_str(), &end);
  return {last, std::errc()};
}

namespace tessera {
namespace {

// What `call` does once it has been made some times.
template <class Call>
void expect_nothing_but_work(const char* name, const Call& call) {
  for (int i = 0; i < 3; ++i) call();
  const long before = allocations, texts_before = texts;
  for (int i = 0; i < 100; ++i) call();
  EXPECT_EQ(allocations - before, 0) << name;
  EXPECT_EQ(texts - texts_before, 0) << name;
}

TEST(TypedCalls, AreCounted) {
  const long before = allocations, texts_before = texts;
  std::vector<int> some(100);
  EXPECT_GT(allocations, before);
  const Operation& product = *find_operation("matmul");
  const Inputs inputs(product, Element::f32, {.dims = {{"m", 2}, {"n", 2}, {"k", 2}}}, 1);
  EXPECT_GT(texts, texts_before);
}

template <class T>
class Products : public testing::Test {
 protected:
  static constexpr std::int64_t m = 8, n = 8, k = 8;
  std::vector<T> a_ = std::vector<T>(m * k, T(2)), b_ = std::vector<T>(k * n, T(3)),
                 c_ = std::vector<T>(m * n), bias_ = std::vector<T>(n, T(1));
  matmul::ConstMatrixView<T> a{a_.data(), m, k}, b{b_.data(), k, n};
  matmul::MatrixView<T> c{c_.data(), m, n};

  void expect_all(double value) const {
    for (const T element : c_) ASSERT_EQ(element, static_cast<T>(value));
  }
};
using Elements = testing::Types<float, double, std::int32_t>;
TYPED_TEST_SUITE(Products, Elements);

TYPED_TEST(Products, AllocateNothingWhenRepeated) {
  const auto &left = this->a, &right = this->b;
  const auto& out = this->c;
  expect_nothing_but_work("multiply", [&] { (void)matmul::multiply(left, right, out); });
  this->expect_all(48);
  expect_nothing_but_work("multiply, one thread", [&] {
    (void)matmul::multiply(left, right, out, {.alpha = 2, .request = {.device = "cpu:threads=1"}});
  });
  this->expect_all(96);
  expect_nothing_but_work("enqueue",
                          [&] { (void)matmul::enqueue(nullptr, left, right, out, {.alpha = -1}); });
  this->expect_all(-48);
  const matmul::Prepared<TypeParam> prepared(left, right, out);
  expect_nothing_but_work("Prepared", [&] { prepared.enqueue(nullptr, left.data, right.data, out.data); });
  this->expect_all(48);
}

TYPED_TEST(Products, AddInPlaceWhenRepeated) {
  long calls = 0;
  const auto add = [&] {
    (void)matmul::enqueue(nullptr, this->a, this->b, this->c, {.beta = 1});
    ++calls;
  };
  expect_nothing_but_work("enqueue", add);
  this->expect_all(48.0 * static_cast<double>(calls));
}

// Two threads, each with matrices of its own in several sizes and alignments, by one call and by one plan.
TEST(TypedCalls, ServeSeveralThreads) {
  constexpr int threads = 2, rounds = 50'000, sizes = 7;
  constexpr std::int64_t largest = 12;
  const std::vector<float> a(largest * largest + 8, 1), b(largest * largest + 8, 2);
  std::vector<float> made(largest * largest);
  const matmul::Prepared<float> prepared({a.data(), 4, 5}, {b.data(), 5, 6}, {made.data(), 4, 6});
  std::atomic<int> wrong = 0;
  const auto work = [&](int thread) {
    std::vector<float> c(largest * largest + 8);
    for (int i = 0; i < rounds; ++i) {
      const std::int64_t side = 2 + (i + thread) % sizes, shift = i % 3;
      const matmul::MatrixView<float> out{c.data() + shift, side, side + 1};
      const matmul::ConstMatrixView<float> left{a.data() + shift, side, side + 2},
          right{b.data() + i % 2, side + 2, side + 1};
      if (i % 3 == 0) (void)matmul::multiply(left, right, out);
      else if (i % 3 == 1) (void)matmul::enqueue(nullptr, left, right, out);
      else prepared.enqueue(nullptr, left.data, right.data, out.data);
      const float expected = i % 3 == 2 ? 10 : 2 * static_cast<float>(side + 2);
      wrong += out.data[0] != expected || out.data[i % 3 == 2 ? 23 : side * (side + 1) - 1] != expected;
    }
  };
  for (int t = 0; t < threads; ++t) work(t);  // plans are made
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) all.emplace_back(work, t);
  for (std::thread& one : all) one.join();
  EXPECT_EQ(wrong, 0);
  long before = allocations;
  work(0);
  EXPECT_LE(allocations - before, 2);  // its own C
}

TEST(TypedCalls, ReportErrors) {
  std::vector<float> x(200, 1);
  const matmul::ConstMatrixView<float> a{x.data(), 8, 6}, b{x.data() + 48, 6, 4};
  const matmul::MatrixView<float> c{x.data() + 100, 7, 4}, fits{x.data() + 100, 8, 4};
  EXPECT_EQ(complaint([&] { (void)matmul::multiply(a, b, c, {.beta = 1}); }),
            "C is 7 × 4 of f32, but must be 8 × 4 of f32");
  const float scales[8] = {2, 2, 2, 2, 2, 2, 2, 2};
  const matmul::Options scaled{.beta = 1, .scale_a = {scales, true}};
  const std::size_t bytes = matmul::workspace_bytes(a, b, fits, scaled);
  ASSERT_GT(bytes, 0u);
  for (int again = 0; again < 2; ++again)
    EXPECT_EQ(complaint([&] {
                (void)matmul::enqueue(nullptr, a, b, fits, scaled, {nullptr, bytes});
              }),
              "the workspace has no data");
}

// The executor's rungs plan for the alignment that the arrays have.
TEST(TypedCalls, OnTheExecutorAreDeterministic) {
  std::vector<float> a(260), b(256 * 256 + 1);
  Random random(1);
  for (std::vector<float>* all : {&a, &b})
    for (float& x : *all) x = static_cast<float>(random.normal());
  const auto product = [&](std::int64_t shift) {
    std::vector<float> c(256);
    (void)matmul::enqueue<float>(nullptr, {a.data() + shift, 1, 256}, {b.data() + shift, 256, 256},
                                 {c.data(), 1, 256}, {.request = {.device = "simt"}});
    return c;
  };
  std::vector<float> fresh, after;
  std::thread([&] { fresh = product(1); }).join();
  std::thread([&] { (void)product(0), after = product(1); }).join();
  EXPECT_EQ(fresh, after);
}

// A picture whose sample at (y, x) is 7·y + x + seed, and its box filter of 3 x 1 by hand.
struct Picture {
  std::int64_t height, width;
  std::vector<std::uint8_t> samples, filtered;

  Picture(std::int64_t height_, std::int64_t width_, int seed)
      : height(height_), width(width_), samples(static_cast<std::size_t>(height * width)), filtered(samples) {
    for (std::size_t i = 0; i < samples.size(); ++i)
      samples[i] = static_cast<std::uint8_t>(7 * (static_cast<std::int64_t>(i) / width) +
                                             static_cast<std::int64_t>(i) % width + seed);
  }
  ArrayView image() { return view_of(samples.data()); }
  ArrayView view_of(std::uint8_t* data) const {
    return {data, Element::u8, {1, height, width, 1}, {height * width, width, 1, 1}};
  }
  // Weights 1, 2, 1 along rows; a row's ends are mirrored about their own samples.
  bool is_right(const std::uint8_t* found) const {
    for (std::int64_t i = 0; i < height * width; ++i) {
      const std::int64_t x = i % width, left = x == 0 ? i + 1 : i - 1, right = x == width - 1 ? i - 1 : i + 1;
      const auto at = [&](std::int64_t j) { return int{samples[static_cast<std::size_t>(j)]}; };
      if (found[i] != std::min(255, at(left) + 2 * at(i) + at(right))) return false;
    }
    return true;
  }
};

// One Call, two threads, sizes and addresses that change from run to run.
TEST(TypedCalls, SeveralThreadsAndSizesShareACall) {
  const Call filter("filter", {{"kernel", "1 2 1"}}, {.device = "cpu:threads=1", .variant = "naive"});
  constexpr int rounds = 50'000;
  std::atomic<int> wrong = 0;
  std::atomic<long> grown = 0;
  const auto work = [&](int thread) {
    std::vector<Picture> pictures;
    for (int i = 0; i < 12; ++i) pictures.emplace_back(2 + i % 4, 3 + i % 5, 10 * i + thread);
    std::vector<std::uint8_t> out(100);
    long before = 0;
    for (int i = 0; i < rounds; ++i) {
      if (i == rounds / 2) before = allocations;
      Picture& picture = pictures[static_cast<std::size_t>(i * 7 % 12)];
      std::uint8_t* const at = out.data() + i % 3;
      const ArrayView arrays[] = {picture.image(), picture.view_of(at)};
      if (i % 2 == 0) (void)filter.run(arrays);
      else (void)filter.enqueue(nullptr, arrays);
      wrong += !picture.is_right(at);
    }
    grown += allocations - before;
  };
  std::thread other(work, 1);
  work(2);
  other.join();
  EXPECT_EQ(wrong, 0);
  grown = 0;
  work(3);
  EXPECT_EQ(grown, 0) << "once all plans are remembered";
}

TEST(TypedCalls, ACallOwnsAnOutputThatIsNotGivenAndChecks) {
  const Call filter("filter", {{"kernel", "1 2 1"}});
  Picture picture(4, 9, 0);
  const ArrayView arrays[] = {picture.image(), picture.view_of(nullptr)};
  const Outcome first = filter.run(arrays), second = filter.run(arrays, true);
  EXPECT_TRUE(picture.is_right(first.outputs.at("filtered").as<std::uint8_t>()));
  EXPECT_TRUE(picture.is_right(second.outputs.at("filtered").as<std::uint8_t>()));
  EXPECT_TRUE(second.verdict && second.verdict->passed);
  EXPECT_EQ(complaint([&] { (void)filter.run(std::span(arrays).first(1)); }),
            "filter has the arrays image, filtered; 1 are given");
  EXPECT_EQ(complaint([] { Call unknown("fliter"); }),
            "no operation is called 'fliter'; did you mean 'filter'?");
}

// The weights of a file are read by each run.
TEST(TypedCalls, ACallDoesNotRememberFileContents) {
  const std::string file = testing::TempDir() + "weights.npy";
  const auto write = [&](float middle) {
    const Array weights(Element::f32, {1, 3});
    float* const w = static_cast<float*>(weights.view().data);
    w[0] = w[2] = 1, w[1] = middle;
    npy::write(file, weights.view());
  };
  const Call filter("filter", {{"kernel", file}});
  Picture picture(3, 5, 0);
  std::vector<std::uint8_t> out(15);
  const ArrayView arrays[] = {picture.image(), picture.view_of(out.data())};
  write(0);
  (void)filter.run(arrays);
  EXPECT_FALSE(picture.is_right(out.data()));
  write(2);
  (void)filter.run(arrays);
  EXPECT_TRUE(picture.is_right(out.data()));
}

TEST(TypedCalls, OfPicturesAllocateNothingWhenRepeated) {
  Picture picture(20, 30, 1);
  const ImageView<const std::uint8_t> image{picture.samples.data(), 20, 30};
  std::vector<std::uint8_t> out(600);
  // Of the rung that needs no memory of its own.
  const Request naive{.device = "cpu:threads=1", .variant = "naive"};
  const FilterOptions options{.kernel = "1 2 1", .request = naive};
  expect_nothing_but_work("filter", [&] {
    (void)filter(image, ImageView<std::uint8_t>{out.data(), 20, 30}, options);
  });
  EXPECT_TRUE(picture.is_right(out.data()));
  std::ranges::fill(out, std::uint8_t{0});
  expect_nothing_but_work("enqueue_filter", [&] {
    (void)enqueue_filter(nullptr, image, ImageView<std::uint8_t>{out.data(), 20, 30}, options);
  });
  EXPECT_TRUE(picture.is_right(out.data()));
  std::vector<std::uint8_t> larger(1200);
  const ResizeOptions nearest{.method = "nearest", .request = naive};
  expect_nothing_but_work("resize", [&] {
    (void)resize(image, ImageView<std::uint8_t>{larger.data(), 20, 60}, nearest);
  });
  for (std::size_t i = 0; i < larger.size(); ++i)
    ASSERT_EQ(larger[i], picture.samples[i / 60 * 30 + i % 60 / 2]) << i;
}

// Every option reaches the operation: the calls' bits are those of the words.
TEST(TypedCalls, OfPicturesTakeEveryOption) {
  const Operation& operation = *find_operation("filter");
  Inputs inputs(operation, Element::f32,
                {.dims = {{"images", 2}, {"height", 9}, {"width", 11}, {"channels", 3}}}, 1);
  const ArrayView& image = inputs.arguments().array("image");
  const auto by_words = [&](const char* name, const Arguments::Words& words) {
    const Operation& named = *find_operation(name);
    const Outcome outcome = run(named, Arguments(named.signature, Element::f32, {{"image", image}}, words));
    const ArrayView& out = outcome.outputs.begin()->second.view();
    return std::vector<float>(static_cast<float*>(out.data), static_cast<float*>(out.data) + out.count());
  };
  const ImageView<const float> view{static_cast<float*>(image.data), 9, 11, 3, 0, 2};
  std::vector<float> filtered(2 * 6 * 7 * 3);
  (void)filter(view, ImageView<float>{filtered.data(), 6, 7, 3, 0, 2},
               {.kernel = "gaussian",
                .size = 5,
                .sigma = 1.25,
                .convolution = true,
                .border = Border::constant,
                .border_value = 0.5,
                .abs = true,
                .scale = 0.75,
                .offset = -0.1,
                .roi_x = 4,
                .roi_y = 3});
  EXPECT_EQ(filtered, by_words("filter", {{"kernel", "gaussian"},
                                          {"size", "5"},
                                          {"sigma", "1.25"},
                                          {"mode", "convolution"},
                                          {"border", "constant"},
                                          {"border-value", "0.5"},
                                          {"abs", "yes"},
                                          {"scale", "0.75"},
                                          {"offset", "-0.1"},
                                          {"roi_x", "4"},
                                          {"roi_y", "3"}}));
  std::vector<float> resized(2 * 5 * 17 * 3);
  (void)resize(view, ImageView<float>{resized.data(), 5, 17, 3, 0, 2},
               {.method = "cubic",
                .convention = ResizeOptions::Convention::onnx,
                .cubic_a = -0.6,
                .coordinate = "align_corners",
                .antialias = true,
                .exclude_outside = true});
  EXPECT_EQ(resized, by_words("resize", {{"height", "5"},
                                         {"width", "17"},
                                         {"method", "cubic"},
                                         {"convention", "onnx"},
                                         {"cubic-a", "-0.6"},
                                         {"coordinate", "align_corners"},
                                         {"antialias", "yes"},
                                         {"exclude-outside", "yes"}}));
}

TEST(TypedCalls, NameMembersWhereTheCommandNamesFlags) {
  Picture picture(4, 4, 0);
  std::vector<std::uint8_t> out(16);
  const ImageView<const std::uint8_t> image{picture.samples.data(), 4, 4};
  const ImageView<std::uint8_t> to{out.data(), 4, 4};
  EXPECT_EQ(complaint([&] { (void)filter(image, to, {.kernel = "box", .sigma = 2}); }).find("--"),
            std::string::npos);
  EXPECT_EQ(complaint([&] { (void)filter(image, to, {.kernel = "box", .sigma = 2}); }).substr(0, 5), "sigma");
  std::vector<float> x(32);
  EXPECT_EQ(complaint([&] {
              (void)matmul::multiply<float>({x.data(), 2, 2}, {x.data() + 4, 2, 2}, {x.data() + 8, 2, 2},
                                            {.alpha = 1e300});
            }),
            "alpha 1e+300 is not a number that f32 can hold");
  EXPECT_EQ(without_flags("--output-element f32 or i8 (--op-b x), a - b --, x--y --my-file.npy"),
            "output_element f32 or i8 (op_b x), a - b --, x--y --my-file.npy");
}

// Any operation by its name: one plan, other addresses.
TEST(TypedCalls, OfPicturesCheckViewsAndEnumerators) {
  const std::vector<float> samples(12);
  std::vector<float> out(12);
  const ImageView<const float> image{samples.data(), 3, 4}, none{nullptr, 3, 4, 1, 0, 0};
  const ImageView<float> to{out.data(), 3, 4};
  EXPECT_EQ(enqueue_filter(nullptr, none, ImageView<float>{nullptr, 3, 4, 1, 0, 0}), nullptr);
  (void)filter(none, ImageView<float>{nullptr, 3, 4, 1, 0, 0});
  EXPECT_EQ(complaint([&] { (void)filter(ImageView<const float>{nullptr, 3, 4}, to); }), "image has no data");
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  for (const auto& far :
       {ImageView<const float>{samples.data(), 1, huge, huge},
        ImageView<const float>{samples.data(), huge, 1, 1, huge},
        ImageView<const float>{samples.data(), 1, 1, 1, std::numeric_limits<std::int64_t>::min()}})
    EXPECT_EQ(complaint([&] { (void)filter(far, to); }), "image exceeds the address space");
  for (const int number : {-1, 5})
    EXPECT_EQ(complaint([&] { (void)filter(image, to, {.border = static_cast<Border>(number)}); }),
              "border is number " + std::to_string(number) + " of its enumeration, which ends at 4");
  EXPECT_EQ(complaint([&] { (void)resize(image, to, {.light = static_cast<ResizeOptions::Light>(2)}); }),
            "light is number 2 of its enumeration, which ends at 1");
}

// Arrays of a Call, in the order of the signature.
std::vector<ArrayView> arrays_of(const char* operation, const std::map<std::string, ArrayView>& given) {
  std::vector<ArrayView> out;
  for (const Parameter& p : find_operation(operation)->signature.parameters)
    if (p.is_array()) out.push_back(given.contains(p.name) ? given.at(p.name) : ArrayView{});
  return out;
}

TEST(TypedCalls, ACallInfersTheElementFromAnEmptyMandatoryArray) {
  const Call product("matmul", {{"output-element", "f32"}});
  std::vector<float> c(6, 1.0f);
  (void)product.run(arrays_of("matmul", {{"A", {nullptr, Element::bf16, {2, 0}, {0, 1}}},
                                         {"B", {nullptr, Element::bf16, {0, 3}, {3, 1}}},
                                         {"C", {c.data(), Element::f32, {2, 3}, {3, 1}}}}));
  EXPECT_EQ(c, std::vector<float>(6));
}

TEST(TypedCalls, APlannedCallTellsSizesAndRunsAtOtherAddresses) {
  const Call product("matmul");
  std::vector<float> a(6, 2.0f), b(12, 3.0f), c(9);
  const ArrayView a_view{a.data(), Element::f32, {2, 3}, {3, 1}},
      b_view{b.data(), Element::f32, {3, 4}, {4, 1}};
  const auto planned = product.plan(arrays_of("matmul", {{"A", a_view}, {"B", b_view}}));
  EXPECT_EQ(planned->arguments().array("C").extents, (Extents{2, 4}));
  // Another alignment: processors need none beyond that of the elements.
  EXPECT_EQ(planned, product.plan(arrays_of(
                         "matmul", {{"A", {a.data() + 1, Element::f32, {2, 3}, {3, 1}}}, {"B", b_view}})));
  void* const to[] = {a.data(), b.data(), nullptr, nullptr, nullptr, nullptr, c.data() + 1};
  ASSERT_TRUE(planned->run_at_once(to));
  EXPECT_EQ(c, (std::vector<float>{0, 18, 18, 18, 18, 18, 18, 18, 18}));
  void* const nowhere[] = {a.data(), b.data(), nullptr, nullptr, nullptr, nullptr, nullptr};
  EXPECT_FALSE(planned->run_at_once(nowhere));
  EXPECT_EQ(planned->run(nowhere).outputs.at("C").as<float>()[7], 18);
  void* const onto_b[] = {a.data(), b.data(), nullptr, nullptr, nullptr, nullptr, b.data() + 11};
  EXPECT_FALSE(planned->run_at_once(onto_b));
  EXPECT_NE(complaint([&] { (void)planned->run(onto_b); }).find("overlaps B"), std::string::npos);
}

TEST(TypedCalls, ABatchOfIntegralsRefusesGaps) {
  const Call batch("integrate_batch", {{"FORMULA", "x"}, {"LIMITS", "0 1"}, {"n", "2"}});
  std::vector<double> integrals(4, -1);
  const auto run_with_stride = [&](std::int64_t stride) {
    (void)batch.run(
        arrays_of("integrate_batch", {{"integrals", {integrals.data(), Element::f64, {2}, {stride}}}}));
  };
  EXPECT_EQ(complaint([&] { run_with_stride(2); }), "integrals must be contiguous");
  run_with_stride(1);
  for (int i = 0; i < 2; ++i) EXPECT_NEAR(integrals[i], 0.5, 1e-12);
  for (int i = 2; i < 4; ++i) EXPECT_EQ(integrals[i], -1);
}

TEST(TypedCalls, OfAnyOperationServeSeveralThreads) {
  const Operation& filter = *find_operation("filter");
  const Case picture{.dims = {{"images", 1}, {"height", 5}, {"width", 7}, {"channels", 1}}};
  Inputs inputs(filter, Element::u8, picture, 1);
  const Arguments& device_arguments = inputs.arguments();
  const PreparedCall call(choose_in_place(filter, device_arguments, {.device = "cpu:threads=1"}),
                          device_arguments);
  call.enqueue(nullptr, device_arguments.addresses());
  const ArrayView& out = device_arguments.array("filtered");
  const std::vector<unsigned char> expected(static_cast<unsigned char*>(out.data),
                                            static_cast<unsigned char*>(out.data) + out.bytes());
  std::atomic<int> wrong = 0;
  const auto work = [&] {
    std::vector<unsigned char> own(out.bytes() + 64);
    for (int i = 0; i < 2000; ++i) {
      Addresses arrays = device_arguments.addresses();
      unsigned char* const at = own.data() + i % 64;
      for (void*& array : arrays)
        if (array == out.data) array = at;
      call.enqueue(nullptr, arrays);
      wrong += !std::equal(expected.begin(), expected.end(), at);
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tessera
