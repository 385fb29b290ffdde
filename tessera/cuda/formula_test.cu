// SPDX-License-Identifier: Apache-2.0
// Formulas on a GPU, interpreted by a kernel and compiled at run time: the bits of the host's.
#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include "tessera/cuda/resources.hpp"
#include "tessera/cuda/gpus.hpp"
#include "tessera/cuda/runtime_kernel.hpp"
#include "tessera/formula/emit.hpp"
#include "tessera/formula/evaluate.hpp"
#include "tessera/formula/interpret.hpp"

namespace tessera::formula {
namespace {

constexpr int points = 8192, inputs = 3;

template <class T>
__global__ void interpret_all(const Program<T> program, const T* x, T* y) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const T at[inputs] = {x[i], x[points + i], x[2 * points + i]};
  y[i] = interpret(program, at);
}

// Ordinary numbers, numbers of any size, any bits.
template <class T>
std::vector<T> numbers() {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<T> out;
  while (out.size() < points * inputs) {
    T any;
    const auto bits = random();
    std::memcpy(&any, &bits, sizeof any);
    switch (random() % 4) {
      case 0:
        out.push_back(any);
        break;
      case 1:
        out.push_back(static_cast<T>(std::exp2(60 * unit(random) - 30)));
        break;
      case 2:
        out.push_back(static_cast<T>(random() % 9) / 2 - 2);
        break;
      default:
        out.push_back(static_cast<T>(8 * unit(random) - 4));
    }
  }
  return out;
}

template <class T>
class OnGpu {
 public:
  OnGpu() : host_(numbers<T>()), x_(host_.size() * sizeof(T)), y_(points * sizeof(T)) {
    cuda::check(cudaMemcpy(x_.get(), host_.data(), host_.size() * sizeof(T), cudaMemcpyHostToDevice));
    cudaDeviceProp properties{};
    cuda::check(cudaGetDeviceProperties(&properties, 0));
    capability_ = 10 * properties.major + properties.minor;
  }

  void expect_same_bits(const Program<T>& program, const std::string& name) {
    std::vector<T> want(points);
    const Input<T> at[] = {{host_.data()}, {host_.data() + points}, {host_.data() + 2 * points}};
    evaluate_many<T>(program, at, points, want.data());
    interpret_all<T><<<points / 128, 128>>>(program, x(), y());
    cuda::check(cudaGetLastError());
    compare(want, name + " interpreted");
    if (cuda::no_nvrtc() || cuda::no_driver()) return;
    const std::string type = sizeof(T) == 4 ? "float" : "double", n = std::to_string(points);
    const cuda::RuntimeKernel kernel(
        std::string(elementary_source()) + source_of(program, "f") +
            "extern \"C\" __global__ void run(const " + type + "* x, " + type +
            "* y) { const int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = f(x[i], x[" + n +
            " + i], x[2 * " + n + " + i]); }",
        "run", capability_);
    kernel.launch({.grid = {points / 128}, .block = {128}}, 0, nullptr, static_cast<const T*>(x()), y());
    compare(want, name + " compiled");
    EXPECT_GT(kernel.registers(), 0);
  }

 private:
  T* x() { return static_cast<T*>(x_.get()); }
  T* y() { return static_cast<T*>(y_.get()); }

  void compare(const std::vector<T>& want, const std::string& name) {
    std::vector<T> got(points);
    cuda::check(cudaMemcpy(got.data(), y_.get(), points * sizeof(T), cudaMemcpyDeviceToHost));
    for (int i = 0; i < points; ++i) {
      const bool same =
          std::memcmp(&got[i], &want[i], sizeof(T)) == 0 || (std::isnan(got[i]) && std::isnan(want[i]));
      ASSERT_TRUE(same) << name << "(" << host_[i] << ", " << host_[points + i] << ", "
                        << host_[2 * points + i] << ") of " << sizeof(T) << " bytes: " << got[i] << ", not "
                        << want[i];
    }
    cuda::check(cudaMemset(y_.get(), 0xff, points * sizeof(T)));
  }

  std::vector<T> host_;
  cuda::DeviceBuffer x_, y_;
  int capability_ = 0;
};

template <class T>
void expect_every_operator() {
  OnGpu<T> gpu;
  const auto check = [&](Op op, const char* name) {
    Program<T> program;
    program.input_count = inputs;
    program.register_count = 1;
    program.step_count = 1;
    program.steps[0] = {op, first_input, first_input + 1, first_input + 2, 0};
    gpu.expect_same_bits(program, name);
  };
#define TESSERA_FORMULA_CHECK(name) check(Op::name, #name);
  TESSERA_FORMULA_EXACT_1(TESSERA_FORMULA_CHECK)
  TESSERA_FORMULA_EXACT_2(TESSERA_FORMULA_CHECK)
  TESSERA_FORMULA_EXACT_3(TESSERA_FORMULA_CHECK)
  TESSERA_FORMULA_OWN_1(TESSERA_FORMULA_CHECK)
  TESSERA_FORMULA_OWN_2(TESSERA_FORMULA_CHECK)
#undef TESSERA_FORMULA_CHECK
  const std::vector<std::string> names{"x", "y", "z"};
  for (const char* text : {"sqrt(1-x^2)", "x<y ? sin(x)*exp(-y^2) : log(abs(z))+x^-3", "hypot(x,y)^z/3"})
    gpu.expect_same_bits(compile<T>(parse(text), names), text);
}

TEST(CudaFormula, TheBitsOfTheHostInDouble) {
  if (const auto found = cuda::find_devices(); found.devices.empty()) GTEST_SKIP() << found.unusable;
  expect_every_operator<double>();
}
TEST(CudaFormula, TheBitsOfTheHostInFloat) {
  if (const auto found = cuda::find_devices(); found.devices.empty()) GTEST_SKIP() << found.unusable;
  expect_every_operator<float>();
}

}  // namespace
}  // namespace tessera::formula
