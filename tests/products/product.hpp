// SPDX-License-Identifier: Apache-2.0
// A product or a batch of whole numbers with everything that a test may ask of it, and whether a result is
// right.
#pragma once
#include <deque>
#include <optional>
#include "ops/matmul/gemm/mixed_problem.hpp"
#include "device_matrix.hpp"
#include "tessera/core/operation/operation.hpp"
#include "whole.hpp"

namespace tessera::products {

struct Asked {
  Element a = Element::f32, b = Element::f32, c = Element::f32;
  std::int64_t batch = 0;  // 0: one product, without that dimension
  std::int64_t m = 0, n = 0, k = 0;
  bool op_a = false, op_b = false;  // memory holds the transpose
  bool a_for_all = false, b_for_all = false;
  Lie lies_a = {}, lies_b = {}, lies_c = {}, lies_c0 = {};
  std::int64_t vectors_ahead = 0;
  int most = 1;  // of a factor's numbers
  double alpha = 1, beta = 0;
  bool bias = false, bias_along_rows = false;
  bool scale_a = false, scale_a_for_all = false, scale_b = false, scale_b_for_all = false;
  double scales_a = 1, scales_b = 1;  // powers of two, of all of them
  matmul::Activation activation = matmul::Activation::none;
  bool tf32 = false, fast = false;
};
std::string to_string(const Asked& asked);

class Product {
 public:
  // Draws the numbers and puts them there; C is not written.
  Product(const Run& run, const Operation& operation, const Asked& asked, Random& random);

  const Arguments& arguments() const { return *arguments_; }
  const Asked& asked() const { return asked_; }
  void poison() { c_->poison(); }
  // Fetches C. Empty: every element is the right one, and no other byte was written.
  std::string wrong();

 private:
  DeviceMatrix& place(const char* name, Element element, Extents extents, const Lie& lie);
  void place_factor(const char* name, const std::vector<Whole>& entries, Element element, bool turned,
                    bool for_all, const Lie& lie);
  DeviceMatrix* place_vector(const char* name, Element element, std::int64_t size,
                             const std::vector<double>& from, Random& random);
  void place_added(Random& random);
  double before_activation(std::int64_t entry, std::int64_t i, std::int64_t j, double sum) const;
  std::string wrong_in(std::int64_t entry) const;

  Run run_;
  Asked asked_;
  std::vector<Whole> a_, b_;
  std::deque<std::pair<std::string, DeviceMatrix>> arrays_;
  DeviceMatrix *c_ = nullptr, *c0_ = nullptr, *bias_ = nullptr, *scale_a_ = nullptr, *scale_b_ = nullptr;
  std::optional<Arguments> arguments_;
};

}  // namespace tessera::products
