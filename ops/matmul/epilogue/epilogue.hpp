// SPDX-License-Identifier: Apache-2.0
// What follows the sum of products: scales, β·C0, bias, activation, rounding. In f32, for the CPU and
// as the definition that kernels follow.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include "ops/matmul/gemm/mixed_problem.hpp"
#include "tessera/core/thread.hpp"
#include "tessera/core/arguments.hpp"
#include "tessera/core/epilogue_pass.hpp"
#include "tessera/core/device.hpp"

namespace tessera::matmul {
inline namespace TESSERA_UNIT {

// Among f32's normal numbers.
SIMT bool is_ordinary(float x) {
  return std::fabs(x) >= std::numeric_limits<float>::min() &&
         std::fabs(x) <= std::numeric_limits<float>::max();
}

// α·s_a·s_b·sum in f32, in this order. Where α·s_a·s_b leaves f32's normal numbers on the way, the whole may
// still be one: f64 has room for all four.
SIMT float scaled_sum(float alpha, float scale_a, float scale_b, float sum) {
  const float first = alpha * scale_a, factor = first * scale_b;
  if (is_ordinary(first) && is_ordinary(factor)) return factor * sum;
  return static_cast<float>(double{alpha} * double{scale_a} * double{scale_b} * double{sum});
}

}  // namespace TESSERA_UNIT

// On the processors: element (i, j) of C from its sum, an f32 or the i32 of whole numbers.
class Epilogue {
 public:
  explicit Epilogue(const MixedProblem& p) : p_(p) {}

  void store(std::int64_t i, std::int64_t j, float sum) const {
    put(i, j, apply(p_.post_op, scaled(i, j, sum)));
  }

  void store(std::int64_t i, std::int64_t j, std::int32_t sum) const {
    if (p_.c_element != Element::i32) return store(i, j, static_cast<float>(sum));
    std::uint32_t value = bits(p_.alpha) * static_cast<std::uint32_t>(sum);
    if (p_.beta != 0) value += bits(p_.beta) * read<std::uint32_t>(p_.c0.data, i * p_.c0.row + j * p_.c0.col);
    if (p_.bias != nullptr) value += read<std::uint32_t>(p_.bias, i * p_.bias_row + j * p_.bias_col);
    const std::int32_t whole = apply(p_.post_op, static_cast<std::int32_t>(value));
    std::memcpy(address(i, j), &whole, sizeof whole);
  }

 private:
  template <class T>
  static T read(const void* data, std::int64_t offset) {
    T value;
    std::memcpy(&value, static_cast<const char*>(data) + offset * std::int64_t{sizeof(T)}, sizeof value);
    return value;
  }
  static std::uint32_t bits(float whole) {
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(whole));
  }
  static float real(Element element, const void* data, std::int64_t offset) {
    return static_cast<float>(load_as_double(
        element, static_cast<const char*>(data) + offset * static_cast<std::int64_t>(size_of(element))));
  }

  float scaled(std::int64_t i, std::int64_t j, float sum) const {
    const float scale_a = p_.scale_a != nullptr && p_.k != 0 ? p_.scale_a[i * p_.scale_a_step] : 1.0f;
    const float scale_b = p_.scale_b != nullptr && p_.k != 0 ? p_.scale_b[j * p_.scale_b_step] : 1.0f;
    float out = scaled_sum(p_.alpha, scale_a, scale_b, sum);
    if (p_.beta != 0) out += p_.beta * real(p_.c0.element, p_.c0.data, i * p_.c0.row + j * p_.c0.col);
    if (p_.bias != nullptr) out += real(p_.bias_element, p_.bias, i * p_.bias_row + j * p_.bias_col);
    return out;
  }

  char* address(std::int64_t i, std::int64_t j) const {
    return static_cast<char*>(p_.c) +
           (i * p_.c_row + j * p_.c_col) * static_cast<std::int64_t>(size_of(p_.c_element));
  }

  // An i8 is the nearest whole number, ties to even, within its range; NaN gives 0.
  void put(std::int64_t i, std::int64_t j, float value) const {
    if (p_.c_element == Element::i8) {
      const float whole = std::nearbyint(value);
      value = std::isnan(whole) ? 0.0f : std::clamp(whole, -128.0f, 127.0f);
    }
    store_from_double(p_.c_element, address(i, j), value);
  }

  MixedProblem p_;
};

// What follows a product of f32, f64 or i32 that is in memory already, for rungs whose own last step knows α
// and β alone:
//
//   C = activation(α·s_a[i]·s_b[j]·sum + β·C0 + bias)    where there are scales, which f32 alone takes;
//   C = activation(C + bias)                             else: α and β·C0 are in what the rung stored.
//
// One pass over C, after the rung's own work. f32 in the order and with the roundings of Epilogue.

struct Steps {
  std::int64_t entry = 0, row = 0, col = 0;  // of a batch, of C; in elements, 0 where one number serves all
};

// A batch of results, of one entry where there is none. Plain addresses: every build of a kernel takes it.
template <class T>
struct EpilogueProblem {
  std::int64_t batch = 0, m = 0, n = 0;
  T* c = nullptr;
  const T* sums = nullptr;  // C itself, or memory apart
  const T* c0 = nullptr;    // null: not read here
  const T* bias = nullptr;  // null: none
  const float* scale_a = nullptr;
  const float* scale_b = nullptr;
  Steps of_c, of_sums, of_c0, of_bias, of_scale_a, of_scale_b;
  bool scaled = false;  // then `sums` are bare, and α and β are for here
  T alpha = 1, beta = 0;
  PostOp post_op;

  // Of the single product's arguments or of a batch's. `sums`: where these are, row after row, entry after
  // entry; null: in C. Throws Error where T cannot hold α or β.
  static EpilogueProblem of(const Arguments& arguments, void* sums);
  EpilogueProblem transposed() const;  // Cᵀ
};

// Whether the epilogue pass serves what is asked besides α and β: of f32, f64 and i32. Throws Error where
// nobody does: scales of f64 or i32, a GELU beside an i32.
bool has_epilogue(const Arguments& arguments);
bool is_scaled(const Arguments& arguments);

// What remains for a rung that knows α and β alone: bare sums where there are scales. Into C, or where `sums`
// is.
Arguments without_epilogue(const Arguments& arguments, void* sums);
// For sums of their own: with scales, β·C0 comes after them, and C0 may lie where C does.
std::size_t epilogue_pass_bytes(const Arguments& arguments);

// In vectors, with the bits of a fused epilogue (simd.hpp). On up to `threads` threads.
template <class T>
void run_epilogue_on_cpu(const EpilogueProblem<T>& problem, int threads);

// In memory of the run's device, in its stream.
void run_epilogue(const Arguments& arguments, void* sums, Run& run);

// The kernel of a build: nvcc's, the executor's, and its traced one.
struct EpilogueKernels {
  void (*f32)(const EpilogueProblem<float>&, Run&);
  void (*f64)(const EpilogueProblem<double>&, Run&);
  void (*i32)(const EpilogueProblem<std::int32_t>&, Run&);
};
void register_epilogue_kernels(Where where, bool traced, const EpilogueKernels& kernels);

inline namespace TESSERA_UNIT {

SIMT float plus(float a, float b) { return a + b; }
SIMT double plus(double a, double b) { return a + b; }
SIMT std::int32_t plus(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

SIMT std::int64_t place(const Steps& steps, std::int64_t e, std::int64_t i, std::int64_t j) {
  return e * steps.entry + i * steps.row + j * steps.col;
}

// Of a bare sum, what the scales, α and β make of it.
SIMT float scaled(const EpilogueProblem<float>& p, std::int64_t e, std::int64_t i, std::int64_t j,
                  float sum) {
  const float scale_a = p.scale_a != nullptr ? p.scale_a[place(p.of_scale_a, e, i, j)] : 1.0f;
  const float scale_b = p.scale_b != nullptr ? p.scale_b[place(p.of_scale_b, e, i, j)] : 1.0f;
  const float out = scaled_sum(p.alpha, scale_a, scale_b, sum);
  return p.c0 == nullptr ? out : out + p.beta * p.c0[place(p.of_c0, e, i, j)];
}

template <class T>
SIMT T with_epilogue(const EpilogueProblem<T>& p, std::int64_t e, std::int64_t i, std::int64_t j, T sum) {
  if constexpr (std::is_same_v<T, float>)
    if (p.scaled) sum = scaled(p, e, i, j, sum);
  if (p.bias != nullptr) sum = plus(sum, p.bias[place(p.of_bias, e, i, j)]);
  return apply(p.post_op, sum);
}

}  // namespace TESSERA_UNIT

// Of an operation whose arguments are the product's, or a batch's.
EpiloguePass epilogue_pass(const char* operation);

}  // namespace tessera::matmul
