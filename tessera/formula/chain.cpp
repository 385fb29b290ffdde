// SPDX-License-Identifier: Apache-2.0
// The links for each instruction set, and the translation of a program into links.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/formula/chain.cpp"
#include "tessera/core/device/vector_targets.hpp"
#include <hwy/foreach_target.h>
#include "tessera/formula/chain-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::formula {
namespace HWY_NAMESPACE {
Chains chains_f32() { return chains_of<float>(); }
Chains chains_f64() { return chains_of<double>(); }
}  // namespace HWY_NAMESPACE
}  // namespace tessera::formula
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace tessera::formula {

HWY_EXPORT(chains_f32);
HWY_EXPORT(chains_f64);

template <>
Chains chains<float>() {
  return HWY_DYNAMIC_DISPATCH(chains_f32)();
}
template <>
Chains chains<double>() {
  return HWY_DYNAMIC_DISPATCH(chains_f64)();
}

namespace {

// Writes links; a member returns false if the program is not for chains.
template <class T>
class Linker {
 public:
  Linker(const Program<T>& program, Roots roots, const LinkMemory<T>& memory, Link* out)
      : program_(program), roots_(roots), memory_(memory), links_(chains<T>().links), out_(out) {}

  int run() {
    const Program<T>& p = program_;
    // The last step is the result's.
    if (p.step_count == 0 || p.steps[p.step_count - 1].to != p.result) return 0;
    if (memory_.head != nullptr) {
      out_[count_++] = *memory_.head;
      value_ = first_input;
      if (needed_after(first_input, 0) && !put(LinkKind::store, first_input)) return 0;
    }
    for (int i = 0; i < p.step_count; ++i)
      if (!add_step(i)) return 0;
    if (memory_.tail == nullptr) return put(LinkKind::leave, to_result) ? count_ : 0;
    if (count_ == max_links) return 0;
    out_[count_++] = *memory_.tail;
    return count_;
  }

 private:
  static constexpr int none = -1, to_result = -2;

  T* at(int operand) const {
    return operand == none ? nullptr : operand == to_result ? memory_.result : memory_.operands[operand];
  }
  std::size_t mask(int operand) const {
    if (operand == to_result) return ~std::size_t{0};
    return operand >= first_constant ? 0
           : operand >= first_input  ? memory_.input_mask
                                     : memory_.register_mask;
  }

  bool put(LinkKind kind, int operand = none, int other = none) {
    const auto found = links_[static_cast<int>(kind)];
    if (count_ == max_links || found == nullptr) return false;
    out_[count_++] = {found, at(operand), at(other), mask(operand), mask(other)};
    return true;
  }

  bool is_value(int operand) const { return value_ && *value_ == operand; }

  bool load(int operand) { return is_value(operand) || put(LinkKind::load, operand); }

  // Adds links for a and b in either order, or for one of them twice.
  bool commutative(const Step& s, LinkKind kind, LinkKind same) {
    const bool swap = is_value(s.b) && !is_value(s.a);
    const int first = swap ? s.b : s.a, second = swap ? s.a : s.b;
    if (!load(first)) return false;
    return first == second ? put(same) : put(kind, second);
  }
  bool ordered(const Step& s, LinkKind kind, LinkKind from) {
    if (s.a == s.b) return false;  // x - x is NaN where x is
    if (is_value(s.b)) return put(from, s.a);
    return load(s.a) && put(kind, s.b);
  }
  bool fused(const Step& s) {
    if (is_value(s.c) && !is_value(s.a) && !is_value(s.b)) return put(LinkKind::add_product, s.a, s.b);
    const bool swap = is_value(s.b) && !is_value(s.a);
    const int first = swap ? s.b : s.a, second = swap ? s.a : s.b;
    if (first == second || first == s.c) return false;
    return load(first) && put(LinkKind::multiply_add, second, s.c);
  }
  bool one(const Step& s, LinkKind kind) { return load(s.a) && put(kind); }

  bool is(int link, LinkKind kind) const {
    return link >= 0 && out_[link].run == links_[static_cast<int>(kind)];
  }
  // Adds a root. √(a - x²), as in circles, spheres and ellipses, is one link.
  bool root(const Step& s) {
    const bool fast = roots_ == Roots::fast;
    if (is_value(s.a) && is(count_ - 1, LinkKind::subtract_from) && is(count_ - 2, LinkKind::square)) {
      const Link from = out_[--count_];
      const auto kind = fast ? LinkKind::fast_root_of_difference : LinkKind::root_of_difference;
      out_[count_ - 1] = {links_[static_cast<int>(kind)], from.operand, nullptr, from.operand_mask, 0};
      return true;
    }
    return one(s, fast ? LinkKind::fast_root : LinkKind::root);
  }

  bool compute(const Step& s) {
    switch (s.op) {
      case Op::add:
        return commutative(s, LinkKind::add, LinkKind::twice);
      case Op::mul:
        return commutative(s, LinkKind::multiply, LinkKind::square);
      case Op::sub:
        return ordered(s, LinkKind::subtract, LinkKind::subtract_from);
      case Op::div:
        return ordered(s, LinkKind::divide, LinkKind::divide_into);
      case Op::fma:
        return fused(s);
      case Op::neg:
        return one(s, LinkKind::negate);
      case Op::abs:
        return one(s, LinkKind::size);
      case Op::sqrt:
        return root(s);
      default:
        return false;
    }
  }

  bool add_step(int i) {
    const Step& s = program_.steps[i];
    if (!compute(s)) return false;
    value_ = s.to;
    return !needed_after(s.to, i + 1) || put(LinkKind::store, s.to);
  }

  // True if a step after `next` reads this operand before it is overwritten.
  bool needed_after(int operand, int next) const {
    for (int k = next; k < program_.step_count; ++k) {
      const Step& s = program_.steps[k];
      const int operands[] = {s.a, s.b, s.c};
      if (k > next)
        for (int n = 0; n < arity(s.op); ++n)
          if (operands[n] == operand) return true;
      if (s.to == operand) return false;
    }
    return false;
  }

  const Program<T>& program_;
  Roots roots_;
  const LinkMemory<T>& memory_;
  void (*const* links_)();
  Link* out_;
  int count_ = 0;
  std::optional<int> value_;  // the register whose value is passed on
};

}  // namespace

template <class T>
int link(const Program<T>& program, Roots roots, const LinkMemory<T>& memory, Link* out) {
  return Linker<T>(program, roots, memory, out).run();
}
template int link(const Program<float>&, Roots, const LinkMemory<float>&, Link*);
template int link(const Program<double>&, Roots, const LinkMemory<double>&, Link*);

template <class T>
Chain<T>::Chain(const Program<T>& program, Roots roots, const Link& head, const Link& tail) {
  const Chains all = chains<T>();
  if (program.input_count != 1) return;
  const std::size_t blocks = std::size_t{1} + program.register_count + program.constant_count;
  constexpr std::size_t apart = 64 / sizeof(T);  // to align the blocks to vectors
  memory_.resize(blocks * all.together + apart);
  void* first = memory_.data();
  std::size_t space = memory_.size() * sizeof(T);
  T* next = static_cast<T*>(std::align(64, sizeof(T), first, space));
  T* operands[first_constant + max_constants] = {};
  const auto take = [&] { return std::exchange(next, next + all.together); };
  operands[first_input] = take();
  for (int i = 0; i < program.register_count; ++i) operands[i] = take();
  for (int i = 0; i < program.constant_count; ++i)
    std::fill_n(operands[first_constant + i] = take(), all.together, program.constants[i]);
  // Nothing in memory outlives its group.
  count_ = link<T>(program, roots, {operands, 0, 0, nullptr, &head, &tail}, links_);
  run_ = all.run;
}

template class Chain<float>;
template class Chain<double>;

}  // namespace tessera::formula
#endif
