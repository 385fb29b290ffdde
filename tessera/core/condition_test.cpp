// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/condition.hpp"
#include <gtest/gtest.h>
#include "tessera/core/error.hpp"

namespace tessera {
namespace {

const Dims names{{"m", 128}, {"n", 64}, {"k", 8}};

TEST(Condition, ComparesExpressions) {
  EXPECT_TRUE(holds("m*n<=8192", names));
  EXPECT_FALSE(holds("m*n<8192", names));
  EXPECT_TRUE(holds(" m == 2 * n ", names));
  EXPECT_TRUE(holds("k != n", names));
  EXPECT_FALSE(holds("k >= n", names));
  EXPECT_TRUE(holds("(m + n) / 2 > k", names));
  EXPECT_TRUE(holds("-m < 0", names));
}

TEST(Condition, JoinsThem) {
  EXPECT_TRUE(holds("m == 1 || n == 64 && k == 8", names));
  EXPECT_FALSE(holds("(m == 128 || n == 1) && k == 1", names));
  EXPECT_TRUE(holds("!(m == n) && !(k > 8)", names));
  EXPECT_TRUE(holds("((m > n))", names));
  EXPECT_TRUE(holds("m == 1 || m == 2 || m == 128", names));
}

TEST(Condition, MistakesAreSaidEvenWhereTheRestDecides) {
  for (const char* text : {"", "m", "m <", "< m", "m < z", "m == 128 || z == 1", "m < 1 && z < 1",
                           "m == 128 ||", "m <= 128 n", "(m < 1", "m = 1", "m < n < k", "!"})
    EXPECT_THROW((void)holds(text, names), Error) << text;
  EXPECT_THROW((void)holds(std::string(5000, '!') + "m==1", names), Error);
  EXPECT_THROW((void)holds(std::string(5000, '(') + "m==1" + std::string(5000, ')'), names), Error);
}

TEST(Condition, NamesItsNames) {
  EXPECT_EQ(names_in("m*n<=16384 && (m==1||k_2<3)"), (std::vector<std::string>{"m", "n", "k_2"}));
  EXPECT_TRUE(names_in("1 < 2").empty());
}

}  // namespace
}  // namespace tessera
