// SPDX-License-Identifier: Apache-2.0
// Numbers of twice the precision, hi + lo, where one rounding would cost more than it may. Included inside a
// namespace by its users.

template <class V>
struct Pair {
  V hi, lo;
};

template <class V>
FORMULA_FN V number(double wide, float narrow) {
  if constexpr (Kind<V>::wide) return V(wide);
  else return V(narrow);
}

// c0 + c1·x + c2·x² + …
template <class V, class C>
FORMULA_FN V polynomial(V, C c0) {
  return V(c0);
}
template <class V, class C, class... More>
FORMULA_FN V polynomial(V x, C c0, More... more) {
  return fused(x, polynomial(x, more...), V(c0));
}

template <class V>
FORMULA_FN Pair<V> sum_ordered(V large, V small) {  // |large| ≥ |small|, or large = 0
  const V hi = large + small;
  return {hi, small - (hi - large)};
}
template <class V>
FORMULA_FN Pair<V> sum(V a, V b) {
  const V hi = a + b;
  const V of_b = hi - a;
  return {hi, (a - (hi - of_b)) + (b - of_b)};
}
template <class V>
FORMULA_FN Pair<V> product(V a, V b) {
  const V hi = a * b;
  return {hi, fused(a, b, -hi)};
}
template <class V>
FORMULA_FN Pair<V> quotient(Pair<V> a, Pair<V> b) {
  const V inverse = V(1) / b.hi;
  const V hi = a.hi * inverse;
  const V rest = fused(-hi, b.hi, a.hi) + (a.lo - hi * b.lo);
  return sum_ordered(hi, rest * inverse);
}
template <class V>
FORMULA_FN Pair<V> root_of(Pair<V> a) {
  const V hi = root(a.hi);
  const V lo = (fused(-hi, hi, a.hi) + a.lo) / (hi + hi);
  return {hi, pick(hi == V(0), V(0), lo)};
}

template <class V>
FORMULA_FN V infinity() {
  return number<V>(from_bits(u64{0x7ff0000000000000u}), from_bits(u32{0x7f800000u}));
}
template <class V>
FORMULA_FN V not_a_number() {
  return number<V>(from_bits(u64{0x7ff8000000000000u}), from_bits(u32{0x7fc00000u}));
}
