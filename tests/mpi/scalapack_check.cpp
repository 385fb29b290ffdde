// SPDX-License-Identifier: Apache-2.0
// Holds a product of f64 files against ScaLAPACK's pdgemm:   mpirun -n P scalapack_check A.npy B.npy C.npy
// Both are within γ_k·(|A|·|B|) of the exact one, element by element, so they differ by at most twice that;
// ScaLAPACK computes |A|·|B|, too.
#include <mpi.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>
#include "tessera/io/npy.hpp"

extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int cols);
void Cblacs_gridinfo(int context, int* rows, int* cols, int* row, int* col);
void Cblacs_gridexit(int context);
int numroc_(const int* n, const int* block, const int* mine, const int* first, const int* parts);
void descinit_(int* desc, const int* m, const int* n, const int* row_block, const int* col_block,
               const int* row, const int* col, const int* context, const int* leading, int* info);
void pdgemm_(const char* op_a, const char* op_b, const int* m, const int* n, const int* k,
             const double* alpha, const double* a, const int* ia, const int* ja, const int* desc_a,
             const double* b, const int* ib, const int* jb, const int* desc_b, const double* beta, double* c,
             const int* ic, const int* jc, const int* desc_c);
}

namespace {

constexpr int block = 32;

struct Process {
  int context = 0, rows = 1, cols = 1, row = 0, col = 0;
};

// A rank's blocks of a matrix, column after column.
class Cyclic {
 public:
  Cyclic(const Process& process, int rows, int cols) : process_(process), rows_(rows), cols_(cols) {
    const int zero = 0;
    local_rows_ = numroc_(&rows, &block, &process.row, &zero, &process.rows);
    local_cols_ = numroc_(&cols, &block, &process.col, &zero, &process.cols);
    const int leading = std::max(1, local_rows_);
    int info = 0;
    descinit_(desc, &rows, &cols, &block, &block, &zero, &zero, &process.context, &leading, &info);
    if (info != 0) throw tessera::Error("descinit says " + std::to_string(info));
    data.resize(static_cast<std::size_t>(leading) * static_cast<std::size_t>(std::max(1, local_cols_)));
  }

  template <class Visit>
  void each(const Visit& visit) {
    for (int j = 0; j < local_cols_; ++j)
      for (int i = 0; i < local_rows_; ++i)
        visit(global(i, process_.row, process_.rows), global(j, process_.col, process_.cols),
              data[static_cast<std::size_t>(j) * static_cast<std::size_t>(std::max(1, local_rows_)) +
                   static_cast<std::size_t>(i)]);
  }

  std::vector<double> data;
  int desc[9] = {};
  double seconds = 0;  // that computing it took

 private:
  static std::int64_t global(int local, int mine, int parts) {
    return (static_cast<std::int64_t>(local / block) * parts + mine) * block + local % block;
  }

  Process process_;
  int rows_, cols_, local_rows_ = 0, local_cols_ = 0;
};

double at(const tessera::Array& array, std::int64_t i, std::int64_t j) {
  const auto& view = array.view();
  return static_cast<const double*>(view.data)[i * view.strides[0] + j * view.strides[1]];
}

Cyclic product(const Process& process, const tessera::Array& a, const tessera::Array& b, bool magnitudes) {
  const int m = static_cast<int>(a.extents()[0]), k = static_cast<int>(a.extents()[1]),
            n = static_cast<int>(b.extents()[1]), first = 1;
  Cyclic left(process, m, k), right(process, k, n), out(process, m, n);
  const auto take = [&](const tessera::Array& from) {
    return [&from, magnitudes](std::int64_t i, std::int64_t j, double& to) {
      to = magnitudes ? std::fabs(at(from, i, j)) : at(from, i, j);
    };
  };
  left.each(take(a));
  right.each(take(b));
  const double one = 1, zero = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  pdgemm_("N", "N", &m, &n, &k, &one, left.data.data(), &first, &first, left.desc, right.data.data(), &first,
          &first, right.desc, &zero, out.data.data(), &first, &first, out.desc);
  MPI_Barrier(MPI_COMM_WORLD);
  out.seconds = MPI_Wtime() - start;
  return out;
}

int check(const Process& process, char** files) {
  const auto a = tessera::npy::read(files[0], tessera::Element::f64),
             b = tessera::npy::read(files[1], tessera::Element::f64),
             c = tessera::npy::read(files[2], tessera::Element::f64);
  Cyclic theirs = product(process, a, b, false), magnitude = product(process, a, b, true);
  const double u = std::numeric_limits<double>::epsilon() / 2,
               count = static_cast<double>(a.extents()[1]) + 3, gamma = count * u / (1 - count * u);
  double largest = 0;
  std::size_t next = 0;
  std::vector<double> sums;
  magnitude.each([&](std::int64_t, std::int64_t, double& sum) { sums.push_back(sum); });
  theirs.each([&](std::int64_t i, std::int64_t j, double& value) {
    const double bound = 2 * gamma * sums[next++] + std::numeric_limits<double>::denorm_min();
    const double ratio = std::fabs(at(c, i, j) - value) / bound;
    if (!(ratio <= largest)) largest = std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
  });
  double all = 0;
  MPI_Allreduce(&largest, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (process.row == 0 && process.col == 0)
    std::printf("pdgemm on %d × %d, %.4g ms: largest difference %.3g of the bound\n", process.rows,
                process.cols, 1e3 * theirs.seconds, all);
  return all <= 1 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Process process;
  int ranks = 1, code = 2;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int rows = 1; rows * rows <= ranks; ++rows)
    if (ranks % rows == 0) process.rows = rows;
  process.cols = ranks / process.rows;
  Cblacs_get(0, 0, &process.context);
  Cblacs_gridinit(&process.context, "Row", process.rows, process.cols);
  Cblacs_gridinfo(process.context, &process.rows, &process.cols, &process.row, &process.col);
  try {
    if (argc == 4) code = check(process, argv + 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  Cblacs_gridexit(process.context);
  MPI_Finalize();
  return code;
}
