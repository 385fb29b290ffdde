// SPDX-License-Identifier: Apache-2.0
// Views of a grid from files whose names give the position, or from one picture.
#include <glob.h>
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <map>
#include "tessera/core/device/device.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/core/device/parallel.hpp"
#include "tessera/io/picture.hpp"

namespace tessera::picture {
namespace {

constexpr std::string_view row_word = "{row}", col_word = "{col}";
constexpr std::int64_t max_places = 4096;  // along an axis

std::string with_stars(std::string pattern) {
  for (const std::string_view word : {row_word, col_word})
    pattern.replace(pattern.find(word), word.size(), "*");
  for (std::size_t at = pattern.find('['); at != std::string::npos; at = pattern.find('[', at + 2))
    pattern.insert(at, "\\");
  return pattern;
}

// Matches a path against a shell pattern and collects the numbers at {row} and {col}. A * directly before a
// number matches none of its digits.
bool matches(std::string_view pattern, std::string_view path, std::vector<std::string>& numbers) {
  constexpr std::string_view digits = "0123456789";
  const auto is_number = [](std::string_view text) {
    return text.starts_with(row_word) || text.starts_with(col_word);
  };
  if (pattern.empty()) return path.empty();
  if (is_number(pattern)) {
    const std::size_t sign = path.starts_with('-') ? 1 : 0,
                      end = std::min(path.find_first_not_of(digits, sign), path.size());
    if (end == sign) return false;
    numbers.emplace_back(path.substr(0, end));
    if (matches(pattern.substr(row_word.size()), path.substr(end), numbers)) return true;
    numbers.pop_back();
    return false;
  }
  const std::string_view rest = pattern.substr(1);
  if (pattern[0] == '*') {
    for (std::size_t n = std::min(path.find('/'), path.size()) + 1; n-- > 0;)
      if (!(is_number(rest) && n > 0 && digits.find(path[n - 1]) != digits.npos) &&
          matches(rest, path.substr(n), numbers))
        return true;
    return false;
  }
  return !path.empty() && (pattern[0] == '?' ? path[0] != '/' : path[0] == pattern[0]) &&
         matches(rest, path.substr(1), numbers);
}

std::vector<std::string> globbed(const std::string& pattern) {
  glob_t found = {};
  std::vector<std::string> out;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return out;
}

std::string place_text(std::int64_t row, std::int64_t col) {
  return "row " + std::to_string(row) + ", column " + std::to_string(col);
}

std::int64_t number_of(const std::string& path, std::string_view digits) {
  constexpr std::size_t max_digits = 18;  // always fit 64 bits
  if (digits[0] == '-')
    throw Error(path + ": " + std::string(digits) + " is no place in a grid: they begin at 0");
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size() - 1));
  if (digits.size() > max_digits)
    throw Error(path + ": the number " + std::string(digits) + " has more than " +
                std::to_string(max_digits) + " digits");
  std::int64_t out = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return out;
}

using Places = std::map<std::pair<std::int64_t, std::int64_t>, std::string>;

Places places_of(const std::string& pattern) {
  const bool row_first = pattern.find(row_word) < pattern.find(col_word);
  Places out;
  for (const std::string& path : globbed(with_stars(pattern))) {
    std::vector<std::string> numbers;
    if (!matches(pattern, path, numbers)) continue;
    const std::int64_t first = number_of(path, numbers[0]), second = number_of(path, numbers[1]);
    const auto [row, col] = row_first ? std::pair(first, second) : std::pair(second, first);
    const auto [at, fresh] = out.emplace(std::pair(row, col), path);
    if (!fresh) throw Error(at->second + " and " + path + " are both the view of " + place_text(row, col));
  }
  if (out.empty()) throw Error("'" + pattern + "' means no file");
  return out;
}

Picture read_view(const std::string& path, bool drop_alpha, const Limits& limits) {
  Picture out = read(path, limits);
  if (!out.alpha || !drop_alpha) return out;
  ArrayView colours = out.pixels.view();
  --colours.extents[2];
  out.pixels = packed_copy(colours);
  out.alpha = false;
  return out;
}

void require_same(const std::string& path, const Array& view, const std::string& first, const Array& like) {
  if (view.extents() != like.extents() || view.element() != like.element())
    throw Error(path + ": is " + to_string(view.extents()) + " of " + std::string(name_of(view.element())) +
                ", but " + first + " is " + to_string(like.extents()) + " of " +
                std::string(name_of(like.element())));
}

std::int64_t tiles_along(const std::string& tiles, std::string_view word) {
  std::int64_t out = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (failed != std::errc() || end != word.data() + word.size() || out < 1 || out > max_places)
    throw Error("--tiles " + tiles + " should be ROWSxCOLS, as 17x17");
  return out;
}

}  // namespace

bool names_grid(const std::string& pattern) {
  const std::size_t row = pattern.find(row_word), col = pattern.find(col_word);
  if (row == std::string::npos && col == std::string::npos) return false;
  if (row == std::string::npos || col == std::string::npos ||
      pattern.find(row_word, row + 1) != std::string::npos ||
      pattern.find(col_word, col + 1) != std::string::npos)
    throw Error("'" + pattern + "' should have {row} and {col} once each");
  if (row + row_word.size() == col || col + col_word.size() == row)
    throw Error("'" + pattern + "' should have something between {row} and {col}");
  return true;
}

GridFiles find_grid(const std::string& pattern) {
  Places places = places_of(pattern);
  std::int64_t row0 = places.begin()->first.first, row1 = row0, col0 = places.begin()->first.second,
               col1 = col0;
  for (const auto& [place, path] : places) {
    row0 = std::min(row0, place.first), row1 = std::max(row1, place.first);
    col0 = std::min(col0, place.second), col1 = std::max(col1, place.second);
  }
  GridFiles out{row1 - row0 + 1, col1 - col0 + 1, {}};
  if (out.rows > max_places || out.cols > max_places)
    throw Error("'" + pattern + "' names rows " + std::to_string(row0) + " to " + std::to_string(row1) +
                " and columns " + std::to_string(col0) + " to " + std::to_string(col1) + ": more than " +
                std::to_string(max_places));
  const auto missing = out.rows * out.cols - static_cast<std::int64_t>(places.size());
  for (std::int64_t row = row0; row <= row1; ++row)
    for (std::int64_t col = col0; col <= col1; ++col) {
      const auto found = places.find({row, col});
      if (found == places.end())
        throw Error("'" + pattern + "' lacks " + std::to_string(missing) + " of " + std::to_string(out.rows) +
                    " × " + std::to_string(out.cols) + " views; the first is that of " +
                    place_text(row, col));
      out.paths.push_back(found->second);
    }
  return out;
}

Picture read_grid(const GridFiles& files, bool drop_alpha, const Limits& limits) {
  Picture out = read_view(files.paths.at(0), drop_alpha, limits);
  const Array first = out.pixels;
  const std::size_t bytes = first.view().bytes();
  const auto count = static_cast<std::int64_t>(files.paths.size());
  if (static_cast<std::int64_t>(bytes) > limits.bytes / count)
    throw Error(std::to_string(count) + " views of " + std::to_string(bytes) +
                " bytes are more than the limit of " + std::to_string(limits.bytes));
  Extents extents = {files.rows, files.cols};
  for (const std::int64_t extent : first.extents()) extents.push_back(extent);
  out.pixels = Array(first.element(), extents);
  const int parts = static_cast<int>(std::min<std::int64_t>(host_threads(), count));
  std::atomic<bool> several = out.first_of_several;
  parallel(parts, [&](int part) {
    for (std::int64_t i = part; i < count; i += parts) {
      const std::string& path = files.paths[static_cast<std::size_t>(i)];
      Picture view;
      if (i == 0) view.pixels = first;
      else view = read_view(path, drop_alpha, limits);
      require_same(path, view.pixels, files.paths[0], first);
      if (view.first_of_several) several = true;
      std::memcpy(out.pixels.as<char>() + static_cast<std::size_t>(i) * bytes, view.pixels.as<char>(), bytes);
    }
  });
  out.first_of_several = several;
  return out;
}

Picture cut_tiles(const Picture& whole, const std::string& tiles, const std::string& name) {
  const std::size_t by = tiles.find('x');
  if (by == std::string::npos) throw Error("--tiles " + tiles + " should be ROWSxCOLS, as 17x17");
  const std::int64_t rows = tiles_along(tiles, std::string_view(tiles).substr(0, by)),
                     cols = tiles_along(tiles, std::string_view(tiles).substr(by + 1));
  const ArrayView& from = whole.pixels.view();
  const std::int64_t height = from.extents[0], width = from.extents[1], channels = from.extents[2];
  if (height % rows != 0 || width % cols != 0)
    throw Error(name + ": " + std::to_string(height) + " × " + std::to_string(width) + " pixels are not " +
                tiles + " equal tiles");
  ArrayView cut = from;
  cut.extents = {rows, cols, height / rows, width / cols, channels};
  cut.strides = {height / rows * from.strides[0], width / cols * from.strides[1], from.strides[0],
                 from.strides[1], from.strides[2]};
  Picture out = whole;
  out.pixels = packed_copy(cut);
  return out;
}

}  // namespace tessera::picture
