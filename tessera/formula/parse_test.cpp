// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <random>
#include "tessera/core/text/error.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::formula {
namespace {

std::string reads(std::string_view text) { return to_text(parse(text)); }

std::string refusal(std::string_view text, const Limits& limits = {}) {
  try {
    (void)parse(text, limits);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Parse, PrecedenceIsThatOfMathematics) {
  EXPECT_EQ(reads("1+2*3"), "(1+(2*3))");
  EXPECT_EQ(reads("1-2-3"), "((1-2)-3)");
  EXPECT_EQ(reads("8/4/2"), "((8/4)/2)");
  EXPECT_EQ(reads("-x^2"), "(-(x^2))");
  EXPECT_EQ(reads("2^3^2"), "(2^(3^2))");
  EXPECT_EQ(reads("2^-x^2"), "(2^(-(x^2)))");
  EXPECT_EQ(reads("-x*y"), "((-x)*y)");
  EXPECT_EQ(reads("x*-y"), "(x*(-y))");
  EXPECT_EQ(reads("- - +x"), "(-(-x))");
}

TEST(Parse, ComparisonsAndConditions) {
  EXPECT_EQ(reads("x<1 and y>=2 or not z==3"), "(((x<1) and (2<=y)) or (not (z==3)))");
  EXPECT_EQ(reads("x>1"), "(1<x)");
  EXPECT_EQ(reads("x<=1 && x!=0 || y"), "(((x<=1) and (x!=0)) or y)");
  EXPECT_EQ(reads("x<0 ? -x : x"), "if((x<0),(-x),x)");
  EXPECT_EQ(reads("a ? b : c ? d : f"), "if(a,b,if(c,d,f))");
  EXPECT_EQ(reads("a ? b ? c : d : f"), "if(a,if(b,c,d),f)");
  EXPECT_EQ(reads("if(x,1,2)"), "if(x,1,2)");
  EXPECT_EQ(reads("nothing+orange+android"), "((nothing+orange)+android)");
}

TEST(Parse, NumbersConstantsAndFunctions) {
  EXPECT_EQ(reads("1.5e3+.25+2."), "((1500+0.25)+2)");
  EXPECT_EQ(reads("0.1"), "0.1");
  EXPECT_EQ(reads("pi+e+inf"), "((3.141592653589793+2.718281828459045)+inf)");
  EXPECT_EQ(reads("max(1,2,x)"), "max(1,max(2,x))");
  EXPECT_EQ(reads("fabs(ln(x))"), "abs(log(x))");
  EXPECT_EQ(reads("atan2(y, x)"), "atan2(y,x)");
  EXPECT_EQ(parse("0.1").root().value32, 0.1f);
}

TEST(Parse, VariablesInTheOrderOfTheirAppearance) {
  EXPECT_EQ(parse("b*x+a*x_1+pi").names(), (std::vector<std::string>{"b", "x", "a", "x_1"}));
}

TEST(Parse, WrittenFormulasParseToTheSameTree) {
  for (const char* text : {"sqrt(1-x^2)", "x<0?-x:not y", "1e-300*x^-y", "min(x,y,z)^2^x", "-(-x)-(-1)"})
    EXPECT_EQ(reads(reads(text)), reads(text)) << text;
}

TEST(Parse, MessagesPointAtTheMistake) {
  EXPECT_EQ(refusal("sqrt(1-*x)"), "a value is expected at column 8\n  sqrt(1-*x)\n         ^");
  EXPECT_EQ(refusal("(x+1"), "')' is expected at column 5\n  (x+1\n      ^");
  EXPECT_EQ(refusal("2x"), "an operator or the end is expected (a product is 2*x) at column 2\n  2x\n   ^");
  EXPECT_EQ(refusal("x²"), "an operator or the end is expected (a power is x^2) at column 2\n  x²\n   ^");
  EXPECT_EQ(refusal("2×x"), "an operator or the end is expected (a product is 2*x) at column 2\n  2×x\n   ^");
  EXPECT_EQ(refusal("1+π"), "a value is expected (it is written pi) at column 3\n  1+π\n    ^");
  EXPECT_EQ(refusal("π²+(x"), "a value is expected (it is written pi) at column 1\n  π²+(x\n  ^");
  // What would move a terminal's cursor or turn its text around, and what is no UTF-8.
  EXPECT_EQ(refusal("x\x1b[1m"), "an operator or the end is expected at column 2\n  x?[1m\n   ^");
  EXPECT_EQ(refusal("x+\u202e+\xff"), "a value is expected at column 3\n  x+?+?\n    ^");
  EXPECT_EQ(refusal("x(1-x)"), "x is no function: for a product write x*(…) at column 1\n  x(1-x)\n  ^");
  EXPECT_EQ(refusal("sqt(x)"), "sqt is no function; did you mean sqrt(…)? at column 1\n  sqt(x)\n  ^");
  EXPECT_EQ(refusal("sin x"), "sin is a function: write sin(…) at column 1\n  sin x\n  ^");
  EXPECT_EQ(refusal("1+atan2(x)"), "atan2 takes 2 arguments, not 1 at column 3\n  1+atan2(x)\n    ^");
  EXPECT_NE(refusal("sin()").find("an argument is expected"), std::string::npos) << refusal("sin()");
  EXPECT_EQ(refusal("sin(x,x)"), "sin takes 1 argument, not 2 at column 1\n  sin(x,x)\n  ^");
  EXPECT_EQ(refusal(""), "there is no formula at column 1\n  \n  ^");
  EXPECT_EQ(refusal("0<x<1"),
            "an operator or the end is expected (comparisons do not chain: 0<x and x<1) at column 4\n  "
            "0<x<1\n     ^");
  EXPECT_EQ(refusal("1e999"), "this number is outside the range of f64 at column 1\n  1e999\n  ^");
  EXPECT_EQ(refusal("x ? 1"), "':' is expected at column 6\n  x ? 1\n       ^");
  EXPECT_EQ(refusal("f(x,)").substr(0, 15), "f is no functio");
  EXPECT_EQ(refusal("max(x,)"), "a value is expected at column 7\n  max(x,)\n        ^");
}

TEST(Parse, SuggestsTheNotationForOtherLanguages) {
  EXPECT_NE(refusal("x**2").find("(a power is x^2)"), std::string::npos);
  EXPECT_NE(refusal("|x|").find("abs(x)"), std::string::npos);
  EXPECT_NE(refusal("!x").find("not x"), std::string::npos);
  EXPECT_NE(refusal("x=1").find("x==1"), std::string::npos);
  EXPECT_NE(refusal("(x+1)(x-1)").find("2*x"), std::string::npos);
}

TEST(Parse, ALongTextIsShownAroundTheMistake) {
  const std::string text = std::string(200, ' ') + "x+" + std::string(200, '+') + "$";
  const std::string says = refusal("1+" + std::string(80, '1') + "$" + std::string(80, '1'));
  EXPECT_NE(says.find("column 83"), std::string::npos) << says;
  EXPECT_LT(says.size(), 250u);
  EXPECT_EQ(refusal("x\x01\xff").find('\x01'), std::string::npos);
  EXPECT_LT(refusal(text).size(), 250u);
  EXPECT_LT(refusal(std::string(60000, 'f') + "(x)").size(), 250u);
}

// A hint that names another function than the one that was meant is worse than none.
TEST(Parse, HintsMeanWhatIsMeant) {
  for (const auto& [text, hint] : std::vector<std::pair<std::string, std::string>>{
           {"sec(x)", "sec is no function: write 1/cos(x) at"},
           {"csc(x)", "write 1/sin(x) at"},
           {"cot(x)", "write 1/tan(x) at"},
           {"sinc(x)", "write sin(x)/x at"},
           {"sinpi(x)", "write sin(pi*x) at"},
           {"jn(2,x)", "of Bessel's functions there are j0, j1, y0 and y1"},
           {"i0(x)", "of Bessel's functions there are j0, j1, y0 and y1"},
           {"besselj(2,x)", "of Bessel's functions there are j0, j1, y0 and y1"},
           {"gamma(x)", "gamma is no function: write tgamma(x) at"},
           {"mod(x,2)", "write fmod(x,2)"},
           {"log(x,2)", "log takes 1 argument, not 2 (to another base: log2(x), log10(x), log(x)/log(3))"},
           {"x%2", "an operator or the end is expected (a remainder is fmod(x,2))"},
           {"ax(2)", "for a product write ax*(…)"},
           {"sqt(x)", "did you mean sqrt(…)?"},
           {"asinn(x)", "did you mean asin(…)?"},
           {"sqr(x)", "write x^2 or sqrt(x)"},
           {"sind(x)", "write sin(pi*x/180)"},
           {"arctanh(x)", "did you mean atanh(…)?"}})
    EXPECT_NE(refusal(text).find(hint), std::string::npos) << text << ": " << refusal(text);
  for (const char* text :
       {"acot(x)", "erfi(x)", "log3(x)", "exp10(x)", "Si(x)", "li(x)", "zeta(x)", "tanc(x)", "beta(x,2)"})
    EXPECT_EQ(refusal(text).find("did you mean"), std::string::npos) << refusal(text);
}

TEST(Parse, RefusesFormulasBeyondTheLimits) {
  const auto repeated = [](const std::string& part, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += part;
    return out;
  };
  for (const char* part : {"(", "-", "sin(", "2^", "not ", "x?", "x?1:", "if(x,", "-(", "2^-("})
    EXPECT_NE(refusal(repeated(part, 3000) + "x").find("nested deeper than 100"), std::string::npos) << part;
  EXPECT_NE(refusal(repeated("x+", 30000) + "x").find("more than 4096 parts"), std::string::npos);
  EXPECT_NE(refusal(repeated("x", 70000)).find("70000 characters"), std::string::npos);
  EXPECT_NE(refusal(repeated("1+", 3) + "1", {.nodes = 4}).find("more than 4 parts"), std::string::npos);
  EXPECT_EQ(reads(repeated("(", 90) + "x" + repeated(")", 90)), "x");
  EXPECT_EQ(parse(repeated("x+", 2000) + "x").nodes().size(), 4001u);
  EXPECT_GT(to_text(parse(repeated("x+", 2000) + "x")).size(), 8000u);
}

// What the fuzzer does at length: any bytes make a tree or an Error, at once.
TEST(Parse, AnyBytesGiveATreeOrAnError) {
  const char* const parts[] = {"x",    "1",   "(",    ")",    "+",    "-",    "*", "/", "^",   ",",
                               "?",    ":",   "<",    "==",   "sin(", "if(",  "e", ".", "1e9", " ",
                               "not ", "and", "pow(", "\x80", "\n",   "min(", "!", "&&"};
  std::mt19937 random(1);
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (int n = static_cast<int>(random() % 12); n >= 0; --n)
      if (random() % 16 == 0) text += static_cast<char>(random());
      else text += parts[random() % std::size(parts)];
    try {
      const Tree tree = parse(text);
      EXPECT_EQ(to_text(parse(to_text(tree))), to_text(tree));
      ++read;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::user);
    }
  }
  EXPECT_GT(read, 300);
}

TEST(Tree, SubstitutesVariables) {
  const Tree tree = parse("sqrt(a-x^2)+x");
  EXPECT_EQ(to_text(substitute(tree, "a", 2)), "(sqrt((2-(x^2)))+x)");
  EXPECT_EQ(substitute(tree, "a", 2).names(), std::vector<std::string>{"x"});
  EXPECT_EQ(to_text(substitute(tree, "x", parse("1/t"))), "(sqrt((a-((1/t)^2)))+(1/t))");
  EXPECT_EQ(to_text(substitute(tree, "y", 1)), to_text(tree));
}

}  // namespace
}  // namespace tessera::formula
