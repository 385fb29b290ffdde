// SPDX-License-Identifier: Apache-2.0
// The check of a product in a GPU's memory: its answers beside those in host memory, and its time beside the
// product's.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include "ops/matmul/api/enqueue_testing.cuh"
#include "tessera/check.hpp"

namespace tessera::matmul {
namespace {

class CheckOnGpu : public on_gpu::OnGpu {};

using on_gpu::DeviceCopy;

// `order`: of all matrices.
template <class T, class Out>
void expect_same_answers(Order order, Options options, std::int64_t k = 560) {
  constexpr std::int64_t m = 700, n = 530;
  SCOPED_TRACE(testing::Message() << name_of(element_of<T>) << " to " << name_of(element_of<Out>)
                                  << ", order " << int(order) << ", k " << k);
  const std::vector<T> a = drawn<T>(m * k, 1), b = drawn<T>(k * n, 2);
  const std::vector<Out> c0 = drawn<Out>(m * n, 3), bias = drawn<Out>(m, 4);
  const std::vector<float> scales(static_cast<std::size_t>(n), 0.75F);
  std::vector<Out> c(static_cast<std::size_t>(m * n));
  const DeviceCopy<T> a_on_device(a), b_on_device(b);
  const DeviceCopy<Out> c0_on_device(c0), bias_on_device(bias);
  const DeviceCopy<float> scales_on_device(scales);
  DeviceCopy<Out> c_on_device(c);
  const auto with = [&](const Out* added, const Out* of_rows, const float* of_columns) {
    Options out = options;
    if (options.beta != 0) out.c0 = {added, 0, order, 0};
    if (options.bias.along_rows) out.bias = bias_of_rows(of_rows);
    if (options.scale_b.of_each) out.scale_b.data = of_columns;
    return out;
  };
  const Options here = with(c0.data(), bias.data(), scales.data()),
                on_device = with(c0_on_device.get(), bias_on_device.get(), scales_on_device.get());
  const auto host = [&] {
    return check<MatrixView>(ConstMatrixView<Out>{c.data(), m, n, 0, order},
                             ConstMatrixView<T>{a.data(), m, k, 0, order},
                             ConstMatrixView<T>{b.data(), k, n, 0, order}, here);
  };
  const auto device = [&] {
    c_on_device.set(c);
    return check<MatrixView>(ConstMatrixView<Out>{c_on_device.get(), m, n, 0, order},
                             ConstMatrixView<T>{a_on_device.get(), m, k, 0, order},
                             ConstMatrixView<T>{b_on_device.get(), k, n, 0, order}, on_device);
  };
  (void)multiply<T, Out>({a.data(), m, k, 0, order}, {b.data(), k, n, 0, order}, {c.data(), m, n, 0, order},
                         here);
  const Finding right_here = host(), right_on_device = device();
  EXPECT_TRUE(right_here.right) << right_here.text;
  EXPECT_TRUE(right_on_device.right) << right_on_device.text;
  EXPECT_EQ(right_on_device.arithmetic, right_here.arithmetic);
  if (element_of<T> != Element::i32 && options.activation == Activation::none)
    EXPECT_NE(right_on_device.text.find("a randomised check of all rows, "), std::string::npos)
        << right_on_device.text;
  EXPECT_THROW((void)(check<MatrixView>(ConstMatrixView<Out>{c_on_device.get(), m, n, 0, order},
                                        ConstMatrixView<T>{a.data(), m, k, 0, order},
                                        ConstMatrixView<T>{b_on_device.get(), k, n, 0, order}, on_device)),
               Error);
  if (options.activation != Activation::none) return;  // a row in 32 is looked at
  for (std::size_t i = 5000; i < 5016; ++i) c[i] = Out{};
  store_from_double(element_of<Out>, &c[7], 1000);
  const Finding wrong_on_device = device();
  EXPECT_FALSE(wrong_on_device.right);
  EXPECT_EQ(wrong_on_device.text, host().text);
}

template <class T, class Out = T>
void expect_same_answers(Options options = {}) {
  for (const Order order : {Order::rows, Order::columns}) expect_same_answers<T, Out>(order, options);
}

TEST_F(CheckOnGpu, AnswersAsInHostMemory) {
  expect_same_answers<float>();
  expect_same_answers<double>();
  expect_same_answers<std::int32_t>();
  expect_same_answers<bf16>();
  expect_same_answers<f16>();
  expect_same_answers<bf16, float>();
  expect_same_answers<e4m3, bf16>();
  expect_same_answers<std::int8_t, std::int32_t>();
}

TEST_F(CheckOnGpu, KnowsTheEpilogue) {
  expect_same_answers<float>({.alpha = -1.5, .beta = 0.5});
  expect_same_answers<double>({.alpha = 3, .beta = 2});
  expect_same_answers<bf16>({.beta = 2, .scale_b = {nullptr, true}, .bias = {nullptr, Element::bf16, true}});
  expect_same_answers<float>({.bias = {nullptr, Element::f32, true}, .activation = Activation::relu});
}

// Products that the kernels sum in several parts of k.
TEST_F(CheckOnGpu, SumsPartsOfK) {
  for (const Order order : {Order::rows, Order::columns}) {
    expect_same_answers<float, float>(order, {}, 9001);
    expect_same_answers<double, double>(order, {}, 9001);
  }
}

template <class T>
void expect_faster_than_product(cudaStream_t stream) {
  constexpr std::int64_t n = 8192;
  const DeviceCopy<T> a(drawn<T>(n * n, 1)), b(drawn<T>(n * n, 2));
  const DeviceCopy<T> c(std::vector<T>(static_cast<std::size_t>(n * n)));
  const ConstMatrixView<T> a_view{a.get(), n, n}, b_view{b.get(), n, n}, c_view{c.get(), n, n};
  const auto median_of = [](int count, const auto& work) {
    std::vector<double> seconds;
    for (int i = 0; i < count; ++i) {
      const auto start = std::chrono::steady_clock::now();
      work();
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::ranges::nth_element(seconds, seconds.begin() + count / 2);
    return seconds[static_cast<std::size_t>(count / 2)];
  };
  const double product = median_of(9, [&] {
    (void)enqueue<T>(stream, a_view, b_view, {c.get(), n, n}, {.request = on_gpu::on_gpu()});
    cuda::check(cudaStreamSynchronize(stream));
  });
  const double checked = median_of(21, [&] {
    const Finding found = check<MatrixView>(c_view, a_view, b_view);
    EXPECT_TRUE(found.right) << found.text;
  });
  std::printf("%s %lld³: product %.3f ms, check %.3f ms: %.1f %%\n",
              std::string(name_of(element_of<T>)).c_str(), static_cast<long long>(n), product * 1e3,
              checked * 1e3, 100 * checked / product);
  EXPECT_LT(checked, product);
}

TEST_F(CheckOnGpu, CostsLessThanAProduct) {
  expect_faster_than_product<float>(stream());
  expect_faster_than_product<bf16>(stream());
}

}  // namespace
}  // namespace tessera::matmul
