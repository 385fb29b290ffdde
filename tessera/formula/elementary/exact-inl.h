// SPDX-License-Identifier: Apache-2.0
// Numbers of twice the precision, hi + lo, and the functions that every device rounds correctly or that do
// not round. Included inside a namespace by its users.

template <class V>
struct Pair {
  V hi, lo;
};

template <class V>
FORMULA_FN V number(double wide, float narrow) {
  if constexpr (Kind<V>::wide) return V(wide);
  else return V(narrow);
}

// Returns c0 + c1·x + c2·x² + …
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

// --- exact functions; truth values are 1 and 0, and any nonzero value is true ---

template <class V>
FORMULA_FN V neg(V a) {
  return -a;
}
template <class V>
FORMULA_FN V abs(V a) {
  return magnitude(a);
}
template <class V>
FORMULA_FN V sqrt(V a) {
  return root(a);
}
template <class V>
FORMULA_FN V floor(V a) {
  return below(a);
}
template <class V>
FORMULA_FN V ceil(V a) {
  return above(a);
}
template <class V>
FORMULA_FN V trunc(V a) {
  return towards_zero(a);
}
// Halves away from zero.
template <class V>
FORMULA_FN V round(V a) {
  const V whole = towards_zero(a);
  const V step = with_sign(V(1), a);
  return pick(magnitude(a - whole) >= V(0.5), whole + step, whole);
}
template <class V>
FORMULA_FN V sign(V a) {
  return pick(a > V(0), V(1), pick(a < V(0), V(-1), a));
}

template <class V>
FORMULA_FN V add(V a, V b) {
  return a + b;
}
template <class V>
FORMULA_FN V sub(V a, V b) {
  return a - b;
}
template <class V>
FORMULA_FN V mul(V a, V b) {
  return a * b;
}
template <class V>
FORMULA_FN V div(V a, V b) {
  return a / b;
}
template <class V>
FORMULA_FN V fma(V a, V b, V c) {
  return fused(a, b, c);
}

// min and max propagate a NaN; fmin and fmax drop it, as in C.
template <class V>
FORMULA_FN V min(V a, V b) {
  return pick(a != a, a, pick(a < b, a, b));
}
template <class V>
FORMULA_FN V max(V a, V b) {
  return pick(a != a, a, pick(a > b, a, b));
}
template <class V>
FORMULA_FN V fmin(V a, V b) {
  return pick(a != a, b, pick(b < a, b, a));
}
template <class V>
FORMULA_FN V fmax(V a, V b) {
  return pick(a != a, b, pick(b > a, b, a));
}

template <class V, class M>
FORMULA_FN V truth(M is) {
  return pick(is, V(1), V(0));
}
template <class V>
FORMULA_FN V less(V a, V b) {
  return truth<V>(a < b);
}
template <class V>
FORMULA_FN V less_equal(V a, V b) {
  return truth<V>(a <= b);
}
template <class V>
FORMULA_FN V equal(V a, V b) {
  return truth<V>(a == b);
}
template <class V>
FORMULA_FN V not_equal(V a, V b) {
  return truth<V>(a != b);
}
template <class V>
FORMULA_FN V logic_and(V a, V b) {
  return truth<V>((a != V(0)) & (b != V(0)));
}
template <class V>
FORMULA_FN V logic_or(V a, V b) {
  return truth<V>((a != V(0)) | (b != V(0)));
}
template <class V>
FORMULA_FN V logic_not(V a) {
  return truth<V>(a == V(0));
}
template <class V>
FORMULA_FN V select(V which, V a, V b) {
  return pick(which != V(0), a, b);
}
