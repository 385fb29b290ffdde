// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string_view>
#include "weights.hpp"
#include "filter.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/suggest.hpp"
#include "tessera/core/expression.hpp"
#include "tessera/io/npy.hpp"

namespace tessera::filter {
namespace {

using Row = std::vector<double>;

constexpr std::string_view blanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

std::vector<std::string_view> split(std::string_view text, char between) {
  std::vector<std::string_view> out;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(between, from), text.size());
    out.push_back(trimmed(text.substr(from, to - from)));
    from = to + 1;
  }
  return out;
}

Row row_of(std::string_view text) {
  Row out;
  for (const std::string_view part : split(text, ',')) {
    if (part.empty()) throw Error(text.empty() ? "a row has no number" : "no number stands beside a comma");
    for (std::size_t from = 0; from != part.npos; from = part.find_first_not_of(blanks, from)) {
      const std::size_t to = std::min(part.find_first_of(blanks, from), part.size());
      out.push_back(number_of(std::string(part.substr(from, to - from))));
      from = to;
    }
  }
  return out;
}

// "1 2; 3 4". The last row, and each line, may end with a ';' or without.
std::vector<Row> by_semicolons(std::string_view text) {
  std::vector<Row> out;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    std::vector<std::string_view> rows = split(line, ';');
    if (rows.back().empty()) rows.pop_back();
    for (const std::string_view row : rows) out.push_back(row_of(row));
  }
  return out;
}

// "[1, 2], [3, 4]", between the outer brackets.
std::vector<Row> by_brackets(std::string_view text) {
  const Error unmatched("its brackets do not match");
  std::vector<Row> out;
  while (!text.empty()) {
    const std::size_t end = text.find(']');
    if (text[0] != '[' || end == text.npos) throw unmatched;
    const std::string_view row = text.substr(1, end - 1);
    if (row.find('[') != row.npos) throw unmatched;
    out.push_back(row_of(trimmed(row)));
    text = trimmed(text.substr(end + 1));
    if (text.starts_with(',')) {
      text = trimmed(text.substr(1));
      if (text.empty()) throw Error("no row stands behind its last comma");
    }
  }
  return out;
}

std::vector<Row> rows_in(std::string_view text) {
  if (text.find_first_of("[]") == text.npos) return by_semicolons(text);
  if (text.find(';') != text.npos) throw Error("rows end either at ';' or at ']'");
  if (!text.starts_with('[') || !text.ends_with(']') || text.size() < 2)
    throw Error("its brackets do not match");
  const std::string_view inside = trimmed(text.substr(1, text.size() - 2));
  if (inside.find_first_of("[]") != inside.npos) return by_brackets(inside);
  return {row_of(inside)};
}

}  // namespace

std::vector<std::vector<double>> rows_of_numbers(const std::string& text) try {
  std::vector<Row> out = rows_in(trimmed(text));
  if (out.empty()) throw Error("it has no number");
  for (const Row& row : out)
    if (row.size() != out[0].size())
      throw Error("its rows have " + std::to_string(out[0].size()) + " and " + std::to_string(row.size()) +
                  " weights");
  return out;
} catch (const Error& error) {
  throw Error("--kernel '" + text + "': " + error.what());
}

namespace {

Kernel square(std::vector<double> weights) {
  const auto side = static_cast<int>(std::lround(std::sqrt(static_cast<double>(weights.size()))));
  return {side, side, std::move(weights), {}, {}};
}

Kernel product(std::vector<double> column, std::vector<double> row) {
  Kernel out{static_cast<int>(column.size()), static_cast<int>(row.size()), {}, {}, {}};
  for (const double c : column)
    for (const double r : row) out.weights.push_back(c * r);
  out.column = std::move(column);
  out.row = std::move(row);
  return out;
}

// 2^8 shared out among the taps: each takes what its predecessors' rounding left, the middle one the rest.
std::vector<double> in_256ths(const std::vector<double>& bell) {
  std::vector<double> out(bell.size());
  double left_over = 0, sum = 0;
  const std::size_t middle = bell.size() / 2;
  for (std::size_t i = 0; i < middle; ++i) {
    const double wanted = bell[i] * 256 + left_over;
    out[i] = out[bell.size() - 1 - i] = std::nearbyint(wanted);
    left_over = wanted - out[i];
    sum += 2 * out[i];
  }
  out[middle] = 256 - sum;
  return out;
}

// OpenCV's short Gaussians of no stated width are these, in 256ths, up to the middle.
std::vector<double> usual_bell(int size) {
  constexpr int most = 9;
  static const std::vector<double> halves[] = {
      {256}, {64, 128}, {16, 64, 96}, {8, 28, 56, 72}, {4, 13, 30, 51, 60}};
  if (size > most) return {};
  std::vector<double> out = halves[size / 2];
  for (int i = size / 2 - 1; i >= 0; --i) out.push_back(out[static_cast<std::size_t>(i)]);
  for (double& b : out) b /= 256;
  return out;
}

std::vector<double> bell_of(int size, double sigma) {
  std::vector<double> bell(static_cast<std::size_t>(size));
  double sum = 0;
  for (int i = 0; i < size; ++i) {
    const double x = i - (size - 1) * 0.5;
    // The middle is exp(0) also where the width's square is 0.
    sum += bell[static_cast<std::size_t>(i)] = x == 0 ? 1 : std::exp(-x * x / (2 * sigma * sigma));
  }
  for (double& b : bell) b /= sum;
  return bell;
}

Kernel gaussian(int size, double sigma, Element element) {
  if (size % 2 == 0) throw Error("--size " + std::to_string(size) + ": a Gaussian has an odd number of taps");
  std::vector<double> bell = sigma == 0 ? usual_bell(size) : std::vector<double>{};
  if (bell.empty()) bell = bell_of(size, sigma == 0 ? 0.3 * ((size - 1) * 0.5 - 1) + 0.8 : sigma);
  if (element != Element::u8) {
    for (double& b : bell) b = static_cast<float>(b);
    return product(bell, bell);
  }
  Kernel out = product(in_256ths(bell), in_256ths(bell));
  out.shift = 16;
  return out;
}

Kernel box(int size) {
  const std::vector<double> ones(static_cast<std::size_t>(size), 1.0);
  Kernel out = product(ones, ones);
  out.factor = 1.0 / (static_cast<double>(size) * size);
  return out;
}

struct Fixed {
  const char* name;
  Kernel (*make)();
};

const Fixed fixed[] = {
    {"laplacian",
     [] {
       return square({0, 1, 0, 1, -4, 1, 0, 1, 0});
     }},
    {"laplacian4",
     [] {
       return square({0, 1, 0, 1, -4, 1, 0, 1, 0});
     }},
    {"laplacian8",
     [] {
       return square({1, 1, 1, 1, -8, 1, 1, 1, 1});
     }},
    {"laplacian_ksize3",
     [] {
       return square({2, 0, 2, 0, -8, 0, 2, 0, 2});
     }},
    {"sobel_x",
     [] {
       return product({1, 2, 1}, {-1, 0, 1});
     }},
    {"sobel_y",
     [] {
       return product({-1, 0, 1}, {1, 2, 1});
     }},
    {"scharr_x",
     [] {
       return product({3, 10, 3}, {-1, 0, 1});
     }},
    {"scharr_y",
     [] {
       return product({-1, 0, 1}, {3, 10, 3});
     }},
    {"sharpen",
     [] {
       return square({0, -1, 0, -1, 5, -1, 0, -1, 0});
     }},
};

void demand_size(std::int64_t rows, std::int64_t cols) {
  if (rows < 1 || cols < 1 || rows > most_taps || cols > most_taps)
    throw Error("--kernel has " + std::to_string(rows) + " × " + std::to_string(cols) +
                " weights; 1 × 1 to 31 × 31 are possible");
}

Kernel from_file(const std::string& path) {
  npy::Numbers numbers = npy::read_numbers(path);
  const Extents& extents = numbers.extents;
  if (extents.empty() || extents.size() > 2) throw Error(path + ": a kernel has 1 or 2 dimensions");
  const std::int64_t rows = extents.size() == 2 ? extents[0] : 1, cols = extents.back();
  demand_size(rows, cols);
  return {static_cast<int>(rows), static_cast<int>(cols), std::move(numbers.values), {}, {}};
}

Kernel from_text(const std::string& text) {
  const std::vector<std::vector<double>> rows = rows_of_numbers(text);
  demand_size(static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size()));
  Kernel out{static_cast<int>(rows.size()), static_cast<int>(rows[0].size()), {}, {}, {}};
  for (const std::vector<double>& row : rows) out.weights.insert(out.weights.end(), row.begin(), row.end());
  return out;
}

double common_divisor(const double* row, int count) {
  std::int64_t out = 0;
  for (int j = 0; j < count; ++j) out = std::gcd(out, static_cast<std::int64_t>(row[j]));
  return static_cast<double>(std::max<std::int64_t>(out, 1));
}

// The row and the column that cross at the weight of the largest magnitude, the first of these.
class Cross {
 public:
  explicit Cross(const Kernel& kernel) : kernel_(kernel) {
    const auto largest = std::ranges::max_element(kernel.weights, {}, [](double w) { return std::fabs(w); });
    largest_ = *largest;
    const auto at = static_cast<int>(largest - kernel.weights.begin());
    row_ = at / kernel.cols;
    col_ = at % kernel.cols;
  }

  double largest() const { return largest_; }
  double along(int j) const { return entry(row_, j); }
  double down(int i) const { return entry(i, col_); }
  int col() const { return col_; }

  // Products of two floats are exact in double.
  bool is_exact(int i, int j) const { return entry(i, j) * largest_ == down(i) * along(j); }
  double deviation(int i, int j) const { return std::fabs(entry(i, j) - down(i) * along(j) / largest_); }
  // Four weights meet here. Each may have been rounded to f32, by half a place of its own, 2^-24, or by half
  // of the least number, 2^-150; a fifth half covers what is left out of that sum.
  bool is_within(int i, int j, double deviation_of_largest) const {
    return deviation(i, j) <=
           0x5p-24 * std::fabs(entry(i, j)) + 0x1p-148 + deviation_of_largest * std::fabs(largest_);
  }

 private:
  double entry(int i, int j) const { return kernel_.weights[static_cast<std::size_t>(i * kernel_.cols + j)]; }

  const Kernel& kernel_;
  double largest_ = 0;
  int row_ = 0, col_ = 0;
};

}  // namespace

const std::vector<std::string>& kernel_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Fixed& f : fixed) out.emplace_back(f.name);
    out.emplace_back("gaussian");
    out.emplace_back("box");
    return out;
  }();
  return names;
}

Kernel kernel_of(const std::string& text, int size, double sigma, Element element) {
  for (const Fixed& f : fixed)
    if (text == f.name) return f.make();
  if (text == "gaussian") return gaussian(size, sigma, element);
  if (text == "box") return box(size);
  if (text.ends_with(".npy")) return from_file(text);
  if (!text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0)
    throw Error("--kernel cannot be '" + text + "'" + suggestion(text, kernel_names()));
  return from_text(text);
}

void round_weights(Kernel& kernel) {
  for (double& w : kernel.weights) {
    const auto narrow = static_cast<float>(w);
    if (!std::isfinite(narrow)) {
      char text[40];
      std::snprintf(text, sizeof text, "%.6g", w);
      throw Error(std::string("--kernel: the weight ") + text + " is none that f32 can hold");
    }
    w = narrow;
  }
}

bool has_whole_weights(const Kernel& kernel) {
  return std::ranges::all_of(kernel.weights,
                             [](double w) { return w == std::nearbyint(w) && std::fabs(w) < 0x1p31; });
}

void turn_round(Kernel& kernel) {
  std::ranges::reverse(kernel.weights);
  std::ranges::reverse(kernel.column);
  std::ranges::reverse(kernel.row);
}

void find_factors(Kernel& kernel, bool exact, double deviation) {
  if (!kernel.column.empty() || kernel.rows == 1 || kernel.cols == 1) return;
  const Cross cross(kernel);
  if (cross.largest() == 0) return;
  for (int i = 0; i < kernel.rows; ++i)
    for (int j = 0; j < kernel.cols; ++j)
      if (exact ? !cross.is_exact(i, j) : !cross.is_within(i, j, deviation)) return;
  for (int j = 0; j < kernel.cols; ++j) kernel.row.push_back(cross.along(j));
  const double divisor = has_whole_weights(kernel) ? common_divisor(kernel.row.data(), kernel.cols) : 1;
  for (double& w : kernel.row) w /= divisor;
  for (int i = 0; i < kernel.rows; ++i)
    kernel.column.push_back(cross.down(i) / kernel.row[static_cast<std::size_t>(cross.col())]);
}

double largest_deviation(const Kernel& kernel) {
  const Cross cross(kernel);
  double out = 0;
  if (cross.largest() == 0) return out;
  for (int i = 0; i < kernel.rows; ++i)
    for (int j = 0; j < kernel.cols; ++j) out = std::max(out, cross.deviation(i, j));
  return out / std::fabs(cross.largest());
}

}  // namespace tessera::filter
