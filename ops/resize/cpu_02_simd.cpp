// SPDX-License-Identifier: Apache-2.0
// CPU rung 2: vectors, rows summed once, every core. The CPU's summit.
//
// A strip of the result is made from above; sums along rows wait in the cache for as many rows as a result is
// made from. Bytes are looked up: tables made once for a strip tell which bytes of a row come beside which
// weights, so that one shuffle and one instruction of products serve two taps of four neighbouring samples,
// whatever the channels and the scale, and four rows share a look at the tables. Of other samples a few rows
// are interleaved, pixel by pixel, until they fill a vector: one load and one product serve the same tap of
// all of them. Highway compiles the strip for each instruction set and picks at run time. What limits it now
// is reading the picture for short filters of bytes, else products.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/resize/cpu_02_simd.cpp"
#include "tessera/core/vector_targets.hpp"
#include <hwy/foreach_target.h>
#include "simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::resize {
namespace HWY_NAMESPACE {

void strip_u8(const Problem<std::uint8_t>& p, const Strip& strip) { run_strip(p, strip); }
void strip_u16(const Problem<std::uint16_t>& p, const Strip& strip) { run_strip(p, strip); }
void strip_i16(const Problem<std::int16_t>& p, const Strip& strip) { run_strip(p, strip); }
void strip_f16(const Problem<f16>& p, const Strip& strip) { run_strip(p, strip); }
void strip_f32(const Problem<float>& p, const Strip& strip) { run_strip(p, strip); }

}  // namespace HWY_NAMESPACE
}  // namespace tessera::resize
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "lookup.hpp"
#include "simd.hpp"
#include "tessera/core/interrupt.hpp"
#include "tessera/core/parallel.hpp"
#include "tessera/rung.hpp"

namespace tessera::resize {
namespace {

HWY_EXPORT(strip_u8);
HWY_EXPORT(strip_u16);
HWY_EXPORT(strip_i16);
HWY_EXPORT(strip_f16);
HWY_EXPORT(strip_f32);

template <class T>
void run_strip(const Problem<T>& p, const Strip& strip) {
  if constexpr (std::is_same_v<T, std::uint8_t>) HWY_DYNAMIC_DISPATCH(strip_u8)(p, strip);
  else if constexpr (std::is_same_v<T, std::uint16_t>) HWY_DYNAMIC_DISPATCH(strip_u16)(p, strip);
  else if constexpr (std::is_same_v<T, std::int16_t>) HWY_DYNAMIC_DISPATCH(strip_i16)(p, strip);
  else if constexpr (std::is_same_v<T, f16>) HWY_DYNAMIC_DISPATCH(strip_f16)(p, strip);
  else HWY_DYNAMIC_DISPATCH(strip_f32)(p, strip);
}

template <class T>
void copy_rows(const Problem<T>& p, std::int64_t n, int begin, int end) {
  for (int y = begin; y < end; ++y) {
    leave_if_interrupted();
    for (int x = 0; x < p.cols(); ++x) p.compute(n, y, x);
  }
}

template <class T>
bool by_lookup(const Problem<T>& p) {
  if constexpr (std::is_same_v<T, std::uint8_t>) return can_look_up(p);
  else return false;
}

// A part of all rows of all pictures, in strips that the caches hold.
template <class T>
void run_rows(const Problem<T>& p, bool looks_up, std::int64_t begin, std::int64_t end) {
  constexpr int samples = 8192, most_channels = 4;
  const int together = looks_up ? p.channels() : most_channels, width = std::max(1, samples / together);
  for (std::int64_t row = begin; row < end;) {
    const std::int64_t n = row / p.rows(), top = row % p.rows(), count = std::min(end - row, p.rows() - top);
    const int first = static_cast<int>(top), last = static_cast<int>(top + count);
    row += count;
    // Premultiplied pixels of more channels than a strip has.
    if (p.plan.recipe == Recipe::pick || (p.plan.premultiply && p.channels() > most_channels)) {
      copy_rows(p, n, first, last);
      continue;
    }
    for (int x = 0; x < p.cols(); x += width)
      for (int c = 0; c < p.channels(); c += together)
        run_strip(p, {n, x, std::min(x + width, p.cols()), first, last, c,
                      std::min(together, p.channels() - c), looks_up});
  }
}

template <class T>
void run_simd(const Problem<T>& p, int threads) {
  constexpr std::int64_t least_samples = 1 << 14;  // worth another thread
  const std::int64_t rows = p.images() * p.rows(), samples = rows * p.cols() * p.channels();
  if (samples == 0) return;
  const auto parts = static_cast<int>(
      std::clamp<std::int64_t>(samples / least_samples, 1, std::min<std::int64_t>(threads, rows)));
  const bool looks_up = by_lookup(p);
  parallel(parts, [&](int part) { run_rows(p, looks_up, rows * part / parts, rows * (part + 1) / parts); });
}

Reason refuses(const Arguments& arguments, const Tuning&, const Device&) {
  const ArrayView& out = arguments.array("resized");
  if (out.strides[3] != 1 && out.extents[3] != 1) return "the result's channels do not lie side by side";
  return std::nullopt;
}

Choice choice() {
  Choice out =
      choice_of<Problem>([](const auto& p, const Tuning&, Run& run) { run_simd(p, run.device->threads); });
  out.refuses = refuses;
  return out;
}

}  // namespace

void resize_simd(const Arguments& arguments, int threads) {
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
const Rung rung{"vectors, a few rows side by side, each row summed once, all cores", Where::cpu, {choice()}};
}  // namespace

}  // namespace tessera::resize
#endif
