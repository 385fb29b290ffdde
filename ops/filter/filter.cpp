// SPDX-License-Identifier: Apache-2.0
// The operation filter: its arguments, cost, reference, partition and test cases.
#include "filter.hpp"
#include <algorithm>
#include <bit>
#include <cmath>
#include "ops/imaging/image_operation.hpp"
#include "tessera/core/device/device.hpp"

namespace tessera::filtering {
namespace {

Signature signature() {
  using namespace parameter;
  Parameter image =
      input("image", {"images", "height", "width", "channels"}, "a picture, or several of one size");
  Parameter filtered =
      output("filtered", {"images", "roi_height", "roi_width", "channels"}, "the weighted sums");
  image.picture = filtered.picture = Picture::colour;
  filtered.element_from = element_of_result;
  Signature out;
  out.parameters = {
      image,
      text("kernel", "laplacian",
           "laplacian4 (= laplacian), laplacian8, laplacian_ksize3, gaussian, box, sobel_x, sobel_y, "
           "scharr_x, scharr_y, sharpen; "
           "weights as in \"1 2 1; 2 4 2; 1 2 1\"; or a .npy file; up to 31 × 31"),
      integer("size", 3, 1, max_taps, "of gaussian and box: taps along a side"),
      real("sigma", 0, "of gaussian, in pixels; 0: 0.3·((size − 1)/2 − 1) + 0.8"),
      choice("mode", {"correlation", "convolution"}, "convolution: the kernel turned by half a turn"),
      text("border", "reflect_101",
           "constant, replicate, reflect, reflect_101 or wrap, or what OpenCV, SciPy and NPP call them"),
      real("border-value", 0, "what lies around the picture where the border is constant"),
      choice("abs", {"no", "yes"}, "the magnitude of each sum"),
      real("scale", 1, "a factor of each sum"),
      real("offset", 0, "added to each sum"),
      choice("output-element", {"same", "u8", "u16", "i16", "s16", "f16", "f32"},
             "the result's type; whole numbers are rounded and saturate"),
      integer("roi_x", 0, 0, std::int64_t{1} << 30, "the region of interest: its first column"),
      integer("roi_y", 0, 0, std::int64_t{1} << 30, "its first row"),
      dimension("roi_width", "width - roi_x", 0, "its columns"),
      dimension("roi_height", "height - roi_y", 0, "its rows"),
      filtered,
  };
  for (Parameter& p : out.parameters) {
    if (p.name == "sigma") p.minimum = 0;
    if (p.name == "kernel") p.reads_contents = [](const std::string& word) { return word.ends_with(".npy"); };
  }
  return out;
}

// Counts a product and a sum per tap; for a column times a row, per tap of both.
double flops(const Arguments& arguments) {
  const Options& options = options_of(arguments);
  const Taps& taps = options.taps;
  int needed = taps.rows + taps.cols;
  if (!taps.separable) {
    needed = 0;
    for (int i = 0; i < taps.rows * taps.cols; ++i) needed += taps.weight[i] != 0 ? 1 : 0;
  }
  double out = 2 * needed;
  for (const char* size : {"images", "roi_height", "roi_width", "channels"})
    out *= static_cast<double>(arguments.dim(size));
  return out;
}

// The definition of docs/filter.md, sample by sample: the reference for every rung.
class Definition {
 public:
  explicit Definition(const Arguments& arguments)
      : image_(arguments.array("image")), options_(options_of(arguments)) {}

  double result(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    const Taps& t = options_.taps;
    const auto at = [&](int i, int j) {
      return sample(n, y + options_.roi_y - t.above + i, x + options_.roi_x - t.left + j, c);
    };
    return t.whole ? finish_whole(whole_sum(at)) : finish_float(float_sum(at));
  }

 private:
  double sample(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    const std::int64_t row = folded(y, image_.extents[1], options_.border),
                       col = folded(x, image_.extents[2], options_.border);
    if (row < 0 || col < 0)
      return image_.element == Element::f16
                 ? static_cast<float>(f16::from(static_cast<float>(options_.outside)))
                 : static_cast<float>(options_.outside);
    return sample_at(image_, {n, row, col, c});
  }

  static float weight(std::int32_t stored) { return std::bit_cast<float>(stored); }

  template <class At>
  std::int64_t whole_sum(const At& at) const {
    std::int64_t sum = 0;
    for (int i = 0; i < options_.taps.rows; ++i)
      for (int j = 0; j < options_.taps.cols; ++j)
        sum += std::int64_t{options_.taps.weight[i * options_.taps.cols + j]} *
               static_cast<std::int64_t>(at(i, j));
    return sum;
  }

  // Adds the taps of row i of the kernel, from the left.
  template <class At>
  float row_sum(const std::int32_t* weights, int i, const At& at, float sum) const {
    for (int j = 0; j < options_.taps.cols; ++j)
      if (const float w = weight(weights[j]); w != 0) sum = std::fma(w, static_cast<float>(at(i, j)), sum);
    return sum;
  }

  template <class At>
  float float_sum(const At& at) const {
    const Taps& t = options_.taps;
    float sum = 0;
    for (int i = 0; i < t.rows; ++i)
      if (!t.separable) sum = row_sum(t.weight + i * t.cols, i, at, sum);
      else if (const float w = weight(t.column[i]); w != 0) sum = std::fma(w, row_sum(t.row, i, at, 0), sum);
    return sum;
  }

  double finish_whole(std::int64_t sum) const {
    const OutputConversion& f = options_.conversion;
    if (!f.whole) return finish_float(static_cast<float>(sum));
    const std::int64_t magnitude = f.absolute ? std::llabs(sum) : sum;
    const double rounded =
        std::floor(static_cast<double>(magnitude) / std::ldexp(1.0, f.shift) + (f.shift > 0 ? 0.5 : 0.0));
    return stored(rounded + f.whole_offset);
  }

  double finish_float(float sum) const {
    const OutputConversion& f = options_.conversion;
    const float magnitude = f.absolute ? std::fabs(sum) : sum;
    return stored(f.scaled ? std::fma(magnitude, f.scale, f.offset) : magnitude);
  }

  double stored(double value) const { return nearest_value(options_.to, value); }

  const ArrayView& image_;
  const Options& options_;
};

// Returns the rows of the picture that `rows` of the result read. Taps beyond an edge read the samples that
// the border mode selects, perhaps at the other edge.
Interval rows_read(const Options& options, std::int64_t height, Interval rows) {
  if (rows.empty()) return {0, height};
  const Interval own{rows.first + options.roi_y, rows.last + options.roi_y};
  const Interval reached{own.first - options.taps.above,
                         own.last + options.taps.rows - 1 - options.taps.above};
  Interval out{std::clamp<std::int64_t>(reached.first, 0, own.first),
               std::clamp(reached.last, own.last, height)};
  const auto fold = [&](std::int64_t row) {
    const int at = border_index(static_cast<int>(row), static_cast<int>(height), options.border);
    if (at == from_constant) return;
    out.first = std::min<std::int64_t>(out.first, at);
    out.last = std::max<std::int64_t>(out.last, at + 1);
  };
  for (std::int64_t row = reached.first; row < 0; ++row) fold(row);
  for (std::int64_t row = height; row < reached.last; ++row) fold(row);
  return out;
}

Partition divide(const Arguments& arguments) {
  const Options& options = options_of(arguments);
  const std::int64_t height = arguments.dim("height");
  return partition_pictures(
      arguments, flops(arguments),
      {.input = "image",
       .output = "filtered",
       .halo = options.taps.rows - 1,
       .rows_read = [options, height](Interval rows) { return rows_read(options, height, rows); },
       .set_options =
           [options](Arguments::Words& words, Interval read, Interval rows) {
             words["roi_y"] = std::to_string(options.roi_y + rows.first - read.first);
             words["roi_height"] = std::to_string(rows.size());
           }});
}

Case made(std::int64_t images, std::int64_t height, std::int64_t width, std::int64_t channels,
          Arguments::Words words) {
  return {.dims = {{"images", images}, {"height", height}, {"width", width}, {"channels", channels}},
          .words = std::move(words)};
}

std::vector<Case> cases() {
  std::vector<Case> out = {
      made(1, 37, 41, 1, {{"kernel", "laplacian8"}, {"abs", "yes"}}),
      made(1, 9, 150, 3, {{"kernel", "laplacian4"}, {"border", "replicate"}, {"output-element", "i16"}}),
      made(2, 11, 67, 4, {{"kernel", "laplacian_ksize3"}, {"border", "reflect"}}),
      made(1, 1, 1, 1, {{"kernel", "laplacian8"}, {"border", "wrap"}}),
      made(1, 2, 3, 3, {{"kernel", "gaussian"}, {"size", "9"}, {"border", "reflect"}}),
      made(1, 20, 70, 1, {{"kernel", "gaussian"}, {"size", "5"}, {"sigma", "1.1"}}),
      made(1, 13, 80, 3,
           {{"kernel", "gaussian"}, {"size", "31"}, {"border", "wrap"}, {"output-element", "f32"}}),
      made(1, 17, 35, 2,
           {{"kernel", "sobel_x"}, {"border", "constant"}, {"border-value", "7"}, {"output-element", "i16"}}),
      made(1, 12, 34, 1,
           {{"kernel", "0.1 -0.7 0.2; 1.5 0.3 -0.4; 0 0.9 -1.25"}, {"scale", "0.5"}, {"offset", "3"}}),
      made(1, 15, 40, 1,
           {{"kernel", "1 2 3 4; 5 6 7 8"}, {"mode", "convolution"}, {"output-element", "f32"}}),
      made(1, 21, 90, 3,
           {{"kernel", "box"},
            {"size", "4"},
            {"roi_x", "5"},
            {"roi_y", "3"},
            {"roi_width", "33"},
            {"roi_height", "7"}}),
      made(1, 5, 600, 1,
           {{"kernel", "laplacian8"}, {"border", "constant"}, {"offset", "-20"}, {"output-element", "u16"}}),
      made(1, 40, 48, 1,
           {{"kernel", "laplacian8"}, {"roi_x", "16"}, {"roi_height", "9"}, {"output-element", "f16"}}),
      made(1, 70, 96, 3, {{"kernel", "laplacian8"}, {"abs", "yes"}, {"border", "reflect"}}),
      made(2, 33, 64, 1, {{"kernel", "sharpen"}, {"border", "wrap"}}),
      made(1, 35, 80, 1, {{"kernel", "laplacian_ksize3"}, {"border", "constant"}, {"border-value", "200"}}),
      made(1, 34, 51, 3, {{"kernel", "1 2; 3 -4"}, {"mode", "convolution"}, {"border", "replicate"}}),
      made(1, 6, 128, 3, {{"kernel", "sobel_y"}, {"abs", "yes"}, {"roi_x", "16"}}),
      made(1, 0, 5, 1, {}),
      made(1, 6, 40, 1, {{"kernel", "laplacian8"}, {"abs", "yes"}, {"output-element", "u8"}}),
      // Several strips and steps, for the two passes of separable kernels.
      made(1, 46, 300, 1, {{"kernel", "gaussian"}, {"size", "9"}, {"border", "replicate"}}),
      made(1, 70, 164, 1, {{"kernel", "gaussian"}, {"size", "31"}, {"roi_x", "3"}, {"roi_y", "2"}}),
      made(2, 19, 149, 1, {{"kernel", "box"}, {"size", "6"}, {"border", "constant"}, {"border-value", "9"}}),
      made(1, 18, 288, 1,
           {{"kernel", "1 2 3 4 5 4 3 2 1; 2 4 6 8 10 8 6 4 2; 1 2 3 4 5 4 3 2 1"}, {"border", "wrap"}}),
      made(1, 40, 33, 1, {{"kernel", "1 0; 2 0; 0 0; 3 0; 1 0"}, {"offset", "-5"}}),
      // Weights that are a product except for their rounding.
      made(1, 23, 196, 1, {{"kernel", "0.1 0.2 0.1; 0.3 0.6 0.3; 0.7 1.4 0.7"}, {"border", "replicate"}}),
      // Rows whose length is a multiple of 16 bytes, which the matrix-multiply variants require: several
      // strips, and the picture's edges.
      made(1, 11, 1552, 1, {{"kernel", "gaussian"}, {"size", "9"}}),
      made(2, 13, 64, 3, {{"kernel", "gaussian"}, {"size", "7"}, {"border", "wrap"}}),
      made(1, 70, 80, 1, {{"kernel", "box"}, {"size", "31"}, {"border", "constant"}, {"border-value", "9"}}),
  };
  Case special = made(1, 14, 37, 1, {{"kernel", "laplacian8"}});
  special.distribution = Distribution::special;
  special.elements = {Element::f32, Element::f16};
  out.push_back(special);
  // Large enough for rungs that are slower for small pictures.
  Case large = made(1, 66, 2048, 1, {{"kernel", "laplacian8"}, {"abs", "yes"}, {"border", "reflect"}});
  large.elements = {Element::u8, Element::f32};
  out.push_back(large);
  large = made(1, 44, 1008, 3, {{"kernel", "laplacian4"}, {"border", "wrap"}});
  large.elements = {Element::u8, Element::f32};
  out.push_back(large);
  // Some weights are −0, given or as quotients: they are skipped like those of 0.
  for (const std::string kernel :
       {"gaussian", "1 0 2 0; 0 0 0 0; 3 0 6 0", "-1 -2 -1; 0 0 0; 1 2 1", "1 -0 0.5; -0 -0 -0; 0.3 2 -3"}) {
    special = made(1, 14, 141, 1, {{"kernel", kernel}});
    if (kernel == "gaussian") special.words["size"] = "11";
    special.distribution = Distribution::special;
    special.elements = {Element::f32, Element::f16};
    out.push_back(special);
  }
  return out;
}

Operation operation() {
  Operation out;
  out.name = "filter";
  out.summary = "a picture's samples, each the weighted sum of those around it";
  out.signature = signature();
  out.elements = {Element::u8, Element::u16, Element::i16, Element::f16, Element::f32};
  out.output = "filtered";
  out.flops = flops;
  out.fill = [](const Arguments&, const std::string&, Distribution distribution, std::uint64_t seed,
                const ArrayView& to) { fill_samples(distribution, seed, to); };
  set_checks(
      out, [](const Arguments& arguments) { return Definition(arguments); },
      [](const Arguments& arguments) { filter_simd(arguments, host_threads()); });
  out.cases = cases();
  return out;
}

[[maybe_unused]] const bool filter_registered =
    (register_operation(operation()), register_partition("filter", divide), true);

}  // namespace
}  // namespace tessera::filtering
