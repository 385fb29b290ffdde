// SPDX-License-Identifier: Apache-2.0
#include "solved_zeros.hpp"
#include <cmath>
#include <optional>
#include <set>
#include "setting.hpp"

namespace tessera::integrate_batch {
namespace {

using formula::Node;
using formula::Op;
using formula::Tree;

constexpr std::size_t longest = 400;  // of a text that is solved further
constexpr int most_signs = 3;         // that are both possible, one inside another

// The argument of a function of one branch, by its value; nothing: it has more, or none that has a name.
std::optional<std::string> inverse(Op op, const std::string& of) {
  switch (op) {
    case Op::exp:
      return "log" + of;
    case Op::exp2:
      return "log2" + of;
    case Op::expm1:
      return "log1p" + of;
    case Op::log:
      return "exp" + of;
    case Op::log2:
      return "exp2" + of;
    case Op::log10:
      return "(10^" + of + ")";
    case Op::log1p:
      return "expm1" + of;
    case Op::sqrt:
      return "(" + of + "*" + of + ")";
    case Op::cbrt:
      return "(" + of + "*" + of + "*" + of + ")";
    case Op::sinh:
      return "asinh" + of;
    case Op::asinh:
      return "sinh" + of;
    case Op::tanh:
      return "atanh" + of;
    case Op::atanh:
      return "tanh" + of;
    case Op::atan:
      return "tan" + of;
    default:
      return std::nullopt;
  }
}

std::string bracketed(const std::string& a, const char* sign, const std::string& b) {
  return "(" + a + sign + b + ")";
}

// What of a formula is looked at.
enum class Watch { nothing, squares, all };

// Of the parts below a node, if it is watched so itself. A zero matters where a function bends sharply there,
// or has no value, and where the square of a part that is 0 there is what exp() and the like are taken of; a
// polynomial's zeros are no special places.
Watch below(const Node& node, Watch here, bool divides, bool even) {
  switch (node.op) {
    case Op::add:
    case Op::sub:
    case Op::neg:
    case Op::fma:
    case Op::select:
      return here;
    case Op::mul:
      return even && here == Watch::squares ? Watch::all : here;
    case Op::div:
      return divides ? Watch::all : here;
    case Op::exp:
    case Op::exp2:
    case Op::expm1:
    case Op::sinh:
    case Op::cosh:
    case Op::sin:
    case Op::cos:
      return here == Watch::all ? here : Watch::squares;
    case Op::pow:
      return even ? (here == Watch::squares ? Watch::all : here) : Watch::all;
    default:
      return Watch::all;
  }
}

class Finder {
 public:
  Finder(const Tree& tree, const std::string& variable)
      : tree_(tree),
        parts_(tree, variable),
        solver_(tree, variable),
        watched_(tree.nodes().size(), Watch::nothing),
        inside_(tree.nodes().size(), false) {}

  void run() {
    for (std::size_t i = tree_.nodes().size(); i-- > 0;) {
      const Node& node = tree_.nodes()[i];
      for (int k = 0; k < 3; ++k)
        if (node.child[k] >= 0) watch(node.child[k], below(node, watched_[i], k == 1, is_even(node, k)));
      const bool sums = node.op == Op::add || node.op == Op::sub;
      for (const std::int32_t child : node.child)
        if (child >= 0) inside_[static_cast<std::size_t>(child)] = sums;
      if (sums && !inside_[i] && watched_[i] == Watch::all) take_zeros(static_cast<std::int32_t>(i));
      if (node.op == Op::abs || node.op == Op::sign) take_zeros(node.child[0]);
      if (compares(node.op)) take_meetings(node);
    }
  }

  std::vector<Tree> solved, unsolved;

 private:
  void watch(std::int32_t index, Watch as) {
    Watch& known = watched_[static_cast<std::size_t>(index)];
    known = std::max(known, as);
  }

  // Whether the node is a square of its child, or another whole power: of odd ones, too, for those are no
  // sharper.
  bool is_even(const Node& node, int child) const {
    if (node.op == Op::mul) return parts_.text(node.child[0]) == parts_.text(node.child[1]);
    if (node.op != Op::pow || child != 0) return false;
    const Node& by = tree_.nodes()[static_cast<std::size_t>(node.child[1])];
    return by.op == Op::number && by.value > 0 && by.value == std::floor(by.value);
  }

  void take(const std::vector<std::string>& zeros) {
    for (const std::string& text : zeros)
      if (solved.size() < most_breaks && known_.insert(text).second) solved.push_back(formula::parse(text));
  }

  void take_zeros(std::int32_t index) {
    const std::vector<std::string> zeros = solver_.zeros(index);
    take(zeros);
    if (zeros.empty() && solver_.hides_zeros(index)) search(parts_.text(index));
  }

  void take_meetings(const Node& node) {
    const std::vector<std::string> places = solver_.meetings(node);
    take(places);
    const bool linear = !parts_.branches(node.child[0]).empty() && !parts_.branches(node.child[1]).empty();
    const bool fixed = parts_.degree(node.child[0]) == 0 && parts_.degree(node.child[1]) == 0;
    if (places.empty() && !linear && !fixed)
      search(parts_.text(node.child[0]) + "-" + parts_.text(node.child[1]));
  }

  void search(const std::string& text) {
    if (unsolved.size() < most_searched && text.size() <= longest && searched_.insert(text).second)
      unsolved.push_back(formula::parse(text));
  }

  const Tree& tree_;
  LinearParts parts_;
  Solver solver_;
  std::vector<Watch> watched_;
  std::vector<bool> inside_;  // of a larger sum
  std::set<std::string> known_, searched_;
};

}  // namespace

std::vector<std::string> Solver::both_signs(std::int32_t index, const std::string& target, int signs) const {
  if (signs == most_signs) return {};
  std::vector<std::string> out = solve(index, target, signs + 1);
  for (const std::string& other : solve(index, "(-" + target + ")", signs + 1)) out.push_back(other);
  return out;
}

std::vector<std::string> Solver::solve_product(const Node& node, const std::string& target, int signs) const {
  const std::int32_t a = node.child[0], b = node.child[1];
  if (node.op == Op::div && !varies(b)) return solve(a, bracketed(target, "*", parts_.text(b)), signs);
  if (node.op == Op::div && !varies(a)) return solve(b, bracketed(parts_.text(a), "/", target), signs);
  if (node.op == Op::mul && !varies(b)) return solve(a, bracketed(target, "/", parts_.text(b)), signs);
  if (node.op == Op::mul && !varies(a)) return solve(b, bracketed(target, "/", parts_.text(a)), signs);
  if (node.op == Op::mul && parts_.text(a) == parts_.text(b))
    return both_signs(a, "sqrt(" + target + ")", signs);
  return {};
}

std::vector<std::string> Solver::solve_power(const Node& node, const std::string& target, int signs) const {
  const std::int32_t base = node.child[0], exponent = node.child[1];
  if (!varies(base)) return solve(exponent, "(log(" + target + ")/log" + parts_.text(base) + ")", signs);
  if (varies(exponent)) return {};
  const Node& by = node_of(exponent);
  const std::string size = "(abs(" + target + ")^(1/" + parts_.text(exponent) + "))";
  if (by.op != Op::number || by.value != std::floor(by.value))
    return solve(base, "(" + target + "^(1/" + parts_.text(exponent) + "))", signs);
  if (std::fmod(by.value, 2) != 0) return solve(base, "(sign(" + target + ")*" + size + ")", signs);
  return both_signs(base, "(" + target + "^(1/" + parts_.text(exponent) + "))", signs);
}

std::vector<std::string> Solver::solve(std::int32_t index, const std::string& target, int signs) const {
  if (target.size() > longest || !varies(index)) return {};
  if (is_linear(index)) {
    const Linear linear = parts_.linear(index);
    const std::string away = linear.rest.empty() ? target : bracketed(target, "-", linear.rest);
    return {linear.slope == "1" ? away : bracketed(away, "/", linear.slope)};
  }
  const Node& node = node_of(index);
  const std::int32_t a = node.child[0], b = node.child[1];
  switch (node.op) {
    case Op::neg:
      return solve(a, "(-" + target + ")", signs);
    case Op::abs:
      return both_signs(a, target, signs);
    case Op::cosh:
      return both_signs(a, "acosh(" + target + ")", signs);
    case Op::add:
      if (!varies(a)) return solve(b, bracketed(target, "-", parts_.text(a)), signs);
      return varies(b) ? std::vector<std::string>{} : solve(a, bracketed(target, "-", parts_.text(b)), signs);
    case Op::sub:
      if (!varies(a)) return solve(b, bracketed(parts_.text(a), "-", target), signs);
      return varies(b) ? std::vector<std::string>{} : solve(a, bracketed(target, "+", parts_.text(b)), signs);
    case Op::mul:
    case Op::div:
      return solve_product(node, target, signs);
    case Op::pow:
      return solve_power(node, target, signs);
    default:
      const auto argument = inverse(node.op, "(" + target + ")");
      return argument ? solve(a, *argument, signs) : std::vector<std::string>{};
  }
}

// Evidently not below 0.
bool Solver::is_positive(std::int32_t index) const {
  const Node& node = node_of(index);
  const std::int32_t a = node.child[0], b = node.child[1];
  switch (node.op) {
    case Op::number:
      return node.value >= 0;
    case Op::abs:
    case Op::sqrt:
    case Op::exp:
    case Op::exp2:
    case Op::cosh:
      return true;
    case Op::pow:
      return is_positive(a) || (node_of(b).op == Op::number && std::fmod(node_of(b).value, 2) == 0);
    case Op::mul:
      if (parts_.text(a) == parts_.text(b)) return true;
      [[fallthrough]];
    case Op::add:
    case Op::div:
      return is_positive(a) && is_positive(b);
    default:
      return false;
  }
}

std::vector<std::string> Solver::zeros(std::int32_t index) const {
  if (is_linear(index) || !parts_.branches(index).empty() || is_positive(index)) return {};
  return solve(index, "0", 0);
}

bool Solver::hides_zeros(std::int32_t index) const {
  return varies(index) && !is_linear(index) && parts_.branches(index).empty() && !is_positive(index);
}

std::vector<std::string> Solver::meetings(const Node& node) const {
  const std::int32_t a = node.child[0], b = node.child[1];
  if (varies(a) == varies(b)) return {};
  const std::int32_t moving = varies(a) ? a : b, fixed = varies(a) ? b : a;
  if (is_linear(moving) || !parts_.branches(moving).empty()) return {};
  const bool zero = node_of(fixed).op == Op::number && node_of(fixed).value == 0;
  return solve(moving, zero ? "0" : parts_.text(fixed), 0);
}

std::string Solver::rate_at_zero(std::int32_t index) const {
  const Node& node = node_of(index);
  if (node.op != Op::add && node.op != Op::sub) return "";
  if (varies(node.child[0]) == varies(node.child[1])) return "";
  const std::vector<std::string> at = zeros(index);
  if (at.empty()) return "";
  const std::string fixed = parts_.text(varies(node.child[0]) ? node.child[1] : node.child[0]);
  const std::string step = "(1e-5*abs" + fixed + ")";
  const std::vector<std::string> beside = solve(index, step, 0);
  if (beside.empty()) return "";  // too long
  const std::string away = "abs(" + beside[0] + "-" + at[0] + ")";
  return "if(" + away + ">0," + step + "/" + away + ",0)";
}

std::vector<Tree> solved_zeros(const Tree& tree, const std::string& variable) {
  Finder finder(tree, variable);
  finder.run();
  return std::move(finder.solved);
}

std::vector<Tree> unsolved_parts(const Tree& tree, const std::string& variable) {
  Finder finder(tree, variable);
  finder.run();
  return std::move(finder.unsolved);
}

}  // namespace tessera::integrate_batch
