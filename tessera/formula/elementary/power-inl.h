// SPDX-License-Identifier: Apache-2.0
// pow, hypot, cbrt. Included inside a namespace by its users.

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
