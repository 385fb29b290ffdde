// SPDX-License-Identifier: Apache-2.0
// Exponentials, logarithms, hyperbolic functions and powers. Included inside a namespace by its users, after
// exact-inl.h.

// --- exp, exp2, expm1 ---

// e^x = 2^n · (1 + e), |n| small enough that x / ln 2 lies beside it.
template <class V>
struct Exponential {
  V n;
  Pair<V> e;
};

// Returns expm1 of |r| ≤ ln 2 / 2.
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

// Returns y · 2^n in two steps, so that neither factor leaves the range where the result does not.
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
FORMULA_FN Pair<V> plus_one_any(Pair<V> e) {  // |e| may exceed 1
  const Pair<V> y = sum(V(1), e.hi);
  return sum_ordered(y.hi, y.lo + e.lo);
}

template <class V>
FORMULA_FN V value_of(Exponential<V> x) {
  return scaled(plus_one(x.e).hi, x.n);
}

template <class V>
FORMULA_FN V clamped(V x, V most) {  // propagates a NaN
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

// Returns e^x - 1 for |x| so small that 2^n is in range.
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

// --- log, log2, log10, log1p ---

// Returns log(1 + f) for √½ ≤ 1 + f ≤ √2: 2·artanh(s), s = f / (2 + f), its first two terms in pairs.
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

// Returns y, or the logarithm's value at an x that is not positive and finite.
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

// Returns log(1 + x) for 1 + x.hi + x.lo > 0 and finite.
template <class V>
FORMULA_FN Pair<V> log1p_pair(Pair<V> x) {
  const Pair<V> u = sum(V(1), x.hi);
  Halved<V> h = halved(u.hi);
  h.f.lo =
      pick(h.k > V(100), V(0), (u.lo + x.lo) * power_of_two(-h.k));  // far out it is less than a rounding
  const auto near_one = h.k == V(0);                                 // k = 0: f is x itself
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

// --- sinh, cosh, tanh and their inverses ---

// Returns e^a / 2 for a so large that e^-a is less than a rounding error.
template <class V>
FORMULA_FN V half_exp(V a) {
  Exponential<V> y = exponential(Pair<V>{clamped(a, number<V>(800, 120)), V(0)});
  y.n = y.n - V(1);
  return value_of(y);
}

// Returns an odd function with slope 1 at 0: x itself if its cube is less than a rounding error.
template <class V>
FORMULA_FN V odd(V x, V y) {
  return pick(magnitude(x) < number<V>(0x1p-28, 0x1p-13f), x, with_sign(y, x));
}

template <class V>
FORMULA_FN V sinh(V x) {
  const V a = magnitude(x), most = number<V>(40, 18);
  const Pair<V> e = expm1_pair(clamped(a, most));  // (e + e / (1 + e)) / 2
  const Pair<V> q = quotient(e, plus_one_any(e));
  const Pair<V> y = sum_ordered(e.hi, q.hi);
  const V near = V(0.5) * (y.hi + (y.lo + (e.lo + q.lo)));
  return odd(x, pick(a > most, half_exp(a), near));
}

template <class V>
FORMULA_FN V cosh(V x) {
  const V a = magnitude(x), most = number<V>(40, 18);
  const Pair<V> d = plus_one_any(expm1_pair(clamped(a, most)));
  const Pair<V> q = quotient(Pair<V>{V(1), V(0)}, d);
  const Pair<V> y = sum_ordered(d.hi, q.hi);
  const V near = V(0.5) * (y.hi + (y.lo + (d.lo + q.lo)));
  return pick(a > most, half_exp(a), near);
}

template <class V>
FORMULA_FN V tanh(V x) {
  const V a = magnitude(x);
  const Pair<V> e = expm1_pair(V(2) * clamped(a, number<V>(20, 10)));  // e / (e + 2)
  Pair<V> d = sum(e.hi, V(2));
  d = sum_ordered(d.hi, d.lo + e.lo);
  return odd(x, quotient(e, d).hi);
}

template <class V>
FORMULA_FN V log_of_twice(V a) {
  Halved<V> h = halved(a);
  h.k = h.k + V(1);
  return pick(a == infinity<V>(), a, log_pair(h).hi);
}

template <class V>
FORMULA_FN V asinh(V x) {
  const V a = magnitude(x), most = number<V>(0x1p29, 0x1p13f);
  const V c = pick(a > most, most, a);
  const Pair<V> square = product(c, c);
  const Pair<V> p = sum(V(1), square.hi);
  const Pair<V> hypotenuse = root_of(sum_ordered(p.hi, p.lo + square.lo));
  const Pair<V> q = quotient(square, plus_one_any(hypotenuse));  // a²/(1 + √(1 + a²)) = √(1 + a²) - 1
  const Pair<V> y = sum_ordered(c, q.hi);
  const V near = log1p_pair(sum_ordered(y.hi, y.lo + q.lo)).hi;
  return pick(x == x, odd(x, pick(a > most, log_of_twice(a), near)), x);
}

template <class V>
FORMULA_FN V acosh(V x) {
  const V most = number<V>(0x1p29, 0x1p13f);
  const V c = pick(x > most, most, x);
  const Pair<V> square = product(c, c);
  const Pair<V> p = sum(square.hi, V(-1));
  const Pair<V> s = root_of(sum_ordered(p.hi, p.lo + square.lo));
  const Pair<V> y = sum(c - V(1), s.hi);  // c - 1 + √(c² - 1)
  const V near = log1p_pair(sum_ordered(y.hi, y.lo + s.lo)).hi;
  return pick(x >= V(1), pick(x > most, log_of_twice(x), near), not_a_number<V>());
}

template <class V>
FORMULA_FN V atanh(V x) {
  const V a = magnitude(x);
  const Pair<V> q = quotient(Pair<V>{a + a, V(0)}, sum(V(1), -a));
  const V y = V(0.5) * log1p_pair(q).hi;
  const V at_ends = pick(a == V(1), infinity<V>(), not_a_number<V>());
  return odd(x, pick(a < V(1), y, at_ends));
}

// --- pow, hypot, cbrt ---

template <class V>
FORMULA_FN V pow(V x, V y) {
  const V inf = infinity<V>(), a = magnitude(x);
  Pair<V> l = log_pair(halved(a));
  const auto at_end = (a == V(0)) | (a == inf);
  l.hi = pick(at_end, pick(a == V(0), -inf, inf), l.hi);
  const V most = number<V>(800, 120);
  const V hi = y * l.hi;
  const V lo = fused(y, l.hi, -hi) + y * l.lo;
  const V within = pick(magnitude(hi) < most, lo, V(0));
  const V size = value_of(exponential(Pair<V>{clamped(hi, most), within}));
  const V half = V(0.5) * y;
  const auto whole = towards_zero(y) == y;
  const auto odd = whole & (towards_zero(half) != half);
  const auto negative = with_sign(V(1), x) < V(0);
  V out = pick(negative & odd, -size, size);
  out = pick((x < V(0)) & (x > -inf) & !whole, not_a_number<V>(), out);
  out = pick((x != x) | (y != y), x + y, out);
  const auto one = (x == V(1)) | (y == V(0)) | ((a == V(1)) & (magnitude(y) == inf));
  return pick(one, V(1), out);
}

template <class V>
FORMULA_FN V hypot(V x, V y) {
  const V inf = infinity<V>();
  const V ax = magnitude(x), ay = magnitude(y);
  const V large = pick(ax > ay, ax, ay), small = pick(ax > ay, ay, ax);
  const auto high = large > number<V>(0x1p500, 0x1p60f), low = large < number<V>(0x1p-400, 0x1p-40f);
  const V down = number<V>(0x1p-600, 0x1p-80f), up = number<V>(0x1p600, 0x1p80f);
  const V scale = pick(high, down, pick(low, up, V(1)));
  const V back = pick(high, up, pick(low, down, V(1)));
  const Pair<V> p = product(large * scale, large * scale), q = product(small * scale, small * scale);
  const Pair<V> s = sum_ordered(p.hi, q.hi);
  const Pair<V> h = root_of(sum_ordered(s.hi, s.lo + (p.lo + q.lo)));
  const V out = pick((x != x) | (y != y), x + y, (h.hi + h.lo) * back);
  return pick((ax == inf) | (ay == inf), inf, out);
}

template <class V>
FORMULA_FN V cbrt(V x) {
  const V a = magnitude(x);
  const auto tiny = a < number<V>(0x1p-1022, 0x1p-126f);
  const V c = pick(tiny, a * number<V>(0x1p54, 0x1p24f), a);
  const V k = exponent_of(c), m = significand_of(c);
  const V third = below((k + V(0.5)) * number<V>(0x1.5555555555555p-2, 0x1.555556p-2f));
  const V r = k - V(3) * third;
  const V cube = m * power_of_two(r);  // 1 ≤ cube < 8
  V y;
  if constexpr (Kind<V>::wide)
    y = polynomial(m, 0x1.0392c907c501cp-1, 0x1.6fb1e987f25dcp-1, -0x1.33d3966054ad6p-2, 0x1.60a16e7712506p-4,
                   -0x1.5b780f682e008p-7);
  else y = polynomial(m, 0x1.0392cap-1f, 0x1.6fb1eap-1f, -0x1.33d396p-2f, 0x1.60a16ep-4f, -0x1.5b7810p-7f);
  y = y * pick(r == V(0), V(1),
               pick(r == V(1), number<V>(0x1.428a2f98d728bp+0, 0x1.428a30p+0f),
                    number<V>(0x1.965fea53d6e3dp+0, 0x1.965feap+0f)));
  const V y3 = y * y * y;
  y = y * ((y3 + V(2) * cube) / (V(2) * y3 + cube));  // Halley's step: three times as many digits
  const Pair<V> square = product(y, y);
  const Pair<V> third_power = product(square.hi, y);
  const V rest = (cube - third_power.hi) - fused(square.lo, y, third_power.lo);
  y = y + rest / (V(3) * square.hi);
  const V out = y * power_of_two(third - pick(tiny, number<V>(18, 8), V(0)));
  return pick((x == V(0)) | (x != x) | (a == infinity<V>()), x, with_sign(out, x));
}
