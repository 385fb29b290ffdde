// SPDX-License-Identifier: Apache-2.0
// Operands whose elements lie more than 2^31 apart, on a GPU: they are 0 but for some whole numbers, so that
// one result is right, and a number read from elsewhere shows.
#include <algorithm>
#include <cstring>
#include "on_device.hpp"

namespace tessera::products {
namespace {

constexpr std::int64_t border = std::int64_t{1} << 30;

// A matrix in the device's memory, all of whose bytes are alike.
class Filled {
 public:
  Filled(const Run& run, Element element, std::int64_t rows, std::int64_t cols, Extents strides,
         unsigned char byte)
      : run_(run), view_{nullptr, element, {rows, cols}, std::move(strides)}, device_bytes_(run, bytes()) {
    view_.data = device_bytes_.data();
    backend_of(*run.device).fill(run, device_bytes_.data(), byte, bytes());
  }
  const ArrayView& view() const { return view_; }
  void set(std::int64_t i, std::int64_t j, double value) const {
    char element[8];
    store_from_double(view_.element, element, value);
    backend_of(*run_.device).copy(run_, place(i, j), element, size_of(view_.element));
  }
  double get(std::int64_t i, std::int64_t j) const {
    char element[8];
    backend_of(*run_.device).copy(run_, element, place(i, j), size_of(view_.element));
    backend_of(*run_.device).synchronize(run_);
    return load_as_double(view_.element, element);
  }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(view_.span().second) * size_of(view_.element); }
  char* place(std::int64_t i, std::int64_t j) const {
    return static_cast<char*>(view_.data) +
           (i * view_.strides[0] + j * view_.strides[1]) * static_cast<std::int64_t>(size_of(view_.element));
  }

  Run run_;
  ArrayView view_;
  Bytes device_bytes_;
};

struct Long {
  const char* variant;
  Element element, result;
  std::int64_t m, n, k;
  std::int64_t ld_a, ld_b, ld_c;  // of A's rows, B's columns (or rows), C's rows
  bool b_by_rows = false;
  Arguments::Words words = {};
};

class FarLines : public OnDevice {
 protected:
  void SetUp() override { take(Where::cuda); }

  // The ends of a dimension.
  static std::vector<std::int64_t> places(std::int64_t extent) {
    return extent == 1 ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{0, extent - 1};
  }

  void expect_right(const Long& given) {
    const Variant* const variant = variant_called("matmul", given.variant, Where::cuda);
    if (variant == nullptr || (variant->unsupported_device && variant->unsupported_device(device_))) return;
    const Filled a(run_, given.element, given.m, given.k, {given.ld_a, 1}, 0),
        b(run_, given.element, given.k, given.n,
          given.b_by_rows ? Extents{given.ld_b, 1} : Extents{1, given.ld_b}, 0x38),
        c(run_, given.result, given.m, given.n, {given.ld_c, 1}, 0xff);
    const auto rows = places(given.m), cols = places(given.n), depths = places(given.k);
    const auto of_a = [&](std::size_t i, std::size_t l) { return static_cast<double>((i + 2 * l) % 4) + 1; };
    const auto of_b = [&](std::size_t l, std::size_t j) { return static_cast<double>((3 * l + j) % 5) - 2; };
    for (std::size_t l = 0; l < depths.size(); ++l) {
      for (std::size_t i = 0; i < rows.size(); ++i) a.set(rows[i], depths[l], of_a(i, l));
      for (std::size_t j = 0; j < cols.size(); ++j) b.set(depths[l], cols[j], of_b(l, j));
    }
    Arguments arguments(operation_called("matmul").signature, given.element,
                        {{"A", a.view()}, {"B", b.view()}}, given.words);
    arguments.set_array("C", c.view());
    const Choice& choice = variant->choices.front();
    const Tuning tuning = choice.defaults();
    const std::string what = std::string(given.variant) + ' ' + std::string(name_of(given.element)) + '>' +
                             std::string(name_of(given.result)) + ' ' + std::to_string(given.m) + "×" +
                             std::to_string(given.n) + "×" + std::to_string(given.k);
    const Reason reason = refuses({variant, &choice, tuning, device_}, arguments);
    ASSERT_FALSE(reason.has_value()) << what << ": " << *reason;
    const Workspace workspace(run_, choice.prepared(arguments, tuning, device_).workspace_bytes);
    workspace.lend(run_);
    choice.run(arguments, tuning, run_);
    backend_->synchronize(run_);
    EXPECT_EQ(workspace.guard_violation(), "") << what;
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t j = 0; j < cols.size(); ++j) {
        double sum = 0;
        for (std::size_t l = 0; l < depths.size(); ++l) sum += of_a(i, l) * of_b(l, j);
        EXPECT_EQ(c.get(rows[i], cols[j]), sum) << what << " at " << rows[i] << ", " << cols[j];
      }
  }

  // Whether so many bytes can be had; else the test is skipped.
  bool has_room(std::int64_t gibibytes) { return backend_->free_memory(device_) > (gibibytes << 30); }
};

TEST_F(FarLines, AreRightOnAGpu) {
  using enum Element;
  if (!has_room(20)) GTEST_SKIP() << "too little memory";
  const std::int64_t far = 2 * border + 64;
  expect_right({"cluster", e4m3, bf16, 4, 3, 96, far, 96, 16});
  expect_right({"cluster", e4m3, bf16, 4, 40, 96, 96, 96, border + 8});
  expect_right({"cluster", bf16, bf16, 4, 40, 96, 96, 96, border + 3});
  expect_right({"tensor_cores", bf16, bf16, 4, 3, 96, border + 8, 96, border + 8});
  expect_right({"tensor_cores", f64, f64, 3, 2, 40, border + 4, 40, 2});
  expect_right({"warp_tiles", f32, f32, 4, 3, 40, border + 4, 40, 3});
}

// α = 0 reads neither factor: NaN in them does not show. By every rung of this GPU.
TEST_F(FarLines, WithoutAFactorReadNoneOnAGpu) {
  constexpr std::int64_t m = 70, n = 48, k = 96;
  int tried = 0;
  for (const Variant* variant : ladder_of("matmul")) {
    if (variant->where != Where::cuda || variant->baseline ||
        (variant->unsupported_device && variant->unsupported_device(device_)))
      continue;
    for (const auto& [element, prepare] : variant->choices.front().prepare) {
      if (element == Element::i32 || element == Element::i8) continue;  // which have no NaN
      const Filled a(run_, element, m, k, {k, 1}, 0xff), b(run_, element, k, n, {1, k}, 0xff);
      const Element result = size_of(element) == 1 ? Element::bf16 : element;
      const Filled c(run_, result, m, n, {n, 1}, 0xff);
      Arguments::Words words{{"alpha", "0"}};
      if (element == Element::f32 && variant->name == "cluster") words["compute"] = "tf32";
      Arguments arguments(operation_called("matmul").signature, element, {{"A", a.view()}, {"B", b.view()}},
                          words);
      arguments.set_array("C", c.view());
      const Choice& choice = variant->choices.front();
      const Tuning tuning = choice.defaults();
      if (refuses({variant, &choice, tuning, device_}, arguments)) continue;
      const Workspace workspace(run_, choice.prepared(arguments, tuning, device_).workspace_bytes);
      workspace.lend(run_);
      choice.run(arguments, tuning, run_);
      backend_->synchronize(run_);
      for (const std::int64_t i : {std::int64_t{0}, m / 2, m - 1})
        for (const std::int64_t j : {std::int64_t{0}, n / 2, n - 1})
          EXPECT_EQ(c.get(i, j), 0) << variant->name << ' ' << name_of(element) << " at " << i << ", " << j;
      ++tried;
    }
  }
  EXPECT_GT(tried, 8);
}

}  // namespace
}  // namespace tessera::products
