// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry: any bytes either make a tree that reads the same when it is written out, and a program
// that can be run, or an Error.
#include <cstdlib>
#include "tessera/core/text/error.hpp"
#include "tessera/formula/distance.hpp"
#include "tessera/formula/program.hpp"

namespace {

using namespace tessera;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(std::string_view text) {
  const formula::Tree tree = formula::parse(text);
  require(!tree.nodes().empty() && tree.nodes().size() <= formula::Limits{}.nodes);
  const std::string written = formula::to_text(tree);
  formula::Limits roomy;
  roomy.depth = 2000;  // a long sum is written with brackets
  roomy.length = 1 << 20;
  if (written.size() < 2000) require(formula::to_text(formula::parse(written, roomy)) == written);
  if (!tree.names().empty()) {
    formula::with_distance(tree, tree.names()[0], formula::End::upper, 1);
    formula::with_distance(tree, tree.names()[0], formula::End::lower, 0);
  }
  const auto program = formula::compile<double>(tree, tree.names());
  const double point[formula::max_inputs] = {};
  formula::evaluate<double>(program, {point, program.input_count});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    check({reinterpret_cast<const char*>(data), size});
  } catch (const Error& error) {
    require(error.kind() == Error::Kind::user);
  }
  return 0;
}
