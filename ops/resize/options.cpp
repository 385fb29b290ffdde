// SPDX-License-Identifier: Apache-2.0
#include "resize_options.hpp"
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include "tessera/core/arguments.hpp"
#include "tessera/core/suggest.hpp"
#include "tessera/core/expression.hpp"
#include "tessera/core/operation.hpp"

namespace tessera::resize {
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

// What only ONNX leaves open.
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

// What some methods have no use for. ("no" says what happens anyway.)
void demand_effects(const Arguments& arguments, const Options& options) {
  constexpr const char* sums = "methods that sum; --method nearest and nearest_exact copy";
  const bool picks = options.method == Method::nearest || options.method == Method::nearest_exact;
  demand_effect(arguments, "cubic-a", options.method == Method::cubic, "--method cubic");
  demand_effect(arguments, "nearest-mode", options.method == Method::nearest, "--method nearest");
  for (const char* name : {"antialias", "premultiply"})
    demand_effect(arguments, name, !picks || arguments.text(name) == "no", sums);
  for (const char* name : {"exclude-outside", "light"}) demand_effect(arguments, name, !picks, sums);
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
  demand_effects(arguments, out);
  const std::string& a = arguments.text("cubic-a");
  if (a == "auto") return out;
  const auto [end, failed] = std::from_chars(a.data(), a.data() + a.size(), out.cubic_a);
  if (failed != std::errc() || end != a.data() + a.size() || !(out.cubic_a >= -1 && out.cubic_a <= 0))
    throw Error("--cubic-a needs a number from -1 to 0, or auto, not '" + a + "'");
  return out;
}

std::int64_t scaled(std::int64_t side, const std::string& scale) {
  // Of 64 bits of precision: 5 times 0.1 is a half.
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

}  // namespace tessera::resize
