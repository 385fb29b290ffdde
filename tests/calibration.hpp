// SPDX-License-Identifier: Apache-2.0
// Kernels whose requests, sectors and wavefronts can be told by counting on one's fingers: the tracer is
// held to them, on the executor and against a GPU's own counters.
#pragma once
#include "tessera/kernel.hpp"

namespace tessera::calibration {
inline namespace TESSERA_UNIT {

struct Arrays {
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  int n = 0;  // of square matrices
};

SIMT std::int64_t global_rank(Thread t) { return std::int64_t{t.block().x} * t.size().x + t.rank(); }

// c[i] = a[stride · i + shift]
template <int stride, int shift>
struct Copy {
  using Shared = NoShared;
  SIMT void operator()(Thread t, Shared&, const Arrays& p) const {
    const std::int64_t i = global_rank(t);
    p.c[i] = p.a[stride * i + shift];
  }
};

struct alignas(8) Two {
  float x, y;
};

struct CopyTwo {
  using Shared = NoShared;
  SIMT void operator()(Thread t, Shared&, const Arrays& p) const {
    const std::int64_t i = global_rank(t);
    reinterpret_cast<Two*>(p.c)[i] = reinterpret_cast<const Two*>(p.a)[i];
  }
};

struct CopyFour {
  using Shared = NoShared;
  SIMT void operator()(Thread t, Shared&, const Arrays& p) const {
    const std::int64_t i = global_rank(t);
    t.store16(p.c + 4 * i, t.load16(p.a + 4 * i));
  }
};

// Each warp writes and reads its own part of shared memory, lanes `stride` elements apart.
template <class T, int stride>
struct SharedStride {
  struct Shared {
    T element[8][32 * stride];
  };
  SIMT void operator()(Thread t, Shared& shared, const Arrays& p) const {
    T& own = shared.element[t.warp()][t.lane() * stride];
    own = static_cast<T>(t.lane());
    t.sync();
    p.c[global_rank(t)] = static_cast<float>(own);
  }
};

struct SharedFour {
  struct Shared {
    Bytes16 element[256];
  };
  SIMT void operator()(Thread t, Shared& shared, const Arrays& p) const {
    t.store16(&shared.element[t.rank()], Bytes16{});
    t.sync();
    p.c[global_rank(t)] = static_cast<float>(t.load16(&shared.element[t.rank()]).word[0]);
  }
};

struct SharedBroadcast {
  struct Shared {
    float element[32];
  };
  SIMT void operator()(Thread t, Shared& shared, const Arrays& p) const {
    if (t.rank() == 0) shared.element[0] = 1;
    t.sync();
    p.c[global_rank(t)] = shared.element[0];
  }
};

// Blocks of 32 × 8 threads turn tiles of 32 × 32.
template <int pitch>
struct Transpose {
  struct Shared {
    float tile[32][pitch];
  };
  SIMT void operator()(Thread t, Shared& shared, const Arrays& p) const {
    const int x = t.index().x, y = t.index().y, from_x = t.block().x * 32, from_y = t.block().y * 32;
    SIMT_NO_UNROLL
    for (int row = y; row < 32; row += 8)
      shared.tile[row][x] = p.a[std::int64_t{from_y + row} * p.n + from_x + x];
    t.sync();
    SIMT_NO_UNROLL
    for (int row = y; row < 32; row += 8)
      p.c[std::int64_t{from_x + row} * p.n + from_y + x] = shared.tile[x][row];
  }
};

// One thread for each element of the product; `turned`: a warp lies along a column of it.
template <bool turned>
struct Product {
  using Shared = NoShared;
  SIMT void operator()(Thread t, Shared&, const Arrays& p) const {
    const std::int64_t x = std::int64_t{t.block().x} * t.size().x + t.index().x;
    const std::int64_t y = std::int64_t{t.block().y} * t.size().y + t.index().y;
    const std::int64_t row = turned ? x : y, col = turned ? y : x;
    float sum = 0;
    for (int l = 0; l < p.n; ++l) sum += p.a[row * p.n + l] * p.b[std::int64_t{l} * p.n + col];
    p.c[row * p.n + col] = sum;
  }
};

template <int tile>
struct TiledProduct {
  struct Shared {
    float a[tile][tile], b[tile][tile];
  };
  SIMT void operator()(Thread t, Shared& shared, const Arrays& p) const {
    const int x = t.index().x, y = t.index().y;
    const std::int64_t row = std::int64_t{t.block().y} * tile + y, col = std::int64_t{t.block().x} * tile + x;
    float sum = 0;
    for (int k = 0; k < p.n; k += tile) {
      shared.a[y][x] = p.a[row * p.n + k + x];
      shared.b[y][x] = p.b[std::int64_t{k + y} * p.n + col];
      t.sync();
      SIMT_NO_UNROLL
      for (int l = 0; l < tile; ++l) sum += shared.a[y][l] * shared.b[l][x];
      t.sync();
    }
    p.c[row * p.n + col] = sum;
  }
};

// Lane l reads l + 1 times: the warp is whole only once.
struct Triangle {
  using Shared = NoShared;
  SIMT void operator()(Thread t, Shared&, const Arrays& p) const {
    const std::int64_t i = global_rank(t), threads = std::int64_t{t.grid().x} * t.size().x;
    float sum = 0;
    SIMT_NO_UNROLL
    for (int trip = 0; trip <= t.lane(); ++trip) sum += p.a[trip * threads + i];
    p.c[i] = sum;
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::calibration
