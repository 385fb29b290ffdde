// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/operation/operation.hpp"
#include <algorithm>
#include <string_view>
#include "tessera/load.hpp"

namespace tessera {
namespace {

std::vector<Operation>& all() {
  static std::vector<Operation> operations;
  return operations;
}

}  // namespace

double Operation::bytes(const Arguments& arguments) const {
  double sum = 0;
  for (const Parameter& p : arguments.signature().parameters)
    if (p.is_array() && arguments.has(p.name)) {
      const ArrayView& array = arguments.array(p.name);
      sum += static_cast<double>(array.bytes());
    }
  return sum;
}

std::string Operation::element_name(const Arguments& arguments) const {
  return element_text ? element_text(arguments) : std::string(name_of(arguments.element()));
}

template <>
const OperationInterface OperationInterface::current{};

void register_operation(Operation operation, const OperationInterface&) {
  auto& list = all();
  if (find_operation(operation.name) != nullptr)
    return refuse_registration("two operations are called '" + operation.name + "'");
  if (std::ranges::count_if(operation.signature.parameters, &Parameter::is_array) >
      std::ptrdiff_t{Signature::max_arrays})
    return refuse_registration(operation.name + " has more than " + std::to_string(Signature::max_arrays) +
                               " arrays");
  list.insert(std::ranges::upper_bound(list, operation.name, {}, &Operation::name), std::move(operation));
}

const std::vector<Operation>& operations() { return all(); }

const Operation* find_operation(std::string_view name) {
  const auto found = std::ranges::find(all(), name, &Operation::name);
  return found == all().end() ? nullptr : &*found;
}

}  // namespace tessera
