// SPDX-License-Identifier: Apache-2.0
#include "tessera/formula/tree.hpp"
#include <algorithm>
#include <fmt/format.h>
#include <utility>
#include "tessera/core/text/error.hpp"

namespace tessera::formula {
namespace {

// A copy of `tree` in which some nodes are replaced: `other` returns a node's index in the copy, or -1.
template <class Other>
void copy_into(Tree& out, const Tree& tree, std::int32_t root, Other other) {
  const auto& nodes = tree.nodes();
  std::vector<char> needed(nodes.size(), 0);
  needed[static_cast<std::size_t>(root)] = 1;
  for (std::size_t i = nodes.size(); i-- > 0;)
    if (needed[i])
      for (const std::int32_t child : nodes[i].child)
        if (child >= 0) needed[static_cast<std::size_t>(child)] = 1;
  std::vector<std::int32_t> at(nodes.size(), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!needed[i]) continue;
    Node node = nodes[i];
    at[i] = other(node);
    if (at[i] >= 0) continue;
    for (std::int32_t& child : node.child)
      if (child >= 0) child = at[static_cast<std::size_t>(child)];
    at[i] = node.op == Op::variable
                ? out.add_variable(tree.names()[static_cast<std::size_t>(node.name)], node.place)
                : out.add(node);
  }
}

bool is_name(const Tree& tree, const Node& node, std::string_view name) {
  return node.op == Op::variable && tree.names()[static_cast<std::size_t>(node.name)] == name;
}

std::int32_t root_of(const Tree& tree) { return static_cast<std::int32_t>(tree.nodes().size()) - 1; }

constexpr std::pair<Op, const char*> infixes[] = {
    {Op::add, "+"},        {Op::sub, "-"},           {Op::mul, "*"},         {Op::div, "/"},
    {Op::pow, "^"},        {Op::less, "<"},          {Op::less_equal, "<="}, {Op::equal, "=="},
    {Op::not_equal, "!="}, {Op::logic_and, " and "}, {Op::logic_or, " or "}};

// The text before, between and after the operands of a node.
struct Spelling {
  std::string before, between, after;
};

Spelling spelling(const Tree& tree, const Node& node) {
  if (node.op == Op::number) return {fmt::format("{}", node.value), "", ""};
  if (node.op == Op::variable) return {tree.names()[static_cast<std::size_t>(node.name)], "", ""};
  for (const auto& [op, between] : infixes)
    if (op == node.op) return {"(", between, ")"};
  if (node.op == Op::neg) return {"(-", "", ")"};
  if (node.op == Op::logic_not) return {"(not ", "", ")"};
  return {(node.op == Op::select ? "if" : std::string(name(node.op))) + "(", ",", ")"};
}

}  // namespace

std::int32_t Tree::add(Node node) {
  nodes_.push_back(node);
  return static_cast<std::int32_t>(nodes_.size()) - 1;
}

std::int32_t Tree::add(Op op, std::uint32_t place, std::int32_t a, std::int32_t b, std::int32_t c) {
  return add(Node{.op = op, .place = place, .child = {a, b, c}});
}

std::int32_t Tree::add_number(double value, float value32, std::uint32_t place) {
  return add(Node{.op = Op::number, .place = place, .value = value, .value32 = value32});
}

std::int32_t Tree::add_variable(std::string_view name, std::uint32_t place) {
  auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) found = names_.insert(found, std::string(name));
  return add(
      Node{.op = Op::variable, .place = place, .name = static_cast<std::int32_t>(found - names_.begin())});
}

Tree substitute(const Tree& tree, std::string_view name, double value) {
  Tree out(tree.text());
  copy_into(out, tree, root_of(tree), [&](const Node& node) {
    return is_name(tree, node, name) ? out.add_number(value, static_cast<float>(value), node.place) : -1;
  });
  return out;
}

Tree substitute(const Tree& tree, std::string_view name, const Tree& by) {
  Tree out(tree.text());
  std::int32_t copied_root = -1;  // `by` is copied in once, however often it is used
  copy_into(out, tree, root_of(tree), [&](const Node& node) {
    if (!is_name(tree, node, name)) return -1;
    if (copied_root < 0) {
      copy_into(out, by, root_of(by), [](const Node&) { return -1; });
      copied_root = root_of(out);
    }
    return copied_root;
  });
  return out;
}

Tree part(const Tree& tree, std::int32_t root) {
  Tree out(tree.text());
  copy_into(out, tree, root, [](const Node&) { return -1; });
  return out;
}

// Uses a stack of its own: a long sum is a deep tree. Parts shared by substitution are written each time.
std::string to_text(const Tree& tree) {
  constexpr std::size_t longest = 1 << 20;
  struct Open {
    std::int32_t node;
    int next;
  };
  std::string out;
  std::vector<Open> open{{root_of(tree), 0}};
  while (!open.empty()) {
    Open& top = open.back();
    const Node& node = tree.nodes()[static_cast<std::size_t>(top.node)];
    const Spelling spelled = spelling(tree, node);
    const int operands = arity(node.op);
    out += top.next == 0 ? spelled.before : top.next < operands ? spelled.between : "";
    if (out.size() > longest) throw Error("the formula is too long to be written out");
    if (top.next >= operands) {
      out += spelled.after;
      open.pop_back();
    } else {
      const std::int32_t child = node.child[top.next++];
      open.push_back({child, 0});
    }
  }
  return out;
}

std::string quoted(std::string_view word) {
  constexpr std::size_t longest = 40;
  return word.size() <= longest ? std::string(word) : std::string(word.substr(0, longest)) + "…";
}

namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// A letter or sign beyond ASCII of one column that keeps the text direction: Latin, Greek, mathematics.
bool may_be_shown(unsigned code) {
  return (code >= 0xA1 && code <= 0x24F && code != 0xAD) || (code >= 0x370 && code <= 0x3FF) ||
         (code >= 0x2010 && code <= 0x2027) || (code >= 0x2070 && code <= 0x209C) ||
         (code >= 0x2190 && code <= 0x22FF);
}

struct Shown {
  std::string text;
  std::size_t width = 0;
};

// Text that is safe for a terminal: other characters become a question mark.
Shown shown(std::string_view text) {
  Shown out;
  for (std::size_t i = 0; i < text.size(); ++out.width) {
    const auto lead = static_cast<unsigned char>(text[i]);
    std::size_t size = 1;
    while (i + size < text.size() && continues(text[i + size]) && size < 4) ++size;
    unsigned code = size == 2 ? lead & 0x1Fu : lead & 0x0Fu;
    for (std::size_t k = 1; k < size; ++k)
      code = code << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3Fu);
    const bool whole = (size == 2 && lead >> 5 == 6) || (size == 3 && lead >> 4 == 14);
    if (lead == '\n' || lead == '\t') out.text += ' ';
    else if (lead < 0x80) out.text += lead < ' ' || lead > '~' ? '?' : text[i];
    else if (whole && may_be_shown(code)) out.text += text.substr(i, size);
    else out.text += '?';
    i += lead < 0x80 ? 1 : size;
  }
  return out;
}

}  // namespace

std::string pointed_out(std::string_view text, std::size_t place, const std::string& message) {
  constexpr std::size_t around = 36;
  std::size_t first = place > around ? place - around : 0, last = std::min(text.size(), place + around);
  while (first < place && continues(text[first])) ++first;
  while (last < text.size() && continues(text[last])) ++last;
  const std::string before = first > 0 ? "…" : "", after = last < text.size() ? "…" : "";
  return fmt::format("{} at column {}\n  {}{}{}\n  {}^", message, shown(text.substr(0, place)).width + 1,
                     before, shown(text.substr(first, last - first)).text, after,
                     std::string(shown(text.substr(first, place - first)).width + (first > 0 ? 1 : 0), ' '));
}

}  // namespace tessera::formula
