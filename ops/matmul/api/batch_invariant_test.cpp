// SPDX-License-Identifier: Apache-2.0
// Options::batch_invariant on CPUs: a row's bits for any number of rows, place and neighbours, for each
// element and several layouts; the messages of variants that cannot promise it.
#include "ops/matmul/api/batch_invariant_testing.hpp"
#include "tests/complaint.hpp"
#include "tessera/matmul_batch.hpp"

namespace tessera::matmul {
namespace {

using batch_invariant::Shape;

template <class T>
class HostCopy {
 public:
  explicit HostCopy(std::vector<T> values) : values_(std::move(values)) {}
  T* get() const { return const_cast<T*>(values_.data()); }
  const std::vector<T>& fetched() const { return values_; }

 private:
  std::vector<T> values_;
};

constexpr std::int64_t sizes[] = {1, 2, 3, 5, 8, 16, 17, 33, 64, 100, 128, 200, 257, 512};

template <class T, class Out = T>
void expect_same_rows(Options options = {}) {
  for (const char* device : {"cpu:threads=1", "cpu:threads=2"}) {
    options.request.device = device;
    for (const Shape& shape :
         {Shape{1, 700}, Shape{7, 2100, false}, Shape{33, 1000}, Shape{96, 300, false}, Shape{130, 1500},
          Shape{40, 900, true, false}, Shape{50, 800, true, true, Order::columns},
          Shape{50, 800, false, false, Order::columns}})
      batch_invariant::expect_same_rows<T, Out, HostCopy>(shape, options, sizes, 1);
  }
}

TEST(BatchInvariant, F32) { expect_same_rows<float>(); }
TEST(BatchInvariant, F32WithActivation) { expect_same_rows<float>({.activation = Activation::gelu}); }
TEST(BatchInvariant, F32AllowedParts) { expect_same_rows<float>({.compute = Compute::f16x3}); }
TEST(BatchInvariant, F64) { expect_same_rows<double>(); }
TEST(BatchInvariant, I32) { expect_same_rows<std::int32_t>(); }
TEST(BatchInvariant, Bf16) { expect_same_rows<bf16, float>(); }
TEST(BatchInvariant, F16) { expect_same_rows<f16, float>(); }
TEST(BatchInvariant, E4m3) { expect_same_rows<e4m3, float>({.accumulate = Accumulate::fast}); }
TEST(BatchInvariant, E5m2) { expect_same_rows<e5m2, float>(); }
TEST(BatchInvariant, I8) { expect_same_rows<std::int8_t, float>(); }

TEST(BatchInvariant, OtherVariantsDoNotPromiseIt) {
  const std::vector<float> a(6, 1), b(6, 1);
  std::vector<float> c(4);
  Options options{.batch_invariant = true};
  options.request = {.device = "cpu", .variant = "ordered"};
  EXPECT_EQ(complaint([&] {
              multiply<float>({a.data(), 2, 3}, {b.data(), 3, 2}, {c.data(), 2, 2}, options);
            }),
            "no variant of matmul can compute this on cpu; ordered: does not promise --batch-invariant");
  options.request = {.device = "cpu"};
  EXPECT_NE(complaint([&] {
              matmul_batch::multiply_batch<float>({a.data(), 1, 2, 3}, {b.data(), 1, 3, 2},
                                                  {c.data(), 1, 2, 2}, options);
            }).find("does not promise --batch-invariant"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera::matmul
