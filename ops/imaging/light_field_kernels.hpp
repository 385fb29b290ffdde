// SPDX-License-Identifier: Apache-2.0
// Kernels for light fields: rungs 1 and 2 of both operations, in which a thread computes a sample, or 16
// bytes of a row; then rungs 3 and 4 of refocus, which sum four bytes per instruction.
#pragma once
#include "ops/imaging/light_field.hpp"
#include "ops/imaging/samples.hpp"
#include "tessera/kernel.hpp"

namespace tessera::lightfield {
inline namespace TESSERA_UNIT {

inline constexpr int run_bytes = 16;  // bytes of a row that a thread computes

// Stores a run's results with the widest stores that its address allows.
SIMT void store_run(Thread thread, std::uint8_t* to, const Bytes16& run, int count) {
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  if (count >= run_bytes && (address & 15) == 0) return thread.store16(to, run);
  if (count >= run_bytes && (address & 3) == 0) {
    SIMT_UNROLL
    for (int j = 0; j < 4; ++j) reinterpret_cast<std::uint32_t*>(to)[j] = run.word[j];
    return;
  }
  SIMT_UNROLL
  for (int i = 0; i < run_bytes; ++i)
    if (i < count) to[i] = static_cast<std::uint8_t>(byte_of(run.word[i / 4], i % 4));
}

// Five words from an address of any alignment, valid as far as the run reaches.
struct Window {
  std::uint32_t word[5];
};

// Loads bytes 0 to 15 + `more` of an address, and touches only the words that hold them.
SIMT Window load_words(const std::uint8_t* from, int more) {
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  const int before = static_cast<int>(address & 3), last = before + run_bytes - 1 + more;
  const auto* const words = reinterpret_cast<const std::uint32_t*>(address & ~std::uintptr_t{3});
  std::uint32_t raw[6];
  SIMT_UNROLL
  for (int j = 0; j < 6; ++j) raw[j] = 4 * j <= last ? words[j] : 0;
  Window out;
  SIMT_UNROLL
  for (int j = 0; j < 5; ++j) out.word[j] = funnel_shifted(raw[j], raw[j + 1], 8 * before);
  return out;
}

// Loads a Window byte by byte, for lines whose words must not be read and positions beyond a line's ends.
template <class P>
SIMT Window gather_bytes(const P& p, const std::uint8_t* line, int first, int offset, int more) {
  Window out = {};
  SIMT_UNROLL
  for (int i = 0; i < run_bytes + 3; ++i) {
    if (i >= run_bytes + more) continue;
    const int at = first + i + offset, channels = p.channels();
    const int pixel = at >= 0 ? at / channels : -((channels - 1 - at) / channels);
    const int col = border_index(pixel, p.width(), p.plan.border);
    const std::uint32_t byte = col == from_constant ? 0 : line[col * channels + at - pixel * channels];
    out.word[i / 4] |= byte << (8 * (i % 4));
  }
  return out;
}

template <class T>
Reason refuses_runs(const Gather<T>& p) {
  if (!std::is_same_v<T, std::uint8_t>) return "is for bytes";
  if (!p.packed()) return "is for pixels side by side";
  if (p.channels() > 3) return "is for 1 to 3 channels";
  if (p.plan.between == Interpolation::cubic) return "is for nearest and linear interpolation";
  return std::nullopt;
}

// Returns ⌊value / whole⌋, which fits in a byte, by a corrected f32 quotient: 64-bit divisions are slow.
SIMT std::uint32_t divided(std::uint64_t value, std::uint64_t whole) {
  const auto near = static_cast<std::uint32_t>(static_cast<float>(value) / static_cast<float>(whole));
  if (near * whole > value) return near - 1;
  return (near + 1) * whole <= value ? near + 1 : near;
}

// Computes run `run` of a row of one plane. `beside`: margin at both ends of a line, in bytes, in which words
// are not loaded.
SIMT void refocus_run(Thread thread, const Gather<std::uint8_t>& p, int plane, int y, int run, int beside) {
  const int first = run * run_bytes, channels = p.channels();
  std::uint64_t sum[run_bytes] = {};
  for (int begin = 0; begin < p.plan.count;) {
    const int end = p.row_end(begin);
    const Taps up = p.row_taps(p.plan.view[begin].row, plane);
    for (int i = 0; i < up.count; ++i) {
      const int row = border_index(y + up.first + i, p.height(), p.plan.border);
      if (row == from_constant) continue;
      SIMT_NO_UNROLL
      for (int v = begin; v < end; ++v) {
        const Taps right = p.col_taps(p.plan.view[v].col, plane);
        const std::uint8_t* const line = &p.views(p.plan.view[v].row, p.plan.view[v].col, row, 0, 0);
        const int offset = right.first * channels, more = right.count == 2 ? channels : 0;
        const bool inside =
            first + offset >= beside && first + offset + run_bytes + more + beside <= p.row_samples();
        const Window window =
            inside ? load_words(line + first + offset, more) : gather_bytes(p, line, first, offset, more);
        const std::uint32_t weights =
            static_cast<std::uint32_t>(right.weight[0]) |
            (right.count == 2 ? static_cast<std::uint32_t>(right.weight[1]) << (8 * channels) : 0);
        const std::uint64_t weight = static_cast<std::uint64_t>(i == 0 ? up.weight[0] : up.weight[1]) *
                                     static_cast<std::uint64_t>(p.plan.view[v].weight);
        SIMT_UNROLL
        for (int e = 0; e < run_bytes; ++e) {
          const std::uint32_t four =
              e % 4 == 0 ? window.word[e / 4]
                         : funnel_shifted(window.word[e / 4], window.word[e / 4 + 1], 8 * (e % 4));
          sum[e] += weight * dot4(four, weights, 0);
        }
      }
    }
    begin = end;
  }
  const std::uint64_t whole = static_cast<std::uint64_t>(p.plan.all_weights) << (2 * p.bits);
  Bytes16 out = {};
  SIMT_UNROLL
  for (int e = 0; e < run_bytes; ++e) out.word[e / 4] |= divided(sum[e] + whole / 2, whole) << (8 * (e % 4));
  store_run(thread, &p.result(plane, y, 0, 0) + first, out, p.row_samples() - first);
}

// The kernel of gpu_01_global of both operations.
template <class T, auto config>
struct Global {
  static constexpr int threads = config.threads;
  struct Shared {};

  static Launch launch(const Gather<T>& p, const Tuning&) {
    return {.grid = {(p.row_samples() + threads - 1) / threads, p.height(), p.planes()}, .block = {threads}};
  }

  SIMT void operator()(Thread thread, Shared&, const Gather<T>& p) const {
    const int e = thread.block().x * threads + thread.index().x;
    if (e < p.row_samples())
      p.compute(thread.block().z, thread.block().y, e / p.channels(), e % p.channels());
  }
};

// The kernel of gpu_02_rows of both operations.
template <class T, auto config>
struct Rows {
  static constexpr int threads = config.threads;
  struct Shared {};

  static Launch launch(const Gather<T>& p, const Tuning&) {
    const std::int64_t runs = (p.row_samples() + run_bytes - 1) / run_bytes;
    return {.grid = {(runs + threads - 1) / threads, p.height(), p.planes()}, .block = {threads}};
  }

  static Reason refuses(const Gather<T>& p, const Tuning&) { return refuses_runs(p); }

  SIMT void operator()(Thread thread, Shared&, const Gather<T>& p) const {
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      const int run = thread.block().x * threads + thread.index().x;
      if (run * run_bytes < p.row_samples())
        refocus_run(thread, p, thread.block().z, thread.block().y, run, 3);
    }
  }
};

// Shared by rungs 3 and 4: a thread computes 16 bytes of some rows of one or more planes, and sums lines
// along a row of the grid, four bytes an instruction.

inline constexpr int packed_warps = 4, packed_threads = 32 * packed_warps;

// The partition of the result among threads. Runs [first, last) lie within every shifted view; adjacent lanes
// compute adjacent runs. The edge runs have blocks of their own, with a sample per thread: they are few, so
// their latency counts.
struct WorkSplit {
  int first, last, runs, groups;  // a group: the rows of one thread
  int inner_x, inner_y;           // blocks
  std::int64_t edge_samples;      // per row
  std::int64_t edge_blocks;
  int left, right;  // farthest offsets at which views are read, in samples

  SIMT std::int64_t blocks() const { return std::int64_t{inner_x} * inner_y + edge_blocks; }
};

SIMT int divided_up(std::int64_t a, std::int64_t b) { return static_cast<int>((a + b - 1) / b); }

// Returns the number of bytes at both ends of a line that 16-byte loads must not touch; 0 if both ends of the
// array are multiples of 16, since a 16-byte piece with a byte of the array then holds no other bytes.
SIMT int bytes_beside(const View<const std::uint8_t, 5>& views) {
  std::int64_t last = 0;
  for (int d = 0; d < 5; ++d) last += (views.extent[d] - 1) * views.stride[d];
  const auto begin = reinterpret_cast<std::uintptr_t>(views.data);
  return ((begin | (begin + static_cast<std::uintptr_t>(last) + 1)) & 15) == 0 ? 0 : 15;
}

SIMT WorkSplit work_split_of(const Gather<std::uint8_t>& p, int rows, int planes) {
  std::int64_t left = 0, right = 0;  // farthest offsets at which samples are read
  for (int corner = 0; corner < 4; ++corner) {
    const int col = corner % 2 == 0 ? p.plan.min_col : p.plan.max_col;
    const std::int32_t slope = corner / 2 == 0 ? p.plan.min_slope : p.plan.max_slope;
    const Taps taps = taps_of<p.bits>(shift_of<p.bits>(col, p.plan.centre_col, slope), p.plan.between);
    const std::int64_t at = std::int64_t{taps.first} * p.channels();
    left = at < left ? at : left;
    right = at + p.channels() > right ? at + p.channels() : right;
  }
  WorkSplit out;
  out.left = static_cast<int>(left);
  out.right = static_cast<int>(right) - p.channels();
  const int beside = bytes_beside(p.views);
  const std::int64_t room = p.row_samples() - right - beside;
  out.runs = divided_up(p.row_samples(), run_bytes);
  out.groups = divided_up(p.height(), rows);
  const std::int64_t first = (beside - left + run_bytes - 1) / run_bytes,
                     last = room < 0 ? 0 : room / run_bytes;
  out.first = static_cast<int>(first < out.runs ? first : out.runs);
  out.last = static_cast<int>(last > out.first ? last : out.first);
  out.inner_x = divided_up(out.last - out.first, 32);
  out.inner_y = divided_up(out.groups, packed_warps);
  const std::int64_t row = p.row_samples(), begin = std::int64_t{out.first} * run_bytes,
                     end = std::int64_t{out.last} * run_bytes;
  out.edge_samples = (begin < row ? begin : row) + (row > end ? row - end : 0);
  out.edge_blocks = divided_up(out.edge_samples * p.height() * planes, packed_threads);
  return out;
}

// The work of a thread: if `run` >= 0, that run (16 bytes of a row) of row group `group`; else, if `sample`
// >= 0, that one edge sample of `row` and `plane`; else nothing.
struct ThreadWork {
  int run = -1, group = 0;
  int sample = -1, row = 0, plane = 0;
  int left = 0, right = 0;
};

SIMT ThreadWork thread_work(Thread thread, const Gather<std::uint8_t>& p, const WorkSplit& split,
                            std::int64_t block, int planes) {
  ThreadWork out;
  out.left = split.left;
  out.right = split.right;
  // Edge blocks come first, because each takes long.
  block -= split.edge_blocks;
  if (block >= 0) {
    out.run = split.first + static_cast<int>(block % split.inner_x) * 32 + thread.lane();
    out.group = static_cast<int>(block / split.inner_x) * packed_warps + thread.warp();
    if (out.run >= split.last || out.group >= split.groups) out.run = -1;
  } else {
    const std::int64_t at = (block + split.edge_blocks) * packed_threads + thread.rank(),
                       row = at / split.edge_samples;
    if (row >= std::int64_t{p.height()} * planes) return out;
    const int edge = static_cast<int>(at % split.edge_samples);
    out.sample = edge < split.first * run_bytes ? edge : edge + (split.last - split.first) * run_bytes;
    out.row = static_cast<int>(row / planes);
    out.plane = static_cast<int>(row % planes);
  }
  return out;
}

// A view's shift in a plane, kept in shared memory: the offset in samples and in pixels, and the weights of
// the two taps, in the bytes of their samples.
struct Shift {
  std::int32_t offset, pixels;
  std::uint32_t weights;
};

template <int planes>
struct Shifts {
  Shift shift[planes][max_views];
};

template <int planes>
SIMT void fill_shifts(Thread thread, Shifts<planes>& to, const Gather<std::uint8_t>& p, int plane) {
  for (int i = thread.rank(); i < planes * p.plan.count; i += packed_threads) {
    const int k = i / p.plan.count, v = i % p.plan.count;
    if (plane + k >= p.planes()) continue;
    const Taps taps = p.col_taps(p.plan.view[v].col, plane + k);
    to.shift[k][v].offset = taps.first * p.channels();
    to.shift[k][v].pixels = taps.first;
    to.shift[k][v].weights = static_cast<std::uint32_t>(taps.weight[0]) |
                             static_cast<std::uint32_t>(taps.weight[1]) << (8 * p.channels());
  }
}

// A line's bytes in aligned pieces of 16, each of which holds a byte that is needed.
struct Pieces {
  std::uint32_t word[9];
  int before;
};

SIMT Pieces load_pieces(Thread thread, const std::uint8_t* from, int more) {
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  const auto* const begin = from - (address & 15);
  Pieces out;
  out.before = static_cast<int>(address & 15);
  const Bytes16 one = thread.load16(begin), two = thread.load16(begin + 16);
  SIMT_UNROLL
  for (int j = 0; j < 4; ++j) out.word[j] = one.word[j], out.word[4 + j] = two.word[j];
  out.word[8] = 0;
  if (out.before + run_bytes + more > 32) out.word[8] = reinterpret_cast<const std::uint32_t*>(begin)[8];
  return out;
}

SIMT void add_words(const std::uint32_t (&word)[5], std::uint32_t weights, std::uint32_t (&sum)[run_bytes]) {
  SIMT_UNROLL
  for (int e = 0; e < run_bytes; ++e) {
    const std::uint32_t four =
        e % 4 == 0 ? word[e / 4] : funnel_shifted(word[e / 4], word[e / 4 + 1], 8 * (e % 4));
    sum[e] = dot4(four, weights, sum[e]);
  }
}

template <int skipped>
SIMT void add_from(const Pieces& pieces, std::uint32_t weights, std::uint32_t (&sum)[run_bytes]) {
  std::uint32_t word[5];
  SIMT_UNROLL
  for (int j = 0; j < 5; ++j)
    word[j] = funnel_shifted(pieces.word[skipped + j], pieces.word[skipped + j + 1], 8 * (pieces.before & 3));
  add_words(word, weights, sum);
}

// Adds the pieces of a line. The lanes of a warp are 16 bytes apart, so the branch is uniform.
SIMT void add_pieces(const Pieces& pieces, std::uint32_t weights, std::uint32_t (&sum)[run_bytes]) {
  switch (pieces.before >> 2) {
    case 0:
      return add_from<0>(pieces, weights, sum);
    case 1:
      return add_from<1>(pieces, weights, sum);
    case 2:
      return add_from<2>(pieces, weights, sum);
    default:
      return add_from<3>(pieces, weights, sum);
  }
}

// The lines of a view that `rows` rows of the result read in one plane: their offsets, and whether they
// count. A line that does not count is read too, so that no branch separates the loads.
template <int rows>
struct LinesOf {
  std::int64_t at[rows + 1];
  bool counts[rows + 1];
  std::uint32_t weight[2];

  SIMT LinesOf(const Gather<std::uint8_t>& p, int grid_row, int plane, int y) {
    const Taps up = p.row_taps(grid_row, plane);
    weight[0] = static_cast<std::uint32_t>(up.weight[0]);
    weight[1] = static_cast<std::uint32_t>(up.weight[1]);
    SIMT_UNROLL
    for (int r = 0; r <= rows; ++r) {
      const int last = r == rows && up.count == 1 ? r - 1 : r;
      const int row = border_index(y + up.first + last, p.height(), p.plan.border);
      counts[r] = row != from_constant;
      at[r] = counts[r] ? row * p.views.stride[2] : 0;
    }
  }
};

// Adds views [begin, end), all of one row of the grid, to the sums of one plane.
template <int rows>
SIMT void add_views(Thread thread, const Gather<std::uint8_t>& p, const Shift* shifts,
                    const LinesOf<rows>& lines, int begin, int end, const ThreadWork& place,
                    std::uint32_t (&sum)[rows][run_bytes]) {
  const int first = place.run * run_bytes;
  std::uint32_t along[rows + 1][run_bytes] = {};
  const auto load = [&](int v, Pieces(&pieces)[rows + 1]) {
    const std::uint8_t* const view =
        p.views.data + p.plan.view[v].row * p.views.stride[0] + p.plan.view[v].col * p.views.stride[1];
    // The clamp keeps addresses within the views, whatever the table in shared memory holds.
    const int offset = shifts[v].offset, above = offset > place.left ? offset : place.left;
    const int within = above < place.right ? above : place.right;
    SIMT_UNROLL
    for (int r = 0; r <= rows; ++r)
      pieces[r] = load_pieces(thread, view + lines.at[r] + first + within, p.channels());
  };
  // The next view's lines are loaded while this view's are summed.
  Pieces next[rows + 1];
  load(begin, next);
  SIMT_NO_UNROLL
  for (int v = begin; v < end; ++v) {
    Pieces here[rows + 1];
    SIMT_UNROLL
    for (int r = 0; r <= rows; ++r) here[r] = next[r];
    if (v + 1 < end) load(v + 1, next);
    SIMT_UNROLL
    for (int r = 0; r <= rows; ++r) add_pieces(here[r], shifts[v].weights, along[r]);
  }
  SIMT_UNROLL
  for (int r = 0; r < rows; ++r) {
    const std::uint32_t upper = lines.counts[r] ? lines.weight[0] : 0,
                        lower = lines.counts[r + 1] ? lines.weight[1] : 0;
    SIMT_UNROLL
    for (int e = 0; e < run_bytes; ++e) sum[r][e] += upper * along[r][e] + lower * along[r + 1][e];
  }
}

SIMT void store_sums(Thread thread, const Gather<std::uint8_t>& p, int plane, int y, int first,
                     const std::uint32_t (&sum)[run_bytes]) {
  const std::uint32_t whole = static_cast<std::uint32_t>(p.plan.all_weights) << (2 * p.bits);
  Bytes16 out = {};
  SIMT_UNROLL
  for (int e = 0; e < run_bytes; ++e) out.word[e / 4] |= (sum[e] + whole / 2) / whole << (8 * (e % 4));
  store_run(thread, &p.result(plane, y, 0, 0) + first, out, p.row_samples() - first);
}

// Computes a thread's part of `planes` planes from `plane` on: `views_at_once` views of a grid row at a time,
// for one plane after another.
template <int rows, int planes>
SIMT void refocus_packed(Thread thread, const Gather<std::uint8_t>& p, const Shifts<planes>& shifts,
                         int plane, const ThreadWork& at, int views_at_once) {
  const int y = at.group * rows, first = at.run * run_bytes;
  std::uint32_t sum[planes][rows][run_bytes] = {};
  for (int begin = 0; begin < p.plan.count;) {
    const int row_end = p.row_end(begin),
              end = begin + views_at_once < row_end ? begin + views_at_once : row_end;
    SIMT_UNROLL
    for (int k = 0; k < planes; ++k) {
      if (plane + k >= p.planes()) continue;
      const LinesOf<rows> lines(p, p.plan.view[begin].row, plane + k, y);
      add_views<rows>(thread, p, shifts.shift[k], lines, begin, end, at, sum[k]);
    }
    begin = end;
  }
  SIMT_UNROLL
  for (int k = 0; k < planes; ++k) {
    SIMT_UNROLL
    for (int r = 0; r < rows; ++r)
      if (plane + k < p.planes() && y + r < p.height())
        store_sums(thread, p, plane + k, y + r, first, sum[k][r]);
  }
}

// Computes one edge sample by the same sum, with the loads of `together` views in flight.
SIMT void refocus_sample(const Gather<std::uint8_t>& p, const Shift* shifts, int plane, int y, int sample) {
  constexpr int together = 4;
  const int channels = p.channels(), x = sample / channels, c = sample % channels;
  std::uint32_t sum = 0;
  for (int begin = 0; begin < p.plan.count;) {
    const int end = p.row_end(begin);
    const LinesOf<1> lines(p, p.plan.view[begin].row, plane, y);
    std::uint32_t along[2] = {};
    SIMT_NO_UNROLL
    for (int v = begin; v < end; v += together) {
      std::uint32_t weight[together][2], byte[together][2][2];
      SIMT_UNROLL
      for (int i = 0; i < together; ++i) {
        const int at = v + i < end ? v + i : begin;
        const Shift shift = shifts[at];
        const std::uint8_t* const view = p.views.data + p.plan.view[at].row * p.views.stride[0] +
                                         p.plan.view[at].col * p.views.stride[1] + c;
        SIMT_UNROLL
        for (int j = 0; j < 2; ++j) {
          const int col = border_index(x + shift.pixels + j, p.width(), p.plan.border);
          weight[i][j] = v + i < end && col != from_constant ? shift.weights >> (8 * j * channels) & 255 : 0;
          const int column_offset = col == from_constant ? 0 : col * channels;
          byte[i][j][0] = view[lines.at[0] + column_offset];
          byte[i][j][1] = view[lines.at[1] + column_offset];
        }
      }
      SIMT_UNROLL
      for (int i = 0; i < together; ++i) {
        SIMT_UNROLL
        for (int j = 0; j < 2; ++j) {
          along[0] += weight[i][j] * byte[i][j][0];
          along[1] += weight[i][j] * byte[i][j][1];
        }
      }
    }
    sum += (lines.counts[0] ? lines.weight[0] * along[0] : 0) +
           (lines.counts[1] ? lines.weight[1] * along[1] : 0);
    begin = end;
  }
  const std::uint32_t whole = static_cast<std::uint32_t>(p.plan.all_weights) << (2 * p.bits);
  (&p.result(plane, y, 0, 0))[sample] = static_cast<std::uint8_t>((sum + whole / 2) / whole);
}

// Computes a block's part of the result, for rungs 3 and 4.
template <int rows, int planes>
SIMT void refocus_block(Thread thread, Shifts<planes>& shifts, const Gather<std::uint8_t>& p,
                        int views_at_once) {
  const int parts = (p.planes() + planes - 1) / planes, plane = thread.block().x % parts * planes;
  fill_shifts(thread, shifts, p, plane);
  thread.sync();
  const ThreadWork at =
      thread_work(thread, p, work_split_of(p, rows, planes), thread.block().x / parts, planes);
  if (at.run >= 0) refocus_packed<rows, planes>(thread, p, shifts, plane, at, views_at_once);
  else if (at.sample >= 0 && plane + at.plane < p.planes())
    refocus_sample(p, shifts.shift[at.plane], plane + at.plane, at.row, at.sample);
}

template <int rows, int planes, class T>
Launch launch_of_packed(const Gather<T>& p) {
  if constexpr (!std::is_same_v<T, std::uint8_t>) return {};
  else
    return {.grid = {work_split_of(p, rows, planes).blocks() * ((p.planes() + planes - 1) / planes)},
            .block = {packed_threads}};
}

template <class T>
Reason refuses_packed(const Gather<T>& p) {
  if (const Reason reason = refuses_runs(p)) return reason;
  if (!p.plan.equal) return "is for apertures in which all views count alike";
  return std::nullopt;
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::lightfield
