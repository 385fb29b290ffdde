// SPDX-License-Identifier: Apache-2.0
// exp, exp2, expm1. Included inside a namespace by its users.

// e^x = 2^n · (1 + e), |n| small enough that x / ln 2 lies beside it.
template <class V>
struct Exponential {
  V n;
  Pair<V> e;
};

// expm1 of |r| ≤ ln 2 / 2.
template <class V>
FORMULA_FN Pair<V> small_expm1(Pair<V> r) {
  V p;
  if constexpr (Kind<V>::wide)
    p = polynomial(r.hi, 0x1.0000000000000p-1, 0x1.5555555555557p-3, 0x1.555555555554ep-5,
                   0x1.1111111110095p-7, 0x1.6c16c16c1a193p-10, 0x1.a01a01ac0fbf0p-13, 0x1.a01a01902041cp-16,
                   0x1.71de01b0e5003p-19, 0x1.27e5111a3a746p-22, 0x1.af4ef95491677p-26,
                   0x1.1f1a25f66ae2ep-29);
  else
    p = polynomial(r.hi, 0x1.000000p-1f, 0x1.555556p-3f, 0x1.5554e8p-5f, 0x1.11114cp-7f, 0x1.6d4466p-10f,
                   0x1.a0730ep-13f);
  return sum_ordered(r.hi, fused(r.hi * r.hi, p, fused(r.lo, r.hi, r.lo)));
}

template <class V>
FORMULA_FN Exponential<V> exponential(Pair<V> x) {
  const V n = nearest(x.hi * number<V>(0x1.71547652b82fep+0, 0x1.715476p+0f));
  const V high = fused(-n, number<V>(0x1.62e42fefa3800p-1, 0x1.62e400p-1f), x.hi);  // exact
  const V low = fused(-n, number<V>(0x1.ef35793c76730p-45, 0x1.7f7d1cp-20f), x.lo);
  return {n, small_expm1(sum(high, low))};
}

// y · 2^n in two steps, so that neither factor leaves the range where the result does not.
template <class V>
FORMULA_FN V scaled(V y, V n) {
  const V half = nearest(n * V(0.5));
  return y * power_of_two(half) * power_of_two(n - half);
}

template <class V>
FORMULA_FN Pair<V> plus_one(Pair<V> e) {
  const Pair<V> y = sum_ordered(V(1), e.hi);
  return sum_ordered(y.hi, y.lo + e.lo);
}

template <class V>
FORMULA_FN Pair<V> plus_one_any(Pair<V> e) {  // where |e| may be more than 1
  const Pair<V> y = sum(V(1), e.hi);
  return sum_ordered(y.hi, y.lo + e.lo);
}

template <class V>
FORMULA_FN V value_of(Exponential<V> x) {
  return scaled(plus_one(x.e).hi, x.n);
}

template <class V>
FORMULA_FN V clamped(V x, V most) {  // a NaN stays
  return pick(x > most, most, pick(x < -most, -most, x));
}

template <class V>
FORMULA_FN V exp(V x) {
  return value_of(exponential(Pair<V>{clamped(x, number<V>(800, 120)), V(0)}));
}

template <class V>
FORMULA_FN V exp2(V x) {
  const V c = clamped(x, number<V>(1200, 180));
  const V n = nearest(c);
  const Pair<V> r = product(c - n, number<V>(0x1.62e42fefa39efp-1, 0x1.62e430p-1f));
  const V low = fused(c - n, number<V>(0x1.abc9e3b39803fp-56, -0x1.05c610p-29f), r.lo);
  return value_of(Exponential<V>{n, small_expm1(sum_ordered(r.hi, low))});
}

// e^x - 1 for |x| so small that 2^n is no trouble.
template <class V>
FORMULA_FN Pair<V> expm1_pair(V x) {
  const Exponential<V> y = exponential(Pair<V>{x, V(0)});
  const V power = power_of_two(y.n);
  const Pair<V> whole = sum(power, V(-1));
  const Pair<V> both = sum(whole.hi, power * y.e.hi);
  return sum_ordered(both.hi, both.lo + (whole.lo + power * y.e.lo));
}

template <class V>
FORMULA_FN V expm1(V x) {
  const V most = number<V>(42, 20);  // beyond, 1 is less than a rounding
  const V near = expm1_pair(clamped(x, most)).hi;
  const V y = pick(x > most, exp(x), near);
  return pick(x == V(0), x, y);
}
