// SPDX-License-Identifier: Apache-2.0
// Trigonometric functions and their inverses. Included inside a namespace by its users, after exact-inl.h;
// they define huge_angles() for angles beyond the limit of the first method.

// --- an angle as full quarter turns and a rest of at most an eighth of a turn either way ---

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

// --- sin, cos, tan ---

template <class V>
FORMULA_FN Pair<V> sine_pair(Pair<V> r) {  // |r| ≤ π/4
  const V w = r.hi * r.hi;
  V p;
  if constexpr (Kind<V>::wide)
    p = polynomial(w, -0x1.5555555555555p-3, 0x1.1111111111110p-7, -0x1.a01a01a0198d7p-13,
                   0x1.71de3a5455170p-19, -0x1.ae6453ff2dafcp-26, 0x1.61216fc520af3p-33,
                   -0x1.ab0ef4308545dp-41);
  else p = polynomial(w, -0x1.555556p-3f, 0x1.11110ep-7f, -0x1.a01384p-13f, 0x1.6db29cp-19f);
  return sum_ordered(r.hi, fused(r.hi * w, p, fused(V(-0.5) * w, r.lo, r.lo)));
}

template <class V>
FORMULA_FN Pair<V> cosine_pair(Pair<V> r) {
  const Pair<V> w = product(r.hi, r.hi);
  V p;
  if constexpr (Kind<V>::wide)
    p = polynomial(w.hi, 0x1.5555555555555p-5, -0x1.6c16c16c16c16p-10, 0x1.a01a01a019ce2p-16,
                   -0x1.27e4fb770df7cp-22, 0x1.1eed8de34104cp-29, -0x1.9394acff784b0p-37,
                   0x1.ab70bf61c0fe1p-45);
  else p = polynomial(w.hi, 0x1.555556p-5f, -0x1.6c16c0p-10f, 0x1.a015aep-16f, -0x1.251d1ep-22f);
  const Pair<V> y = sum_ordered(V(1), V(-0.5) * w.hi);
  const V rest = fused(w.hi * w.hi, p, -fused(r.hi, r.lo, V(0.5) * w.lo));
  return sum_ordered(y.hi, y.lo + rest);
}

// Returns the number of quarter turns modulo 4.
template <class V>
FORMULA_FN V quarter(V turns) {
  return turns - V(4) * below(V(0.25) * turns);
}

template <class V>
FORMULA_FN V wave(Angle<V> a, V quarter_turns) {
  const V q = quarter(a.turns + quarter_turns);
  const auto is_cosine = (q == V(1)) | (q == V(3));
  const V y = pick(is_cosine, cosine_pair(a.rest).hi, sine_pair(a.rest).hi);
  return pick(q >= V(2), -y, y);
}

template <class V>
FORMULA_FN V sin(V x) {
  return pick(x == V(0), x, wave(angle(x), V(0)));
}
template <class V>
FORMULA_FN V cos(V x) {
  return wave(angle(x), V(1));
}
template <class V>
FORMULA_FN V tan(V x) {
  const Angle<V> a = angle(x);
  const V q = quarter(a.turns);
  const auto turned = (q == V(1)) | (q == V(3));
  const Pair<V> s = sine_pair(a.rest), c = cosine_pair(a.rest);
  const Pair<V> above{pick(turned, -c.hi, s.hi), pick(turned, -c.lo, s.lo)};
  const Pair<V> below{pick(turned, s.hi, c.hi), pick(turned, s.lo, c.lo)};
  return pick(x == V(0), x, quotient(above, below).hi);
}

// --- atan, atan2, asin, acos ---

// Returns the angle of (x, y), both at least 0 and not both 0, neither near the ends of the range: 0 to π/2.
template <class V>
FORMULA_FN Pair<V> first_quadrant(Pair<V> y, Pair<V> x) {
  const auto steep = y.hi > x.hi;
  const Pair<V> small{pick(steep, x.hi, y.hi), pick(steep, x.lo, y.lo)};
  const Pair<V> large{pick(steep, y.hi, x.hi), pick(steep, y.lo, x.lo)};
  // Near the diagonal it is measured from there.
  const auto diagonal = small.hi > number<V>(0x1.a827999fcef32p-2, 0x1.a8279ap-2f) * large.hi;
  Pair<V> across = sum(small.hi, -large.hi);
  across.lo = across.lo + (small.lo - large.lo);
  Pair<V> along = sum_ordered(large.hi, small.hi);
  along.lo = along.lo + (large.lo + small.lo);
  const Pair<V> above{pick(diagonal, across.hi, small.hi), pick(diagonal, across.lo, small.lo)};
  const Pair<V> below{pick(diagonal, along.hi, large.hi), pick(diagonal, along.lo, large.lo)};
  const Pair<V> z = quotient(above, below);
  const V w = z.hi * z.hi;
  V p;
  if constexpr (Kind<V>::wide)
    p = polynomial(w, -0x1.5555555555555p-2, 0x1.9999999999996p-3, -0x1.249249249209bp-3,
                   0x1.c71c71c6dc9f4p-4, -0x1.745d17351e0fap-4, 0x1.3b13ae9fb9475p-4, -0x1.1110cdfd73c03p-4,
                   0x1.e1d8ce300f1b0p-5, -0x1.aebc0d0c8f3afp-5, 0x1.8295dec5696a5p-5, -0x1.501f4d8f53999p-5,
                   0x1.f566b2402cf2bp-6, -0x1.c6f9236adc23ap-7);
  else
    p = polynomial(w, -0x1.555556p-2f, 0x1.99997cp-3f, -0x1.248a10p-3f, 0x1.c57a46p-4f, -0x1.61379ep-4f,
                   0x1.9d40c6p-5f);
  const Pair<V> a = sum_ordered(z.hi, fused(z.hi * w, p, fused(-w, z.lo, z.lo)));
  const V half_hi = number<V>(0x1.921fb54442d18p+0, 0x1.921fb6p+0f);
  const V half_lo = number<V>(0x1.1a62633145c07p-54, -0x1.777a5cp-25f);
  const V part = pick(diagonal, V(0.5), pick(steep, V(1), V(0)));
  const V turned = pick(steep, V(-1), V(1));
  const Pair<V> out = sum_ordered(part * half_hi, turned * a.hi);
  return sum_ordered(out.hi, out.lo + fused(part, half_lo, turned * a.lo));
}

// Returns the angle with the signs of y and x, from -π to π.
template <class V>
FORMULA_FN V any_quadrant(Pair<V> angle, V y, V x) {
  const auto left = with_sign(V(1), x) < V(0);
  const V pi_hi = number<V>(0x1.921fb54442d18p+1, 0x1.921fb6p+1f);
  const V pi_lo = number<V>(0x1.1a62633145c07p-53, -0x1.777a5cp-24f);
  const Pair<V> other = sum_ordered(pi_hi, -angle.hi);
  return with_sign(pick(left, other.hi + (other.lo + (pi_lo - angle.lo)), angle.hi), y);
}

template <class V>
FORMULA_FN V atan2(V y, V x) {
  const V inf = infinity<V>();
  const V ay = magnitude(y), ax = magnitude(x);
  const auto infinite = (ay == inf) | (ax == inf);
  const V large = pick(ay > ax, ay, ax);
  // Powers of two that take both away from the ends of the range.
  const V scale = pick(large > number<V>(0x1p1000, 0x1p100f), number<V>(0x1p-120, 0x1p-50f),
                       pick(large < number<V>(0x1p-800, 0x1p-70f), number<V>(0x1p200, 0x1p50f), V(1)));
  const V cy = pick(infinite, truth<V>(ay == inf), ay * scale);
  const V cx = pick(infinite, truth<V>(ax == inf), pick(large == V(0), V(1), ax * scale));
  const V out = any_quadrant(first_quadrant(Pair<V>{cy, V(0)}, Pair<V>{cx, V(0)}), y, x);
  return pick((x != x) | (y != y), x + y, out);
}

template <class V>
FORMULA_FN V atan(V x) {
  const V a = magnitude(x);
  const V most = number<V>(0x1p60, 0x1p30f);
  const V y = first_quadrant(Pair<V>{pick(a > most, most, a), V(0)}, Pair<V>{V(1), V(0)}).hi;
  return pick(x != x, x, with_sign(y, x));
}

// Returns √(1 - x²)
template <class V>
FORMULA_FN Pair<V> other_leg(V x) {
  const Pair<V> square = product(x, x);
  const Pair<V> rest = sum(V(1), -square.hi);
  return root_of(sum_ordered(rest.hi, rest.lo - square.lo));
}

template <class V>
FORMULA_FN V asin(V x) {
  const V y = first_quadrant(Pair<V>{magnitude(x), V(0)}, other_leg(x)).hi;
  return pick(magnitude(x) <= V(1), with_sign(y, x), not_a_number<V>());
}

template <class V>
FORMULA_FN V acos(V x) {
  const V y = any_quadrant(first_quadrant(other_leg(x), Pair<V>{magnitude(x), V(0)}), V(1), x);
  return pick(magnitude(x) <= V(1), y, not_a_number<V>());
}
