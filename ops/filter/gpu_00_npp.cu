// SPDX-License-Identifier: Apache-2.0
// GPU baseline: NPP's Laplacian of 3 × 3 and its Gaussians, of u8 and f32, one or three channels.
//
// Up to 15 × 15, a Gaussian is one of NPP's own. Beyond that, NPP takes the caller's weights of a separable
// kernel. NPP documents no formula, and its functions support only the replicated border, so only times are
// compared.
#include <bit>
#include "filter.hpp"
#include "ops/imaging/npp.cuh"
#include "tessera/cuda/resources.hpp"

namespace tessera::filtering {
namespace {

namespace npp = imaging::npp;

template <class F>
F* function_of(const Arguments& arguments, const std::string& kind) {
  const bool bytes = arguments.element() == Element::u8;
  return npp::filters().function<F>("nppiFilter" + kind + (bytes ? "_8u" : "_32f") + "_C" +
                                    std::to_string(arguments.dim("channels")) + "R_Ctx");
}

// The last arguments: the number of taps and the weights of one axis, floats in device memory.
using ByWeights = int(const void*, int, npp::Size, npp::Point, void*, int, npp::Size, int, const float*, int,
                      npp::StreamContext);

inline ByWeights* by_weights(const Arguments& arguments) {
  return function_of<ByWeights>(arguments, "GaussAdvancedBorder");
}

struct Weights {
  int count;
  float of_tap[max_taps];
};

inline Weights weights_of(const Taps& taps) {
  constexpr float one = 256;  // unit of integer weights
  Weights out = {.count = taps.cols, .of_tap = {}};
  for (int j = 0; j < taps.cols; ++j)
    out.of_tap[j] = taps.whole ? static_cast<float>(taps.row[j]) / one : std::bit_cast<float>(taps.row[j]);
  return out;
}

// Stores weights that are passed by value, so that the stream reads no host memory later.
static __global__ void put_weights(Weights weights, float* to) {
  const auto tap = static_cast<int>(threadIdx.x);
  if (tap < weights.count) to[tap] = weights.of_tap[tap];
}

bool is_gaussian(const Arguments& arguments) { return arguments.text("kernel") == "gaussian"; }

// 0: NPP has no such mask.
int mask_of(const Arguments& arguments) {
  const std::int64_t taps = is_gaussian(arguments) ? arguments.integer("size") : 3;
  return taps >= 3 && taps <= 15 ? npp::masks[(taps - 3) / 2] : 0;
}

npp::Filter* function_of(const Arguments& arguments) {
  return function_of<npp::Filter>(arguments, is_gaussian(arguments) ? "GaussBorder" : "LaplaceBorder");
}

bool brings_weights(const Arguments& arguments) {
  constexpr int max_own_taps = 15;
  return is_gaussian(arguments) && arguments.integer("size") > max_own_taps;
}

template <class T>
void run_npp(const Arguments& arguments, const Tuning&, Run& run) {
  const auto p = Problem<T>::of(arguments);
  const npp::StreamContext context = npp::context_of(run);
  if (brings_weights(arguments)) {
    put_weights<<<1, max_taps, 0, context.stream>>>(weights_of(p.taps), static_cast<float*>(run.workspace));
    cuda::check(cudaGetLastError());
  }
  const int from_pitch = npp::pitch_of<T>(p.image.stride[1]),
            to_pitch = npp::pitch_of<T>(p.filtered.stride[1]);
  const npp::Size whole = {p.width(), p.height()}, region = {p.cols(), p.rows()};
  const npp::Point start = {p.roi_x, p.roi_y};
  for (std::int64_t n = 0; n < p.images(); ++n) {
    const T* const from =
        p.image.data + n * p.image.stride[0] + p.roi_y * p.image.stride[1] + p.roi_x * p.channels();
    T* const to = reinterpret_cast<T*>(p.filtered.data) + n * p.filtered.stride[0];
    const int status =
        brings_weights(arguments)
            ? by_weights(arguments)(from, from_pitch, whole, start, to, to_pitch, region, p.taps.cols,
                                    static_cast<const float*>(run.workspace), npp::border_replicate, context)
            : function_of(arguments)(from, from_pitch, whole, start, to, to_pitch, region, mask_of(arguments),
                                     npp::border_replicate, context);
    npp::check(status);
  }
}

Reason refuses(const Arguments& arguments, const Tuning&, const Device&) {
  if (!is_gaussian(arguments) && !arguments.text("kernel").starts_with("laplacian"))
    return "is for Laplacians and Gaussians";
  if (mask_of(arguments) == 0 && !brings_weights(arguments)) return "has Gaussians of 3 taps and more";
  if (const Reason gaps = npp::refuses_gaps<Problem>(arguments)) return gaps;
  if (options_of(arguments).to != arguments.element()) return "is for results of the picture's type";
  if (arguments.dim("channels") != 1 && arguments.dim("channels") != 3) return "is for 1 or 3 channels";
  const bool is_available =
      brings_weights(arguments) ? by_weights(arguments) != nullptr : function_of(arguments) != nullptr;
  if (!is_available) return "this NPP lacks the function";
  return std::nullopt;
}

Choice by_npp() {
  Choice choice;
  const auto bytes = [](const Arguments& arguments, const Tuning&) {
    return brings_weights(arguments) ? sizeof(float) * max_taps : 0;
  };
  choice.prepare[Element::u8] = without_plan(run_npp<std::uint8_t>, bytes);
  choice.prepare[Element::f32] = without_plan(run_npp<float>, bytes);
  choice.refuses = refuses;
  return choice;
}

const Rung rung(timed_baseline("NPP's Laplacian and Gaussians, with the border replicated", Where::cuda,
                               {by_npp()}, [](const Device&) { return npp::filters().missing(); }));

}  // namespace
}  // namespace tessera::filtering
