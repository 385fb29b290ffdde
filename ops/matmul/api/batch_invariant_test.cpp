// SPDX-License-Identifier: Apache-2.0
// Options::batch_invariant on CPUs: a row's bits for any number of rows, place and neighbours, for each
// element and several layouts; the messages of variants that cannot promise it.
#include "ops/matmul/api/batch_invariant_testing.hpp"
#include "tests/complaint.hpp"
#include "tessera/matmul_batch.hpp"

namespace tessera::matmul {
namespace {

constexpr std::int64_t row_counts[] = {1, 2, 3, 5, 8, 16, 17, 33, 64, 100, 128, 200, 257, 512};

template <class T, class Out = T>
void expect_invariant(Options options = {}) {
  for (const char* device : {"cpu:threads=1", "cpu:threads=2"}) {
    options.request.device = device;
    for (const batch_invariant::RowsCase& shape :
         {batch_invariant::RowsCase{1, 700}, batch_invariant::RowsCase{7, 2100, false},
          batch_invariant::RowsCase{33, 1000}, batch_invariant::RowsCase{96, 300, false},
          batch_invariant::RowsCase{130, 1500}, batch_invariant::RowsCase{40, 900, true, false},
          batch_invariant::RowsCase{50, 800, true, true, Order::columns},
          batch_invariant::RowsCase{50, 800, false, false, Order::columns}})
      batch_invariant::expect_same_rows<T, Out, batch_invariant::HostCopy>(shape, options, row_counts, 1);
  }
}

TEST(BatchInvariant, F32) { expect_invariant<float>(); }
TEST(BatchInvariant, F32WithActivation) { expect_invariant<float>({.activation = Activation::gelu}); }
TEST(BatchInvariant, F32AllowedParts) { expect_invariant<float>({.compute = Compute::f16x3}); }
TEST(BatchInvariant, F64) { expect_invariant<double>(); }
TEST(BatchInvariant, I32) { expect_invariant<std::int32_t>(); }
TEST(BatchInvariant, Bf16) { expect_invariant<bf16, float>(); }
TEST(BatchInvariant, F16) { expect_invariant<f16, float>(); }
TEST(BatchInvariant, E4m3) { expect_invariant<e4m3, float>({.accumulate = Accumulate::fast}); }
TEST(BatchInvariant, E5m2) { expect_invariant<e5m2, float>(); }
TEST(BatchInvariant, I8) { expect_invariant<std::int8_t, float>(); }

TEST(BatchInvariant, OtherVariantsDoNotPromiseIt) {
  const std::vector<float> a(6, 1), b(6, 1);
  std::vector<float> c(4);
  Options options{.batch_invariant = true};
  options.request = {.device = "cpu", .variant = "ordered"};
  EXPECT_EQ(complaint([&] {
              multiply<float>({a.data(), 2, 3}, {b.data(), 3, 2}, {c.data(), 2, 2}, options);
            }),
            "no variant of matmul can compute this on cpu; ordered: does not promise batch_invariant");
  options.request = {.device = "cpu"};
  EXPECT_NE(complaint([&] {
              matmul_batch::multiply_batch<float>({a.data(), 1, 2, 3}, {b.data(), 1, 3, 2},
                                                  {c.data(), 1, 2, 2}, options);
            }).find("does not promise batch_invariant"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera::matmul
