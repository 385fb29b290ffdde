// SPDX-License-Identifier: Apache-2.0
// A product with its checksums, for their tests, on the CPU and on a GPU where there is one.
#pragma once
#include <gtest/gtest.h>
#include "ops/matmul/checksums.hpp"
#include "matmul.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/place.hpp"
#include "tessera/run/run.hpp"

namespace tessera::matmul {

inline const Operation& product() { return *find_operation("matmul"); }

inline Case sized(std::int64_t m, std::int64_t n, std::int64_t k, Arguments::Words words = {}) {
  Case out{.dims = {{"m", m}, {"n", n}, {"k", k}}, .words = std::move(words)};
  if (out.words.contains("beta")) out.optional_inputs = {"C0"};
  return out;
}

// A product made on the CPU, and its checksums, as a whole or of a part, by one kind of device.
class Product {
 public:
  Product(const Device& device, Element element, const Case& chosen, std::uint64_t seed, Layout layout = {})
      : inputs_(product(), element, chosen, seed, layout), device_(device) {
    remake();
  }

  // After its inputs changed.
  void remake() {
    multiply();
    checksums_ = (*find_checksums("matmul", device_.where))(inputs_.arguments(), device_);
  }
  void multiply() { (void)run(product(), inputs_.arguments(), {.device = "cpu:threads=2", .cached = false}); }

  Arguments& arguments() { return inputs_.arguments(); }
  bool has_checksums() const { return checksums_ != nullptr; }
  ChecksumVerdict look() { return look((*find_division("matmul"))(inputs_.arguments()).whole()); }
  ChecksumVerdict look(const Tile& tile) {
    const Arguments part = (*find_division("matmul"))(inputs_.arguments()).part(tile);
    Backend& backend = backend_of(device_);
    if (backend.shares_host_memory()) return checksums_->look(tile, part, {.device = &device_});
    Placed placed(choose_on(device_, product(), part, {.cached = false}), part);
    placed.upload();
    const Array c = packed_copy(part.array("C"));
    backend.copy(placed.run(), placed.arguments().array("C").data, c.view().data, c.view().bytes());
    return checksums_->look(tile, placed.arguments(), placed.run());
  }

 private:
  Inputs inputs_;
  Device device_;
  std::unique_ptr<Checksums> checksums_;
};

template <class T>
void scale(const Matrix<T>& matrix, T factor) {
  for (std::int64_t i = 0; i < matrix.rows(); ++i)
    for (std::int64_t j = 0; j < matrix.cols(); ++j) matrix(i, j) *= factor;
}

template <class T>
void swap_columns(const Matrix<T>& c, std::int64_t first, std::int64_t second) {
  for (std::int64_t i = 0; i < c.rows(); ++i) std::swap(c(i, first), c(i, second));
}

// Once on the CPU, once on a GPU where there is one.
class OnDeviceWithChecksums : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    try {
      device_ = find_device(GetParam());
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  Product made(Element element, const Case& chosen, std::uint64_t seed, Layout layout = {}) const {
    return {device_, element, chosen, seed, layout};
  }
  Device device_;
};

#define CHECKSUMS_ON_DEVICES(fixture)                             \
  INSTANTIATE_TEST_SUITE_P(                                       \
      Devices, fixture, testing::Values("cpu:threads=2", "cuda"), \
      [](const auto& about) { return std::string(about.param).substr(0, about.param[1] == 'p' ? 3 : 4); })

}  // namespace tessera::matmul
