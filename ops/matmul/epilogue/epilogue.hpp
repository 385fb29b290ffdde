// SPDX-License-Identifier: Apache-2.0
// The epilogue: scales, β·C0, bias, activation, rounding. Computed in f32, for the CPU and as the definition
// that kernels follow.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include "ops/matmul/gemm/mixed_problem.hpp"
#include "tessera/core/device/thread.hpp"
#include "tessera/core/operation/arguments.hpp"
#include "tessera/core/operation/epilogue_pass.hpp"
#include "tessera/core/device/device.hpp"

namespace tessera::matmul {
inline namespace TESSERA_UNIT {

// True if x is a normal f32.
SIMT bool is_normal(float x) {
  return std::fabs(x) >= std::numeric_limits<float>::min() &&
         std::fabs(x) <= std::numeric_limits<float>::max();
}

// Returns α·s_a·s_b·sum in f32, in this order. If α·s_a·s_b overflows or underflows on the way, the result
// may still be a normal f32: f64 holds the product of all four.
SIMT float scaled_sum(float alpha, float scale_a, float scale_b, float sum) {
  const float first = alpha * scale_a, factor = first * scale_b;
  if (is_normal(first) && is_normal(factor)) return factor * sum;
  return static_cast<float>(double{alpha} * double{scale_a} * double{scale_b} * double{sum});
}

}  // namespace TESSERA_UNIT

// On the CPU: stores element (i, j) of C from its sum, an f32, or an i32 of integer products.
class Epilogue {
 public:
  explicit Epilogue(const MixedProblem& p) : p_(p) {}

  void store(std::int64_t i, std::int64_t j, float sum) const {
    put(i, j, apply(p_.post_op, scaled(i, j, sum)));
  }

  void store(std::int64_t i, std::int64_t j, std::int32_t sum) const {
    if (p_.c_element != Element::i32) return store(i, j, static_cast<float>(sum));
    std::uint32_t value = bits(p_.alpha) * static_cast<std::uint32_t>(sum);
    if (p_.beta != 0)
      value += bits(p_.beta) * read<std::uint32_t>(p_.c0.data, i * p_.c0.row_stride + j * p_.c0.col_stride);
    if (p_.bias != nullptr)
      value += read<std::uint32_t>(p_.bias, i * p_.bias_row_stride + j * p_.bias_col_stride);
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
    const float scale_a = p_.scale_a != nullptr && p_.k != 0 ? p_.scale_a[i * p_.scale_a_stride] : 1.0f;
    const float scale_b = p_.scale_b != nullptr && p_.k != 0 ? p_.scale_b[j * p_.scale_b_stride] : 1.0f;
    float out = scaled_sum(p_.alpha, scale_a, scale_b, sum);
    if (p_.beta != 0)
      out += p_.beta * real(p_.c0.element, p_.c0.data, i * p_.c0.row_stride + j * p_.c0.col_stride);
    if (p_.bias != nullptr)
      out += real(p_.bias_element, p_.bias, i * p_.bias_row_stride + j * p_.bias_col_stride);
    return out;
  }

  char* address(std::int64_t i, std::int64_t j) const {
    return static_cast<char*>(p_.c) +
           (i * p_.c_row_stride + j * p_.c_col_stride) * static_cast<std::int64_t>(size_of(p_.c_element));
  }

  // Stores a value. An i8 is rounded to nearest, ties to even, and clamped; NaN gives 0.
  void put(std::int64_t i, std::int64_t j, float value) const {
    if (p_.c_element == Element::i8) {
      const float whole = std::nearbyint(value);
      value = std::isnan(whole) ? 0.0f : std::clamp(whole, -128.0f, 127.0f);
    }
    store_from_double(p_.c_element, address(i, j), value);
  }

  MixedProblem p_;
};

// The epilogue of a product of f32, f64 or i32 that is in memory already, for rungs whose own epilogue
// supports α and β only:
//
//   C = activation(α·s_a[i]·s_b[j]·sum + β·C0 + bias)    with scales, which only f32 supports;
//   C = activation(C + bias)                             without: the rung applied α and β·C0.
//
// One pass over C after the rung's kernels. f32 has the order and the roundings of Epilogue.

struct Steps {
  std::int64_t entry = 0, row = 0, col = 0;  // strides in elements; 0: one number for all
};

// The epilogue of a batch, or of a batch of one. Plain pointers, so that every build of a kernel takes it.
template <class T>
struct EpilogueProblem {
  std::int64_t batch = 0, m = 0, n = 0;
  T* c = nullptr;
  const T* sums = nullptr;  // C itself, or separate memory
  const T* c0 = nullptr;    // null: not read here
  const T* bias = nullptr;  // null: none
  const float* scale_a = nullptr;
  const float* scale_b = nullptr;
  Steps of_c, of_sums, of_c0, of_bias, of_scale_a, of_scale_b;
  bool scaled = false;  // true: `sums` are plain sums, and α and β are applied here
  T alpha = 1, beta = 0;
  PostOp post_op;

  // Makes it from the arguments of a single product or a batch. `sums`: contiguous, row after row, entry
  // after entry; null: in C. Throws Error if T cannot hold α or β.
  static EpilogueProblem of(const Arguments& arguments, void* sums);
  EpilogueProblem transposed() const;  // Cᵀ
};

// True if the epilogue pass supports everything requested besides α and β: for f32, f64 and i32. Throws Error
// for combinations that nothing supports: scales of f64 or i32, a GELU with an i32.
bool supports_epilogue_pass(const Arguments& arguments);
bool is_scaled(const Arguments& arguments);

// Returns the arguments for a rung that supports α and β only: plain sums if there are scales. The result
// goes to C, or to `sums` if that is not null.
Arguments without_epilogue(const Arguments& arguments, void* sums);
// Returns the bytes for separate sums: with scales, β·C0 is added after them, and C0 may be C itself.
std::size_t epilogue_pass_bytes(const Arguments& arguments);

// Runs vectorized on up to `threads` threads; bitwise identical to a fused epilogue (simd.hpp).
template <class T>
void run_epilogue_on_cpu(const EpilogueProblem<T>& problem, int threads);

// Runs on the memory of the run's device, in its stream.
void run_epilogue(const Arguments& arguments, void* sums, Run& run);

// The kernels of a build: nvcc's, the executor's, and the executor's traced one.
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

// Applies the scales, α and β to a plain sum.
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

// Returns the pass of an operation whose arguments are those of a product or a batch.
EpiloguePass epilogue_pass(const char* operation);

}  // namespace tessera::matmul
