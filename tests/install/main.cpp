// SPDX-License-Identifier: Apache-2.0
// What a stranger does with the installed package: a product through the typed call, checked.
#include <cstdio>
#include <vector>
#include "tessera/ops/matmul.hpp"
#include "tessera/tessera.hpp"

int main() {
  // Rungs enlist themselves, and must survive the linking of a static library.
  if (tessera::find_operation("matmul") == nullptr || tessera::ladder_of("matmul").empty()) return 2;
  const std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {1, 0, 2, 0, 1, 3};
  std::vector<float> c(4, -1);
  const auto outcome = tessera::matmul::multiply<float>({a.data(), 2, 3}, {b.data(), 3, 2}, {c.data(), 2, 2}, {.check = true});
  if (!outcome.verdict || !outcome.verdict->passed) return 1;
  const std::vector<float> expected = {8, 9, 20, 18};
  std::printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]);
  return c == expected ? 0 : 1;
}
