// SPDX-License-Identifier: Apache-2.0
// GPU baseline: NPP's nppiResize of u8, u16, i16 and f32, one, three or four channels.
//
// NPP states no formula, and widens no filter but its "super sampling", which stands for area here: only
// times are compared.
#include "ops/imaging/npp.cuh"
#include "resize.hpp"
#include "tessera/rung.hpp"
#include "axis.hpp"

namespace tessera::resize {
namespace {

namespace npp = imaging::npp;

struct Rectangle {
  int x, y, width, height;
};

// Source, its pitch in bytes, its size and region; the same of the result; the method.
using Resize = int(const void*, int, npp::Size, Rectangle, void*, int, npp::Size, Rectangle, int,
                   npp::StreamContext);

const npp::Library& geometry() {
  static const npp::Library loaded("libnppig");
  return loaded;
}

// As NPP's own enumeration counts; 0: it has none.
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
  const auto pitch = [](std::int64_t samples) {
    return static_cast<int>(samples * static_cast<std::int64_t>(sizeof(T)));
  };
  for (std::int64_t n = 0; n < p.images(); ++n) {
    const int status =
        function(p.image.data + n * p.image.stride[0], pitch(p.image.stride[1]),
                 {p.from_cols(), p.from_rows()}, {0, 0, p.from_cols(), p.from_rows()},
                 p.resized.data + n * p.resized.stride[0], pitch(p.resized.stride[1]), {p.cols(), p.rows()},
                 {0, 0, p.cols(), p.rows()}, method_of(arguments), context);
    if (status != 0) throw Error(Error::Kind::internal, "NPP: status " + std::to_string(status));
  }
}

template <class T>
bool packed(const Arguments& arguments) {
  return Problem<T>::of(arguments).packed();
}

Reason refuses(const Arguments& arguments, const Tuning&, const Device&) {
  const std::int64_t channels = arguments.dim("channels");
  if (channels != 1 && channels != 3 && channels != 4) return "is for 1, 3 or 4 channels";
  if (arguments.array("resized").count() == 0) return "makes no empty picture";
  if (!arguments.text("band").empty()) return "does not support bands";
  if (method_of(arguments) == 0) return "NPP has no such filter";
  const bool side_by_side = arguments.element() == Element::u8    ? packed<std::uint8_t>(arguments)
                            : arguments.element() == Element::u16 ? packed<std::uint16_t>(arguments)
                            : arguments.element() == Element::i16 ? packed<std::int16_t>(arguments)
                                                                  : packed<float>(arguments);
  if (!side_by_side) return "is for pixels side by side";
  if (function_of(arguments) == nullptr) return "this NPP lacks the function";
  return std::nullopt;
}

Variant variant() {
  Choice choice;
  choice.prepare[Element::u8] = unplanned(run_npp<std::uint8_t>);
  choice.prepare[Element::u16] = unplanned(run_npp<std::uint16_t>);
  choice.prepare[Element::i16] = unplanned(run_npp<std::int16_t>);
  choice.prepare[Element::f32] = unplanned(run_npp<float>);
  choice.refuses = refuses;
  Variant out;
  out.idea = "NPP's resize";
  out.where = Where::cuda;
  out.baseline = true;
  out.compares_time_only = true;
  out.needs = [](const Device&) -> Reason {
    if (geometry().found()) return std::nullopt;
    return "NPP was not found (libnppig.so.13 or .12)";
  };
  out.choices = {choice};
  return out;
}

const Rung rung(variant());

}  // namespace
}  // namespace tessera::resize
