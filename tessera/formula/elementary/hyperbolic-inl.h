// SPDX-License-Identifier: Apache-2.0
// sinh, cosh, tanh and their inverses. Included inside a namespace by its users.

// e^a / 2 where e^-a is less than a rounding.
template <class V>
FORMULA_FN V half_exp(V a) {
  Exponential<V> y = exponential(Pair<V>{clamped(a, number<V>(800, 120)), V(0)});
  y.n = y.n - V(1);
  return value_of(y);
}

// An odd function with the slope 1 at 0: x itself, where its cube is less than a rounding.
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

// log(2a) for large a.
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
