// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/contraction.hpp"
#include <algorithm>
#include <deque>

namespace tessera {
namespace {

std::deque<Contraction>& all() {  // whose entries stay where they are
  static std::deque<Contraction> contractions;
  return contractions;
}

}  // namespace

void register_contraction(Contraction contraction) { all().push_back(std::move(contraction)); }

const Contraction* contraction_of(std::string_view operation) {
  const auto found = std::find_if(all().rbegin(), all().rend(), [&](const Contraction& contraction) {
    return contraction.operation == operation;
  });
  return found == all().rend() ? nullptr : &*found;
}

}  // namespace tessera
