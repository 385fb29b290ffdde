// SPDX-License-Identifier: Apache-2.0
// Derives a kernel's weights, and the arithmetic that they need, from a call's options.
#include "options.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string_view>
#include "filter.hpp"
#include "ops/imaging/image_operation.hpp"
#include "tessera/core/text/expression.hpp"
#include "tessera/core/text/suggest.hpp"
#include "tessera/io/npy.hpp"

namespace tessera::filtering {
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
    if (part.empty()) throw Error("a number is missing beside a comma");
    for (std::size_t from = 0; from != part.npos; from = part.find_first_not_of(blanks, from)) {
      const std::size_t to = std::min(part.find_first_of(blanks, from), part.size());
      out.push_back(number_of(std::string(part.substr(from, to - from))));
      from = to;
    }
  }
  return out;
}

}  // namespace

std::vector<std::vector<double>> rows_of_numbers(const std::string& text) try {
  std::vector<Row> out;
  for (const std::string_view line : split(text, '\n'))
    for (const std::string_view row : split(line, ';'))
      if (!row.empty()) out.push_back(row_of(row));
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

Kernel product(std::vector<double> column, std::vector<double> row) {
  Kernel out{static_cast<int>(column.size()), static_cast<int>(row.size()), {}, {}, {}};
  for (const double c : column)
    for (const double r : row) out.weights.push_back(c * r);
  out.column = std::move(column);
  out.row = std::move(row);
  return out;
}

// Distributes 2^8 among the taps: each takes the rounding error of its predecessors, the middle one the rest.
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

// Returns OpenCV's short Gaussians for an unspecified sigma, in 256ths, up to the middle.
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
    // The middle is exp(0) even if sigma² is 0.
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

// Kernels without parameters: their weights, or a column and a row.
struct Fixed {
  const char* name;
  std::vector<double> weights, column, row;
};

const std::vector<Fixed>& fixed_kernels() {
  static const std::vector<Fixed> all = {
      {"laplacian", {0, 1, 0, 1, -4, 1, 0, 1, 0}, {}, {}},
      {"laplacian4", {0, 1, 0, 1, -4, 1, 0, 1, 0}, {}, {}},
      {"laplacian8", {1, 1, 1, 1, -8, 1, 1, 1, 1}, {}, {}},
      {"laplacian_ksize3", {2, 0, 2, 0, -8, 0, 2, 0, 2}, {}, {}},
      {"sobel_x", {}, {1, 2, 1}, {-1, 0, 1}},
      {"sobel_y", {}, {-1, 0, 1}, {1, 2, 1}},
      {"scharr_x", {}, {3, 10, 3}, {-1, 0, 1}},
      {"scharr_y", {}, {-1, 0, 1}, {3, 10, 3}},
      {"sharpen", {0, -1, 0, -1, 5, -1, 0, -1, 0}, {}, {}},
  };
  return all;
}

void require_size(std::int64_t rows, std::int64_t cols) {
  if (rows < 1 || cols < 1 || rows > max_taps || cols > max_taps)
    throw Error("--kernel has " + std::to_string(rows) + " × " + std::to_string(cols) +
                " weights; 1 × 1 to 31 × 31 are possible");
}

Kernel from_file(const std::string& path) {
  npy::Numbers numbers = npy::read_numbers(path);
  const Extents& extents = numbers.extents;
  if (extents.empty() || extents.size() > 2) throw Error(path + ": a kernel has 1 or 2 dimensions");
  const std::int64_t rows = extents.size() == 2 ? extents[0] : 1, cols = extents.back();
  require_size(rows, cols);
  return {static_cast<int>(rows), static_cast<int>(cols), std::move(numbers.values), {}, {}};
}

Kernel from_text(const std::string& text) {
  const std::vector<std::vector<double>> rows = rows_of_numbers(text);
  require_size(static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size()));
  Kernel out{static_cast<int>(rows.size()), static_cast<int>(rows[0].size()), {}, {}, {}};
  for (const std::vector<double>& row : rows) out.weights.insert(out.weights.end(), row.begin(), row.end());
  return out;
}

double common_divisor(const double* row, int count) {
  std::int64_t out = 0;
  for (int j = 0; j < count; ++j) out = std::gcd(out, static_cast<std::int64_t>(row[j]));
  return static_cast<double>(std::max<std::int64_t>(out, 1));
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

// The row and the column that cross at the first weight of the largest magnitude.
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
  // Four weights take part. Each may have been rounded to f32, by half an ulp, 2^-24, or by half of the least
  // number, 2^-150; a fifth half ulp covers the neglected terms of that sum.
  bool is_rounded(int i, int j) const {
    return std::fabs(entry(i, j) - down(i) * along(j) / largest_) <=
           0x5p-24 * std::fabs(entry(i, j)) + 0x1p-148;
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
    for (const Fixed& f : fixed_kernels()) out.emplace_back(f.name);
    out.emplace_back("gaussian");
    out.emplace_back("box");
    return out;
  }();
  return names;
}

Kernel kernel_of(const std::string& text, int size, double sigma, Element element) {
  for (const Fixed& f : fixed_kernels())
    if (text == f.name) return f.weights.empty() ? product(f.column, f.row) : Kernel{3, 3, f.weights, {}, {}};
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
    if (!std::isfinite(narrow))
      throw Error(fmt::format("--kernel: the weight {:.6g} is outside the range of f32", w));
    w = narrow;
  }
}

void find_factors(Kernel& kernel) {
  const bool exact = has_whole_weights(kernel);
  if (!kernel.column.empty() || kernel.rows == 1 || kernel.cols == 1) return;
  const Cross cross(kernel);
  if (cross.largest() == 0) return;
  for (int i = 0; i < kernel.rows; ++i)
    for (int j = 0; j < kernel.cols; ++j)
      if (exact ? !cross.is_exact(i, j) : !cross.is_rounded(i, j)) return;
  for (int j = 0; j < kernel.cols; ++j) kernel.row.push_back(cross.along(j));
  const double divisor = exact ? common_divisor(kernel.row.data(), kernel.cols) : 1;
  for (double& w : kernel.row) w /= divisor;
  for (int i = 0; i < kernel.rows; ++i)
    kernel.column.push_back(cross.down(i) / kernel.row[static_cast<std::size_t>(cross.col())]);
}

namespace {

double max_magnitude(Element element) {
  if (!is_integer(element)) return INFINITY;
  const auto [least, most] = limits_of(element);
  return std::fmax(-least, most);
}

double outside_of(const Arguments& arguments) {
  const double value = arguments.real("border-value");
  const Element element = arguments.element();
  const auto [least, most] = limits_of(element);
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

// Returns the largest magnitude that a sum of samples of this type can have.
double largest_sum(const Kernel& kernel, Element element) {
  double weights = 0;
  for (const double w : kernel.weights) weights += std::fabs(w);
  return weights * max_magnitude(element) + half_of(kernel);
}

bool sums_are_whole(const Kernel& kernel, Element element) {
  return is_integer(element) && std::ranges::all_of(kernel.weights, is_whole) &&
         largest_sum(kernel, element) < 0x1p31;
}

// Returns the bits of a stored weight. A weight of 0 or −0 has no bit set, by which kernels skip it.
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
  constexpr double max_byte = 255, max_sum = 65535;
  const auto is_byte = [](double w) { return w >= 0 && w <= max_byte; };
  const double along = std::accumulate(kernel.row.begin(), kernel.row.end(), 0.0);
  return std::ranges::all_of(kernel.row, is_byte) && std::ranges::all_of(kernel.column, is_byte) &&
         along * max_byte <= max_sum;
}

Error beyond_f32(const Arguments& arguments, const char* name) {
  return Error("--" + std::string(name) + " " + arguments.text(name) + " is not a number that f32 can hold");
}

// Chooses the arithmetic that the options need, and the conversion of the sum.
void choose_arithmetic(const Arguments& arguments, const Kernel& kernel, Options& out) {
  const Element element = arguments.element();
  const double scale = arguments.real("scale") * kernel.factor, offset = arguments.real("offset");
  const double half = half_of(kernel), largest = largest_sum(kernel, element);
  out.taps.whole = sums_are_whole(kernel, element);
  out.taps.bytes =
      out.taps.whole && element == Element::u8 && !kernel.column.empty() && sums_fit_bytes(kernel);
  OutputConversion& f = out.conversion;
  f.absolute = arguments.text("abs") == "yes";
  // Fractions from the factor 2^-shift are kept if the result can hold them.
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
  // A tiny factor that rounds to 0 would erase the picture.
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

void require_options_used(const Arguments& arguments) {
  const std::string& kernel = arguments.text("kernel");
  const bool bell = kernel == "gaussian",
             constant = border_named(arguments.text("border")) == Border::constant;
  require_option_used(arguments, "size", bell || kernel == "box", "--kernel gaussian or box");
  require_option_used(arguments, "sigma", bell, "--kernel gaussian");
  require_option_used(arguments, "border-value", constant, "--border constant");
}

Options make(const Arguments& arguments) {
  require_options_used(arguments);
  Options out;
  const auto size = static_cast<int>(arguments.integer("size"));
  Kernel kernel = kernel_of(arguments.text("kernel"), size, arguments.real("sigma"), arguments.element());
  round_weights(kernel);
  find_factors(kernel);
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

}  // namespace

const Options& options_of(const Arguments& arguments) {
  return arguments.derived<Options>([&] { return make(arguments); });
}

Element element_of_result(Element element, const Arguments::Words& words) {
  const auto word = words.find("output-element");
  if (word == words.end() || word->second == "same") return element;
  return parse_element(word->second).value_or(element);
}

}  // namespace tessera::filtering
