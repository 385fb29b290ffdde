// SPDX-License-Identifier: Apache-2.0
// GPU yardstick: NPP's Laplacian of 3 × 3 and its Gaussians up to 15 × 15, of u8 and f32, one or three
// channels.
//
// NPP states no formula for either, and its functions know the replicated border alone: only times are
// compared.
#include "filter.hpp"
#include "npp.cuh"
#include "tessera/cuda/check.hpp"
#include "tessera/rung.hpp"

namespace tessera::filter {
namespace {

bool is_gaussian(const Arguments& arguments) { return arguments.text("kernel") == "gaussian"; }

int mask_of(const Arguments& arguments) {
  if (!is_gaussian(arguments)) return npp::mask_3x3;
  switch (arguments.integer("size")) {
    case 3:
      return npp::mask_3x3;
    case 5:
      return npp::mask_5x5;
    case 7:
      return npp::mask_7x7;
    case 9:
      return npp::mask_9x9;
    case 11:
      return npp::mask_11x11;
    case 13:
      return npp::mask_13x13;
    case 15:
      return npp::mask_15x15;
    default:
      return 0;
  }
}

npp::Filter* function_of(const Arguments& arguments) {
  const std::string kind = is_gaussian(arguments) ? "Gauss" : "Laplace";
  const std::string type = arguments.element() == Element::u8 ? "8u" : "32f";
  return npp::filters().function<npp::Filter>("nppiFilter" + kind + "Border_" + type + "_C" +
                                              std::to_string(arguments.dim("channels")) + "R_Ctx");
}

template <class T>
void run_npp(const Arguments& arguments, const Tuning&, Run& run) {
  const auto p = Problem<T>::of(arguments);
  const npp::StreamContext context = npp::context_of(run);
  npp::Filter* const function = function_of(arguments);
  const int from_pitch = static_cast<int>(p.image.stride[1] * static_cast<std::int64_t>(sizeof(T))),
            to_pitch = static_cast<int>(p.filtered.stride[1] * static_cast<std::int64_t>(sizeof(T)));
  for (std::int64_t n = 0; n < p.images(); ++n) {
    const T* const from =
        p.image.data + n * p.image.stride[0] + p.roi_y * p.image.stride[1] + p.roi_x * p.channels();
    T* const to = reinterpret_cast<T*>(p.filtered.data) + n * p.filtered.stride[0];
    const npp::Size whole = {p.width(), p.height()}, region = {p.cols(), p.rows()};
    const npp::Point start = {p.roi_x, p.roi_y};
    const int status = function(from, from_pitch, whole, start, to, to_pitch, region, mask_of(arguments),
                                npp::border_replicate, context);
    if (status != 0) throw Error(Error::Kind::internal, "NPP: status " + std::to_string(status));
  }
}

Reason refuses(const Arguments& arguments, const Tuning&, const Device&) {
  if (!is_gaussian(arguments) && !arguments.text("kernel").starts_with("laplacian"))
    return "is for Laplacians and Gaussians";
  if (mask_of(arguments) == 0) return "has Gaussians of 3 to 15 taps, odd";
  const bool packed = arguments.element() == Element::u8 ? Problem<std::uint8_t>::of(arguments).packed()
                                                         : Problem<float>::of(arguments).packed();
  if (!packed) return "is for pixels side by side";
  if (setting_of(arguments)->to != arguments.element()) return "is for results of the picture's type";
  if (arguments.dim("channels") != 1 && arguments.dim("channels") != 3) return "is for 1 or 3 channels";
  if (function_of(arguments) == nullptr) return "this NPP lacks the function";
  return std::nullopt;
}

Variant variant() {
  Choice choice;
  choice.run[Element::u8] = run_npp<std::uint8_t>;
  choice.run[Element::f32] = run_npp<float>;
  choice.refuses = refuses;
  Variant out;
  out.idea = "NPP's Laplacian and Gaussians, with the border replicated";
  out.where = Where::cuda;
  out.yardstick = true;
  out.compares_time_only = true;
  out.needs = [](const Device&) -> Reason {
    if (npp::filters().found()) return std::nullopt;
    return "NPP was not found (libnppif.so.13 or .12)";
  };
  out.choices = {choice};
  return out;
}

const Rung rung(variant());

}  // namespace
}  // namespace tessera::filter
