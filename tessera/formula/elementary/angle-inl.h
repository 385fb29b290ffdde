// SPDX-License-Identifier: Apache-2.0
// An angle as whole quarter turns and a rest of at most an eighth of a turn either way. Included inside a
// namespace by its users, which have huge_angle for what is beyond the first way.

template <class V>
struct Angle {
  V turns;
  Pair<V> rest;
};

template <class V>
FORMULA_FN Angle<V> angle(V x) {
  // π/2 in three parts: enough digits for every x up to the limit, whose nearest multiple may be very near.
  const V most = number<V>(0x1p27, 0x1p13f);
  const auto beyond = !(magnitude(x) <= most);
  const V c = pick(beyond, V(0), x);
  const V n = nearest(c * number<V>(0x1.45f306dc9c883p-1, 0x1.45f306p-1f));
  const Pair<V> first = product(n, number<V>(0x1.921fb54442d18p+0, 0x1.921fb6p+0f));
  const Pair<V> second = product(n, number<V>(0x1.1a62633145c07p-54, -0x1.777a5cp-25f));
  const V third = n * number<V>(-0x1.f1976b7ed8fbcp-110, -0x1.ee59dap-50f);
  const Pair<V> r = sum(c - first.hi, -first.lo);
  const Pair<V> s = sum(r.hi, -second.hi);
  Angle<V> out{n, sum(s.hi, (s.lo + r.lo) - (second.lo + third))};
  if (any_of(beyond)) huge_angles(x, beyond, out.turns, out.rest.hi, out.rest.lo);
  return out;
}
