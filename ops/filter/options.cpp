// SPDX-License-Identifier: Apache-2.0
#include "filter.hpp"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <numeric>
#include "weights.hpp"
#include "ops/imaging/image_operation.hpp"
#include "tessera/core/arguments.hpp"

namespace tessera::filter {
namespace {

double most_magnitude(Element element) {
  switch (element) {
    case Element::u8:
      return 255;
    case Element::u16:
      return 65535;
    case Element::i16:
      return 32768;
    default:
      return INFINITY;
  }
}

double outside_of(const Arguments& arguments) {
  const double value = arguments.real("border-value");
  const Element element = arguments.element();
  const double least = element == Element::i16 ? -32768 : 0,
               most = element == Element::i16 ? 32767 : most_magnitude(element);
  if (is_integer(element) && (value != std::nearbyint(value) || value < least || value > most))
    throw Error("--border-value " + arguments.text("border-value") + " is no value of " +
                std::string(name_of(element)));
  char held[8];
  store_from_double(element, held, value);
  if (!std::isfinite(load_as_double(element, held)))
    throw Error("--border-value " + arguments.text("border-value") + " is more than " +
                std::string(name_of(element)) + " can hold");
  return value;
}

bool is_whole(double value) { return value == std::nearbyint(value); }

double half_of(const Kernel& kernel) { return kernel.shift == 0 ? 0 : std::ldexp(1.0, kernel.shift - 1); }

// The largest magnitude that a sum of samples of this type can have.
double largest_sum(const Kernel& kernel, Element element) {
  double weights = 0;
  for (const double w : kernel.weights) weights += std::fabs(w);
  return weights * most_magnitude(element) + half_of(kernel);
}

bool sums_are_whole(const Kernel& kernel, Element element) {
  return is_integer(element) && std::ranges::all_of(kernel.weights, is_whole) &&
         largest_sum(kernel, element) < 0x1p31;
}

// Whole weights are no rounded numbers.
void separate(const Arguments& arguments, Kernel& kernel) {
  const double deviation = arguments.real("separable-within");
  demand_effect(arguments, "separable-within",
                kernel.column.empty() && kernel.rows > 1 && kernel.cols > 1 &&
                    !sums_are_whole(kernel, arguments.element()),
                "kernels of several rows and columns whose sums are floats");
  find_factors(kernel, deviation == 0 && has_whole_weights(kernel), deviation);
  if (deviation == 0 || !kernel.column.empty()) return;
  char most[40];
  std::snprintf(most, sizeof most, "%.2g", largest_deviation(kernel));
  throw Error("--separable-within " + arguments.text("separable-within") + ": a weight is " + most +
              " of the largest away from a column times a row");
}

// A tap of weight 0 has no bit set: kernels leave it out by that, and −0 is one too.
std::int32_t stored(double weight, bool whole) {
  return whole         ? static_cast<std::int32_t>(weight)
         : weight == 0 ? 0
                       : std::bit_cast<std::int32_t>(static_cast<float>(weight));
}

void put_weights(const Kernel& kernel, Taps& taps) {
  taps.rows = kernel.rows;
  taps.cols = kernel.cols;
  taps.separable = !kernel.column.empty();
  const auto put = [&](const std::vector<double>& from, std::int32_t* to) {
    for (const double w : from) *to++ = stored(w, taps.whole);
  };
  put(kernel.weights, taps.weight);
  put(kernel.column, taps.column);
  put(kernel.row, taps.row);
}

bool sums_fit_bytes(const Kernel& kernel) {
  constexpr double most_byte = 255, most_sum = 65535;
  const auto is_byte = [](double w) { return w >= 0 && w <= most_byte; };
  const double along = std::accumulate(kernel.row.begin(), kernel.row.end(), 0.0);
  return std::ranges::all_of(kernel.row, is_byte) && std::ranges::all_of(kernel.column, is_byte) &&
         along * most_byte <= most_sum;
}

Error beyond_f32(const Arguments& arguments, const char* name) {
  return Error("--" + std::string(name) + " " + arguments.text(name) + " is not a number that f32 can hold");
}

// Which arithmetic the options need, and what follows the sum.
void choose_arithmetic(const Arguments& arguments, const Kernel& kernel, Options& out) {
  const Element element = arguments.element();
  const double scale = arguments.real("scale") * kernel.factor, offset = arguments.real("offset");
  const double half = half_of(kernel), largest = largest_sum(kernel, element);
  out.taps.whole = sums_are_whole(kernel, element);
  out.taps.bytes =
      out.taps.whole && element == Element::u8 && !kernel.column.empty() && sums_fit_bytes(kernel);
  Finish& f = out.finish;
  f.absolute = arguments.text("abs") == "yes";
  // Fractions that 2^-shift leaves are kept where the result can hold them.
  const bool rounds = kernel.shift == 0 || is_integer(out.to);
  f.whole =
      out.taps.whole && scale == 1 && is_whole(offset) && rounds && largest + std::fabs(offset) < 0x1p31;
  if (f.whole) {
    f.shift = kernel.shift;
    f.half = static_cast<std::int32_t>(half);
    f.whole_offset = static_cast<std::int32_t>(offset);
  }
  f.scale = static_cast<float>(std::ldexp(scale, -kernel.shift));
  f.offset = static_cast<float>(offset);
  // As a 0, a tiny factor would mean that nothing is left of the picture.
  if (!std::isfinite(f.scale) || (scale == 0) != (f.scale == 0)) throw beyond_f32(arguments, "scale");
  if (!std::isfinite(f.offset)) throw beyond_f32(arguments, "offset");
  f.scaled = f.scale != 1 || f.offset != 0;
  out.taps.narrow =
      f.whole && element == Element::u8 && kernel.shift == 0 && largest + std::fabs(offset) < 32768;
}

void set_region(const Arguments& arguments, Options& out) {
  constexpr std::int64_t longest = std::int64_t{1} << 30;
  const auto check = [&](const char* start, const char* size, const char* of) {
    if (arguments.dim(of) > longest)
      throw Error(std::string("image has ") + of + " = " + std::to_string(arguments.dim(of)) +
                  ", more than 2^30");
    if (arguments.dim(start) + arguments.dim(size) > arguments.dim(of))
      throw Error("the region of interest reaches beyond the image: " + std::to_string(arguments.dim(start)) +
                  " + " + std::to_string(arguments.dim(size)) + " > " + of + " = " +
                  std::to_string(arguments.dim(of)));
    return arguments.dim(start);
  };
  out.roi_x = check("roi_x", "roi_width", "width");
  out.roi_y = check("roi_y", "roi_height", "height");
  if (arguments.dim("channels") > longest || arguments.dim("channels") * arguments.dim("width") > longest)
    throw Error("image has rows of more than 2^30 samples");
}

void demand_effects(const Arguments& arguments) {
  const std::string& kernel = arguments.text("kernel");
  const bool bell = kernel == "gaussian",
             constant = border_named(arguments.text("border")) == Border::constant;
  demand_effect(arguments, "size", bell || kernel == "box", "--kernel gaussian or box");
  demand_effect(arguments, "sigma", bell, "--kernel gaussian");
  demand_effect(arguments, "border-value", constant, "--border constant");
}

Options make(const Arguments& arguments) {
  demand_effects(arguments);
  Options out;
  const auto size = static_cast<int>(arguments.integer("size"));
  Kernel kernel = kernel_of(arguments.text("kernel"), size, arguments.real("sigma"), arguments.element());
  round_weights(kernel);
  separate(arguments, kernel);
  out.taps.above = kernel.rows / 2;
  out.taps.left = kernel.cols / 2;
  if (arguments.text("mode") == "convolution") {
    turn_round(kernel);
    out.taps.above = kernel.rows - 1 - out.taps.above;
    out.taps.left = kernel.cols - 1 - out.taps.left;
  }
  out.to = arguments.array("filtered").element;
  choose_arithmetic(arguments, kernel, out);
  put_weights(kernel, out.taps);
  out.border = border_named(arguments.text("border"));
  out.outside = outside_of(arguments);
  set_region(arguments, out);
  return out;
}

// Everything that options follow from. A file's time tells whether it is still the same.
std::string key_with_file(const Arguments& arguments) {
  std::string out = key_of(arguments);
  std::error_code none;
  if (const std::string& kernel = arguments.text("kernel"); kernel.ends_with(".npy"))
    out += "\n" + std::to_string(std::filesystem::last_write_time(kernel, none).time_since_epoch().count());
  return out;
}

}  // namespace

// A call asks several times, and parsing takes longer than filtering a small picture.
std::shared_ptr<const Options> options_of(const Arguments& arguments) {
  static std::mutex mutex;
  static std::string last_key;
  static std::shared_ptr<const Options> last;
  const std::string key = key_with_file(arguments);
  {
    const std::scoped_lock lock(mutex);
    if (last && key == last_key) return last;
  }
  auto made = std::make_shared<const Options>(make(arguments));
  const std::scoped_lock lock(mutex);
  last_key = key;
  last = made;
  return made;
}

Element element_of_result(Element element, const Arguments::Words& words) {
  const auto word = words.find("output-element");
  if (word == words.end() || word->second == "same") return element;
  return parse_element(word->second).value_or(element);
}

}  // namespace tessera::filter
