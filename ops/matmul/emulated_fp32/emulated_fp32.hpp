// SPDX-License-Identifier: Apache-2.0
// f32 operands as sums of shorter parts that tensor cores multiply, and the criterion by which their product
// is as accurate as strict f32. Used by the rungs f16x3, tf32x3 and bf16x6 on CPUs, on the executor and on
// GPUs.
//
//   f16x3    x·s ≈ hi + lo, halves of 11 bits. s: a power of two for each line (row of A, column of B) and
//            chunk of 64 along k, which puts the chunk's largest element just below f16's largest number.
//            lo·hi + hi·lo + hi·hi, times 1/(s_a·s_b), is added to an f32 after each chunk.
//   tf32x3   x ≈ hi + lo in TF32: 11 bits, and f32's range: no scales.
//   bf16x6   x = b0 + b1 + b2 in bf16: 8 bits each, and f32's range: no scales.
//            b2·b0 + b1·b1 + b0·b2 + b1·b0 + b0·b1 + b0·b0.
//
// The products left out and the roundoff of the last part come to at most 3·2⁻²² of |a·b| (bf16x6: 2⁻²³). A
// product by parts may still lose more than f32 would where numbers leave the parts' range. OperandRange
// collects, in one pass over each operand, the statistics that tell whether it may. used_arithmetic() then
// accepts the parts, or selects bf16x6 instead of f16x3, or strict f32.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include "ops/matmul/gemm/accuracy.hpp"
#include "ops/matmul/gemm/error_growth.hpp"
#include "ops/matmul/gemm/mixed_problem.hpp"
#include "tessera/core/device/thread.hpp"

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#endif

namespace tessera::matmul {
inline namespace TESSERA_UNIT {

SIMT std::uint32_t bits_of(float x) { return __builtin_bit_cast(std::uint32_t, x); }
SIMT float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
SIMT int exponent_of(float x) { return static_cast<int>(bits_of(x) >> 23) - 127; }
SIMT double power_of_two(int exponent) {
  return __builtin_bit_cast(double, static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// Rounds the last `dropped` bits away, to nearest, ties to even. Finite numbers only.
SIMT float shortened(float x, int dropped) {
  const std::uint32_t bits = bits_of(x), odd = bits >> dropped & 1;
  return float_of((bits + (1u << (dropped - 1)) - 1 + odd) >> dropped << dropped);
}

// Returns the f16 nearest to x, ties to even, as its bits; |x| < 65520.
SIMT std::uint16_t half_bits(float x) {
#if defined(__CUDA_ARCH__)
  return __half_as_ushort(__float2half_rn(x));
#else
  const std::uint32_t bits = bits_of(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  std::uint32_t out = 0;
  if (magnitude >= 0x38800000) out = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
  else out = bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f);  // the sum rounds at f16's subnormal unit
  return static_cast<std::uint16_t>(sign | out);
#endif
}
SIMT float half_value(std::uint16_t half) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(half));
#else
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16, magnitude = half & 0x7fffu;
  const float value =
      magnitude < 0x400 ? static_cast<float>(magnitude) * 0x1p-24f : float_of((magnitude << 13) + 0x38000000);
  return float_of(bits_of(value) | sign);
#endif
}

// Returns the scale of a chunk with this largest magnitude: largest·scale is in [2¹⁵, 65520), or half of that
// where rounding would overflow f16. 1 for a chunk of zeros. The reciprocal is exact.
SIMT float chunk_scale(float largest) {
  if (largest == 0) return 1;
  const int power = 15 - exponent_of(largest) - ((bits_of(largest) & 0x7fffff) >= 0x7ff000 ? 1 : 0);
  return float_of(static_cast<std::uint32_t>((power > 126 ? 126 : power) + 127) << 23);
}
SIMT float reciprocal_of_power(float power) { return float_of((254u << 23) - bits_of(power)); }

// Returns the exponent of the power of two that the chunk's scale maps to 2¹⁶, above all magnitudes.
SIMT int exponent_above(float largest) { return 16 - exponent_of(chunk_scale(largest)); }

struct F16Parts {
  std::uint16_t hi, lo;
};
SIMT F16Parts decompose_f16(float x, float scale) {
  const float scaled = x * scale;
  const std::uint16_t hi = half_bits(scaled);
  return {hi, half_bits(scaled - half_value(hi))};
}

struct Tf32Parts {
  float hi, lo;
};
SIMT Tf32Parts decompose_tf32(float x) {
  const float hi = shortened(x, 13);
  return {hi, shortened(x - hi, 13)};
}

struct Bf16Parts {
  std::uint16_t b0, b1, b2;
};
SIMT Bf16Parts decompose_bf16(float x) {
  const float b0 = shortened(x, 16), rest = x - b0, b1 = shortened(rest, 16), b2 = shortened(rest - b1, 16);
  const auto upper = [](float part) { return static_cast<std::uint16_t>(bits_of(part) >> 16); };
  return {upper(b0), upper(b1), upper(b2)};
}

// Statistics of a piece of one line, from a pass over an operand: one or several chunks, of 256 elements at
// most. Four words, which a GPU's pass may leave in memory for a second pass that combines each line.
struct ChunkRange {
  float largest = 0, sum = 0;    // the largest magnitude; the sum of magnitudes
  std::uint32_t logarithms = 0;  // the sum of magnitudes' bits >> 8: see log_of_bits
  std::uint16_t zeros = 0;
  std::uint16_t unfit = 0;  // 1: an element is infinite, NaN or subnormal

  SIMT void add(float x) {
    const std::uint32_t bits = bits_of(x) & 0x7fffffff;
    const float magnitude = float_of(bits);
    if (bits >= 0x7f800000 || (bits != 0 && bits < 0x00800000)) unfit = 1;
    if (bits == 0) ++zeros;
    largest = largest < magnitude ? magnitude : largest;
    sum += magnitude;
    logarithms += bits >> 8;
  }
};

struct LineRange {
  float largest = 0;
  double peaks = 0, sums = 0;  // sums of squares: of the powers above the chunks, and of the chunks' sums
  std::uint64_t logarithms = 0;
  std::int64_t zeros = 0;
  bool unfit = false;

  SIMT void add(const ChunkRange& chunk) {
    const auto sum = static_cast<double>(chunk.sum);
    largest = largest < chunk.largest ? chunk.largest : largest;
    if (chunk.largest != 0) peaks += power_of_two(2 * exponent_above(chunk.largest));
    sums += sum * sum;
    logarithms += chunk.logarithms;
    zeros += chunk.zeros;
    unfit = unfit || chunk.unfit != 0;
  }
  SIMT void add(const LineRange& more) {
    largest = largest < more.largest ? more.largest : largest;
    peaks += more.peaks;
    sums += more.sums;
    logarithms += more.logarithms;
    zeros += more.zeros;
    unfit = unfit || more.unfit;
  }
};

// Statistics over all lines of an operand. Maxima of non-negative numbers, so a GPU may raise the words by
// atomicMax.
//
// For a line with the power T above all its elements: depth is Σ log2(T/|x|) over the nonzero elements, with
// the bits of |x|, read as an integer, in place of the logarithm, which they never exceed. Its peak and its
// breadth are the depth plus k·log2(‖p‖/T), with the Euclidean norm of the powers above its chunks (peak) or
// of its chunks' sums of magnitudes (breadth).
struct OperandRange {
  std::uint32_t unfit = 0;  // see ChunkRange
  std::uint32_t zeros = 0;  // in the line that has the most
  float largest = 0;        // the largest magnitude
  float smallest = 0;       // reciprocal of the smallest line maximum; 0: only zeros
  float scale = 0;          // the largest scale of a chunk, for f16x3 alone
  float peak = 0, breadth = 0;

  SIMT void add_scale(float of_chunk) { raise(scale, of_chunk); }

  SIMT void add(const LineRange& line, std::int64_t k) {
    const auto empty = static_cast<std::uint32_t>(line.zeros);
    unfit |= line.unfit ? 1u : 0u;
    zeros = zeros < empty ? empty : zeros;
    if (line.largest == 0 || line.unfit) return;
    constexpr double upward = 1 + 0x1p-16;
    const auto count = static_cast<double>(k), others = static_cast<double>(k - line.zeros);
    const auto top = static_cast<double>(exponent_above(line.largest));
    const double depth = others * (top + 127) - static_cast<double>(line.logarithms) * 0x1p-15;
    const auto above = [&](double squares) {
      return static_cast<float>((depth + count * (std::log2(squares * upward) / 2 - top)) * upward);
    };
    raise(largest, line.largest);
    raise(smallest, 1 / line.largest);
    raise(peak, above(line.peaks));
    raise(breadth, above(line.sums));
  }
  SIMT void add(const OperandRange& other) {
    unfit |= other.unfit;
    zeros = zeros < other.zeros ? other.zeros : zeros;
    raise(largest, other.largest), raise(smallest, other.smallest), raise(scale, other.scale);
    raise(peak, other.peak), raise(breadth, other.breadth);
  }

 private:
  SIMT static void raise(float& most, float x) { most = most < x ? x : most; }
};

// True if the parts are as accurate as strict f32 for these operands. Sound for any data.
//
// Besides errors proportional to itself, an element loses at most half a unit of the smallest f16 under its
// chunk's scale, 2⁻⁴¹ of the power p above the chunk (f16x3), or half a unit of the smallest part, 2⁻¹³⁴ (the
// others). With s for the sum of a chunk's magnitudes, an element of C errs by at most 2⁻⁴¹·Σ(p_a·s_b +
// s_a·p_b) ≤ 2⁻⁴¹·(‖p_a‖·‖s_b‖ + ‖s_a‖·‖p_b‖). On the other hand, by the inequality of arithmetic and
// geometric means over the n ≥ k - zeros_a - zeros_b nonzero products, Σ|a·b| ≥ n·T_a·T_b·2^(-(depth_a +
// depth_b)/n). The quotient of both must be within range_allowance(k). k·log2(‖p‖/T) replaces n·log2(‖p‖/T)
// and is not less, since p ≥ T somewhere; ‖s‖ may be half of T, so breadths get one more for each zero. f16x3
// may lose only half the allowance, because strict f32 errs so little when its sums are split, and bf16x6 can
// replace f16x3. False also if a partial sum might overflow, or a chunk's scales leave f32's range.
SIMT bool passes_range_check(Compute compute, const OperandRange& a, const OperandRange& b, std::int64_t k) {
  if (a.unfit != 0 || b.unfit != 0) return false;
  if (a.largest == 0 || b.largest == 0) return true;  // all products are zero
  const auto count = static_cast<double>(k);
  if (exponent_of(a.largest) + exponent_of(b.largest) + std::log2(count) + 4 > 127) return false;
  const double zeros = static_cast<double>(a.zeros) + b.zeros, others = count - zeros;
  if (others < 1) return false;
  double lost = -40.99, allowed = range_allowance(count);
  if (compute == Compute::f16x3) {
    const int of_a = exponent_of(a.scale), of_b = exponent_of(b.scale);
    if (of_a >= 126 || of_b >= 126 || of_a + of_b > 149) return false;
    allowed /= 2;
  } else {
    constexpr std::uint32_t infinity = 0x7f800000;  // the first part of numbers at the end of f32's range
    const int dropped = compute == Compute::tf32x3 ? 13 : 16;
    for (const float largest : {a.largest, b.largest})
      if (bits_of(shortened(largest, dropped)) == infinity) return false;
    // Relative to the line's largest element, not the chunk's.
    const int of_a = exponent_of(a.smallest), of_b = exponent_of(b.smallest),
              least = of_a < of_b ? of_b : of_a;
    lost = -134 + (least + 1) + std::log2(count / emulation_chunk + 1) / 2;
  }
  const auto wide = [&](float peak, float breadth) {
    return std::exp2((static_cast<double>(peak) + static_cast<double>(breadth) + zeros) / others);
  };
  return lost + std::log2(wide(a.peak, b.breadth) + wide(b.peak, a.breadth)) - std::log2(others) <=
         std::log2(allowed);
}

// Returns the arithmetic for these operands: `requested`, its replacement bf16x6 (for f16x3), or strict f32.
SIMT Compute used_arithmetic(Compute requested, const OperandRange& a, const OperandRange& b,
                             std::int64_t k) {
  Compute used = requested;
  while (!passes_range_check(used, a, b, k)) {
    if (used != Compute::f16x3) return Compute::strict;
    used = Compute::bf16x6;
  }
  return used;
}

// Returns part 0, 1 or 2 of x as a float.
SIMT float part_of(Compute compute, float x, float scale, int part) {
  if (compute == Compute::f16x3) {
    const F16Parts parts = decompose_f16(x, scale);
    return half_value(part == 0 ? parts.hi : parts.lo);
  }
  if (compute == Compute::tf32x3) {
    const Tf32Parts parts = decompose_tf32(x);
    return part == 0 ? parts.hi : parts.lo;
  }
  const Bf16Parts parts = decompose_bf16(x);
  return float_of(static_cast<std::uint32_t>(part == 0 ? parts.b0 : part == 1 ? parts.b1 : parts.b2) << 16);
}
SIMT constexpr int parts_of(Compute compute) { return compute == Compute::bf16x6 ? 3 : 2; }

// Models one accumulation step of a tensor core: `count` products, each truncated two bits below the last bit
// of the largest, then the sum at its own last bit. Blocks of 16, of 8 for TF32.
template <class Left, class Right>
SIMT float plus_block(float sum, const Left& left, const Right& right, int count) {
  double term[17];
  term[count] = sum;
  double largest = std::fabs(term[count]);
  for (int l = 0; l < count; ++l) {
    term[l] = static_cast<double>(left(l)) * right(l);
    largest = std::max(largest, std::fabs(term[l]));
  }
  if (largest == 0) return 0;
  const int unit = static_cast<int>(__builtin_bit_cast(std::uint64_t, largest) >> 52 & 0x7ff) - 1023 - 25;
  const double down = power_of_two(-unit);
  std::int64_t all = 0;
  for (int l = 0; l <= count; ++l) all += static_cast<std::int64_t>(term[l] * down);
  if (all == 0) return 0;
  const auto magnitude = static_cast<std::uint64_t>(all < 0 ? -all : all);
  int surplus = 0;
  while (magnitude >> surplus >= 1u << 24) ++surplus;
  const double cut = static_cast<double>(magnitude >> surplus << surplus) * power_of_two(unit);
  return static_cast<float>(all < 0 ? -cut : cut);
}

// Returns the sum of a chunk of at most 64 products in the tensor cores' order: pairs of parts, small
// products first. a(part, l), b(part, l): parts as floats.
template <class A, class B>
SIMT float chunk_sum(Compute compute, const A& a, const B& b, int count) {
  constexpr int pairs_of_two[3][2] = {{1, 0}, {0, 1}, {0, 0}},
                pairs_of_three[6][2] = {{2, 0}, {1, 1}, {0, 2}, {1, 0}, {0, 1}, {0, 0}};
  const bool three = compute == Compute::bf16x6;
  const int step = compute == Compute::tf32x3 ? 8 : 16;
  float sum = 0;
  for (int pair = 0; pair < (three ? 6 : 3); ++pair) {
    const int of_a = three ? pairs_of_three[pair][0] : pairs_of_two[pair][0],
              of_b = three ? pairs_of_three[pair][1] : pairs_of_two[pair][1];
    for (int first = 0; first < count; first += step)
      sum = plus_block(
          sum, [&](int l) { return a(of_a, first + l); }, [&](int l) { return b(of_b, first + l); },
          count - first < step ? count - first : step);
  }
  return sum;
}

// Adds a chunk's sum to an f32 sum, after an exact division by its scales.
SIMT float promoted(float sum, float chunk, float scale_a, float scale_b) {
  return std::fma(chunk, reciprocal_of_power(scale_a) * reciprocal_of_power(scale_b), sum);
}

// For rungs of one of these arithmetics: the reason to refuse a call that asks for another.
inline std::optional<std::string> refuses_other(Compute compute, const Arguments& arguments) {
  const Compute chosen = compute_of(arguments);
  if (chosen == compute) return std::nullopt;
  if (const std::string& accuracy = arguments.text("accuracy"); !accuracy.empty())
    return "--accuracy " + accuracy + " leads to the arithmetic " + std::string(text_of(chosen));
  return "it decomposes f32 operands: --compute " + std::string(text_of(compute)) + " allows it";
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::matmul
