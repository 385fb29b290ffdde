// SPDX-License-Identifier: Apache-2.0
// GPU baseline: NPP's nppiResize of u8, u16, i16 and f32, one, three or four channels.
//
// NPP documents no formula and widens only its "super sampling" filter, which is used for area here, so only
// times are compared.
#include "ops/imaging/npp.cuh"
#include "resize.hpp"
#include "axis.hpp"

namespace tessera::resizing {
namespace {

namespace npp = imaging::npp;

struct Rectangle {
  int x, y, width, height;
};

// Source, its pitch in bytes, its size and region; the same four for the result; the method.
using Resize = int(const void*, int, npp::Size, Rectangle, void*, int, npp::Size, Rectangle, int,
                   npp::StreamContext);

const npp::Library& geometry() {
  static const npp::Library loaded("libnppig");
  return loaded;
}

// Returns the value of NPP's enumeration; 0: NPP has no such method.
int method_of(const Arguments& arguments) {
  switch (options_of(arguments).method) {
    case Method::nearest:
      return 1;
    case Method::linear:
      return 2;
    case Method::cubic:
      return 4;
    case Method::area:
      return 8;
    case Method::lanczos3:
    case Method::lanczos4:
      return 16;
    default:
      return 0;
  }
}

Resize* function_of(const Arguments& arguments) {
  std::string type = "32f";
  if (arguments.element() == Element::u8) type = "8u";
  if (arguments.element() == Element::u16) type = "16u";
  if (arguments.element() == Element::i16) type = "16s";
  return geometry().function<Resize>("nppiResize_" + type + "_C" + std::to_string(arguments.dim("channels")) +
                                     "R_Ctx");
}

template <class T>
void run_npp(const Arguments& arguments, const Tuning&, Run& run) {
  const auto p = Problem<T>::of(arguments);
  const npp::StreamContext context = npp::context_of(run);
  Resize* const function = function_of(arguments);
  for (std::int64_t n = 0; n < p.images(); ++n)
    npp::check(function(p.image.data + n * p.image.stride[0], npp::pitch_of<T>(p.image.stride[1]),
                        {p.from_cols(), p.from_rows()}, {0, 0, p.from_cols(), p.from_rows()},
                        p.resized.data + n * p.resized.stride[0], npp::pitch_of<T>(p.resized.stride[1]),
                        {p.cols(), p.rows()}, {0, 0, p.cols(), p.rows()}, method_of(arguments), context));
}

Reason refuses(const Arguments& arguments, const Tuning&, const Device&) {
  const std::int64_t channels = arguments.dim("channels");
  if (channels != 1 && channels != 3 && channels != 4) return "is for 1, 3 or 4 channels";
  if (arguments.array("resized").count() == 0) return "makes no empty picture";
  if (!arguments.text("band").empty()) return "does not support bands";
  if (method_of(arguments) == 0) return "NPP has no such filter";
  if (const Reason gaps = npp::refuses_gaps<Problem>(arguments)) return gaps;
  if (function_of(arguments) == nullptr) return "this NPP lacks the function";
  return std::nullopt;
}

Choice by_npp() {
  Choice choice;
  choice.prepare[Element::u8] = without_plan(run_npp<std::uint8_t>);
  choice.prepare[Element::u16] = without_plan(run_npp<std::uint16_t>);
  choice.prepare[Element::i16] = without_plan(run_npp<std::int16_t>);
  choice.prepare[Element::f32] = without_plan(run_npp<float>);
  choice.refuses = refuses;
  return choice;
}

const Rung rung(timed_baseline("NPP's resize", Where::cuda, {by_npp()},
                               [](const Device&) { return geometry().missing(); }));

}  // namespace
}  // namespace tessera::resizing
