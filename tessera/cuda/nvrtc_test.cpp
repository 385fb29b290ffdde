// SPDX-License-Identifier: Apache-2.0
// Needs NVRTC, and no GPU: what is compiled is not run here.
#include "tessera/cuda/runtime_kernel.hpp"
#include <gtest/gtest.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include "tessera/core/text/error.hpp"
#include "tessera/formula/emit.hpp"

namespace tessera::cuda {
namespace {

// A cache folder of its own.
class Nvrtc : public testing::Test {
 protected:
  void SetUp() override {
    if (const Reason absent = no_nvrtc()) GTEST_SKIP() << *absent;
    folder_ = testing::TempDir() + "/tessera_nvrtc_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    if (const char* before = std::getenv("XDG_CACHE_HOME")) before_ = before;
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  void TearDown() override {
    if (folder_.empty()) return;
    if (before_.empty()) unsetenv("XDG_CACHE_HOME");
    else setenv("XDG_CACHE_HOME", before_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> out;
    for (const auto& file : std::filesystem::directory_iterator(folder_ + "/tessera/kernels"))
      out.push_back(file.path());
    return out;
  }

 private:
  std::string folder_, before_;
};

std::string kernel(const std::string& body) {
  return "extern \"C\" __global__ void run(float* x) { " + body + " }";
}

TEST_F(Nvrtc, CompilesOnceAndKeepsIt) {
  const Cubin first = compile(kernel("*x = 1;"), "sm_90");
  EXPECT_EQ(first.code.substr(1, 3), "ELF");
  EXPECT_FALSE(first.cached);
  const Cubin again = compile(kernel("*x = 1;"), "sm_90");
  EXPECT_TRUE(again.cached);
  EXPECT_EQ(again.code, first.code);
  EXPECT_FALSE(compile(kernel("*x = 1;"), "sm_80").cached);
  EXPECT_FALSE(compile(kernel("*x = 2;"), "sm_90").cached);
  EXPECT_EQ(files().size(), 3u);
}

TEST_F(Nvrtc, ADamagedFileIsCompiledAgain) {
  const std::string code = compile(kernel("*x = 3;"), "sm_90").code;
  const auto file = files().at(0);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  const Cubin again = compile(kernel("*x = 3;"), "sm_90");
  EXPECT_FALSE(again.cached);
  EXPECT_EQ(again.code, code);
  std::ofstream(file) << "something else";
  EXPECT_FALSE(compile(kernel("*x = 3;"), "sm_90").cached);
  EXPECT_TRUE(compile(kernel("*x = 3;"), "sm_90").cached);
}

TEST_F(Nvrtc, AFileWithOneByteChangedIsCompiledAgain) {
  const std::string code = compile(kernel("*x = 6;"), "sm_90").code;
  const auto file = files().at(0);
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(file));
  for (const std::streamoff at : {size - 1, size - 40, size / 2}) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(at);
    const char changed = static_cast<char>(stream.get() ^ 0x10);
    stream.seekp(at);
    stream.put(changed);
    stream.close();
    const Cubin again = compile(kernel("*x = 6;"), "sm_90");
    EXPECT_FALSE(again.cached) << at << " of " << size;
    EXPECT_EQ(again.code, code);
    EXPECT_TRUE(compile(kernel("*x = 6;"), "sm_90").cached);
  }
}

TEST_F(Nvrtc, CompilesInSeveralThreads) {
  std::vector<std::thread> threads;
  std::vector<std::string> codes(4);
  for (auto& code : codes) threads.emplace_back([&code] { code = compile(kernel("*x = 4;"), "sm_90").code; });
  for (auto& thread : threads) thread.join();
  for (const auto& code : codes) EXPECT_EQ(code, codes[0]);
  EXPECT_EQ(files().size(), 1u) << "nothing unfinished is left";
}

TEST_F(Nvrtc, WorksWithoutACache) {
  setenv("XDG_CACHE_HOME", "/dev/null", 1);
  EXPECT_FALSE(compile(kernel("*x = 5;"), "sm_90").cached);
  EXPECT_FALSE(compile(kernel("*x = 5;"), "sm_90").cached);
}

TEST_F(Nvrtc, ReportsCompilerErrors) {
  try {
    compile(kernel("*x = nothing;"), "sm_90");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("nothing"), std::string::npos);
  }
  EXPECT_THROW(compile(kernel(""), "sm_1"), Error);
}

TEST_F(Nvrtc, EveryFunctionOfFormulasCompiles) {
  using namespace formula;
  const char* const text =
      "exp(x)+exp2(x)+expm1(x)+log(x)+log2(x)+log10(x)+log1p(x)+sin(x)+cos(x)+tan(x)+asin(x)+acos(x)+atan(x)+"
      "sinh(x)+"
      "cosh(x)+tanh(x)+asinh(x)+acosh(x)+atanh(x)+cbrt(x)+pow(x,y)+atan2(x,y)+hypot(x,y)+erf(x)+erfc(x)+"
      "tgamma(x)+lgamma(x)+"
      "j0(x)+j1(x)+y0(x)+y1(x)+fmod(x,y)+round(x)+floor(x)+ceil(x)+trunc(x)+sign(x)+fma(x,y,1)+min(x,y)+max("
      "x,y)+"
      "fmin(x,y)+fmax(x,y)+if(x<y and x<=y or not x==y,x/3,inf)+(x!=y)";
  for (const bool wide : {false, true}) {
    const std::string type = wide ? "double" : "float";
    const std::string function = wide ? source_of(formula::compile<double>(parse(text), {"x", "y"}), "f")
                                      : source_of(formula::compile<float>(parse(text), {"x", "y"}), "f");
    const std::string source = std::string(elementary_source()) + function +
                               "extern \"C\" __global__ void run(" + type + "* x) { x[2] = f(x[0], x[1]); }";
    EXPECT_GT(compile(source, "sm_90").code.size(), 1000u);
  }
}

// Where there is a driver, what was compiled also runs; tests/ on a GPU machine do more.
TEST_F(Nvrtc, WithoutADriverTheReasonIsReported) {
  if (!no_driver()) GTEST_SKIP() << "there is a driver";
  EXPECT_THROW(RuntimeKernel(kernel(""), "run", 90), Error);
}

}  // namespace
}  // namespace tessera::cuda
