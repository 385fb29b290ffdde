// SPDX-License-Identifier: Apache-2.0
// The table of operators on blocks, for one set of instructions. Included once for each.
#if defined(TESSERA_FORMULA_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_FORMULA_VECTORS_INL_H
#undef TESSERA_FORMULA_VECTORS_INL_H
#else
#define TESSERA_FORMULA_VECTORS_INL_H
#endif

#include "tessera/formula/pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::formula {
namespace HWY_NAMESPACE {

// A block is never shorter than these vectors.
template <class T>
using Lanes = hn::CappedTag<T, block_bytes / sizeof(T)>;
template <class T>
using PackOf = Pack<Lanes<T>>;

template <class T>
HWY_INLINE PackOf<T> load(const T* from) {
  return PackOf<T>(hn::LoadU(Lanes<T>(), from));
}
template <class T>
HWY_INLINE void store(PackOf<T> value, T* to) {
  hn::StoreU(value.raw, Lanes<T>(), to);
}

#define TESSERA_FORMULA_BLOCK_1(name)                                                                   \
  template <class T>                                                                                    \
  void name##_block(const T* a, const T*, const T*, T* to, std::size_t count) {                         \
    for (std::size_t i = 0; i < count; i += hn::Lanes(Lanes<T>())) store<T>(name(load(a + i)), to + i); \
  }
#define TESSERA_FORMULA_BLOCK_2(name)                                             \
  template <class T>                                                              \
  void name##_block(const T* a, const T* b, const T*, T* to, std::size_t count) { \
    for (std::size_t i = 0; i < count; i += hn::Lanes(Lanes<T>()))                \
      store<T>(name(load(a + i), load(b + i)), to + i);                           \
  }
#define TESSERA_FORMULA_BLOCK_3(name)                                               \
  template <class T>                                                                \
  void name##_block(const T* a, const T* b, const T* c, T* to, std::size_t count) { \
    for (std::size_t i = 0; i < count; i += hn::Lanes(Lanes<T>()))                  \
      store<T>(name(load(a + i), load(b + i), load(c + i)), to + i);                \
  }
#define TESSERA_FORMULA_BLOCK_LIBRARY(name)                                       \
  template <class T>                                                              \
  void name##_block(const T* a, const T* b, const T*, T* to, std::size_t count) { \
    library_on_block(Op::name, a, b, to, count);                                  \
  }
TESSERA_FORMULA_EXACT_1(TESSERA_FORMULA_BLOCK_1)
TESSERA_FORMULA_EXACT_2(TESSERA_FORMULA_BLOCK_2)
TESSERA_FORMULA_EXACT_3(TESSERA_FORMULA_BLOCK_3)
TESSERA_FORMULA_OWN_1(TESSERA_FORMULA_BLOCK_1)
TESSERA_FORMULA_OWN_2(TESSERA_FORMULA_BLOCK_2)
TESSERA_FORMULA_LIBRARY_1(TESSERA_FORMULA_BLOCK_LIBRARY)
#undef TESSERA_FORMULA_BLOCK_1
#undef TESSERA_FORMULA_BLOCK_2
#undef TESSERA_FORMULA_BLOCK_3
#undef TESSERA_FORMULA_BLOCK_LIBRARY

template <class T>
const OnBlock<T>* table() {
#define TESSERA_FORMULA_ENTRY(name) name##_block<T>,
  static constexpr OnBlock<T> entries[] = {nullptr, nullptr,
                                           TESSERA_FORMULA_1(TESSERA_FORMULA_ENTRY)
                                               TESSERA_FORMULA_2(TESSERA_FORMULA_ENTRY)
                                                   TESSERA_FORMULA_3(TESSERA_FORMULA_ENTRY)};
#undef TESSERA_FORMULA_ENTRY
  return entries;
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::formula
HWY_AFTER_NAMESPACE();
#endif
