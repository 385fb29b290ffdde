// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/effect.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/expression.hpp"
#include "tessera/core/numbers.hpp"

namespace tessera {
namespace {

// "1.0" is no other number than "1".
bool differs(const Parameter& p, const Arguments& arguments) {
  const std::string& word = arguments.text(p.name);
  if (word == p.value) return false;
  if (p.kind == Parameter::Kind::real) return arguments.real(p.name) != number_of(p.value);
  if (p.kind == Parameter::Kind::integer) return arguments.integer(p.name) != evaluate(p.value);
  return true;
}

}  // namespace

void demand_effect(const Arguments& arguments, const std::string& name, bool serves,
                   const std::string& what) {
  const Parameter& p = arguments.signature().at(name);
  if (!serves && differs(p, arguments))
    throw Error("--" + p.flag() + " " + arguments.text(name) + " is only for " + what);
}

}  // namespace tessera
