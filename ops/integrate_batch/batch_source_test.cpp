// SPDX-License-Identifier: Apache-2.0
// The text for NVRTC. Compiling it needs no GPU; its results are compared on a GPU, bit for bit, with the
// other rungs.
#include "batch_source.hpp"
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <set>
#include "integrate_batch.hpp"
#include "tessera/core/operation/operation.hpp"
#include "tessera/cuda/runtime_kernel.hpp"
#include "tessera/run/run.hpp"

namespace tessera::integrate_batch {
namespace {

std::string source(const char* formula, const char* limits, const char* parameters, Compiled how = {}) {
  const Arguments arguments(
      find_operation("integrate_batch")->signature, Element::f64, {},
      {{"FORMULA", formula}, {"LIMITS", limits}, {"parameters", parameters}, {"n", "10"}});
  return source_of(batch_options_of(arguments), how);
}

TEST(BatchSource, HoldsTheRuleOnceAndTheFormula) {
  const std::string text =
      source("cos(k*x)+w", "0 w", "k=1:2,w=3:4", {.cells = 24, .threads = 96, .resident = 5, .warps = 2});
  for (const char* part :
       {"struct AdaptiveQuadrature {", "double integrand(double x0, double x1, double x2)",
        "double end_of_range(double x0, double x1, double x2)", "constexpr int own_cells = 24;",
        "constexpr int own_threads = 96;", "constexpr int resident = 5;", "constexpr int warps = 2;"}) {
    const std::size_t found = text.find(part);
    ASSERT_NE(found, std::string::npos) << part;
    EXPECT_EQ(text.find(part, found + 1), std::string::npos) << part;
  }
}

TEST(BatchSource, OmitsTheThreadKernelWithoutPerThreadCells) {
  const std::string text = source("x^k", "0 1", "k=1:2", {.cells = 0});
  EXPECT_EQ(text.find("each_alone"), std::string::npos);
  EXPECT_EQ(text.find("struct FewCells"), std::string::npos);
  EXPECT_NE(text.find("together(const Work work"), std::string::npos);
}

TEST(BatchSource, Compiles) {
  if (const Reason absent = cuda::no_nvrtc()) GTEST_SKIP() << *absent;
  EXPECT_FALSE(cuda::compile(source("exp(-abs(x-k)/1e-5)", "k inf", "k=1:2"), "sm_90").code.empty());
  EXPECT_FALSE(cuda::compile(source("abs(x-k)", "-inf inf", "k=1:2", {.cells = 0}), "sm_90").code.empty());
}

// CUDA's extensions of C++, for one thread.
constexpr const char* one_thread = R"(
#include <math.h>
#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
extern "C" { struct { unsigned x; } threadIdx, blockIdx, gridDim; }
static unsigned atomicAdd(unsigned* at, unsigned by) { const unsigned before = *at; *at += by; return before; }
static void __syncwarp() {}
static void __syncthreads() {}
static void __threadfence() {}
template <class T> static T __shfl_sync(unsigned, T value, int) { return value; }
template <class T> static T __shfl_up_sync(unsigned, T value, int) { return value; }
template <class T> static T __shfl_xor_sync(unsigned, T value, int) { return value; }
static unsigned __ballot_sync(unsigned, bool which) { return which; }
)";

void* built(const std::string& source) {
  static int libraries = 0;  // an open library keeps its file
  const std::string path = testing::TempDir() + "/tessera_batch" + std::to_string(libraries++);
  std::ofstream(path + ".cpp") << one_thread << source;
  const std::string command = TESSERA_TEST_CXX " -std=c++17 -O1 -w -ffp-contract=off -fPIC -shared -o " +
                              path + ".so " + path + ".cpp 2>&1";
  if (std::system(command.c_str()) != 0) return nullptr;
  return dlopen((path + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
}

// Runs the kernel for easy integrals thread by thread: it gives the bits of the CPU, and integrals that need
// more cells are queued.
void expect_the_bits(const char* formula, const char* parameters, int own, const char* limits = "-1 w") {
  constexpr std::size_t n = 60;
  Arguments arguments(
      find_operation("integrate_batch")->signature, Element::f64, {},
      {{"FORMULA", formula}, {"LIMITS", limits}, {"parameters", parameters}, {"n", std::to_string(n)}});
  const Outcome done = run(*find_operation("integrate_batch"), arguments,
                           {.device = "cpu", .variant = "naive", .cached = false});
  for (const auto& [name, array] : done.outputs) arguments.set_array(name, array.view());
  const Problem<double> wanted = Problem<double>::of(arguments);
  void* const library = built(source_of(batch_options_of(arguments), {.cells = own}));
  ASSERT_NE(library, nullptr);
  const auto kernel = reinterpret_cast<void (*)(Work, Spare)>(dlsym(library, "each_alone"));
  auto* const block = static_cast<unsigned*>(dlsym(library, "blockIdx"));
  ASSERT_TRUE(kernel != nullptr && block != nullptr);
  Work work = wanted.work;
  std::vector<double> values(n, 7), errors(n, 7);
  std::vector<int> spent(n, 7), whys(n, 7);
  work.values = values.data();
  work.errors = errors.data();
  work.spent = spent.data();
  work.whys = whys.data();
  unsigned counters[3] = {}, waiting[n] = {};
  for (*block = 0; *block < 2; ++*block)
    for (unsigned thread = 0; thread < 128; ++thread) {
      *static_cast<unsigned*>(dlsym(library, "threadIdx")) = thread;
      kernel(work, {counters, waiting, nullptr, 0});
    }
  const std::set<std::size_t> left(waiting, waiting + counters[0]);
  EXPECT_EQ(left.size(), counters[0]);
  for (std::size_t i = 0; i < n; ++i) {
    if (left.contains(i)) {
      EXPECT_TRUE(values[i] == 7 && whys[i] == 7 && wanted.work.spent[i] > own / 2 * pair_cost) << i;
      continue;
    }
    EXPECT_EQ(std::bit_cast<std::uint64_t>(values[i]), std::bit_cast<std::uint64_t>(wanted.work.values[i]))
        << i;
    EXPECT_EQ(std::bit_cast<std::uint64_t>(errors[i]), std::bit_cast<std::uint64_t>(wanted.work.errors[i]))
        << i;
    EXPECT_EQ(spent[i], wanted.work.spent[i]);
    EXPECT_EQ(whys[i], wanted.work.whys[i]);
  }
  EXPECT_TRUE(!left.empty() && left.size() < n) << left.size();
}

TEST(BatchSource, GivesTheBitsOfTheProcessors) {
  expect_the_bits("sqrt(abs(x-k))*cos(20*w*x)", "k=-1.5:1.5,w=0.01:3:log", 12);
}

TEST(BatchSource, GivesTheBitsOfTailsThatOverflow) {
  expect_the_bits("x^(60+k)*exp(-x)*cos(w)", "k=0:50,w=0.01:3:log", 12, "0 inf");
}

}  // namespace
}  // namespace tessera::integrate_batch
