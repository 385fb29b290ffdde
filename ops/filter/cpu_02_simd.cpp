// SPDX-License-Identifier: Apache-2.0
// CPU rung 2: vectors, rows kept, every core. The CPU's summit.
//
// A strip of the picture is walked from above: each row is read once, goes on beyond its edges by a copy, and
// stays for as many rows as the kernel has. Four vectors of sums stay in registers while the taps pass; where
// 16 bits hold every sum of bytes, the bytes are kept, and those of even and of odd places are summed apart:
// no lane moves. A separable kernel sums a row when it is read. Highway compiles the strip for each
// instruction set and picks at run time. Sums are taken in the order of the definition: the bits are those of
// the rung below. What limits it now is memory for small kernels, and multiplying for large ones.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/filter/cpu_02_simd.cpp"
#include "tessera/core/vector_targets.hpp"
#include <hwy/foreach_target.h>
#include "simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::filter {
namespace HWY_NAMESPACE {

void strip_u8(const Problem<std::uint8_t>& p, const Piece& piece) { run_strip(p, piece); }
void strip_u16(const Problem<std::uint16_t>& p, const Piece& piece) { run_strip(p, piece); }
void strip_i16(const Problem<std::int16_t>& p, const Piece& piece) { run_strip(p, piece); }
void strip_f16(const Problem<f16>& p, const Piece& piece) { run_strip(p, piece); }
void strip_f32(const Problem<float>& p, const Piece& piece) { run_strip(p, piece); }

}  // namespace HWY_NAMESPACE
}  // namespace tessera::filter
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "simd.hpp"
#include "tessera/core/parallel.hpp"
#include "tessera/rung.hpp"

namespace tessera::filter {
namespace {

HWY_EXPORT(strip_u8);
HWY_EXPORT(strip_u16);
HWY_EXPORT(strip_i16);
HWY_EXPORT(strip_f16);
HWY_EXPORT(strip_f32);

template <class T>
void run_piece(const Problem<T>& p, const Piece& piece) {
  if constexpr (std::is_same_v<T, std::uint8_t>) HWY_DYNAMIC_DISPATCH(strip_u8)(p, piece);
  else if constexpr (std::is_same_v<T, std::uint16_t>) HWY_DYNAMIC_DISPATCH(strip_u16)(p, piece);
  else if constexpr (std::is_same_v<T, std::int16_t>) HWY_DYNAMIC_DISPATCH(strip_i16)(p, piece);
  else if constexpr (std::is_same_v<T, f16>) HWY_DYNAMIC_DISPATCH(strip_f16)(p, piece);
  else HWY_DYNAMIC_DISPATCH(strip_f32)(p, piece);
}

// A part of all rows of all pictures, in strips that the caches hold.
template <class T>
void run_rows(const Problem<T>& p, std::int64_t begin, std::int64_t end, bool past_caches) {
  constexpr int samples = 16384 / sizeof(T);
  const int width = std::max(1, samples / p.channels());
  for (std::int64_t row = begin; row < end;) {
    const std::int64_t n = row / p.rows(), top = row % p.rows(), count = std::min(end - row, p.rows() - top);
    for (int x = 0; x < p.cols(); x += width)
      run_piece(p, {n, x, std::min(x + width, p.cols()), static_cast<int>(top), static_cast<int>(top + count),
                    past_caches});
    row += count;
  }
}

template <class T>
void run_simd(const Problem<T>& p, int threads) {
  constexpr std::int64_t least_samples = 1 << 14;  // worth another thread
  const std::int64_t rows = p.images() * p.rows(), samples = rows * p.row_samples();
  if (samples == 0) return;
  const auto parts = static_cast<int>(
      std::clamp<std::int64_t>(samples / least_samples, 1, std::min<std::int64_t>(threads, rows)));
  // What is larger than a share of the last cache is not in it when somebody reads it.
  constexpr std::int64_t large = std::int64_t{16} << 20;
  const bool past_caches = samples * static_cast<std::int64_t>(size_of(p.to)) >= large;
  parallel(parts,
           [&](int part) { run_rows(p, rows * part / parts, rows * (part + 1) / parts, past_caches); });
}

Reason refuses(const Arguments& arguments, const Tuning&, const Device&) {
  const ArrayView& out = arguments.array("filtered");
  if (out.strides[2] != out.extents[3] || (out.strides[3] != 1 && out.extents[3] != 1))
    return "the result's pixels do not lie side by side";
  return std::nullopt;
}

Choice choice() {
  Choice out =
      choice_of<Problem>([](const auto& p, const Tuning&, Run& run) { run_simd(p, run.device->threads); });
  out.refuses = refuses;
  return out;
}

}  // namespace

void filter_simd(const Arguments& arguments, int threads) {
  switch (arguments.element()) {
    case Element::u8:
      return run_simd(Problem<std::uint8_t>::of(arguments), threads);
    case Element::u16:
      return run_simd(Problem<std::uint16_t>::of(arguments), threads);
    case Element::i16:
      return run_simd(Problem<std::int16_t>::of(arguments), threads);
    case Element::f16:
      return run_simd(Problem<f16>::of(arguments), threads);
    default:
      return run_simd(Problem<float>::of(arguments), threads);
  }
}

namespace {
const Rung rung{"vectors, each row read once and kept, all cores", Where::cpu, {choice()}};
}  // namespace

}  // namespace tessera::filter
#endif
