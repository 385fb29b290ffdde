// SPDX-License-Identifier: Apache-2.0
// A separable kernel's two passes over numbers of 32 bits: twice eight results of a thread at once, side by
// side along rows, below one another along columns. Of eight samples that a tap takes, seven serve the next.
#pragma once
#include "strips.hpp"

namespace tessera::filter {
inline namespace TESSERA_UNIT {

// Samples of 16 bytes' place in shared memory: lanes that are `2^apart` of them apart meet no bank twice.
template <int apart>
SIMT int swizzled(int slot) {
  return slot ^ (slot >> 3 & ((1 << apart) - 1));
}

constexpr int two = 2;  // lines of a thread, eight results in each

// sum ← sum + weight·sample of tap j for results that begin at `from`; behind these lie `more`.
template <class A>
SIMT void add_tap(A weight, int j, const A (&from)[two][8], const A (&more)[two][8], A (&sum)[two][8]) {
  SIMT_UNROLL
  for (int v = 0; v < two * 8; ++v) {
    const int line = v / 8, at = v % 8 + j;
    sum[line][v % 8] =
        add_product(weight, at < 8 ? from[line][at & 7] : more[line][at & 7], sum[line][v % 8]);
  }
}

// Eight taps, or the last `taps`. Weights of 0 may be left out among whole numbers and must be among floats.
// Where there are none, as mostly, nothing asks.
template <class A>
SIMT void add_taps(const Bytes16 (&weights)[2], int taps, const A (&from)[two][8], const A (&more)[two][8],
                   A (&sum)[two][8]) {
  A weight[8];
  bool all = true;
  SIMT_UNROLL
  for (int j = 0; j < 8; ++j) {
    weight[j] = weight_as<A>(static_cast<std::int32_t>(weights[j / 4].word[j % 4]));
    all = all & (weight[j] != A{0});
  }
  if (all) {
    SIMT_UNROLL
    for (int j = 0; j < 8; ++j) add_tap(weight[j], j, from, more, sum);
    return;
  }
  SIMT_UNROLL
  for (int j = 0; j < 8; ++j) {
    if (j >= taps) break;
    if (weight[j] != A{0}) add_tap(weight[j], j, from, more, sum);
  }
}

// sum ← Σ weight·sample, tap after tap, for results that begin one sample apart. load(k, to): the eight
// samples of each line from k·8, asked for in order.
template <class A, class Load>
SIMT void sum_taps(Thread thread, const std::uint32_t* weights, int taps, const Load& load,
                   A (&sum)[two][8]) {
  A one[two][8], other[two][8];
  load(0, one);
  if (taps > 1) {
    load(1, other);
  } else {
    SIMT_UNROLL
    for (int v = 0; v < two * 8; ++v) other[v / 8][v % 8] = 0;
  }
  SIMT_NO_UNROLL
  for (int k = 0; k < taps; k += 16) {
    const Bytes16 first[2] = {thread.load16(weights + k), thread.load16(weights + k + 4)};
    add_taps(first, taps - k, one, other, sum);
    if (k + 8 >= taps) break;
    if (k + 9 < taps) load(k / 8 + 2, one);
    const Bytes16 second[2] = {thread.load16(weights + k + 8), thread.load16(weights + k + 12)};
    add_taps(second, taps - k - 8, other, one, sum);
    if (k + 17 < taps) load(k / 8 + 3, other);
  }
}

template <class T>
struct NumberPasses {
  static constexpr int cols = 128, rows = 16, threads = 128;  // of a strip; of a step
  static constexpr int slots = 48, ring_chunks = 6, ring_slots = ring_chunks * 8 * (cols / 4);
  static constexpr int in_run = run_samples<T> / 4;  // slots that 16 bytes of samples fill
  static constexpr int fetches = (42 + in_run - 1) / in_run * rows / threads + 1;

  using A = std::conditional_t<std::is_integral_v<T>, std::int32_t, float>;

  SIMT static int runs(const Taps& taps, int shift) {
    const int needed = cols / 4 + (taps.cols + shift + 6) / 8 * 2;
    return (needed + in_run - 1) / in_run;
  }

  template <class Shared>
  SIMT static void put_weights(Thread thread, Shared& shared, const Taps& taps, int shift) {
    for (int k = thread.rank(); k < 40; k += threads) {
      const int j = k - shift;
      shared.row[k] = static_cast<std::uint32_t>(j >= 0 && j < taps.cols ? taps.row[j] : 0);
      if (k < 32) shared.column[k] = static_cast<std::uint32_t>(k < taps.rows ? taps.column[k] : 0);
    }
  }

  template <class Shared>
  SIMT static void keep(Thread thread, Shared& shared, int row, int run, const Bytes16& bytes) {
    SIMT_UNROLL
    for (int s = 0; s < in_run; ++s) {
      Bytes16 numbers;
      SIMT_UNROLL
      for (int k = 0; k < 4; ++k)
        numbers.word[k] = __builtin_bit_cast(std::uint32_t, number<A>(sample_in<T>(bytes, 4 * s + k)));
      thread.store16(&shared.source[(row * slots + swizzled<1>(run * in_run + s)) * 4], numbers);
    }
  }

  template <class Shared>
  SIMT static void along(Thread thread, Shared& shared, const Strip<T>& strip, int step) {
    const int i = thread.rank() / (cols / 8), first = thread.rank() % (cols / 8) * 2;  // and the row i + 8
    A sum[two][8] = {};
    const auto load = [&](int k, A(&to)[two][8]) {
      SIMT_UNROLL
      for (int s = 0; s < 2 * two; ++s) {
        const int at = first + 2 * k + s % 2, slot = Shared::swizzled_source ? swizzled<1>(at) : at;
        const Bytes16 four = thread.load16(&shared.source[((i + s / 2 * 8) * slots + slot) * 4]);
        SIMT_UNROLL
        for (int v = 0; v < 4; ++v) to[s / 2][s % 2 * 4 + v] = __builtin_bit_cast(A, four.word[v]);
      }
    };
    sum_taps(thread, shared.row, strip.p.taps.cols + strip.shift, load, sum);
    SIMT_UNROLL
    for (int s = 0; s < 2 * two; ++s) {
      Bytes16 four;
      SIMT_UNROLL
      for (int v = 0; v < 4; ++v) four.word[v] = __builtin_bit_cast(std::uint32_t, sum[s / 2][s % 2 * 4 + v]);
      const int line = two * step % ring_chunks * 8 + i + s / 2 * 8;
      thread.store16(&shared.ring[(line * (cols / 4) + swizzled<1>(first + s % 2)) * 4], four);
    }
  }

  // Of two columns, half a strip apart.
  template <class Shared>
  SIMT static void down(Thread thread, const Shared& shared, const Strip<T>& strip, int step, int lag) {
    const int chunk = two * step + thread.rank() / (cols / two) - lag, x = thread.rank() % (cols / two);
    if (chunk < 0) return;
    const std::uint32_t* const column = shared.ring + swizzled<1>(x / 4) * 4 + x % 4;
    int at = chunk % ring_chunks;
    A sum[two][8] = {};
    const auto load = [&](int, A(&to)[two][8]) {
      SIMT_UNROLL
      for (int v = 0; v < two * 8; ++v)
        to[v / 8][v % 8] = __builtin_bit_cast(A, column[(at * 8 + v % 8) * cols + v / 8 * (cols / two)]);
      at = at + 1 == ring_chunks ? 0 : at + 1;
    };
    sum_taps(thread, shared.column, strip.p.taps.rows, load, sum);
    SIMT_UNROLL
    for (int l = 0; l < two; ++l)
      store(strip, strip.begin + chunk * 8, strip.first + x + l * (cols / two), sum[l]);
  }

  SIMT static void store(const Strip<T>& strip, int y, int x, const A (&sum)[8]) {
    const Problem<T>& p = strip.p;
    if (x < 0 || x >= p.cols()) return;
    if (p.to != element_of<T>) {
      SIMT_UNROLL
      for (int v = 0; v < 8; ++v)
        if (y + v < strip.end) p.store(strip.n, y + v, x, strip.c, sum[v]);
      return;
    }
    const std::int64_t* const stride = p.filtered.stride;
    T* to = reinterpret_cast<T*>(p.filtered.data) + strip.origin + y * stride[1] + x * stride[2];
    if (y + 8 <= strip.end) {
      SIMT_UNROLL
      for (int v = 0; v < 8; ++v, to += stride[1]) *to = finished<T>(p.finish, sum[v]);
      return;
    }
    SIMT_UNROLL
    for (int v = 0; v < 8; ++v, to += stride[1])
      if (y + v < strip.end) *to = finished<T>(p.finish, sum[v]);
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::filter
