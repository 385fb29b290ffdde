// SPDX-License-Identifier: Apache-2.0
// floor(x/w) jumps at every multiple of w, and abs(sin(x/w)) has kinks, of which no cut knows: of so many in
// a cell the heights are as good as drawn by lot, and the differences that tell its error may all be small by
// chance. The text says beforehand whether it can come to that.
#include <algorithm>
#include "linear_parts.hpp"
#include "setting.hpp"

namespace tessera::integrate_batch {
namespace {

using formula::Node;
using formula::Op;

class Steps {
 public:
  Steps(const formula::Tree& tree, const std::string& variable, bool all_cut)
      : tree_(tree), parts_(tree, variable), all_cut_(all_cut) {}

  bool any() const {
    return std::ranges::any_of(tree_.nodes(), [this](const Node& node) { return jumps(node); });
  }

 private:
  bool varies(std::int32_t index) const { return index >= 0 && parts_.degree(index) != 0; }
  // The zeros of linear parts are cut at, where there are not too many.
  bool is_cut(std::int32_t index) const { return all_cut_ && !parts_.branches(index).empty(); }

  // Whether the node's value may jump, or have a kink, at a place that is no cut.
  bool jumps(const Node& node) const {
    const std::int32_t a = node.child[0], b = node.child[1];
    switch (node.op) {
      case Op::floor:
      case Op::ceil:
      case Op::trunc:
      case Op::round:
        return varies(a);
      case Op::fmod:
        return varies(a) || varies(b);
      case Op::abs:
      case Op::sign:
      case Op::logic_not:
      case Op::select:
        return condition_jumps(a);
      case Op::logic_and:
      case Op::logic_or:
        return condition_jumps(a) || condition_jumps(b);
      default:
        return compares(node.op) && (varies(a) || varies(b)) && !(is_cut(a) && is_cut(b));
    }
  }

  // Of what is compared already, comparisons tell.
  bool condition_jumps(std::int32_t index) const {
    const Op op = tree_.nodes()[static_cast<std::size_t>(index)].op;
    const bool told = compares(op) || op == Op::logic_not || op == Op::logic_and || op == Op::logic_or;
    return !told && varies(index) && !is_cut(index);
  }

  const formula::Tree& tree_;
  LinearParts parts_;
  bool all_cut_;
};

}  // namespace

bool has_steps(const formula::Tree& tree, const std::string& variable, bool all_cut) {
  return Steps(tree, variable, all_cut).any();
}

}  // namespace tessera::integrate_batch
