// SPDX-License-Identifier: Apache-2.0
// The text that NVRTC is given for VEGAS: it compiles, and compiled for the host, thread by thread, it gives
// the bits of the processors.
#include "ops/integrate/kernels/compiled_source.hpp"
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <cstdlib>
#include <fstream>
#include "ops/integrate/quadrature/formula/formula_integrand.hpp"
#include "tessera/cuda/runtime_kernel.hpp"
#include "ops/integrate/kernels/vegas_run.hpp"

namespace tessera::integration {
namespace {

TEST(VegasSource, Compiles) {
  if (const tessera::Reason absent = cuda::no_nvrtc()) GTEST_SKIP() << *absent;
  for (const char* text : {"exp(x*y)", "x<0.5 ? sin(x+y) : 0"}) {
    const auto program = formula::compile<double>(formula::parse(text), {"x", "y"});
    EXPECT_GT(cuda::compile(vegas_source_of(program), "sm_90").code.size(), 1000u) << text;
  }
}

TEST(VegasSource, KnowsTheNumberOfAxes) {
  const std::string text =
      vegas_source_of(formula::compile<double>(formula::parse("x+y+z"), {"x", "y", "z"}));
  EXPECT_NE(text.find("constexpr int axes = 3,"), std::string::npos);
  EXPECT_NE(text.find("integrand(x[0], x[1], x[2])"), std::string::npos);
}

// What CUDA has and C++ has not, for blocks of one thread.
constexpr const char* one_thread = R"(
#include <math.h>
#define __device__
#define __global__
#define __grid_constant__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
extern "C" { struct { unsigned x; } threadIdx, blockIdx, gridDim; }
static void __syncthreads() {}
static unsigned long long atomicAdd(unsigned long long* at, unsigned long long by) {
  const unsigned long long before = *at;
  *at += by;
  return before;
}
)";

using Kernel = void (*)(VegasPlan, VegasTasks, const double*, const VegasAxis*, VegasSums*, u32*, u64*, u64*);

struct Built {
  Kernel kernel = nullptr;
  unsigned *block = nullptr, *grid = nullptr;
};

Built built(const std::string& source) {
  const std::string path = testing::TempDir() + "/tessera_vegas";
  std::ofstream(path + ".cpp") << one_thread << source;
  const std::string command = TESSERA_TEST_CXX " -std=c++20 -O1 -w -ffp-contract=off -fPIC -shared -o " +
                              path + ".so " + path + ".cpp 2>&1";
  if (std::system(command.c_str()) != 0) return {};
  void* const library = dlopen((path + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  const auto word = [library](const char* name) { return static_cast<unsigned*>(dlsym(library, name)); };
  return {reinterpret_cast<Kernel>(dlsym(library, "vegas_sample")), word("blockIdx"), word("gridDim")};
}

TEST(VegasSource, GivesTheBitsOfTheProcessors) {
  const char* const text = "x<0.3 ? sqrt(y*abs(z)) : exp(-y*w)/(0.01+(z-0.5)^2)";
  const std::vector<std::string> variables{"x", "y", "z", "w"};
  const auto tree = formula::parse(text);
  const Built code = built(vegas_source_of(formula::compile<double>(tree, variables), 1));
  ASSERT_TRUE(code.kernel != nullptr && code.block != nullptr && code.grid != nullptr);
  *code.grid = 3;
  const auto sample = [&code](const VegasFrame& f, std::int64_t, tessera::Run&) {
    for (*code.block = 0; *code.block < *code.grid; ++*code.block)
      code.kernel(f.plan, f.tasks, f.edges, f.axes, f.sums, f.cube_of_task, f.weights, &f.left->holes);
  };
  const Device device = host_device(Where::simt);
  tessera::Run run{.device = &device};
  const auto answer = [&](const quadrature::VegasEngineFor& engine) {
    const quadrature::Box box{{{0, 0.7}, {0, 1.1}, {-1, 1.3}, {0, quadrature::infinity}}};
    quadrature::UnitCube cube(quadrature::batch_integrand_of(tree, variables), box, {.evaluations = 150'000});
    return quadrature::vegas(cube, {.relative = 1e-3}, {.seed = 5, .engine = engine});
  };
  const quadrature::Answer processors = answer({}),
                           compiled = answer([&](const quadrature::UnitCube&cube) {
                             return std::make_unique<VegasOnDevice<std::decay_t<decltype(sample)>>>(cube, run,
                                                                                                    sample);
                           });
  EXPECT_EQ(compiled.value, processors.value);
  EXPECT_EQ(compiled.truncation, processors.truncation);
  EXPECT_EQ(compiled.evaluations, processors.evaluations);
  EXPECT_EQ(compiled.reason, processors.reason);
  EXPECT_GT(processors.evaluations, 50'000);
}

}  // namespace
}  // namespace tessera::integration
