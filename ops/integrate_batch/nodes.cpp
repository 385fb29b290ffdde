// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include "integrate_batch.hpp"
#include "ops/integrate/rules/kronrod_nodes.hpp"

namespace tessera::integrate_batch {
namespace {

// The weight of the node at `mine` in the value at 1 of the polynomial through all of them.
double weight_at_end(const Nodes& nodes, double mine) {
  double out = 1;
  const auto factor = [&](double other) {
    if (other != mine) out *= (1 - other) / (mine - other);
  };
  for (const double x : nodes.x) {
    factor(x);
    if (x != 0) factor(-x);
  }
  return out;
}

// Of even functions on the nodes: the last few polynomials that are orthogonal where each node weighs as much
// as Kronrod gives it. As weights they find nothing in any polynomial of lower degree. Scaled as Gauss's is.
void set_null_rules(Nodes& out) {
  using Real = long double;
  constexpr std::size_t all = slots;
  std::array<std::array<Real, all>, all> known{};  // by degree / 2, then by slot
  const auto product = [&](const std::array<Real, all>& a, const std::array<Real, all>& b) {
    Real sum = 0;
    for (std::size_t i = 0; i < all; ++i) sum += 2 * Real(out.kronrod[i]) * a[i] * b[i];
    return sum;
  };
  for (std::size_t degree = 0; degree < all; ++degree) {
    auto& mine = known[degree];
    for (std::size_t i = 0; i < all; ++i)
      mine[i] = degree == 0 ? 1 : known[degree - 1][i] * out.x[i] * out.x[i];
    for (int twice = 0; twice < 2; ++twice)
      for (std::size_t lower = 0; lower < degree; ++lower) {
        const Real share = product(mine, known[lower]);
        for (std::size_t i = 0; i < all; ++i) mine[i] -= share * known[lower][i];
      }
    const Real size = std::sqrt(product(mine, mine));
    for (Real& value : mine) value /= size;
  }
  Real size = 0;  // of Gauss's
  for (std::size_t i = 0; i < all; ++i)
    size += 2 * Real(out.apart[0][i]) * Real(out.apart[0][i]) / Real(out.kronrod[i]);
  for (std::size_t k = 1; k < nulls; ++k)
    for (std::size_t i = 0; i < all; ++i)
      out.apart[k][i] = static_cast<double>(std::sqrt(size) * Real(out.kronrod[i]) * known[all - 1 - k][i]);
}

Nodes made() {
  const auto& known = quadrature::kronrod21;  // from the end inwards
  Nodes out{};
  for (std::size_t i = 0; i < slots; ++i) {
    const std::size_t slot = slots - 1 - i;
    const double half = slot == 0 ? 0.5 : 1;
    out.x[slot] = known.x[i];
    out.kronrod[slot] = half * known.kronrod[i];
    out.apart[0][slot] = half * (known.kronrod[i] - (i % 2 == 1 ? known.gauss[i / 2] : 0));
  }
  set_null_rules(out);
  for (std::size_t slot = 0; slot < slots; ++slot) {
    const double half = slot == 0 ? 0.5 : 1;
    out.near[slot] = half * weight_at_end(out, out.x[slot]);
    out.far[slot] = half * weight_at_end(out, -out.x[slot]);
  }
  return out;
}

}  // namespace

const Nodes& kronrod_nodes() {
  static const Nodes nodes = made();
  return nodes;
}

}  // namespace tessera::integrate_batch
