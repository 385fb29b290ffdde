// SPDX-License-Identifier: Apache-2.0
// Resizing as an operation: its arguments, what it costs, how it is checked, what to try.
#include "resize.hpp"
#include "reference.hpp"
#include "tessera/core/operation.hpp"
#include "words.hpp"

namespace tessera::resize {
namespace {

constexpr const char *width_by_scale = "from_width * scale", *height_by_scale = "from_height * scale";

Parameter scaled_side(const char* name, const char* value, const char* side, const char* help) {
  Parameter out = parameter::dimension(name, value, 1, help);
  out.size_from = [side](const auto&, const Dims& dims, const auto& words) {
    return scaled(dims.at(side), words.at("scale"));
  };
  return out;
}

Signature signature() {
  using namespace parameter;
  Parameter image = input("image", {"images", "from_height", "from_width", "channels"},
                          "a picture, or several of one size");
  Parameter resized =
      output("resized", {"images", "height", "width", "channels"}, "the same of another size");
  image.picture = resized.picture = Picture::whole;
  Parameter scale = real("scale", 1, "of the sides that are not given");
  scale.minimum = 1e-6;
  scale.maximum = 1000;
  Signature out;
  out.parameters = {
      image,
      scaled_side("width", width_by_scale, "from_width", "pixels of a row of the result"),
      scaled_side("height", height_by_scale, "from_height", "rows of the result"),
      scale,
      text(
          "method", "cubic",
          "nearest, nearest_exact, linear (= bilinear), linear_exact, cubic (= bicubic), lanczos2, lanczos3, "
          "lanczos4, area, box, hamming; lanczos is Pillow's 3, OpenCV's 4"),
      choice("convention", {"pillow", "opencv", "onnx"}, "whose formula: docs/resize.md"),
      text("cubic-a", "auto", "of cubic; auto: -0.5 as in Pillow, -0.75 in OpenCV and ONNX"),
      choice(
          "coordinate",
          {"auto", "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"},
          "onnx: where a result's sample lies in the picture"),
      choice("nearest-mode", {"auto", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"},
             "onnx: which sample is the nearest"),
      choice("antialias", {"auto", "no", "yes"}, "onnx: whether filters are widened where a picture shrinks"),
      choice("exclude-outside", {"no", "yes"}, "onnx: taps outside weigh nothing"),
      text("band", "",
           "where only rows of a picture are given, and only rows of the result are wanted: the first row "
           "given, of how many, the first row wanted, of how many; \"\": all are"),
      choice("light", {"coded", "linear"}, "linear: sums of light, of pictures coded as sRGB (u8, u16)"),
      choice("premultiply", {"auto", "no", "yes"},
             "colours count by the last channel, alpha; auto: pillow's of 2 or 4 channels"),
      resized,
  };
  return out;
}

// A product and a sum for each tap along the rows that are needed, and across them.
double flops(const Arguments& arguments) {
  const auto setting = setting_of(arguments);
  const Plan& plan = setting->plan;
  if (plan.recipe == Recipe::pick || setting->table.empty()) return 0;
  const auto mean_taps = [&](const AxisAt& axis, std::int64_t results) {
    double sum = 0;
    for (std::int64_t i = 0; i < results; ++i)
      sum += setting->table[static_cast<std::size_t>(axis.count + i)];
    return sum;
  };
  const std::int64_t width = arguments.dim("width"), height = arguments.dim("height");
  const double along = mean_taps(plan.along, width), across = mean_taps(plan.across, height);
  const double lines = std::min(across, static_cast<double>(arguments.dim("from_height")));
  return 2 * (along * lines + across * static_cast<double>(width)) *
         static_cast<double>(arguments.dim("images") * arguments.dim("channels"));
}

Case made(std::int64_t images, std::int64_t height, std::int64_t width, std::int64_t channels,
          Arguments::Words words) {
  return {
      .dims = {{"images", images}, {"from_height", height}, {"from_width", width}, {"channels", channels}},
      .words = std::move(words)};
}

Arguments::Words to(const char* width, const char* height, const char* method, const char* convention) {
  return {{"width", width}, {"height", height}, {"method", method}, {"convention", convention}};
}

Arguments::Words with(Arguments::Words words, const char* name, const char* word) {
  words[name] = word;
  return words;
}

std::vector<Case> cases() {
  std::vector<Case> out = {
      made(1, 37, 41, 3, to("19", "17", "linear", "opencv")),
      made(1, 30, 46, 3, to("23", "15", "linear", "opencv")),  // to half: the mean of four
      made(1, 31, 70, 1, to("33", "15", "area", "opencv")),
      made(1, 30, 46, 4, to("23", "10", "area", "opencv")),
      made(1, 13, 17, 3, to("40", "29", "area", "opencv")),
      made(1, 13, 17, 2, to("40", "29", "linear_exact", "opencv")),
      made(2, 33, 61, 3, to("31", "19", "cubic", "opencv")),
      made(1, 9, 21, 3, to("50", "23", "lanczos4", "opencv")),
      made(1, 40, 66, 3, to("31", "19", "cubic", "pillow")),
      made(1, 40, 66, 3, to("33", "20", "lanczos3", "pillow")),
      made(1, 40, 66, 4, to("31", "19", "cubic", "pillow")),
      made(1, 12, 20, 4, with(to("31", "19", "linear", "pillow"), "premultiply", "no")),
      made(1, 70, 90, 1, to("7", "5", "hamming", "pillow")),
      made(1, 70, 90, 3, to("7", "5", "box", "pillow")),
      made(1, 15, 11, 5, to("24", "33", "lanczos2", "pillow")),
      made(1, 25, 130, 3, to("60", "12", "area", "pillow")),
      made(1, 25, 33, 3, to("12", "60", "nearest", "opencv")),
      made(1, 25, 33, 3, to("12", "60", "nearest_exact", "opencv")),
      made(1, 25, 33, 1, to("12", "60", "nearest", "pillow")),
      made(1, 25, 33, 1, with(to("47", "9", "nearest", "onnx"), "nearest-mode", "ceil")),
      made(1, 25, 33, 1, with(to("47", "9", "linear", "onnx"), "coordinate", "align_corners")),
      made(1, 25, 33, 2, with(to("17", "9", "cubic", "onnx"), "antialias", "yes")),
      made(1, 25, 33, 2, with(to("17", "90", "cubic", "onnx"), "exclude-outside", "yes")),
      made(1, 1, 1, 3, to("5", "4", "linear", "opencv")),
      made(1, 1, 1, 1, to("5", "4", "cubic", "pillow")),
      made(1, 200, 3, 1, to("1", "1", "lanczos3", "pillow")),
      made(0, 5, 7, 1, to("3", "3", "cubic", "pillow")),
      made(1, 21, 300, 3, {{"scale", "0.47"}}),
      made(1, 60, 208, 3, to("98", "28", "cubic", "pillow")),  // rows of whole pieces of 16 bytes
      made(2, 70, 112, 3, to("51", "33", "lanczos3", "pillow")),
      made(1, 70, 112, 3, to("53", "34", "lanczos3", "pillow")),
  };
  for (const char* convention : {"pillow", "opencv"}) {
    Case light = made(1, 21, 34, 3, with(to("13", "30", "linear", convention), "light", "linear"));
    light.elements = {Element::u8, Element::u16};
    out.push_back(light);
  }
  Case covered = made(1, 21, 34, 4, with(to("13", "12", "cubic", "pillow"), "light", "linear"));
  covered.elements = {Element::u8};
  out.push_back(covered);
  return out;
}

Operation operation() {
  Operation out;
  out.name = "resize";
  out.summary = "a picture of another size, as OpenCV, Pillow or ONNX would make it";
  out.signature = signature();
  out.elements = {Element::u8, Element::u16, Element::i16, Element::f16, Element::f32};
  out.output = "resized";
  out.row_dimensions = 2;
  out.flops = flops;
  out.reference = reference;
  out.suspect_rows = suspect_rows;
  out.cases = cases();
  return out;
}

[[maybe_unused]] const bool resize_registered = (register_operation(operation()), true);

}  // namespace
}  // namespace tessera::resize
