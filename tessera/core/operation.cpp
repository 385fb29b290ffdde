// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/operation.hpp"
#include <algorithm>
#include "tessera/core/load.hpp"

namespace tessera {
namespace {

std::vector<Operation>& all() {
  static std::vector<Operation> operations;
  return operations;
}

// Levenshtein distance, with one row of the table.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
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

template <>
const OperationInterface OperationInterface::here{};

void enlist(Operation operation, const OperationInterface&) {
  auto& list = all();
  if (find_operation(operation.name) != nullptr)
    return refuse_to_enlist("two operations are called '" + operation.name + "'");
  list.insert(std::ranges::upper_bound(list, operation.name, {}, &Operation::name), std::move(operation));
}

const std::vector<Operation>& operations() { return all(); }

const Operation* find_operation(std::string_view name) {
  const auto found = std::ranges::find(all(), name, &Operation::name);
  return found == all().end() ? nullptr : &*found;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const auto& candidate : candidates)
    if (const std::size_t distance = edits(word, candidate); distance < least) {
      least = distance;
      best = candidate;
    }
  return best;
}

}  // namespace tessera
