// SPDX-License-Identifier: Apache-2.0
// Strides with which offsets of elements exceed 2^31: every rung of the CPU and of the executor, in memory of
// which only the pages with elements are touched.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <map>
#include "ops/matmul/matmul.hpp"
#include "tessera/core/device/device.hpp"
#include "tessera/core/operation/variant.hpp"
#include "tessera/run/choose.hpp"

namespace tessera::matmul {
namespace {

// Zeroed memory; null if the system has no address space.
class Sparse {
 public:
  explicit Sparse(std::size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                   0)) {}
  ~Sparse() {
    if (get() != nullptr) munmap(data_, bytes_);
  }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;
  void* get() const { return data_ == MAP_FAILED ? nullptr : data_; }

 private:
  std::size_t bytes_;
  void* data_;
};

constexpr std::int64_t far_m = 3, far_n = 4, far_k = 5, far = (std::int64_t{1} << 31) + 8;

class FarLines : public testing::Test {
 protected:
  // Lines along the second dimension, or along the first.
  ArrayView view(const Sparse& memory, Element element, std::int64_t rows, std::int64_t cols,
                 bool by_columns) {
    return {memory.get(), element, {rows, cols}, by_columns ? Extents{1, far} : Extents{far, 1}};
  }
  static char* at(const ArrayView& x, std::int64_t i, std::int64_t j) {
    return static_cast<char*>(x.data) +
           (i * x.strides[0] + j * x.strides[1]) * static_cast<std::int64_t>(size_of(x.element));
  }
  static void fill(const ArrayView& x, int from) {
    for (std::int64_t i = 0; i < x.extents[0]; ++i)
      for (std::int64_t j = 0; j < x.extents[1]; ++j)
        store_from_double(x.element, at(x, i, j), static_cast<double>((from + 3 * i + 5 * j) % 7) - 3);
  }
  static std::string wrong(const ArrayView& a, const ArrayView& b, const ArrayView& c) {
    for (std::int64_t i = 0; i < far_m; ++i)
      for (std::int64_t j = 0; j < far_n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < far_k; ++l)
          sum += load_as_double(a.element, at(a, i, l)) * load_as_double(b.element, at(b, l, j));
        const double got = load_as_double(c.element, at(c, i, j));
        if (!(got == sum))
          return "(" + std::to_string(i) + ", " + std::to_string(j) + ") is " + std::to_string(got);
      }
    return {};
  }

  // Runs every rung of `where` that supports it; returns their number.
  int try_all(Where where, Element element, bool by_columns) {
    const Sparse in_a(bytes(by_columns ? far_k : far_m)), in_b(bytes(by_columns ? far_n : far_k)),
        in_c(bytes(by_columns ? far_n : far_m));
    if (in_a.get() == nullptr || in_b.get() == nullptr || in_c.get() == nullptr) return -1;
    const ArrayView a = view(in_a, element, far_m, far_k, by_columns),
                    b = view(in_b, element, far_k, far_n, by_columns);
    const Element result = element == Element::i8 ? Element::i32 : element;
    const ArrayView c = view(in_c, result, far_m, far_n, by_columns);
    fill(a, 1), fill(b, 2);
    int tried = 0;
    Backend* const backend = find_backend(where);
    for (const Device& device : backend->devices())
      for (const Variant* variant : ladder_of("matmul"))
        for (const Choice& choice : variant->choices) {
          const Tuning tuning = choice.defaults();
          Arguments arguments(find_operation("matmul")->signature, element, {{"A", a}, {"B", b}}, {});
          arguments.set_array("C", c);
          if (variant->where != where || variant->baseline || !choice.prepare.contains(element) ||
              refuses({variant, &choice, tuning, device}, arguments))
            continue;
          fill(c, 3);
          std::vector<double> workspace(choice.prepared(arguments, tuning, device).workspace_bytes / 8 + 1);
          tessera::Run run{
              .device = &device, .workspace = workspace.data(), .workspace_bytes = workspace.size() * 8};
          choice.run(arguments, tuning, run);
          EXPECT_EQ(wrong(a, b, c), "")
              << variant->name << ' ' << to_string(tuning) << ' ' << name_of(element);
          ++tried;
        }
    return tried;
  }

 private:
  static std::size_t bytes(std::int64_t lines) {
    return static_cast<std::size_t>(lines) * far * sizeof(double);
  }
};

TEST_F(FarLines, AreAddressedOnTheCpu) {
  using enum Element;
  for (const Element element : {f32, f64, i32, bf16, f16, i8})
    for (const bool by_columns : {false, true}) {
      const int tried = try_all(Where::cpu, element, by_columns);
      if (tried < 0) GTEST_SKIP() << "the system gives no such addresses";
      EXPECT_GE(tried, element == bf16 || element == f16 || element == i8 ? 1 : 3) << name_of(element);
    }
}

TEST_F(FarLines, AreAddressedOnTheExecutor) {
  using enum Element;
  for (const Element element : {f32, f64, i32})
    for (const bool by_columns : {false, true}) {
      const int tried = try_all(Where::simt, element, by_columns);
      if (tried < 0) GTEST_SKIP() << "the system gives no such addresses";
      EXPECT_GE(tried, 8) << name_of(element);
    }
}

}  // namespace
}  // namespace tessera::matmul
