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

#define FORMULA_EXACT_1(name, value) \
  template <class V>                 \
  FORMULA_FN V name(V a) {           \
    return value;                    \
  }
#define FORMULA_EXACT_2(name, value) \
  template <class V>                 \
  FORMULA_FN V name(V a, V b) {      \
    return value;                    \
  }

FORMULA_EXACT_1(neg, -a)
FORMULA_EXACT_1(abs, magnitude(a))
FORMULA_EXACT_1(sqrt, root(a))
FORMULA_EXACT_1(floor, below(a))
FORMULA_EXACT_1(ceil, above(a))
FORMULA_EXACT_1(trunc, towards_zero(a))
FORMULA_EXACT_1(sign, pick(a > V(0), V(1), pick(a < V(0), V(-1), a)))
// Halves away from zero.
template <class V>
FORMULA_FN V round(V a) {
  const V whole = towards_zero(a);
  const V step = with_sign(V(1), a);
  return pick(magnitude(a - whole) >= V(0.5), whole + step, whole);
}

FORMULA_EXACT_2(add, a + b)
FORMULA_EXACT_2(sub, a - b)
FORMULA_EXACT_2(mul, (a * b))
FORMULA_EXACT_2(div, a / b)
template <class V>
FORMULA_FN V fma(V a, V b, V c) {
  return fused(a, b, c);
}

// min and max propagate a NaN; fmin and fmax drop it, as in C.
FORMULA_EXACT_2(min, pick(a != a, a, pick(a < b, a, b)))
FORMULA_EXACT_2(max, pick(a != a, a, pick(a > b, a, b)))
FORMULA_EXACT_2(fmin, pick(a != a, b, pick(b < a, b, a)))
FORMULA_EXACT_2(fmax, pick(a != a, b, pick(b > a, b, a)))

template <class V, class M>
FORMULA_FN V truth(M is) {
  return pick(is, V(1), V(0));
}
FORMULA_EXACT_2(less, truth<V>(a < b))
FORMULA_EXACT_2(less_equal, truth<V>(a <= b))
FORMULA_EXACT_2(equal, truth<V>(a == b))
FORMULA_EXACT_2(not_equal, truth<V>(a != b))
FORMULA_EXACT_2(logic_and, truth<V>((a != V(0)) & (b != V(0))))
FORMULA_EXACT_2(logic_or, truth<V>((a != V(0)) | (b != V(0))))
FORMULA_EXACT_1(logic_not, truth<V>(a == V(0)))
template <class V>
FORMULA_FN V select(V which, V a, V b) {
  return pick(which != V(0), a, b);
}
#undef FORMULA_EXACT_1
#undef FORMULA_EXACT_2
