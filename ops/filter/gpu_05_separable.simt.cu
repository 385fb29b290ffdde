// SPDX-License-Identifier: Apache-2.0
// GPU rung 5 for kernels that are a column times a row: the fastest rung for large ones.
//
// A block slides down a strip of the picture: it prefetches some rows, 16 bytes per load, sums along them
// into a ring in shared memory, and then down the columns. A sample takes as many products as the kernel has
// rows and columns, not taps, and every sum along a row is computed once. Bytes with weights of a byte take
// four and two products per instruction. Arithmetic limits it now: always for bytes, for floats if the kernel
// is large.
#include "separable.hpp"

namespace tessera::filtering {
namespace {

struct Config {
  int threads = 128;
  Tuning tuning() const { return {{"threads", threads}}; }
};

template <class T, Config config>
struct Separable {
  static constexpr int threads = config.threads, min_blocks_per_sm = sizeof(T) == 4 ? 4 : 5;
  static constexpr bool has_bytes = std::is_same_v<T, std::uint8_t>;

  struct Shared {
    static constexpr bool swizzled_source = true;
    alignas(16) std::uint32_t source[16 * 48 * 4];
    alignas(16) std::uint32_t ring[(has_bytes ? BytePasses::ring_slots : NumberPasses<T>::ring_slots) * 4];
    alignas(16) std::uint32_t row[48], column[32];
  };

  // "rows": the approximate number of rows of the result per block.
  static std::vector<Range> ranges() { return {{"rows", 1, 4096, 128}}; }

  SIMT static bool in_bytes(const Problem<T>& p) { return has_bytes && p.taps.bytes && p.to == Element::u8; }

  static Launch launch(const Problem<T>& p, const Tuning& tuning) {
    return launch_of_strips(p, in_bytes(p) ? BytePasses::cols : NumberPasses<T>::cols, tuning["rows"],
                            threads);
  }

  static Reason refuses(const Problem<T>& p, const Tuning&) {
    if (!p.taps.separable) return "is for kernels that are a column times a row";
    if (std::is_integral_v<T> && !p.taps.whole) return "is for whole weights, where samples are integers";
    return std::nullopt;
  }

  template <class Passes>
  SIMT static void fetch(Thread thread, const Strip<T>& strip, int first, const int (&row)[Passes::fetches],
                         const int (&run)[Passes::fetches], int runs, Bytes16 (&to)[Passes::fetches]) {
    const std::int64_t stride = strip.p.image.stride[1];
    const bool plain = strip.plain(first, Passes::rows, runs * run_samples<T>);
    const T* const corner = strip.plane + (plain ? (strip.top + first) * stride + strip.left : 0);
    SIMT_UNROLL
    for (int f = 0; f < Passes::fetches; ++f) {
      if (row[f] >= Passes::rows) break;
      const int j = run[f] * run_samples<T>;
      to[f] = plain ? thread.load16(corner + row[f] * stride + j) : strip.fetch(thread, first + row[f], j);
    }
  }

  template <class Passes>
  SIMT static void slide(Thread thread, Shared& shared, const Problem<T>& p) {
    const Strip<T> strip(thread, p, Passes::cols);
    if (strip.empty()) return;
    Passes::put_weights(thread, shared, p.taps, strip.shift);
    const int runs = Passes::runs(p.taps, strip.shift), before = lag_of(p.taps);
    const int steps = (strip.end - strip.begin + 8 * before + Passes::rows - 1) / Passes::rows;
    int row[Passes::fetches], run[Passes::fetches];
    SIMT_UNROLL
    for (int f = 0; f < Passes::fetches; ++f) {
      row[f] = (thread.rank() + f * threads) / runs;
      run[f] = (thread.rank() + f * threads) % runs;
    }
    SIMT_NO_UNROLL
    for (int step = 0; step <= steps; ++step) {
      Bytes16 next[Passes::fetches] = {};
      if (step < steps) fetch<Passes>(thread, strip, step * Passes::rows, row, run, runs, next);
      if (step > 0) Passes::down(thread, shared, strip, step - 1, before);
      if (step == steps) return;
      SIMT_UNROLL
      for (int f = 0; f < Passes::fetches; ++f)
        if (row[f] < Passes::rows) Passes::keep(thread, shared, row[f], run[f], next[f]);
      thread.sync();
      Passes::along(thread, shared, strip, step);
      thread.sync();
    }
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    if constexpr (has_bytes) {
      if (in_bytes(p)) return slide<BytePasses>(thread, shared, p);
    }
    slide<NumberPasses<T>>(thread, shared, p);
  }
};

const KernelRung<Problem, Config, Separable, Config{}> rung{
    "a column times a row: a strip slides down, sums along rows wait in a ring for those along columns"};

}  // namespace
}  // namespace tessera::filtering
