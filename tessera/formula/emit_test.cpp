// SPDX-License-Identifier: Apache-2.0
// The emitted text, compiled by the build's compiler in the place of NVRTC, against the program it came from.
#include "tessera/formula/emit.hpp"
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>
#include "tessera/formula/interpret.hpp"

namespace tessera::formula {
namespace {

const std::vector<std::string> names{"x", "y"};
const char* const formulas[] = {"sqrt(1-x^2)",
                                "x<y ? -sin(x)/3 : cos(y)*tan(x)",
                                "pow(abs(x),y)+x^3-y^-2",
                                "exp(x)*expm1(y)+exp2(x)-cbrt(y)",
                                "log(abs(x))+log1p(abs(y))-log2(abs(x))*log10(abs(y))",
                                "atan2(y,x)+atan(x)+asin(x/9)-acos(y/9)",
                                "sinh(x)+cosh(y)*tanh(x)+asinh(x)-atanh(y/9)+acosh(abs(x))",
                                "min(x,y)+max(x,y,0.1)+fmod(x,y)+hypot(x,y)",
                                "floor(x)+ceil(y)+round(x)+trunc(y)+sign(x)",
                                "not (x<=y and x!=0) or y==0",
                                "erf(x)+j0(y)+lgamma(abs(x))",
                                "0.1",
                                "-inf",
                                "fma(x,y,1e-3)",
                                "1e30*sin(1e30*x)",
                                "fmin(x,y)-fmax(x,0.3)",
                                "x"};

template <class T>
std::string function(std::size_t i) {
  const std::string type = sizeof(T) == 4 ? "float" : "double", name = fmt::format("f{}_{}", i, type);
  return source_of(compile<T>(parse(formulas[i]), names), name) +
         fmt::format("extern \"C\" {0} call_{1}({0} x, {0} y) {{ return {1}(x, y); }}\n", type, name);
}

class Emitted : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string path = testing::TempDir() + "/tessera_emitted";
    std::ofstream file(path + ".cpp");
    file << "#include <math.h>\n#define __device__\n#define __forceinline__ inline\n" << elementary_source();
    for (std::size_t i = 0; i < std::size(formulas); ++i) file << function<float>(i) << function<double>(i);
    file.close();
    const std::string command = fmt::format(
        TESSERA_TEST_CXX " -std=c++17 -O1 -ffp-contract=off -fPIC -shared -o {0}.so {0}.cpp 2>&1", path);
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    library_ = dlopen((path + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
  }

  template <class T>
  static void expect_same_bits() {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> unit(-8, 8);
    for (std::size_t i = 0; i < std::size(formulas); ++i) {
      const auto program = compile<T>(parse(formulas[i]), names);
      const auto call = reinterpret_cast<T (*)(T, T)>(
          dlsym(library_, fmt::format("call_f{}_{}", i, sizeof(T) == 4 ? "float" : "double").c_str()));
      ASSERT_NE(call, nullptr);
      for (int k = 0; k < 500; ++k) {
        const T at[] = {static_cast<T>(unit(random)), k % 50 == 0 ? T(0) : static_cast<T>(unit(random))};
        const T got = call(at[0], at[1]), want = interpret(program, at);
        ASSERT_TRUE(std::bit_cast<Bits>(got) == std::bit_cast<Bits>(want) ||
                    (std::isnan(got) && std::isnan(want)))
            << formulas[i] << " at " << at[0] << ", " << at[1] << ": " << got << ", not " << want;
      }
    }
  }

  static void* library_;
};
void* Emitted::library_ = nullptr;

TEST_F(Emitted, HasTheBitsOfTheProgramInDouble) { expect_same_bits<double>(); }
TEST_F(Emitted, HasTheBitsOfTheProgramInFloat) { expect_same_bits<float>(); }

TEST(Emit, FloatTextHoldsNoDouble) {
  const std::string text = source_of(compile<float>(parse("0.1*sqrt(x)/3+pi"), {"x"}), "f", "fast_root");
  EXPECT_EQ(text.find("double"), std::string::npos);
  EXPECT_NE(text.find("fast_root(x0)"), std::string::npos) << text;
  EXPECT_NE(text.find("(0x1.99999ap-4f)"), std::string::npos) << text;
}

}  // namespace
}  // namespace tessera::formula
