// SPDX-License-Identifier: Apache-2.0
// A formula as a syntax tree. The grammar is in docs/formulas.md.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>
#include "tessera/formula/operators.hpp"

namespace tessera::formula {

// Hostile text must cost little and end in a message.
struct Limits {
  std::size_t length = 65536;  // characters
  int depth = 100;             // nesting of brackets, signs, powers and conditions
  std::size_t nodes = 4096;
};

struct Node {
  Op op = Op::number;
  std::uint32_t place = 0;  // in the text
  std::int32_t child[3] = {-1, -1, -1};
  double value = 0;        // a number, rounded once to double …
  float value32 = 0;       // … and once to float
  std::int32_t name = -1;  // a variable: an index into names()
};

class Tree {
 public:
  // Children come before their parents; the last node is the root.
  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& root() const { return nodes_.back(); }
  const std::vector<std::string>& names() const { return names_; }  // the variables, as they first appear
  const std::string& text() const { return text_; }                 // the source text

  std::int32_t add(Node node);  // its children must be there already; returns its index
  std::int32_t add(Op op, std::uint32_t place, std::int32_t a, std::int32_t b = -1, std::int32_t c = -1);
  std::int32_t add_number(double value, float value32, std::uint32_t place);
  std::int32_t add_variable(std::string_view name, std::uint32_t place);

  explicit Tree(std::string text = {}) : text_(std::move(text)) {}

 private:
  std::string text_;
  std::vector<Node> nodes_;
  std::vector<std::string> names_;
};

// Throws Error with the place, and a caret under it, for anything that is not a formula.
[[nodiscard]] Tree parse(std::string_view text, const Limits& limits = {});

// Replaces each appearance of the variable by a number or another formula.
[[nodiscard]] Tree substitute(const Tree& tree, std::string_view name, double value);
[[nodiscard]] Tree substitute(const Tree& tree, std::string_view name, const Tree& by);

// Returns the part of the tree below one of its nodes, as a tree of its own; only what the root needs, in
// order.
Tree part(const Tree& tree, std::int32_t root);

// Writes the tree as a formula, fully bracketed, numbers with all digits. Equal trees have equal texts.
[[nodiscard]] std::string to_text(const Tree& tree);

// Returns a word for a message: not longer than a message may be.
std::string quoted(std::string_view word);

// Returns "MESSAGE at column 5", the text (or what of it is around the place), and a caret below.
std::string pointed_out(std::string_view text, std::size_t place, const std::string& message);

}  // namespace tessera::formula
