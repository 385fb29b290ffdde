// SPDX-License-Identifier: Apache-2.0
// What a stranger does with the installed package: a product through the typed call, checked; rungs of
// the stranger's own, tried on every case.
#include <cstdio>
#include <vector>
#include "tessera/ops/matmul.hpp"
#include "tessera/run/conformance.hpp"
#include "tessera/tessera.hpp"

namespace {

int call() {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {1, 0, 2, 0, 1, 3};
  std::vector<float> c(4, -1);
  const auto outcome = tessera::matmul::multiply<float>({a.data(), 2, 3}, {b.data(), 3, 2}, {c.data(), 2, 2}, {.check = true});
  if (!outcome.verdict || !outcome.verdict->passed) return 1;
  const std::vector<float> expected = {8, 9, 20, 18};
  std::printf("%g %g %g %g\n", static_cast<double>(c[0]), static_cast<double>(c[1]),
              static_cast<double>(c[2]), static_cast<double>(c[3]));
  return c == expected ? 0 : 1;
}

int try_rung(const tessera::Operation& operation, const char* device, const char* name) {
  tessera::Walk walk;
  walk.device = tessera::find_device(device);
  walk.variant = name;
  std::int64_t passed = 0, failed = 0;
  for (const tessera::WalkTotals& totals : tessera::walk(operation, walk)) {
    if (totals.variant->name != name) continue;
    passed += totals.passed;
    failed += totals.failed;
  }
  std::printf("%s on %s: %lld passed, %lld failed\n", name, device, static_cast<long long>(passed),
              static_cast<long long>(failed));
  return passed > 0 && failed == 0 ? 0 : 1;
}

}  // namespace

int main() {
  // Rungs enlist themselves, and must survive the linking of a static library.
  const tessera::Operation* operation = tessera::find_operation("matmul");
  if (operation == nullptr || tessera::ladder_of("matmul").size() < 4) return 2;
  return call() + try_rung(*operation, "cpu", "backwards") + try_rung(*operation, "simt", "halves");
}
