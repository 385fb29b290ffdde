// SPDX-License-Identifier: Apache-2.0
// The epilogue pass as a kernel: C is read and written once, with coalesced accesses. A separate kernel, so
// that it takes no registers from the products.
#include "ops/matmul/epilogue/epilogue.hpp"
#include "tessera/kernel.hpp"

namespace tessera::matmul {
namespace {

template <class T>
struct EpilogueKernel {
  static constexpr int across = 32, down = 8, threads = across * down;
  static constexpr int rows = 4;  // rows per thread at a time: loads in flight
  static constexpr std::int64_t max_layers = 65535;

  using Shared = NoShared;

  static Launch launch(const EpilogueProblem<T>& p) {
    constexpr std::int64_t height = std::int64_t{down} * rows;
    return {.grid = {(p.n + across - 1) / across, std::min((p.m + height - 1) / height, max_layers),
                     std::min(p.batch, max_layers)},
            .block = {across, down}};
  }

  SIMT static void epilogue_rows(const EpilogueProblem<T>& p, std::int64_t e, std::int64_t first,
                                 std::int64_t j) {
    T sum[rows];
    SIMT_UNROLL
    for (int r = 0; r < rows; ++r) {
      const std::int64_t i = first + r * down;
      if (i < p.m) sum[r] = p.sums[place(p.of_sums, e, i, j)];
    }
    SIMT_UNROLL
    for (int r = 0; r < rows; ++r) {
      const std::int64_t i = first + r * down;
      if (i < p.m) p.c[place(p.of_c, e, i, j)] = with_epilogue(p, e, i, j, sum[r]);
    }
  }

  SIMT void operator()(Thread thread, Shared&, const EpilogueProblem<T>& p) const {
    const std::int64_t j = std::int64_t{thread.block().x} * across + thread.index().x;
    if (j >= p.n) return;
    for (std::int64_t e = thread.block().z; e < p.batch; e += max_layers)
      for (std::int64_t i = std::int64_t{thread.block().y} * down * rows + thread.index().y; i < p.m;
           i += max_layers * down * rows)
        epilogue_rows(p, e, i, j);
  }
};

template <class T>
void run_kernel(const EpilogueProblem<T>& p, Run& run) {
  launch_kernel<EpilogueKernel<T>>(EpilogueKernel<T>::launch(p), p, run);
}

#if defined(TESSERA_TRACED)
constexpr bool is_traced = true;
#else
constexpr bool is_traced = false;
#endif

[[maybe_unused]] const bool registered =
    (register_epilogue_kernels(kernels_run_on, is_traced,
                               {run_kernel<float>, run_kernel<double>, run_kernel<std::int32_t>}),
     true);

}  // namespace
}  // namespace tessera::matmul
