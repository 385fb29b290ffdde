// SPDX-License-Identifier: Apache-2.0
// A program whose steps pass their values to each other in registers. Each link is a function that computes
// on eight vectors at once and calls the next one last, so that a step's result is in the registers where the
// next step expects it; memory holds only inputs, constants and values that are needed again later.
//
// Only for operators that cost less than passing values through memory. Programs with others run step by
// step.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>
#include "tessera/formula/program.hpp"

namespace tessera::formula {

// The operation of a link on the value passed to it, and on `operand` and `other` in memory.
#define TESSERA_FORMULA_LINKS(X)                                                                   \
  X(load)          /* operand */                                                                   \
  X(store)         /* the value, to `operand`; it is handed on */                                  \
  X(add)           /* value + operand */                                                           \
  X(subtract)      /* value - operand */                                                           \
  X(subtract_from) /* operand - value */                                                           \
  X(multiply)      /* value · operand */                                                          \
  X(divide)        /* value / operand */                                                           \
  X(divide_into)   /* operand / value */                                                           \
  X(square)                                                                                        \
  X(twice)                                                                                         \
  X(negate)                                                                                        \
  X(size)                                                                                          \
  X(root)                                                                                          \
  X(fast_root)               /* within 5 units of the last place (f64: 3) */                       \
  X(root_of_difference)      /* square, subtract_from, root */                                     \
  X(fast_root_of_difference) /* likewise; where processors fuse, the difference is rounded once */ \
  X(multiply_add)            /* value · operand + other */                                        \
  X(add_product)             /* operand · other + value */                                        \
  X(leave)                   /* the value, to `operand`: the end */

#define TESSERA_FORMULA_LINK(name) name,
enum class LinkKind : std::uint8_t { TESSERA_FORMULA_LINKS(TESSERA_FORMULA_LINK) };
#undef TESSERA_FORMULA_LINK

struct Link {
  void (*run)() = nullptr;  // its real type depends on the instruction set
  void* operand = nullptr;
  const void* other = nullptr;
  // Masks of the position in the chain, in elements, for each operand: 0 for a constant.
  std::size_t operand_mask = ~std::size_t{0}, other_mask = ~std::size_t{0};
};

// For the best instructions of this CPU.
struct Chains {
  void (*const* links)() = nullptr;                                // by LinkKind; null: it has none
  void (*run)(const Link* chain, std::size_t elements) = nullptr;  // a multiple of `together`
  std::size_t together = 0;                                        // eight vectors' elements
};
template <class T>
Chains chains();
template <>
Chains chains<float>();
template <>
Chains chains<double>();

enum class Roots : std::uint8_t { ieee, fast };

inline constexpr int max_links = 24;

// A program of one input as a chain between two links of the caller: `head` leaves abscissae in the value,
// `tail` takes samples from it and returns.
template <class T>
class Chain {
 public:
  Chain(const Program<T>& program, Roots roots, const Link& head, const Link& tail);

  explicit operator bool() const { return count_ > 0; }  // false: the program is not for chains
  // Runs entire groups of chains<T>().together elements.
  void run(std::size_t elements) const { run_(links_, elements); }

 private:
  std::vector<T> memory_;
  Link links_[max_links];
  int count_ = 0;
  void (*run_)(const Link*, std::size_t) = nullptr;
};

// The memory of a program's operands, for its links.
template <class T>
struct LinkMemory {
  T* const* operands = nullptr;  // by the program's numbering
  std::size_t input_mask = 0, register_mask = 0;
  T* result = nullptr;  // null: the last value is passed to `tail`
  const Link *head = nullptr, *tail = nullptr;
};

// Returns the number of links; 0: the program is not for chains.
template <class T>
int link(const Program<T>& program, Roots roots, const LinkMemory<T>& memory, Link* out);

extern template class Chain<float>;
extern template class Chain<double>;
extern template int link(const Program<float>&, Roots, const LinkMemory<float>&, Link*);
extern template int link(const Program<double>&, Roots, const LinkMemory<double>&, Link*);

}  // namespace tessera::formula
