// SPDX-License-Identifier: Apache-2.0
// The functions that every device rounds correctly, or that do not round. A truth is 1 or 0; whatever is not
// 0 is true. Included inside a namespace by its users.

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

// min and max hand on a NaN; fmin and fmax drop it, as C has it.
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
