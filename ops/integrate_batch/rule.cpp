// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include "integrate_batch.hpp"
#include "ops/integrate/quadrature/null_rules.hpp"

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
  const auto rules = quadrature::null_rules<slots, nulls - 1>(out.x, out.kronrod, out.apart[0]);
  for (std::size_t k = 1; k < nulls; ++k) std::copy(rules[k - 1].begin(), rules[k - 1].end(), out.apart[k]);
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
