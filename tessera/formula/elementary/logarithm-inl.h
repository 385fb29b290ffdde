// SPDX-License-Identifier: Apache-2.0
// log, log2, log10, log1p. Included inside a namespace by its users.

// log(1 + f) for √½ ≤ 1 + f ≤ √2: 2·artanh(s), s = f / (2 + f), its first two terms in pairs.
template <class V>
FORMULA_FN Pair<V> small_log1p(Pair<V> f) {
  Pair<V> d = sum_ordered(V(2), f.hi);
  d.lo = d.lo + f.lo;
  const Pair<V> s = quotient(f, d);
  Pair<V> w = product(s.hi, s.hi);
  w.lo = w.lo + (s.hi + s.hi) * s.lo;
  V p;
  if constexpr (Kind<V>::wide)
    p = polynomial(w.hi, 0x1.999999999999ap-2, 0x1.2492492492491p-2, 0x1.c71c71c71d036p-3,
                   0x1.745d17450ca35p-3, 0x1.3b13b1c040f4bp-3, 0x1.1110de84da6cdp-3, 0x1.e1f85e0073cbcp-4,
                   0x1.ac41ded5e84fcp-4, 0x1.b9225d2248759p-4);
  else p = polynomial(w.hi, 0x1.99999ap-2f, 0x1.249290p-2f, 0x1.c6bfd2p-3f, 0x1.87b366p-3f);
  Pair<V> t = sum_ordered(number<V>(0x1.5555555555555p-1, 0x1.555556p-1f), w.hi * p);
  t.lo = t.lo + number<V>(0x1.5555555555555p-55, -0x1.555556p-26f);
  Pair<V> cube = product(s.hi, w.hi);
  cube.lo = cube.lo + fused(s.hi, w.lo, s.lo * w.hi);
  Pair<V> term = product(cube.hi, t.hi);
  term.lo = term.lo + fused(cube.hi, t.lo, cube.lo * t.hi);
  const Pair<V> y = sum_ordered(s.hi + s.hi, term.hi);
  return sum_ordered(y.hi, y.lo + ((s.lo + s.lo) + term.lo));
}

// x = 2^k · (1 + f).
template <class V>
struct Halved {
  V k;
  Pair<V> f;
};

template <class V>
FORMULA_FN Halved<V> halved(V x) {  // x > 0, normal or not
  const auto tiny = x < number<V>(0x1p-1022, 0x1p-126f);
  const V up = number<V>(0x1p54, 0x1p25f), by = number<V>(54, 25);
  const V y = pick(tiny, x * up, x);
  const V m = significand_of(y);
  const auto above_root = m > number<V>(0x1.6a09e667f3bcdp+0, 0x1.6a09e6p+0f);
  const V k = exponent_of(y) - pick(tiny, by, V(0)) + pick(above_root, V(1), V(0));
  return {k, {pick(above_root, V(0.5) * m, m) - V(1), V(0)}};
}

template <class V>
FORMULA_FN Pair<V> log_pair(Halved<V> x) {
  const Pair<V> near = small_log1p(x.f);
  const Pair<V> y = sum_ordered(x.k * number<V>(0x1.62e42fefa3800p-1, 0x1.62e400p-1f), near.hi);
  const V low = fused(x.k, number<V>(0x1.ef35793c76730p-45, 0x1.7f7d1cp-20f), near.lo);
  return sum_ordered(y.hi, y.lo + low);
}

// What a logarithm is where x is not a positive number.
template <class V>
FORMULA_FN V log_or(V x, V y) {
  const V at_ends = pick(x == V(0), -infinity<V>(), not_a_number<V>());
  return pick(x > V(0), pick(x == infinity<V>(), x, y), at_ends);
}

template <class V>
FORMULA_FN V log(V x) {
  return log_or(x, log_pair(halved(x)).hi);
}

template <class V>
FORMULA_FN Pair<V> times(Pair<V> a, V b_hi, V b_lo) {
  const Pair<V> p = product(a.hi, b_hi);
  return sum_ordered(p.hi, p.lo + fused(a.hi, b_lo, a.lo * b_hi));
}

template <class V>
FORMULA_FN V log2(V x) {
  const Halved<V> h = halved(x);
  const Pair<V> near = times(small_log1p(h.f), number<V>(0x1.71547652b82fep+0, 0x1.715476p+0f),
                             number<V>(0x1.777d0ffda0d24p-56, 0x1.4ae0c0p-26f));
  const Pair<V> y = sum_ordered(h.k, near.hi);
  return log_or(x, y.hi + (y.lo + near.lo));
}

template <class V>
FORMULA_FN V log10(V x) {
  const Halved<V> h = halved(x);
  const Pair<V> near = times(small_log1p(h.f), number<V>(0x1.bcb7b1526e50ep-2, 0x1.bcb7b2p-2f),
                             number<V>(0x1.95355baaafad3p-57, -0x1.5b235ep-27f));
  const Pair<V> y = sum_ordered(h.k * number<V>(0x1.34413509f7800p-2, 0x1.344000p-2f), near.hi);
  return log_or(x, y.hi + (y.lo + fused(h.k, number<V>(0x1.fef311f12b358p-46, 0x1.3509f8p-18f), near.lo)));
}

// log(1 + x) for 1 + x.hi + x.lo > 0 and finite.
template <class V>
FORMULA_FN Pair<V> log1p_pair(Pair<V> x) {
  const Pair<V> u = sum(V(1), x.hi);
  Halved<V> h = halved(u.hi);
  h.f.lo =
      pick(h.k > V(100), V(0), (u.lo + x.lo) * power_of_two(-h.k));  // far out it is less than a rounding
  const auto near_one = h.k == V(0);                                 // where x itself is the fraction, whole
  h.f.hi = pick(near_one, x.hi, h.f.hi);
  h.f.lo = pick(near_one, x.lo, h.f.lo);
  return log_pair(h);
}

template <class V>
FORMULA_FN V log1p(V x) {
  const V at_ends = pick(x == V(-1), -infinity<V>(), not_a_number<V>());
  const V y = pick(x == infinity<V>(), x, log1p_pair(Pair<V>{x, V(0)}).hi);
  return pick(magnitude(x) < number<V>(0x1p-55, 0x1p-26f), x, pick(x > V(-1), y, at_ends));
}
