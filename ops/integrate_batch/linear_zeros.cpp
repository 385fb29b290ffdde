// SPDX-License-Identifier: Apache-2.0
// exp(-1e6*(x-k)^2) is 0 wherever an even look finds it, and abs(x-k) has a kink that no rule likes; but the
// formula says x-k, and so where to cut: one formula of the parameters for all integrals of a batch. So does
// abs(x-k)<d, of both edges.
#include <set>
#include "linear_parts.hpp"
#include "setting.hpp"

namespace tessera::integrate_batch {
namespace {

using formula::Node;
using formula::Tree;

class Finder {
 public:
  Finder(const Tree& tree, const std::string& variable) : tree_(tree), parts_(tree, variable) {}

  std::vector<Tree> run() {
    const auto& nodes = tree_.nodes();
    std::vector<bool> inside(nodes.size(), false);  // of a larger part that is linear too
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (const std::int32_t child : nodes[i].child)
        if (child >= 0 && degree(i) == 1) inside[static_cast<std::size_t>(child)] = true;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (degree(i) == 1 && !inside[i]) add_zero(parts_.linear(static_cast<std::int32_t>(i)));
      if (compares(nodes[i].op)) add_meetings(nodes[i]);
    }
    return out_;
  }

 private:
  int degree(std::size_t i) const { return parts_.degree(static_cast<std::int32_t>(i)); }

  void add_meetings(const Node& node) {
    for (const Linear& a : parts_.branches(node.child[0]))
      for (const Linear& b : parts_.branches(node.child[1]))
        add_zero({joined(a.slope, "-", b.slope), joined(a.rest, "-", b.rest)});
  }

  void add_zero(const Linear& linear) {
    if (linear.slope.empty()) return;
    const std::string text = linear.zero();
    if (known_.insert(text).second) out_.push_back(formula::parse(text));
  }

  const Tree& tree_;
  LinearParts parts_;
  std::set<std::string> known_;
  std::vector<Tree> out_;
};

}  // namespace

std::vector<Tree> linear_zeros(const Tree& tree, const std::string& variable) {
  return Finder(tree, variable).run();
}

}  // namespace tessera::integrate_batch
