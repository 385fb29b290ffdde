// SPDX-License-Identifier: Apache-2.0
// The operation resize: its arguments, cost, reference, partition and test cases.
#include "resize.hpp"
#include <algorithm>
#include <bit>
#include <cmath>
#include "axis.hpp"
#include "ops/imaging/image_operation.hpp"

namespace tessera::resizing {
namespace {

// The default of --scale: nobody gave it.
constexpr const char* no_scale = "1.0";
constexpr const char *width_by_scale = "from_width * scale", *height_by_scale = "from_height * scale";

// Describes a side. If it is not given, it is the picture's times --scale; without --scale it follows the
// other side and keeps the aspect ratio.
Parameter side(const char* name, const char* value, const std::string& other, const char* help) {
  Parameter out = parameter::dimension(name, value, 1, help);
  out.maximum = longest_side;
  const std::string from = "from_" + std::string(name);
  out.size_from = [name, from, other](const auto&, const Dims& dims, const auto& options) -> std::int64_t {
    const auto given = dims.find(other);
    const std::int64_t old_other = dims.at("from_" + other);
    const std::string& scale = options.at("scale");
    if (given == dims.end() && scale == no_scale && options.at("band").empty())
      throw Error("--width, --height or --scale is missing");
    if ((scale != "1" && scale != no_scale) || !options.at("band").empty() || given == dims.end() ||
        old_other == 0)
      return scaled(dims.at(from), options.at("scale"));
    const double ratio = static_cast<double>(given->second) / static_cast<double>(old_other),
                 pixels = std::round(static_cast<double>(dims.at(from)) * ratio);
    if (pixels > longest_side) throw Error(std::string(name) + " would be more than 2^24");
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(pixels));
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
  scale.value = no_scale;
  scale.minimum = 1e-6;
  scale.maximum = 1000;
  Signature out;
  out.parameters = {
      image,
      side("width", width_by_scale, "height", "pixels of a row of the result; not given: as --height asks"),
      side("height", height_by_scale, "width", "rows of the result; not given: as --width asks"),
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

// Counts a product and a sum per tap, along the rows that are needed and across them.
double flops(const Arguments& arguments) {
  const PlanTable& planned = plan_of(arguments);
  const ResizePlan& plan = planned.plan;
  if (plan.recipe == Recipe::pick || planned.table.empty()) return 0;
  const auto mean_taps = [&](const AxisAt& axis, std::int64_t results) {
    double sum = 0;
    for (std::int64_t i = 0; i < results; ++i) sum += planned.table[static_cast<std::size_t>(axis.count + i)];
    return sum;
  };
  const std::int64_t width = arguments.dim("width"), height = arguments.dim("height");
  const double along = mean_taps(plan.along, width), across = mean_taps(plan.across, height);
  const double lines = std::min(across, static_cast<double>(arguments.dim("from_height")));
  return 2 * (along * lines + across * static_cast<double>(width)) *
         static_cast<double>(arguments.dim("images") * arguments.dim("channels"));
}

// The definition of docs/resize.md, sample by sample: the reference for every rung.
class Definition {
 public:
  explicit Definition(const Arguments& arguments)
      : image_(arguments.array("image")), plan_(plan_of(arguments).plan), table_(plan_of(arguments).table) {}

  double result(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    if (plan_.recipe == Recipe::pick) return stored(n, start(plan_.across, y), start(plan_.along, x), c);
    if (!plan_.premultiply) return finished(n, y, x, c);
    const std::int64_t last = image_.extents[3] - 1;
    return c == last ? finished(n, y, x, c) : divided(n, y, x, c, last);
  }

 private:
  std::int64_t start(const AxisAt& axis, std::int64_t i) const { return entry(axis.start + i); }
  std::int64_t count(const AxisAt& axis, std::int64_t i) const { return entry(axis.count + i); }
  std::int64_t weight(const AxisAt& axis, std::int64_t i, std::int64_t k) const {
    return entry(axis.weight + i * axis.most + k);
  }
  std::int32_t entry(std::int64_t i) const { return table_[static_cast<std::size_t>(i)]; }
  float real_entry(std::int64_t i) const { return std::bit_cast<float>(entry(i)); }
  bool real() const { return plan_.recipe == Recipe::real; }

  double stored(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    return sample_at(image_, {n, y, x, c});
  }

  // Returns an integer if sums are integers, else a value that an f32 holds.
  double number(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    const std::int64_t last = image_.extents[3] - 1;
    double out = stored(n, y, x, c);
    const bool alpha = plan_.premultiply && c == last;
    if (plan_.linear_light && !alpha) out = real_entry(plan_.decode + static_cast<std::int64_t>(out));
    if (!plan_.premultiply || alpha) return out;
    if (real()) return static_cast<float>(out) * static_cast<float>(stored(n, y, x, last));
    return std::floor(out * stored(n, y, x, last) / 255 + 0.5);
  }

  // The weighted sum for sample i of the result along an axis; value(k): sample k of the axis.
  template <class Value>
  double weighted_sum(const AxisAt& axis, std::int64_t i, const Value& value) const {
    const std::int64_t taps = count(axis, i), first = start(axis, i);
    if (real()) {
      float sum = 0;
      for (std::int64_t k = 0; k < taps; ++k) {
        const float product =
            real_entry(axis.weight + i * axis.most + k) * static_cast<float>(value(first + k));
        sum = k == 0 ? product : sum + product;
      }
      return sum;
    }
    double sum = 0;
    for (std::int64_t k = 0; k < taps; ++k)
      sum += value(first + k) * (plan_.recipe == Recipe::mean ? 1 : static_cast<double>(weight(axis, i, k)));
    return sum;
  }

  double along(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    const double sum = weighted_sum(plan_.along, x, [&](std::int64_t col) { return number(n, y, col, c); });
    return plan_.along_shift == 0 ? sum : byte(std::floor(std::ldexp(sum, -plan_.along_shift) + 0.5));
  }

  static double byte(double value) { return std::clamp(value, 0.0, 255.0); }

  double across(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    if (plan_.recipe == Recipe::linear) {
      const std::int64_t last = count(plan_.across, y) - 1, first = start(plan_.across, y);
      const auto cut = [&](std::int64_t k) {  // row k of the pair
        const double sum = std::floor(along(n, first + std::min(k, last), x, c) / 16);
        return std::floor(static_cast<double>(weight(plan_.across, y, k)) * sum / 65536);
      };
      return std::floor((cut(0) + cut(1) + 2) / 4);
    }
    return weighted_sum(plan_.across, y, [&](std::int64_t row) { return along(n, row, x, c); });
  }

  double finished(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    const double sum = across(n, y, x, c);
    const bool alpha = plan_.premultiply && c == image_.extents[3] - 1;
    switch (plan_.recipe) {
      case Recipe::linear:
        return byte(sum);
      case Recipe::whole:
        return byte(std::floor(std::ldexp(sum, -plan_.across_shift) + 0.5));
      case Recipe::mean:
        return plan_.halves_up ? std::floor((sum + 2) / 4) : typed(static_cast<float>(sum) * plan_.share);
      default:
        return plan_.linear_light && !alpha ? code(static_cast<float>(sum)) : typed(static_cast<float>(sum));
    }
  }

  double divided(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c, std::int64_t last) const {
    if (!real()) {
      const double alpha = finished(n, y, x, last), colour = finished(n, y, x, c);
      return alpha == 0 || alpha == 255 ? colour : std::min(255.0, std::floor(255 * colour / alpha));
    }
    const auto sum = static_cast<float>(across(n, y, x, c)),
               alpha = static_cast<float>(across(n, y, x, last));
    const float colour = alpha == 0 ? sum : sum / alpha;
    return plan_.linear_light ? code(colour) : typed(colour);
  }

  double code(float light) const {
    const std::int64_t most = image_.element == Element::u8 ? 255 : 65535;
    std::int64_t out = 0;
    const std::int64_t begin = plan_.encode;
    while (out < most && light >= real_entry(begin + out)) ++out;
    return static_cast<double>(out);
  }

  double typed(float value) const { return nearest_value(image_.element, value); }

  const ArrayView& image_;
  const ResizePlan& plan_;
  const std::vector<std::int32_t>& table_;
};

// Returns the rows of the picture that rows of the result depend on.
Interval rows_read(const PlanTable& planned, std::int64_t height, Interval rows) {
  if (rows.empty() || planned.table.empty()) return {0, height};
  Interval out{height, 0};
  const AxisAt& axis = planned.plan.across;
  for (std::int64_t row = rows.first; row < rows.last; ++row) {
    const std::int64_t first = planned.table[static_cast<std::size_t>(axis.start + row)],
                       count = planned.table[static_cast<std::size_t>(axis.count + row)];
    out = {std::min(out.first, first), std::max(out.last, first + count)};
  }
  return out.empty() ? Interval{0, height} : out;
}

Partition divide(const Arguments& arguments) {
  const PlanTable& planned = plan_of(arguments);
  const std::int64_t height = arguments.dim("from_height");
  const Band band = band_of(arguments);
  return partition_pictures(
      arguments, flops(arguments),
      {.input = "image",
       .output = "resized",
       // The rows of the picture that a part reads beyond its own, counted in rows of the result.
       .halo = planned.plan.across.most * arguments.dim("height") / std::max<std::int64_t>(1, height),
       .rows_read = [arguments,
                     height](Interval rows) { return rows_read(plan_of(arguments), height, rows); },
       .set_options =
           [band](Arguments::Words& words, Interval read, Interval rows) {
             words["height"] = std::to_string(rows.size());
             words["band"] = std::to_string(band.from_first + read.first) + "," +
                             std::to_string(band.from_height) + "," +
                             std::to_string(band.first + rows.first) + "," + std::to_string(band.height);
           }});
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
      made(1, 60, 208, 3, to("98", "28", "cubic", "pillow")),  // rows of full pieces of 16 bytes
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
  out.flops = flops;
  set_checks(
      out, [](const Arguments& arguments) { return Definition(arguments); },
      [](const Arguments& arguments) { resize_simd(arguments, host_threads()); });
  out.cases = cases();
  return out;
}

[[maybe_unused]] const bool resize_registered =
    (register_operation(operation()), register_partition("resize", divide), true);

}  // namespace
}  // namespace tessera::resizing
