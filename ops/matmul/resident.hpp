// SPDX-License-Identifier: Apache-2.0
// The product for programs whose matrices lie in the memories of several GPUs of one host already, each in
// blocks of rows or of columns, as large as they like. Installed: for programs.
#pragma once
#include <vector>
#include "ops/matmul/problem/multiply.hpp"
#include "tessera/run/resident_ranks.hpp"

namespace tessera::matmul {

enum class Along : std::uint8_t { rows, columns };

// Some of a matrix's rows, or columns, whole.
template <class T>
struct MatrixBlock {
  int device = 0;  // in whose memory it lies, numbered as in cuda:0; or the rank that holds it
  T* data = nullptr;
  std::int64_t first = 0, last = 0;    // of the matrix's rows (columns), the last excluded
  std::int64_t leading_dimension = 0;  // as MatrixView has it
};

// Blocks come in any order, several on a device or none; together they are the matrix.
template <class T>
struct SpreadMatrix {
  std::int64_t rows = 0, cols = 0;
  Along along = Along::rows;
  std::vector<MatrixBlock<T>> blocks;
  Order order = Order::rows;  // how all blocks lie
};

namespace detail {

struct AnySpread {
  Element element;
  std::int64_t rows, cols;
  Along along;
  Order order;
  std::vector<MatrixBlock<const void>> blocks;
};

template <class T>
AnySpread any(const SpreadMatrix<T>& x) {
  AnySpread out{any(MatrixView<T>{}).element, x.rows, x.cols, x.along, x.order, {}};
  for (const MatrixBlock<T>& block : x.blocks)
    out.blocks.push_back({block.device, block.data, block.first, block.last, block.leading_dimension});
  return out;
}

// `find`: the device of a number; `open`: as Resident has it.
Resident spread_product(const AnySpread& a, const AnySpread& b, const AnySpread& c, const Options& options,
                        const std::function<Device(int)>& find = {}, const Resident::Open& open = {});

ResidentRanks spread_product(dist::Communicator& ranks, const AnySpread& a, const AnySpread& b,
                             const AnySpread& c, const Options& options,
                             const std::optional<Device>& device = {}, const Resident::Open& open = {});

}  // namespace detail

// C = activation(α·op(A)·op(B) + β·C), made ready once and computed by each run() of what is returned: blocks
// must be ready by then, their memory must stay meanwhile, and a result is there when run() returns. Every
// GPU computes the blocks of C that it holds. What it needs of others' blocks of A and B it copies while it
// computes, over NVLink or the bus where the driver lets one see the other, else through the host; it holds a
// few panels of 128 MiB besides its blocks, and a workspace.
//
// Elements are those of multiply(). Sums of f32, f64 and int32 are cut where blocks of A or B cut k, so bits
// depend on how the matrices are spread; other elements are summed whole, so that a sum is rounded once.
//
// Throws Error where blocks do not make up a matrix, lie elsewhere than they say, or C's overlap anything;
// where there are no GPUs; for options that name a device, scales, a bias, an addend or a check; and as
// multiply() does.
template <class T, class Out = T, class TB = T>
Resident spread_product(const SpreadMatrix<const T>& a, const SpreadMatrix<const TB>& b,
                        const SpreadMatrix<Out>& c, const Options& options = {}) {
  return detail::spread_product(detail::any(a), detail::any(b), detail::any(c), options);
}

// Likewise for GPUs of several processes, on one host or several: each rank brings its own blocks, and of the
// others' only who holds what, without addresses. All ranks call it, and each run(), with the same sizes and
// options; a rank uses the GPU of its place on the host. Panels travel by NCCL where every rank has it and a
// GPU of its own, else by `ranks` through the hosts' memory. (A program that a launcher started several times
// gets them from dist::open_mpi(dist::find_launcher(std::getenv)).) What it throws on one rank it throws on
// all, but for what fails in run(): the others then wait until the launcher ends them.
template <class T, class Out = T, class TB = T>
ResidentRanks spread_product(dist::Communicator& ranks, const SpreadMatrix<const T>& a,
                             const SpreadMatrix<const TB>& b, const SpreadMatrix<Out>& c,
                             const Options& options = {}) {
  return detail::spread_product(ranks, detail::any(a), detail::any(b), detail::any(c), options);
}

}  // namespace tessera::matmul
