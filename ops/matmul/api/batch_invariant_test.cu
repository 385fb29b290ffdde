// SPDX-License-Identifier: Apache-2.0
// Options::batch_invariant on a GPU: a row's bits for 1 to 8192 rows, at any place and with any neighbours.
// The shapes have sums in one part and in several, in each case with few rows, which split-K divides among
// blocks, and with many, which segmented tiles add one part after the other, or which strict f32 computes in
// chunks.
#include "ops/matmul/api/batch_invariant_testing.hpp"
#include "ops/matmul/api/enqueue_testing.cuh"

namespace tessera::matmul {
namespace {

using batch_invariant::RowsCase;

constexpr std::int64_t row_counts[] = {1,   2,    3,    4,    5,    7,    8,    9,    15,   16,
                                       17,  31,   32,   33,   48,   63,   64,   65,   100,  127,
                                       128, 129,  192,  200,  255,  256,  257,  384,  511,  512,
                                       513, 1000, 1024, 2047, 2048, 3000, 4096, 5000, 8191, 8192};

template <class Fixture>
class BatchInvariant : public Fixture {
 protected:
  template <class T, class Out>
  void expect_same_rows(Options options = {}) {
    options.request = on_gpu::on_gpu();
    // Subsets of rows begin at multiples of 128 elements of any layout of A.
    for (const RowsCase& shape :
         {RowsCase{768, 3072}, RowsCase{1024, 8192}, RowsCase{4096, 4096}, RowsCase{4096, 11008},
          RowsCase{2304, 768}, RowsCase{4096, 4096, false}, RowsCase{768, 3072, true, false},
          RowsCase{768, 3072, true, true, Order::columns}, RowsCase{100, 1001}, RowsCase{1, 2048},
          RowsCase{24, 5000}})
      batch_invariant::expect_same_rows<T, Out, on_gpu::DeviceCopy>(shape, options, row_counts, 128,
                                                                    this->stream());
  }
};

class BatchInvariantOnGpu : public BatchInvariant<on_gpu::OnGpu> {};
class BatchInvariantOnHopper : public BatchInvariant<on_gpu::OnHopper> {};

TEST_F(BatchInvariantOnHopper, Bf16) { expect_same_rows<bf16, float>(); }
TEST_F(BatchInvariantOnHopper, Bf16ToBf16) { expect_same_rows<bf16, bf16>(); }
TEST_F(BatchInvariantOnHopper, F16) { expect_same_rows<f16, float>(); }
TEST_F(BatchInvariantOnHopper, E4m3) { expect_same_rows<e4m3, float>(); }
TEST_F(BatchInvariantOnHopper, E4m3Fast) { expect_same_rows<e4m3, bf16>({.accumulate = Accumulate::fast}); }
TEST_F(BatchInvariantOnHopper, Tf32) { expect_same_rows<float, float>({.compute = Compute::tf32}); }
TEST_F(BatchInvariantOnHopper, I8) { expect_same_rows<std::int8_t, float>(); }
TEST_F(BatchInvariantOnGpu, F32) { expect_same_rows<float, float>(); }
TEST_F(BatchInvariantOnGpu, F64) { expect_same_rows<double, double>(); }

TEST_F(BatchInvariantOnHopper, OtherVariantsAndTuningsAreRefused) {
  const on_gpu::DeviceCopy<bf16> a(drawn<bf16>(16 * 256, 1)), b(drawn<bf16>(64 * 256, 2));
  const on_gpu::DeviceCopy<bf16> c(std::vector<bf16>(16 * 64));
  const auto complaint = [&](const char* variant, const Tuning& tuning) {
    Options options{.transpose_b = true, .batch_invariant = true};
    options.request = on_gpu::on_gpu();
    options.request.variant = variant;
    if (!tuning.empty()) options.request.tuning = tuning;
    return on_gpu::complaint_of([&] {
      enqueue<bf16>(stream(), {a.read(), 16, 256}, {b.read(), 64, 256}, {c.get(), 16, 64}, options);
    });
  };
  EXPECT_NE(complaint("few_rows", {}).find("does not promise batch_invariant"), std::string::npos);
  EXPECT_NE(complaint("cluster", {{"splits", 3}}).find("itself with batch_invariant"), std::string::npos);
  EXPECT_EQ(complaint("cluster", {}), "none");
}

}  // namespace
}  // namespace tessera::matmul
