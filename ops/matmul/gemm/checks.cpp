// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/gemm/checks.hpp"
#include <string>
#include "tessera/core/text/error.hpp"

namespace tessera::matmul {
namespace {

void check_alignment(const char* name, const void* data, Element element) {
  if ((reinterpret_cast<std::uintptr_t>(data) & (size_of(element) - 1)) != 0)
    throw Error(std::string(name) + " is not aligned to its elements");
}

}  // namespace

const Operation& matmul_operation() {
  const Operation* operation = find_operation("matmul");
  if (operation == nullptr) throw Error(Error::Kind::internal, "the matrix product is not linked");
  return *operation;
}

void check_reach(const char* name, std::int64_t count, std::int64_t step, Element element) {
  const auto bytes = static_cast<std::int64_t>(size_of(element));
  std::int64_t reach = 0;
  if (__builtin_mul_overflow(count, step, &reach) || __builtin_mul_overflow(reach, bytes, &reach))
    throw Error(std::string(name) + " exceeds the address space: " + std::to_string(count) + " times " +
                std::to_string(step) + " elements");
}

std::int64_t step_of(const detail::AnyMatrix& x) {
  return x.leading_dimension != 0 ? x.leading_dimension : x.order == Order::rows ? x.cols : x.rows;
}

void check_matrix(const char* name, const detail::AnyMatrix& x) {
  const auto wrong = [name](const std::string& what) { return Error(name + what); };
  if (x.order > Order::columns)
    check_enumerator((std::string(name) + "'s order").c_str(), x.order, Order::columns);
  if (x.rows < 0 || x.cols < 0) throw wrong(" has a negative extent");
  const bool by_rows = x.order == Order::rows;
  const std::int64_t line = by_rows ? x.cols : x.rows, step = step_of(x);
  if (step < line)
    throw wrong(" has the leading dimension " + std::to_string(step) + ", but " +
                (by_rows ? "rows" : "columns") + " of " + std::to_string(line));
  if (line != 0) check_reach(name, by_rows ? x.rows : x.cols, step, x.element);
  if (x.data == nullptr && x.rows != 0 && x.cols != 0) throw wrong(" has no data");
  check_alignment(name, x.data, x.element);
}

void check_vector(const char* name, const void* data, Element element, std::int64_t step) {
  check_alignment(name, data, element);
  if (step < 0) throw Error(std::string(name) + " has the negative step " + std::to_string(step));
}

ArrayView view_of(const char* name, const detail::AnyMatrix& x) {
  check_matrix(name, x);
  const std::int64_t step = step_of(x);
  return {const_cast<void*>(x.data),
          x.element,
          {x.rows, x.cols},
          x.order == Order::rows ? Extents{step, 1} : Extents{1, step}};
}

ArrayView set_aside(const ArrayView& c, Array& kept) {
  const bool by_columns = c.strides.back() != 1;
  kept = packed_copy(by_columns ? c.transposed() : c);
  return by_columns ? kept.view().transposed() : kept.view();
}

void require_addend(const Options& options) {
  if (options.beta != 0 && options.c0.data == nullptr)
    throw Error("β is not 0: Options::c0 has to be what C held before the product");
}

void check_enqueued(const Options& options) {
  if (options.check) throw Error("check is not supported for asynchronous calls");
}

}  // namespace tessera::matmul
