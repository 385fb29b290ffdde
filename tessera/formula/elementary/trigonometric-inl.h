// SPDX-License-Identifier: Apache-2.0
// sin, cos, tan. Included inside a namespace by its users, after angle-inl.h.

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

// Which quarter turn: 0, 1, 2, 3.
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
