// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/contraction.hpp"
#include <deque>

namespace tessera {
namespace {

std::deque<Contraction>& all() {  // whose entries stay where they are
  static std::deque<Contraction> contractions;
  return contractions;
}

}  // namespace

void enlist(Contraction contraction) { all().push_back(std::move(contraction)); }

const Contraction* contraction_of(std::string_view operation) {
  for (const Contraction& contraction : all())
    if (contraction.operation == operation) return &contraction;
  return nullptr;
}

}  // namespace tessera
