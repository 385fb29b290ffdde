// SPDX-License-Identifier: Apache-2.0
// The links of chains, for one set of instructions. Included once for each.
#if defined(TESSERA_FORMULA_CHAIN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_FORMULA_CHAIN_INL_H
#undef TESSERA_FORMULA_CHAIN_INL_H
#else
#define TESSERA_FORMULA_CHAIN_INL_H
#endif

#include <hwy/highway.h>
#include "tessera/formula/chain.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::formula {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Wide = hn::CappedTag<T, 64 / sizeof(T)>;
template <class T>
using V = hn::Vec<Wide<T>>;

// Eight vectors: the number that the calling convention passes in registers.
#define TESSERA_VALUES V<T> v0, V<T> v1, V<T> v2, V<T> v3, V<T> v4, V<T> v5, V<T> v6, V<T> v7
#define TESSERA_HAND_ON v0, v1, v2, v3, v4, v5, v6, v7
#define TESSERA_EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

template <class T>
using Run = void (*)(const Link*, std::size_t, TESSERA_VALUES);

template <class T>
HWY_INLINE V<T> operand(const Link* link, std::size_t offset, int vector) {
  const T* const at = static_cast<const T*>(link->operand) + (offset & link->operand_mask);
  return hn::LoadU(Wide<T>(), at + static_cast<std::size_t>(vector) * hn::Lanes(Wide<T>()));
}
template <class T>
HWY_INLINE V<T> other(const Link* link, std::size_t offset, int vector) {
  const T* const at = static_cast<const T*>(link->other) + (offset & link->other_mask);
  return hn::LoadU(Wide<T>(), at + static_cast<std::size_t>(vector) * hn::Lanes(Wide<T>()));
}

#define TESSERA_NEXT return reinterpret_cast<Run<T>>(link[1].run)(link + 1, offset, TESSERA_HAND_ON)

// `value` is the expression of one vector v, number `i`.
#define TESSERA_DEFINE_LINK(name, ...)                                     \
  template <class T>                                                       \
  void name##_link(const Link* link, std::size_t offset, TESSERA_VALUES) { \
    [[maybe_unused]] const Wide<T> d;                                      \
    const auto one = [&](V<T> v, int i) HWY_ATTR -> V<T> {                 \
      (void)v, (void)i;                                                    \
      return __VA_ARGS__;                                                  \
    };                                                                     \
    v0 = one(v0, 0), v1 = one(v1, 1), v2 = one(v2, 2), v3 = one(v3, 3);    \
    v4 = one(v4, 4), v5 = one(v5, 5), v6 = one(v6, 6), v7 = one(v7, 7);    \
    TESSERA_NEXT;                                                          \
  }
TESSERA_DEFINE_LINK(load, operand<T>(link, offset, i))
TESSERA_DEFINE_LINK(add, hn::Add(v, operand<T>(link, offset, i)))
TESSERA_DEFINE_LINK(subtract, hn::Sub(v, operand<T>(link, offset, i)))
TESSERA_DEFINE_LINK(subtract_from, hn::Sub(operand<T>(link, offset, i), v))
TESSERA_DEFINE_LINK(multiply, hn::Mul(v, operand<T>(link, offset, i)))
TESSERA_DEFINE_LINK(divide, hn::Div(v, operand<T>(link, offset, i)))
TESSERA_DEFINE_LINK(divide_into, hn::Div(operand<T>(link, offset, i), v))
TESSERA_DEFINE_LINK(square, hn::Mul(v, v))
TESSERA_DEFINE_LINK(twice, hn::Add(v, v))
TESSERA_DEFINE_LINK(negate, hn::Neg(v))
TESSERA_DEFINE_LINK(size, hn::Abs(v))
TESSERA_DEFINE_LINK(root, hn::Sqrt(v))
TESSERA_DEFINE_LINK(root_of_difference, hn::Sqrt(hn::Sub(operand<T>(link, offset, i), hn::Mul(v, v))))
#if HWY_NATIVE_FMA  // without FMA Highway would round twice
TESSERA_DEFINE_LINK(multiply_add, hn::MulAdd(v, operand<T>(link, offset, i), other<T>(link, offset, i)))
TESSERA_DEFINE_LINK(add_product, hn::MulAdd(operand<T>(link, offset, i), other<T>(link, offset, i), v))
#endif
#undef TESSERA_DEFINE_LINK

template <class T>
HWY_INLINE void store_values(const Link* link, std::size_t offset, TESSERA_VALUES) {
  T* const to = static_cast<T*>(link->operand) + (offset & link->operand_mask);
#define TESSERA_STORE(i) hn::StoreU(v##i, Wide<T>(), to + i * hn::Lanes(Wide<T>()));
  TESSERA_EACH(TESSERA_STORE)
#undef TESSERA_STORE
}

template <class T>
void store_link(const Link* link, std::size_t offset, TESSERA_VALUES) {
  store_values<T>(link, offset, TESSERA_HAND_ON);
  TESSERA_NEXT;
}

// The last link.
template <class T>
void leave_link(const Link* link, std::size_t offset, TESSERA_VALUES) {
  store_values<T>(link, offset, TESSERA_HAND_ON);
}

#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
// Returns the instructions' estimate of 1/√a, accurate to at least 2^-11 for a in their range.
template <class T>
HWY_INLINE V<T> estimate(V<T> a) {
  if constexpr (sizeof(T) == 4) {
    return hn::ApproximateReciprocalSqrt(a);
  } else {
#if HWY_TARGET <= HWY_AVX3
    return V<T>{_mm512_rsqrt14_pd(a.raw)};
#else
    const hn::Rebind<float, Wide<T>> narrow;
    return hn::PromoteTo(Wide<T>(), hn::ApproximateReciprocalSqrt(hn::DemoteTo(narrow, a)));
#endif
  }
}

// s = a·y is the root except for a factor (1-e)^½, e = 1 - s·y. Four terms of the series of its reciprocal
// reach f64's last place from 2^-11, three from 2^-14. `odd`: NaN where the estimate has no range.
template <class T>
HWY_INLINE V<T> fast_root(V<T> a, V<T>& odd) {
  const Wide<T> d;
  constexpr bool fine = HWY_TARGET <= HWY_AVX3 && sizeof(T) == 8;
  const V<T> y = estimate<T>(a), s = hn::Mul(a, y), e = hn::NegMulAdd(s, y, hn::Set(d, T(1)));
  odd = fine ? e : hn::IfThenElse(hn::Lt(hn::Abs(e), hn::Set(d, T(0.01))), e, hn::NaN(d));
  V<T> series = hn::Set(d, T(0.375));
  if (fine) series = hn::MulAdd(e, hn::Set(d, T(0.3125)), series);
  else if (sizeof(T) == 8)
    series = hn::MulAdd(e, hn::MulAdd(e, hn::Set(d, T(0.2734375)), hn::Set(d, T(0.3125))), series);
  return hn::MulAdd(hn::Mul(s, e), hn::MulAdd(e, series, hn::Set(d, T(0.5))), s);
}

// Computes the first `drawn` vectors by the square-root unit, which works in parallel with the multipliers.
template <class T, int drawn>
HWY_INLINE void draw_roots(V<T>& v0, V<T>& v1, V<T>& v2, V<T>& v3, V<T>& v4, V<T>& v5, V<T>& v6, V<T>& v7) {
  static_assert(drawn < 4);
  V<T> e0, e1, e2, e3, e4, e5, e6, e7;
#define TESSERA_FAST(i) V<T> r##i = i < drawn ? hn::Sqrt(v##i) : fast_root<T>(v##i, e##i);
  TESSERA_EACH(TESSERA_FAST)
#undef TESSERA_FAST
  V<T> odd = hn::Add(hn::Add(e4, e5), hn::Add(e6, hn::Add(e7, e3)));
  if constexpr (drawn < 3) odd = hn::Add(odd, e2);
  if constexpr (drawn < 2) odd = hn::Add(odd, e1);
  if constexpr (drawn < 1) odd = hn::Add(odd, e0);
  // Zeros, infinities, negative numbers and numbers outside the estimate's range: the instruction itself.
  if (HWY_UNLIKELY(!hn::AllTrue(Wide<T>(), hn::Eq(odd, odd)))) {
#define TESSERA_SLOW(i) r##i = hn::Sqrt(v##i);
    TESSERA_EACH(TESSERA_SLOW)
#undef TESSERA_SLOW
  }
#define TESSERA_TAKE(i) v##i = r##i;
  TESSERA_EACH(TESSERA_TAKE)
#undef TESSERA_TAKE
}

template <class T, int drawn>
void shared_root_link(const Link* link, std::size_t offset, TESSERA_VALUES) {
  draw_roots<T, drawn>(TESSERA_HAND_ON);
  TESSERA_NEXT;
}
template <class T, int drawn>
void shared_root_of_difference_link(const Link* link, std::size_t offset, TESSERA_VALUES) {
#define TESSERA_DIFFERENCE(i) v##i = hn::NegMulAdd(v##i, v##i, operand<T>(link, offset, i));
  TESSERA_EACH(TESSERA_DIFFERENCE)
#undef TESSERA_DIFFERENCE
  draw_roots<T, drawn>(TESSERA_HAND_ON);
  TESSERA_NEXT;
}

// The best number of drawn roots depends on the time of a root relative to eight series of products.
template <class T>
Run<T> fast_root_of() {
  if constexpr (sizeof(T) == 4) return shared_root_link<T, 0>;
  else return __builtin_cpu_is("amd") ? shared_root_link<T, 3> : shared_root_link<T, 1>;
}
template <class T>
Run<T> fast_root_of_difference_of() {
  if constexpr (sizeof(T) == 4) return shared_root_of_difference_link<T, 0>;
  else
    return __builtin_cpu_is("amd") ? shared_root_of_difference_link<T, 3>
                                   : shared_root_of_difference_link<T, 1>;
}
#else
template <class T>
Run<T> fast_root_of() {
  return root_link<T>;
}
template <class T>
Run<T> fast_root_of_difference_of() {
  return root_of_difference_link<T>;
}
#endif

template <class T>
void run_chain(const Link* chain, std::size_t elements) {
  const V<T> v = hn::Zero(Wide<T>());
  const std::size_t together = 8 * hn::Lanes(Wide<T>());
  const auto first = reinterpret_cast<Run<T>>(chain->run);
  for (std::size_t offset = 0; offset < elements; offset += together)
    first(chain, offset, v, v, v, v, v, v, v, v);
}

template <class T>
inline constexpr Run<T> fast_root_link = root_link<T>;  // the best one is known only at run time
template <class T>
inline constexpr Run<T> fast_root_of_difference_link = root_of_difference_link<T>;

#if !HWY_NATIVE_FMA
template <class T>
inline constexpr Run<T> multiply_add_link = nullptr;
template <class T>
inline constexpr Run<T> add_product_link = nullptr;
#endif

template <class T>
struct Links {
#define TESSERA_FORMULA_LINK(name) reinterpret_cast<void (*)()>(static_cast<Run<T>>(name##_link<T>)),
  void (*run[static_cast<int>(LinkKind::leave) + 1])() = {TESSERA_FORMULA_LINKS(TESSERA_FORMULA_LINK)};
#undef TESSERA_FORMULA_LINK
  Links() {
    const auto erased = [](Run<T> link) { return reinterpret_cast<void (*)()>(link); };
    run[static_cast<int>(LinkKind::fast_root)] = erased(fast_root_of<T>());
    run[static_cast<int>(LinkKind::fast_root_of_difference)] = erased(fast_root_of_difference_of<T>());
  }
};

template <class T>
Chains chains_of() {
  static const Links<T> links;
  return {links.run, run_chain<T>, 8 * hn::Lanes(Wide<T>())};
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::formula
HWY_AFTER_NAMESPACE();
#endif
