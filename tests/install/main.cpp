// SPDX-License-Identifier: Apache-2.0
// What a stranger does with the installed package: a product through the typed call, checked; rungs of
// the stranger's own, tried on every case; integrals of the stranger's functions.
#include <cmath>
#include <cstdio>
#include <vector>
#include "tessera/ops/integrate.hpp"
#include "tessera/ops/matmul.hpp"
#include "tessera/run/conformance.hpp"
#include "tessera/tessera.hpp"

namespace {

int call() {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {1, 0, 2, 0, 1, 3};
  std::vector<float> c(4, -1);
  const auto outcome =
      tessera::matmul::multiply<float>({a.data(), 2, 3}, {b.data(), 3, 2}, {c.data(), 2, 2}, {.check = true});
  if (!outcome.verdict || !outcome.verdict->passed) return 1;
  const std::vector<float> expected = {8, 9, 20, 18};
  std::printf("%g %g %g %g\n", static_cast<double>(c[0]), static_cast<double>(c[1]),
              static_cast<double>(c[2]), static_cast<double>(c[3]));
  return c == expected ? 0 : 1;
}

struct Witch {
  SIMT double operator()(double x) const { return 4 / (1 + x * x); }
};

int integrals() {
  const double pi = std::acos(-1.0);
  const auto near = [](const tessera::quadrature::Answer& answer, double exact, double within) {
    std::printf("%.17g +- %.2g, %s: %s\n", answer.value, answer.error(),
                tessera::quadrature::reason_text(answer).c_str(), answer.why.c_str());
    return std::fabs(answer.value - exact) <= answer.error() + 1e-15 && answer.error() <= within;
  };
  const auto bell = [](double x, double y) { return std::exp(-(x * x + y * y)); };
  const double all = tessera::quadrature::infinity;
  bool right = near(tessera::integrate([](double x) { return std::sqrt(1 - x * x); }, 0, 1), pi / 4, 1e-10);
  right = near(tessera::integrate(bell, {{-all, all}, {-all, all}}), pi, 1e-5) && right;
  right = near(tessera::integrate(Witch{}, 0, 1, {.strips = 4096}), pi, 1e-7) && right;
  right = near(tessera::integrate(tessera::find_device("simt"), Witch{}, 0, 1, {.strips = 4096}), pi, 1e-7) &&
          right;
  return right ? 0 : 1;
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
  // Rungs register themselves, and must survive the linking of a static library.
  const tessera::Operation* operation = tessera::find_operation("matmul");
  if (operation == nullptr || tessera::ladder_of("matmul").size() < 4) return 2;
  return call() + integrals() + try_rung(*operation, "cpu", "backwards") +
         try_rung(*operation, "simt", "halves");
}
