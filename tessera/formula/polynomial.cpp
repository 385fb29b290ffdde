// SPDX-License-Identifier: Apache-2.0
#include "tessera/formula/polynomial.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::formula {

double Exact::sum(double a, double b) {
  const double s = a + b, of_b = s - a;
  keep((a - (s - of_b)) + (b - of_b) == 0);
  return s;
}

double Exact::product(double a, double b) {
  const double p = a * b;
  keep(std::fma(a, b, -p) == 0 && (p != 0 || a == 0 || b == 0));
  return p;
}

double Exact::quotient(double a, double b) {
  const double q = a / b;
  keep(std::fma(q, b, -a) == 0 && (q != 0 || a == 0));
  return q;
}

namespace {

Maybe kept(Polynomial p, const Exact& exact) {
  while (p.size() > 1 && p.back() == 0) p.pop_back();
  if (!exact.holds() || p.size() > most_terms) return std::nullopt;
  for (const double c : p)
    if (!std::isfinite(c)) return std::nullopt;
  return p;
}

}  // namespace

Maybe scaled_sum(const Polynomial& a, double by, const Polynomial& b) {
  Exact exact;
  Polynomial out(std::max(a.size(), b.size()), 0.0);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = exact.sum(i < a.size() ? a[i] : 0, by * (i < b.size() ? b[i] : 0));
  return kept(out, exact);
}

Maybe product(const Polynomial& a, const Polynomial& b) {
  Exact exact;
  Polynomial out(a.size() + b.size() - 1, 0.0);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j) out[i + j] = exact.sum(out[i + j], exact.product(a[i], b[j]));
  return kept(out, exact);
}

Maybe power(const Polynomial& base, const Polynomial& exponent) {
  if (exponent.size() != 1 || exponent[0] != std::trunc(exponent[0]) || exponent[0] < 0 ||
      exponent[0] >= most_terms)
    return std::nullopt;
  Maybe out = Polynomial{1};
  for (int i = 0; i < static_cast<int>(exponent[0]) && out; ++i) out = product(*out, base);
  return out;
}

Maybe quotient(const Polynomial& a, const Polynomial& b) {
  if (b.size() != 1 || b[0] == 0) return std::nullopt;
  Exact exact;
  Polynomial out;
  for (const double c : a) out.push_back(exact.quotient(c, b[0]));
  return kept(out, exact);
}

Maybe shifted(Polynomial p, double at, double side) {
  Exact exact;
  for (std::size_t i = 0; i + 1 < p.size(); ++i)
    for (std::size_t j = p.size() - 1; j-- > i;) p[j] = exact.sum(p[j], exact.product(at, p[j + 1]));
  for (std::size_t i = 1; i < p.size(); i += 2) p[i] *= side;
  return kept(p, exact);
}

}  // namespace tessera::formula
