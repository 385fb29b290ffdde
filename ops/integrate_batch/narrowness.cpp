// SPDX-License-Identifier: Apache-2.0
// 1+exp(-x/d)/d is 1 wherever the points of a cell find it, where d is small; but the formula says x/d, and
// so that something may happen within d. Followed from x on, operator by operator: how fast a part changes,
// and how narrow the structures are that functions have made of it.
#include <cmath>
#include <fmt/format.h>
#include "linear_parts.hpp"
#include "setting.hpp"
#include "solved_zeros.hpp"

namespace tessera::integrate_batch {
namespace {

using formula::Node;
using formula::Op;
using formula::Tree;

constexpr std::size_t longest = 2000;  // of a text that is followed further

class Follower {
 public:
  Follower(const Setting& setting, const std::vector<std::string>& limits)
      : tree_(setting.formula),
        parts_(tree_, setting.variable),
        solver_(tree_, setting.variable),
        limits_(limits) {
    for (std::size_t i = 0; i < tree_.nodes().size(); ++i)
      known_.push_back(follow(static_cast<std::int32_t>(i)));
  }

  std::string run() const {
    const std::string& sharp = known_.back().sharp;
    return sharp.empty() || sharp.size() > longest ? "" : "1/" + sharp;
  }

  // Over what distance the slowest function changes; what does not change at all does not count.
  std::string widest() const {
    std::string least = "inf";
    for (const Node& node : tree_.nodes()) {
      if (node.op == Op::add || node.op == Op::sub || node.op == Op::mul || node.op == Op::neg) continue;
      for (const std::int32_t child : node.child)
        if (varies(child) && !at(child).steep.empty() && least.size() < longest) {
          const std::string rate = speed(at(child));
          least = "min(" + least + ",if(" + rate + ">0," + rate + ",inf))";
        }
    }
    return "1/" + least;
  }

 private:
  // A part that changes by about steep·distance^order; order 0: by steep·distance, and no more than 1. In it
  // is something 1/sharp wide. Empty: nothing.
  struct Part {
    std::string steep, sharp;
    double order = 0;
  };

  const Part& at(std::int32_t index) const { return known_[static_cast<std::size_t>(index)]; }
  bool varies(std::int32_t index) const { return index >= 0 && parts_.degree(index) != 0; }
  std::string constant(std::int32_t index) const { return "abs" + parts_.text(index); }

  static std::string larger(const std::string& a, const std::string& b) {
    if (a.empty() || a == b || a.size() > longest) return b;
    return b.empty() || b.size() > longest ? a : "max(" + a + "," + b + ")";
  }
  static std::string power(const std::string& a, double by) {
    return a.empty() || by == 1 ? a : fmt::format("({}^{:.17g})", a, by);
  }
  // How far a part changes within a distance, where it changes by 1.
  static std::string speed(const Part& a) { return power(a.steep, a.order == 0 ? 1 : 1 / a.order); }

  Part follow(std::int32_t index) const {
    const Node& node = tree_.nodes()[static_cast<std::size_t>(index)];
    if (parts_.degree(index) == 0) return {};
    if (parts_.degree(index) == 1) return {"abs(" + parts_.linear(index).slope + ")", "", 1};
    const std::int32_t a = node.child[0], b = node.child[1];
    switch (node.op) {
      case Op::neg:
      case Op::abs:
        return at(a);
      case Op::add:
      case Op::sub:
        return sum(index, a, b);
      case Op::mul:
        if (!varies(a)) return times(at(b), constant(a));
        return varies(b) ? product(at(a), at(b)) : times(at(a), constant(b));
      case Op::div:
        return varies(b) ? over(a, b) : times(at(a), "(1/" + constant(b) + ")");
      case Op::pow:
        return raised(a, b);
      case Op::sqrt:
        return {power(at(a).steep, 0.5), larger(at(a).sharp, offset(a)), at(a).order / 2};
      case Op::sin:
      case Op::cos:
        return {speed(at(a)), at(a).sharp, 0};
      case Op::log:
      case Op::log2:
      case Op::log10:
      case Op::cbrt:
        return function(node, offset(a));
      default:
        return compares(node.op) ? comparison(node) : function(node, speeds(node));
    }
  }

  Part sum(std::int32_t index, std::int32_t a, std::int32_t b) const {
    if (!varies(a) || !varies(b)) {
      // x*x-k is as steep at its zero as it is there, not as x*x at 0.
      const Part& part = at(varies(a) ? a : b);
      const std::string rate = solver_.rate_at_zero(index);
      return rate.empty() ? part : Part{larger(rate, speed(part)), part.sharp, 1};
    }
    const Part &left = at(a), &right = at(b);
    const std::string sharp = larger(left.sharp, right.sharp);
    if (left.order == right.order) return {larger(left.steep, right.steep), sharp, left.order};
    return {larger(speed(left), speed(right)), sharp, 1};
  }

  static Part times(const Part& part, const std::string& by) {
    const std::string factor = part.order == 0 ? larger("1", by) : by;
    return {"(" + part.steep + "*" + factor + ")", part.sharp, part.order};
  }

  static Part product(const Part& a, const Part& b) {
    const std::string sharp = larger(a.sharp, b.sharp);
    if (a.order == 0 || b.order == 0) return {larger(speed(a), speed(b)), sharp, 0};
    return {"(" + a.steep + "*" + b.steep + ")", sharp, a.order + b.order};
  }

  Part over(std::int32_t a, std::int32_t b) const {
    const std::string inside = varies(a) ? larger(at(a).sharp, at(b).sharp) : at(b).sharp,
                      moves = varies(a) ? larger(speed(at(a)), speed(at(b))) : speed(at(b));
    const std::string sharp = larger(inside, offset(b));
    return {larger(moves, sharp), sharp, 0};
  }

  Part raised(std::int32_t base, std::int32_t exponent) const {
    if (varies(exponent)) {
      const std::string moves = varies(base)
                                    ? larger(speed(at(base)), speed(at(exponent)))
                                    : "(" + speed(at(exponent)) + "*abs(log(" + constant(base) + ")))";
      const std::string inside =
          varies(base) ? larger(at(base).sharp, at(exponent).sharp) : at(exponent).sharp;
      return {moves, larger(inside, moves), 0};
    }
    const Part& part = at(base);
    const Node& node = tree_.nodes()[static_cast<std::size_t>(exponent)];
    const bool small = node.op == Op::number && node.value > 0 && node.value <= 16;
    if (small && node.value == std::floor(node.value))
      return {power(part.steep, part.order == 0 ? 1 : node.value), part.sharp, part.order * node.value};
    const std::string p = constant(exponent), sharp = larger(part.sharp, offset(base));
    const std::string high = small ? "" : "if(" + p + ">16," + p + "*" + speed(part) + ",0)";
    return {larger(speed(part), sharp), larger(sharp, high), 0};
  }

  std::string speeds(const Node& node) const {
    std::string out;
    for (const std::int32_t child : node.child)
      if (varies(child)) out = larger(out, speed(at(child)));
    return node.op == Op::select ? "" : out;
  }

  Part function(const Node& node, const std::string& more) const {
    std::string sharp = more, moves;
    for (const std::int32_t child : node.child)
      if (varies(child)) {
        sharp = larger(at(child).sharp, sharp);
        moves = larger(speed(at(child)), moves);
      }
    return {larger(moves, sharp), sharp, 0};
  }

  Part comparison(const Node& node) const {
    std::string apart;
    const std::int32_t a = node.child[0], b = node.child[1];
    const bool cut = !parts_.branches(a).empty() && !parts_.branches(b).empty();
    if (!cut && !varies(a)) apart = reach(at(b), constant(a));
    if (!cut && !varies(b)) apart = reach(at(a), constant(b));
    return function(node, apart);
  }

  // 1 over the distance within which a part changes by so much.
  static std::string reach(const Part& part, const std::string& by) {
    return "if(" + by + ">0," +
           power("(" + part.steep + "/" + by + ")", part.order == 0 ? 1 : 1 / part.order) + ",0)";
  }

  // What a root, a logarithm or one over a part makes of it: 1/(x²+1e-8) is 1e-4 wide, 1/(x+1e-8) at 0 1e-8.
  std::string offset(std::int32_t index) const {
    const Node& node = tree_.nodes()[static_cast<std::size_t>(index)];
    if (parts_.degree(index) == 1) {
      std::string out;
      const Linear linear = parts_.linear(index);
      if (linear.rest.empty() && limits_[0] == "0") return out;
      for (const std::string& limit : limits_) {
        const std::string away = "abs((" + limit + ")-(" + linear.zero() + "))";
        out = larger(out, "if(" + away + ">0,1/" + away + ",0)");
      }
      return out;
    }
    const std::int32_t a = node.child[0], b = node.child[1];
    const bool adds = node.op == Op::add || node.op == Op::sub;
    if (adds && !varies(a)) return reach(at(b), constant(a));
    if (adds && !varies(b)) return reach(at(a), constant(b));
    if (node.op == Op::neg || node.op == Op::pow || node.op == Op::sqrt || node.op == Op::abs)
      return varies(a) ? offset(a) : "";
    if (node.op == Op::mul) return larger(varies(a) ? offset(a) : "", varies(b) ? offset(b) : "");
    return "";
  }

  const Tree& tree_;
  LinearParts parts_;
  Solver solver_;
  const std::vector<std::string>& limits_;
  std::vector<Part> known_;
};

}  // namespace

std::vector<std::string> lengths(const Setting& setting, const std::vector<std::string>& limits) {
  const Follower follower(setting, limits);
  const std::string narrowest = follower.run();
  return narrowest.empty() ? std::vector<std::string>{} : std::vector{narrowest, follower.widest()};
}

}  // namespace tessera::integrate_batch
