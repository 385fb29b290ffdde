// SPDX-License-Identifier: Apache-2.0
#include "axis.hpp"
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numbers>
#include "tessera/core/text/expression.hpp"
#include "tessera/core/operation/operation.hpp"
#include "tessera/core/text/suggest.hpp"

namespace tessera::resizing {
namespace {

template <class T>
struct Named {
  const char* name;
  T value;
};

constexpr Named<Method> methods[] = {
    {"nearest", Method::nearest},   {"nearest_exact", Method::nearest_exact},
    {"linear", Method::linear},     {"linear_exact", Method::linear_exact},
    {"cubic", Method::cubic},       {"lanczos2", Method::lanczos2},
    {"lanczos3", Method::lanczos3}, {"lanczos4", Method::lanczos4},
    {"area", Method::area},         {"box", Method::box},
    {"hamming", Method::hamming},   {"bilinear", Method::linear},
    {"bicubic", Method::cubic},
};

template <class T, std::size_t n>
T one_of(const Named<T> (&known)[n], const std::string& word) {
  return std::ranges::find_if(known, [&](const Named<T>& k) { return word == k.name; })->value;
}

Options defaults_of(Convention convention) {
  Options out;
  out.convention = convention;
  out.antialias = convention == Convention::pillow;
  out.cubic_a = convention == Convention::pillow ? -0.5 : -0.75;
  return out;
}

void read_onnx_options(const Arguments& arguments, Options& options) {
  constexpr Named<Coordinate> coordinates[] = {{"auto", Coordinate::half_pixel},
                                               {"half_pixel", Coordinate::half_pixel},
                                               {"half_pixel_symmetric", Coordinate::half_pixel},
                                               {"pytorch_half_pixel", Coordinate::pytorch_half_pixel},
                                               {"align_corners", Coordinate::align_corners},
                                               {"asymmetric", Coordinate::asymmetric}};
  constexpr Named<Nearest> roundings[] = {{"auto", Nearest::round_prefer_floor},
                                          {"round_prefer_floor", Nearest::round_prefer_floor},
                                          {"round_prefer_ceil", Nearest::round_prefer_ceil},
                                          {"floor", Nearest::floor},
                                          {"ceil", Nearest::ceil}};
  options.coordinate = one_of(coordinates, arguments.text("coordinate"));
  options.nearest = one_of(roundings, arguments.text("nearest-mode"));
  options.antialias = arguments.text("antialias") == "yes";
  options.exclude_outside = arguments.text("exclude-outside") == "yes";
}

// Rejects options that only ONNX has.
void check_others(const Arguments& arguments, const Options& options) {
  const std::string& convention = arguments.text("convention");
  for (const char* name : {"coordinate", "nearest-mode"})
    if (arguments.text(name) != "auto") throw Error("--" + std::string(name) + " is for --convention onnx");
  if (arguments.text("exclude-outside") == "yes") throw Error("--exclude-outside is for --convention onnx");
  const std::string& antialias = arguments.text("antialias");
  if (antialias != "auto" && (antialias == "yes") != options.antialias)
    throw Error("--convention " + convention + (options.antialias ? " always" : " never") +
                " widens its filters; --convention onnx leaves it open");
}

void check_method(const Options& options, const std::string& word) {
  const bool box = options.method == Method::box || options.method == Method::hamming;
  if (box && options.convention != Convention::pillow)
    throw Error("--method " + word + " is for --convention pillow");
  const bool exact = options.method == Method::nearest_exact || options.method == Method::linear_exact;
  if (exact && options.convention != Convention::opencv)
    throw Error("--method " + word + " is for --convention opencv");
  if (options.method == Method::area && options.convention == Convention::onnx)
    throw Error("--convention onnx has no area; --antialias yes widens linear and cubic");
}

// Rejects options that have no effect on the method. ("no" is accepted: it changes nothing.)
void require_options_used(const Arguments& arguments, const Options& options) {
  constexpr const char* sums = "methods that sum; --method nearest and nearest_exact copy";
  require_option_used(arguments, "cubic-a", options.method == Method::cubic, "--method cubic");
  require_option_used(arguments, "nearest-mode", options.method == Method::nearest, "--method nearest");
  for (const char* name : {"antialias", "premultiply"})
    require_option_used(arguments, name, !options.picks() || arguments.text(name) == "no", sums);
  for (const char* name : {"exclude-outside", "light"})
    require_option_used(arguments, name, !options.picks(), sums);
}

}  // namespace

Method method_named(const std::string& word, Convention convention) {
  std::string name;
  for (const char c : word) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view prefix : {"cv2.", "cv::", "image.", "pil.image.", "resampling.", "inter_"})
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  if (name == "lanczos") return convention == Convention::opencv ? Method::lanczos4 : Method::lanczos3;
  std::vector<std::string> names;
  for (const auto& known : methods) {
    if (name == known.name) return known.value;
    names.emplace_back(known.name);
  }
  throw Error("--method cannot be '" + word + "'" + suggestion(name, names));
}

Options options_of(const Arguments& arguments) {
  constexpr Named<Convention> conventions[] = {
      {"opencv", Convention::opencv}, {"pillow", Convention::pillow}, {"onnx", Convention::onnx}};
  Options out = defaults_of(one_of(conventions, arguments.text("convention")));
  out.method = method_named(arguments.text("method"), out.convention);
  check_method(out, arguments.text("method"));
  if (out.convention == Convention::onnx) read_onnx_options(arguments, out);
  else check_others(arguments, out);
  require_options_used(arguments, out);
  const std::string& a = arguments.text("cubic-a");
  if (a == "auto") return out;
  const auto [end, failed] = std::from_chars(a.data(), a.data() + a.size(), out.cubic_a);
  if (failed != std::errc() || end != a.data() + a.size() || !(out.cubic_a >= -1 && out.cubic_a <= 0))
    throw Error("--cubic-a needs a number from -1 to 0, or auto, not '" + a + "'");
  return out;
}

std::int64_t scaled(std::int64_t side, const std::string& scale) {
  // A significand of 64 bits: 5 · 0.1 is 0.5.
  const long double pixels = std::floor(static_cast<long double>(side) * std::stold(scale) + 0.5L);
  if (!(pixels <= 0x1p40L)) throw Error("--scale " + scale + " makes more than 2^40 pixels of a side");
  return static_cast<std::int64_t>(pixels);
}

Band band_of(const Arguments& arguments) {
  const std::string& text = arguments.text("band");
  if (text.empty()) return {0, arguments.dim("from_height"), 0, arguments.dim("height")};
  const auto wrong = [&text](const std::string& why) { return Error("--band " + text + ": " + why); };
  const std::vector<double> at = numbers_of(text);
  if (at.size() != 4 ||
      std::ranges::any_of(at, [](double n) { return !(n >= 0 && n <= longest_side && n == std::floor(n)); }))
    throw wrong("needs four whole numbers, as 100,1080,50,540");
  const auto whole = [&](std::size_t i) { return static_cast<std::int64_t>(at[i]); };
  const Band out{whole(0), whole(1), whole(2), whole(3)};
  if (out.from_first + arguments.dim("from_height") > out.from_height)
    throw wrong("the picture's rows end behind the last");
  if (out.first + arguments.dim("height") > out.height) throw wrong("the result's rows end behind the last");
  return out;
}

namespace {

double sinc(double x) {
  if (x == 0) return 1;
  const double angle = x * std::numbers::pi;
  return std::sin(angle) / angle;
}

double lanczos(double x, double lobes) { return -lobes <= x && x < lobes ? sinc(x) * sinc(x / lobes) : 0; }

double cubic(double x, double a) {
  x = std::fabs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

double hamming(double x) {
  x = std::fabs(x);
  if (x == 0) return 1;
  return x < 1 ? sinc(x) * (double{0.54F} + double{0.46F} * std::cos(x * std::numbers::pi)) : 0;
}

double support_of(Method method) {
  switch (method) {
    case Method::box:
    case Method::area:
      return 0.5;
    case Method::cubic:
    case Method::lanczos2:
      return 2;
    case Method::lanczos3:
      return 3;
    case Method::lanczos4:
      return 4;
    default:
      return 1;
  }
}

double filter(const Options& options, double x) {
  switch (options.method) {
    case Method::box:
      return x > -0.5 && x <= 0.5 ? 1 : 0;
    case Method::hamming:
      return hamming(x);
    case Method::cubic:
      return cubic(x, options.cubic_a);
    case Method::lanczos2:
    case Method::lanczos3:
    case Method::lanczos4:
      return lanczos(x, support_of(options.method));
    default:
      return std::max(0.0, 1 - std::fabs(x));
  }
}

Axis empty_axis(int source, int result, std::int64_t most) {
  Axis out;
  out.source = source;
  out.result = result;
  out.most = static_cast<int>(std::clamp<std::int64_t>(most, 1, source));
  out.start.resize(static_cast<std::size_t>(result));
  out.count.assign(static_cast<std::size_t>(result), 1);
  out.weight.resize(static_cast<std::size_t>(result) * static_cast<std::size_t>(out.most));
  return out;
}

// Makes room for two weights even if there is a single source sample, because a clipped pair keeps both.
Axis pair_room(int source, int result) {
  Axis out = empty_axis(source, result, 2);
  out.most = 2;
  out.weight.resize(2 * static_cast<std::size_t>(result));
  return out;
}

// Stores taps from position `first` on; weights of taps outside the line are added to its end samples.
void put_clamped(Axis& axis, int i, std::int64_t first, const std::vector<double>& weights) {
  const std::int64_t last = axis.source - 1;
  const std::int64_t begin = std::clamp<std::int64_t>(first, 0, last),
                     end = std::clamp<std::int64_t>(first + static_cast<std::int64_t>(weights.size()) - 1, 0,
                                                    last);
  axis.set_taps(i, begin, end - begin + 1);
  for (std::size_t k = 0; k < weights.size(); ++k)
    axis.weights(i)[std::clamp<std::int64_t>(first + static_cast<std::int64_t>(k), 0, last) - begin] +=
        weights[k];
}

Axis pillow_axis(const Options& options, int source, int result) {
  const double scale = static_cast<double>(source) / result, wide = std::max(scale, 1.0);
  const double support = support_of(options.method) * wide, step = 1.0 / wide;
  Axis out = empty_axis(source, result, static_cast<std::int64_t>(std::ceil(support)) * 2 + 1);
  for (int i = 0; i < result; ++i) {
    const double centre = (i + 0.5) * scale;
    // NOLINTBEGIN(bugprone-incorrect-roundings): Pillow rounds so, below zero too.
    const int first = std::max(static_cast<int>(centre - support + 0.5), 0),
              end = std::min(static_cast<int>(centre + support + 0.5), source);
    // NOLINTEND(bugprone-incorrect-roundings)
    double sum = 0;
    for (int k = 0; k < end - first; ++k)
      sum += out.weights(i)[k] = filter(options, (k + first - centre + 0.5) * step);
    for (int k = 0; k < end - first && sum != 0; ++k) out.weights(i)[k] /= sum;
    out.set_taps(i, first, end - first);
  }
  return out;
}

// The weight of a sample is its overlap with [i·s, (i + 1)·s).
Axis overlap_axis(int source, int result) {
  const std::int64_t from = source, to = result;
  Axis out = empty_axis(source, result, from / to + 2);
  for (std::int64_t i = 0; i < to; ++i) {
    const std::int64_t begin = i * from, end = begin + from;  // in units of 1/to of a sample
    const std::int64_t first = begin / to, last = (end - 1) / to;
    out.set_taps(i, first, last - first + 1);
    for (std::int64_t k = first; k <= last; ++k)
      out.weights(static_cast<int>(i))[k - first] =
          static_cast<double>(std::min(end, (k + 1) * to) - std::max(begin, k * to)) /
          static_cast<double>(from);
  }
  return out;
}

// OpenCV's weights are the covered fractions of samples; slivers below 0.001 are left out.
Axis opencv_area_axis(int source, int result) {
  constexpr double sliver = 1e-3;
  const double scale = 1.0 / (static_cast<double>(result) / source);
  Axis out = empty_axis(source, result, static_cast<std::int64_t>(scale) + 3);
  for (int i = 0; i < result; ++i) {
    const double begin = i * scale, end = begin + scale, width = std::min(scale, source - begin);
    const int last = std::min(static_cast<int>(std::floor(end)), source - 1),
              first = std::min(static_cast<int>(std::ceil(begin)), last);
    const bool before = first - begin > sliver, behind = end - last > sliver;
    int k = 0;
    if (before) out.weights(i)[k++] = static_cast<float>((first - begin) / width);
    for (int j = first; j < last; ++j) out.weights(i)[k++] = static_cast<float>(1.0 / width);
    if (behind) out.weights(i)[k++] = static_cast<float>(std::min(std::min(end - last, 1.0), width) / width);
    out.set_taps(i, before ? first - 1 : first, k);
  }
  return out;
}

struct SamplePosition {
  int sample;
  float fraction;
};

SamplePosition opencv_position(int source, int result, int i, Area area) {
  const double inverse = static_cast<double>(result) / source, scale = 1.0 / inverse;
  if (area == Area::enlarging) {
    const int sample = static_cast<int>(std::floor(i * scale));
    const auto fraction = static_cast<float>((i + 1) - (sample + 1) * inverse);
    return {sample, fraction <= 0 ? 0.F : fraction - std::floor(fraction)};
  }
  const auto at = static_cast<float>((i + 0.5) * scale - 0.5);
  const float sample = std::floor(at);
  return {static_cast<int>(sample), at - sample};
}

std::vector<double> opencv_cubic(float x, float a) {
  const float w0 = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a,
              w1 = ((a + 2) * x - (a + 3)) * x * x + 1,
              w2 = ((a + 2) * (1 - x) - (a + 3)) * (1 - x) * (1 - x) + 1;
  return {w0, w1, w2, 1.F - w0 - w1 - w2};
}

// Computes Lanczos weights of four lobes from the sine and cosine of the first tap's angle alone, to match
// OpenCV's rounding.
std::vector<double> opencv_lanczos4(float x) {
  constexpr double r = std::numbers::sqrt2 / 2, turn[] = {1, r, 0, -r, -1, -r, 0, r};  // cosines of i · 45°
  const double angle = -(x + 3) * std::numbers::pi * 0.25, sine = std::sin(angle), cosine = std::cos(angle);
  float weights[8], sum = 0;
  for (int i = 0; i < 8; ++i) {
    const float distance = x + 3 - static_cast<float>(i);
    const double y = -distance * std::numbers::pi * 0.25, sign = i % 2 == 0 ? 1 : -1;
    const double above = sign * turn[i] * sine + sign * turn[(i + 6) % 8] * cosine;
    weights[i] = std::fabs(distance) < 1e-6F ? 1e30F : static_cast<float>(above / (y * y));
    sum += weights[i];
  }
  const float share = 1.F / sum;
  std::vector<double> out;
  for (const float w : weights) out.push_back(w * share);
  return out;
}

std::vector<double> normalised(std::vector<double> weights) {
  double sum = 0;
  for (const double w : weights) sum += w;
  for (double& w : weights) w = sum == 0 ? w : w / sum;
  return weights;
}

// OpenCV never widens its filters.
Axis opencv_axis(const Options& options, int source, int result) {
  const int half = static_cast<int>(support_of(options.method));
  Axis out = empty_axis(source, result, 2 * half);
  for (int i = 0; i < result; ++i) {
    const SamplePosition at = opencv_position(source, result, i, Area::overlap);
    std::vector<double> weights;
    if (options.method == Method::cubic)
      weights = opencv_cubic(at.fraction, static_cast<float>(options.cubic_a));
    else if (options.method == Method::lanczos4) weights = opencv_lanczos4(at.fraction);
    else {
      for (int k = 1 - half; k <= half; ++k)
        weights.push_back(options.method == Method::linear
                              ? std::max(0.F, 1.F - std::fabs(float(k) - at.fraction))
                              : filter(options, k - double{at.fraction}));
      weights = normalised(weights);
    }
    for (double& w : weights)
      if (options.one != 0)
        w = std::nearbyint(static_cast<float>(w) * static_cast<float>(options.one)) / options.one;
    put_clamped(out, i, std::int64_t{at.sample} + 1 - half, weights);
  }
  return out;
}

double onnx_place(const Options& options, int source, int result, int i) {
  const double scale = static_cast<double>(source) / result;
  switch (options.coordinate) {
    case Coordinate::asymmetric:
      return i * scale;
    case Coordinate::align_corners:
      return result == 1 ? 0 : static_cast<double>(i) * (source - 1) / (result - 1);
    case Coordinate::pytorch_half_pixel:
      if (result == 1) return 0;
      [[fallthrough]];
    default:
      return (i + 0.5) * scale - 0.5;
  }
}

Axis onnx_axis(const Options& options, int source, int result) {
  const double shrink = options.antialias ? std::min(1.0, static_cast<double>(result) / source) : 1;
  const double half = support_of(options.method);
  const int from = static_cast<int>(std::floor(-half / shrink)) + 1, to = 2 - from;  // taps from … to − 1
  Axis out = empty_axis(source, result, to - from);
  for (int i = 0; i < result; ++i) {
    const double at = onnx_place(options, source, result, i), whole = std::floor(at);
    std::vector<double> weights;
    for (int k = from; k < to; ++k) {
      const double place = whole + k;
      const bool outside = place < 0 || place > source - 1;
      weights.push_back(options.exclude_outside && outside ? 0
                                                           : filter(options, (k - (at - whole)) * shrink));
    }
    put_clamped(out, i, static_cast<std::int64_t>(whole) + from, normalised(weights));
  }
  return out;
}

double rounded_place(const Options& options, double at) {
  switch (options.nearest) {
    case Nearest::round_prefer_ceil:
      return std::floor(at + 0.5);
    case Nearest::floor:
      return std::floor(at);
    case Nearest::ceil:
      return std::ceil(at);
    default:
      return std::ceil(at - 0.5);
  }
}

}  // namespace

Axis nearest_axis(const Options& options, int source, int result) {
  Axis out = empty_axis(source, result, 1);
  out.weight.clear();
  const double opencv = 1.0 / (static_cast<double>(result) / source),
               pillow = static_cast<double>(source) / result;
  // OpenCV's exact method has fixed-point positions with 16 fractional bits.
  constexpr int places = 16;
  const std::int64_t step = ((std::int64_t{source} << places) + result / 2) / result, half = step / 2 - 1;
  double summed = pillow * 0.5;  // Pillow accumulates the steps
  for (int i = 0; i < result; ++i, summed += pillow) {
    double at = summed;
    if (options.convention == Convention::onnx)
      at = rounded_place(options, onnx_place(options, source, result, i));
    else if (options.method == Method::nearest_exact) at = static_cast<double>((step * i + half) >> places);
    else if (options.convention == Convention::opencv) at = std::floor(i * opencv);
    out.start[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(std::clamp(at, 0.0, source - 1.0));
  }
  return out;
}

Axis weighted_axis(const Options& options, int source, int result, Area area) {
  if (options.convention == Convention::onnx) return onnx_axis(options, source, result);
  if (options.convention == Convention::pillow)
    return options.method == Method::area ? overlap_axis(source, result)
                                          : pillow_axis(options, source, result);
  if (options.method == Method::linear) return opencv_linear_axis(source, result, true, Area::overlap);
  if (options.method != Method::area) return opencv_axis(options, source, result);
  return area == Area::overlap ? opencv_area_axis(source, result)
                               : opencv_linear_axis(source, result, true, Area::enlarging);
}

Axis opencv_linear_axis(int source, int result, bool clamped, Area area) {
  Axis out = pair_room(source, result);
  for (int i = 0; i < result; ++i) {
    SamplePosition at = opencv_position(source, result, i, area);
    if (clamped && at.sample < 0) at = {0, 0};
    if (clamped && at.sample >= source - 1) at = {source - 1, 0};
    const int first = std::clamp(at.sample, 0, source - 1), second = std::clamp(at.sample + 1, 0, source - 1);
    out.set_taps(i, first, second - first + 1);
    out.weights(i)[0] = 1.F - at.fraction;
    out.weights(i)[1] = at.fraction;
  }
  return out;
}

Axis opencv_exact_linear_axis(int source, int result) {
  constexpr double one = 256;
  const double scale = 1.0 / (static_cast<double>(result) / source);
  Axis out = pair_room(source, result);
  for (int i = 0; i < result; ++i) {
    // Double precision throughout: a position rounded to f32 sometimes gives another weight.
    const double at = (i + 0.5) * scale - 0.5, whole = std::floor(at);
    const bool inside = whole >= 0 && whole < source - 1;
    const int first = static_cast<int>(std::clamp(whole, 0.0, source - 1.0));
    out.set_taps(i, first, inside ? 2 : 1);
    out.weights(i)[1] = inside ? std::nearbyint((at - whole) * one) / one : 0;
    out.weights(i)[0] = 1 - out.weights(i)[1];
  }
  return out;
}

Axis even_axis(int source, int result) {
  const int factor = source / result;
  Axis out = empty_axis(source, result, factor);
  out.weight.clear();
  for (int i = 0; i < result; ++i) {
    out.set_taps(i, i * factor, factor);
  }
  return out;
}

}  // namespace tessera::resizing
