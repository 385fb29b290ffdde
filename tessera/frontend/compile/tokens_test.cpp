// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/compile/tokens.hpp"
#include <gtest/gtest.h>

namespace tessera::frontend {
namespace {

std::vector<std::string> words(std::string_view source) {
  std::vector<std::string> out;
  for (const Token& token : tokenize_source(source)) out.emplace_back(token.text);
  return out;
}

using Words = std::vector<std::string>;

TEST(Tokens, KeepAngleBracketsApart) {
  EXPECT_EQ(words("a<<<1, b<c>>>>(x >= y->z)"), (Words{"a", "<", "<", "<", "1", ",",  "b", "<",  "c", ">",
                                                       ">", ">", ">", "(", "x", ">=", "y", "->", "z", ")"}));
}

TEST(Tokens, TakeTextsWhole) {
  EXPECT_EQ(words(R"x(f("<<<\"", 'a', '\'', u8"b", L'c', R"(<<< " )", LR"y()" ))y"))x"),
            (Words{"f", "(", R"("<<<\"")", ",", "'a'", ",", R"('\'')", ",", "u8\"b\"", ",", "L'c'", ",",
                   R"z(R"(<<< " )")z", ",", "LR\"y()\" ))y\"", ")"}));
}

TEST(Tokens, TakeNumbersWhole) {
  EXPECT_EQ(words("1'000.5e-3f+0x1p+4-.5 1e5"), (Words{"1'000.5e-3f", "+", "0x1p+4", "-", ".5", "1e5"}));
}

TEST(Tokens, LeaveOutCommentsAndDirectives) {
  EXPECT_EQ(words("#define A \\\n  <<<\nint a; // b \\\n c\n/* d\n # e */ f # g"),
            (Words{"int", "a", ";", "f", "#", "g"}));
}

// What g++ -E makes of a file, whose text a test gives.
struct Read {
  std::string text;
  std::optional<std::string> operator()(const std::string& file) const {
    return file == "a.cu" ? std::optional(text) : std::nullopt;
  }
};

TEST(Tokens, HaveTheLinesThatMarkersTell) {
  const std::string text =
      "# 1 \"a.cu\"\n"
      "# 1 \"/usr/include/x.h\" 1 3 4\n"
      "int unseen { ;\n"
      "# 1 \"/usr/include/y.h\" 1 3 4\n"
      "int unseen [\n"
      "# 7 \"a.cu\" 2\n"
      "seven\n"
      "\n"
      "#pragma unroll\n"
      "ten\n"
      "# 3 \"b \\\"quoted\\\".h\" 1\n"
      "three\n";
  const TokenList list = tokenize(text, Read{""});
  ASSERT_EQ(list.tokens.size(), 3u + 4);
  EXPECT_EQ(list.place(0).file, "a.cu");
  EXPECT_EQ(list.tokens[0].line, 7);
  EXPECT_EQ(list.tokens[1].text, "ten");
  EXPECT_EQ(list.tokens[1].line, 10);
  EXPECT_EQ(list.place(2).file, "b \"quoted\".h");
  EXPECT_EQ(list.tokens[2].line, 3);
  EXPECT_EQ(list.tokens[3].kind, TokenKind::end);
}

TEST(Tokens, HaveTheColumnsOfTheFile) {
  const std::string file = "int  a =\t/* b */ MAX(1,\n  2)  +  c;\n";
  const std::string text = "# 1 \"a.cu\"\nint a = ((1) > (2) ? (1) : (2))\n       + c;\n";
  const TokenList list = tokenize(text, Read{file});
  const auto column = [&](std::string_view word) {
    for (const Token& token : list.tokens)
      if (token.is(word)) return token.exact ? token.column : -token.column;
    return 0;
  };
  EXPECT_EQ(column("a"), 6);
  EXPECT_EQ(column("="), 8);
  EXPECT_EQ(column("?"), -18);  // the macro's
  EXPECT_EQ(column("+"), 7);
  EXPECT_EQ(column("c"), 10);
}

TEST(Tokens, KnowPartnersOfBrackets) {
  const std::string text = "# 1 \"a.cu\"\nf(a[{1}], b);";
  const TokenList list = tokenize(text, Read{text});
  EXPECT_EQ(list.tokens[list.tokens[1].partner].text, ")");
  EXPECT_EQ(list.tokens[3].partner, 7u);
  EXPECT_EQ(list.tokens[7].partner, 3u);
}

std::string refused(const std::string& text) {
  try {
    tokenize("# 1 \"a.cu\"\n" + text, Read{text});
  } catch (const Refusal& found) {
    return found.what();
  }
  return {};
}

TEST(Tokens, RefuseBracketsWithoutPartners) {
  EXPECT_EQ(refused("int f() {\n  g(;\n}"), "a.cu:3:1: '}' does not close the '(' of line 2");
  EXPECT_EQ(refused("int a;\n }"), "a.cu:2:2: '}' has no opening bracket");
  EXPECT_EQ(refused("int f() {\n  if (1) {\n}"), "a.cu:1:9: '{' is never closed");
}

}  // namespace
}  // namespace tessera::frontend
