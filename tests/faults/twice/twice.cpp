// SPDX-License-Identifier: Apache-2.0
#include "twice.hpp"
#include "tessera/core/operation/operation.hpp"

namespace tessera::twice {
namespace {

template <class T>
void append(const Arguments& arguments, std::span<const std::int64_t> rows, Expected& expected) {
  const auto p = Problem<T>::of(arguments);
  for (const std::int64_t i : rows)
    for (std::int64_t j = 0; j < p.n(); ++j) {
      expected.value.push_back(2 * static_cast<double>(p.a(i, j)));
      expected.bound.push_back(0);
    }
}

void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data, Expected& expected) {
  if (arguments.element() == Element::f32) append<float>(arguments, rows, expected);
  else append<double>(arguments, rows, expected);
}

Operation operation() {
  Operation out;
  out.name = "twice";
  out.summary = "B = 2·A, by rungs of which all but the first are wrong";
  out.signature.parameters = {parameter::input("A", {"m", "n"}, "any matrix"),
                              parameter::output("B", {"m", "n"}, "twice A")};
  out.elements = {Element::f32, Element::f64};
  out.output = "B";
  out.flops = [](const Arguments& a) {
    return static_cast<double>(a.dim("m")) * static_cast<double>(a.dim("n"));
  };
  out.reference = reference;
  out.cases = {{.dims = {{"m", 9}, {"n", 11}}}, {.dims = {{"m", 12}, {"n", 7}}}};
  return out;
}

[[maybe_unused]] const bool registered = (register_operation(operation()), true);

}  // namespace
}  // namespace tessera::twice
