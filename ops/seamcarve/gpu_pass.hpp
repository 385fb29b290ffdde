// SPDX-License-Identifier: Apache-2.0
// The steps around the search, common to all GPU rungs: computing a picture's grey values, removing a seam
// from them, and assembling the result. Seams are stored by the columns they had when they were found, so
// that only greys are moved; no step waits for the host.
#pragma once
#include "seamcarve.hpp"
#include "tessera/kernel.hpp"

namespace tessera::seamcarve {
inline namespace TESSERA_UNIT {

// The greys of a direction, for a search. Rows are `stride` apart, a multiple of 8.
struct Field {
  Pixel* plane = nullptr;
  std::int64_t stride = 0;
  std::int32_t* seams = nullptr;  // [seams,length]
  unsigned char* own = nullptr;   // workspace of the search
  Direction direction;
  Energy energy = Energy::gradient;
  bool masked = false;  // costs are Masked, else Plain

  SIMT std::int32_t length() const { return direction.length; }
  SIMT std::int32_t width(std::int32_t found) const { return direction.across - found; }
  SIMT std::int32_t* seam(std::int32_t n) const { return seams + std::int64_t{n} * direction.length; }
  SIMT std::int32_t grey(std::int32_t y, std::int32_t x) const { return grey_of(plane[y * stride + x]); }

  SIMT Neighbourhood around(std::int32_t y, std::int32_t x, std::int32_t width) const {
    return {grey(y, x > 0 ? x - 1 : 0), grey(y, x), grey(y, x + 1 < width ? x + 1 : x),
            grey(y > 0 ? y - 1 : 0, x), grey(y + 1 < length() ? y + 1 : y, x)};
  }
};

template <class T>
struct Pass {
  Field field;
  Source<T> from;
  View<T, 3> to;
  View<std::uint8_t, 2> marks_to;  // no data: not needed
  std::uint8_t* taken = nullptr;   // [length,across]: 1 where a seam has passed
};

inline constexpr int pass_threads = 256;

SIMT std::int64_t stride_for(std::int64_t across) { return (across + 7) / 8 * 8; }

// Workspace offsets, sized for whichever carving direction needs more.
struct Layout {
  std::int64_t taken = 0, seams = 0, picture = 0, marks = 0, own = 0;

  template <class T>
  SIMT static Layout of(const Problem<T>& p) {
    constexpr std::int64_t unit = 256;
    std::int64_t plane = 0, taken = 0, seams = 0;
    for (int i = 0; i < p.options.directions; ++i) {
      const Direction& d = p.options.direction[i];
      const auto larger = [](std::int64_t a, std::int64_t b) { return a > b ? a : b; };
      plane = larger(plane, d.length * stride_for(d.across) * std::int64_t{sizeof(Pixel)});
      taken = larger(taken, std::int64_t{d.length} * d.across);
      seams = larger(seams, std::int64_t{d.length} * d.seams * std::int64_t{sizeof(std::int32_t)});
    }
    const auto up = [](std::int64_t bytes) { return (bytes + unit - 1) / unit * unit; };
    const std::int64_t between = p.options.directions < 2 ? 0
                                                          : std::int64_t{p.options.direction[1].length} *
                                                                p.options.direction[1].across;
    Layout out;
    out.taken = up(plane);
    out.seams = out.taken + up(taken);
    out.picture = out.seams + up(seams);
    out.marks = out.picture + up(between * p.channels() * std::int64_t{sizeof(T)});
    out.own = out.marks + up(p.masked() ? between : 0);
    return out;
  }
};

// Returns direction i of picture n. The first direction leaves its result in the workspace, from which a
// second one reads it.
template <class T>
SIMT Pass<T> pass_of(const Problem<T>& p, std::int64_t n, int i) {
  const Layout layout = Layout::of(p);
  auto* const memory = static_cast<unsigned char*>(p.workspace);
  const Direction& d = p.options.direction[i];
  Pass<T> out;
  out.field.plane = reinterpret_cast<Pixel*>(memory);
  out.field.stride = stride_for(d.across);
  out.field.seams = reinterpret_cast<std::int32_t*>(memory + layout.seams);
  out.field.own = memory + layout.own;
  out.field.direction = d;
  out.field.energy = p.options.energy;
  out.field.masked = p.masked();
  out.taken = memory + layout.taken;
  out.from = p.source(n);
  out.to = one_of(p.carved, n);
  if (p.options.directions == 2) {
    const std::int64_t rows = p.image.extent[1], width = p.carved.extent[2];
    const auto picture =
        packed<T, 3>(reinterpret_cast<T*>(memory + layout.picture), {rows, width, p.channels()});
    const auto marks = packed<std::uint8_t, 2>(p.masked() ? memory + layout.marks : nullptr, {rows, width});
    if (i == 0) {
      out.to = picture;
      out.marks_to = marks;
    } else {
      out.from = {constant(picture), {}, {}, constant(marks)};
    }
  }
  out.from = transposed(out.from, d.transposed);
  out.to = transposed(out.to, d.transposed);
  return out;
}

// Uses one thread per pixel.
template <class T>
SIMT void prepare(Thread thread, const Pass<T>& pass) {
  const Direction& d = pass.field.direction;
  const std::int64_t at = std::int64_t{thread.block().x} * pass_threads + thread.rank();
  if (at >= std::int64_t{d.length} * d.across) return;
  const std::int64_t y = at / d.across, x = at % d.across;
  pass.taken[at] = 0;
  pass.field.plane[y * pass.field.stride + x] = pass.from.pixel_at(y, x, d.unwanted_count);
}

inline Launch prepare_launch(const Direction& d) {
  return {.grid = {(std::int64_t{d.length} * d.across + pass_threads - 1) / pass_threads},
          .block = {pass_threads}};
}

template <class T>
struct Prepare {
  static constexpr int threads = pass_threads;
  struct Shared {};
  SIMT void operator()(Thread thread, Shared&, const Pass<T>& pass) const { prepare(thread, pass); }
};

// Removes seam `found`: a block moves the pixels after it in a row.
struct SeamRemoval {
  Field field;
  std::int32_t found;
};

struct RemoveSeam {
  static constexpr int threads = pass_threads;
  struct Shared {};
  SIMT void operator()(Thread thread, Shared&, const SeamRemoval& m) const {
    Pixel* const row = m.field.plane + thread.block().x * m.field.stride;
    const std::int32_t last = m.field.width(m.found) - 1;
    for (std::int32_t first = m.field.seam(m.found)[thread.block().x]; first < last; first += threads) {
      const std::int32_t x = first + thread.rank();
      const Pixel moved = x < last ? row[x + 1] : Pixel{0};
      thread.sync();
      if (x < last) row[x] = moved;
    }
  }
};

// Returns the column before any seam was removed: each seam found earlier, from the last one on, adds 1 if it
// was at or before the column.
template <class T>
struct OriginalColumns {
  static constexpr int threads = pass_threads;
  struct Shared {};
  SIMT void operator()(Thread thread, Shared&, const Pass<T>& pass) const {
    const Field& f = pass.field;
    const std::int64_t at = std::int64_t{thread.block().x} * threads + thread.rank();
    if (at >= std::int64_t{f.length()} * f.direction.seams) return;
    const auto y = static_cast<std::int32_t>(at % f.length());
    const auto n = static_cast<std::int32_t>(at / f.length());
    std::int32_t x = f.seam(n)[y];
    for (std::int32_t i = n - 1; i >= 0; --i) x += x >= f.seam(i)[y] ? 1 : 0;
    pass.taken[std::int64_t{y} * f.direction.across + x] = 1;
  }
};

SIMT int bits_in(std::uint32_t word) {
#if defined(__CUDA_ARCH__)
  return __popc(word);
#else
  return __builtin_popcount(word);
#endif
}

// Writes a row with one block: the pixels that no seam took or, when enlarging, all pixels and one more after
// each taken pixel.
template <class T>
struct Gather {
  static constexpr int threads = pass_threads, warps = threads / 32;
  struct Shared {
    int taken[2][warps];
  };

  SIMT static void put(const Pass<T>& pass, std::int64_t y, std::int64_t x, std::int64_t to, bool doubled) {
    const std::int64_t next = doubled && x + 1 < pass.field.direction.across ? x + 1 : x;
    for (std::int64_t c = 0; c < pass.to.extent[2]; ++c)
      pass.to(y, to, c) = between(pass.from.pixels(y, x, c), pass.from.pixels(y, next, c));
    if (pass.marks_to.data != nullptr)
      pass.marks_to(y, to) = static_cast<std::uint8_t>(pass.from.mark_at(y, x));
  }

  SIMT void operator()(Thread thread, Shared& shared, const Pass<T>& pass) const {
    const Direction& d = pass.field.direction;
    const std::int64_t y = thread.block().x;
    std::int64_t before = 0;
    for (std::int32_t first = 0, turn = 0; first < d.across; first += threads, turn ^= 1) {
      const std::int32_t x = first + thread.rank();
      const bool taken = x < d.across && pass.taken[y * d.across + x] != 0;
      const std::uint32_t lanes = thread.ballot(taken);
      if (thread.lane() == 0) shared.taken[turn][thread.warp()] = bits_in(lanes);
      thread.sync();
      std::int64_t mine = before + bits_in(lanes & ((1u << thread.lane()) - 1));
      for (int w = 0; w < warps; ++w) {
        if (w < thread.warp()) mine += shared.taken[turn][w];
        before += shared.taken[turn][w];
      }
      if (x >= d.across) continue;
      if (!d.enlarges) {
        if (!taken) put(pass, y, x, x - mine, false);
      } else {
        put(pass, y, x, x + mine, false);
        if (taken) put(pass, y, x, x + mine + 1, true);
      }
    }
  }
};

// Finds the leftmost of the minimum costs of a row, with all threads of a block.
template <class Sum, int warps>
struct BlockMinima {
  ColumnCost<Sum> place[warps];
};

template <class Sum, int warps>
SIMT std::int32_t leftmost_minimum(Thread thread, BlockMinima<Sum, warps>& shared, const Sum* costs,
                                   std::int32_t width) {
  ColumnCost<Sum> least{beyond<Sum>, width - 1};
  for (std::int32_t x = thread.rank(); x < width; x += warps * 32)
    least = min_of(least, ColumnCost<Sum>{costs[x], x});
  for (int by = 16; by > 0; by /= 2)
    least = min_of(least,
                   ColumnCost<Sum>{thread.shuffle_xor(least.cost, by), thread.shuffle_xor(least.column, by)});
  if (thread.lane() == 0) shared.place[thread.warp()] = least;
  thread.sync();
  for (int w = 0; w < warps; ++w) least = min_of(least, shared.place[w]);
  const std::int32_t x = least.column;
  return x < 0 ? 0 : x < width ? x : width - 1;
}

// own(direction, bytes of a cost) returns the size of the search's workspace.
template <class T, class Own>
std::size_t workspace_for(const Problem<T>& p, const Own& own) {
  const std::size_t cost = p.masked() ? sizeof(Masked) : sizeof(Plain);
  std::size_t most = 0;
  for (int i = 0; i < p.options.directions; ++i)
    most = std::max(most, static_cast<std::size_t>(own(p.options.direction[i], cost)));
  return static_cast<std::size_t>(Layout::of(p).own) + most;
}

// Returns the launch of a rung's own kernel, which makes picture 0's first greys.
template <class T>
Launch first_launch(const Problem<T>& p) {
  Launch out = prepare_launch(p.options.direction[0]);
  if (p.images() == 0) out.grid.x = 0;
  return out;
}

// Carves all pictures, one direction after another. The rung's own launch has already made picture 0's first
// greys.
template <class T, class Search>
void carve(const Problem<T>& p, Run& run, const Search& search) {
  for (std::int64_t n = 0; n < p.images(); ++n)
    for (int i = 0; i < p.options.directions; ++i) {
      const Pass<T> pass = pass_of(p, n, i);
      const Direction& d = pass.field.direction;
      if (n != 0 || i != 0) launch_kernel<Prepare<T>>(prepare_launch(d), pass, run);
      for (std::int32_t found = 0; found < d.seams; ++found) {
        search(pass.field, found, run);
        launch_kernel<RemoveSeam>({.grid = {d.length}, .block = {pass_threads}},
                                  SeamRemoval{pass.field, found}, run);
      }
      const std::int64_t places = std::int64_t{d.length} * d.seams;
      if (places != 0)
        launch_kernel<OriginalColumns<T>>(
            {.grid = {(places + pass_threads - 1) / pass_threads}, .block = {pass_threads}}, pass, run);
      launch_kernel<Gather<T>>({.grid = {d.length}, .block = {pass_threads}}, pass, run);
    }
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::seamcarve
