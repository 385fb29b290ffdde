// SPDX-License-Identifier: Apache-2.0
#include "checksums.hpp"
#include <algorithm>
#include <bit>
#include <map>
#include <utility>
#include "elements.hpp"
#include "tessera/core/random.hpp"

namespace tessera::matmul {
namespace {

constexpr double half_ulp_f32 = 0x1p-24, half_ulp_f64 = 0x1p-53;

bool is_fp8(Element element) { return element == Element::e4m3 || element == Element::e5m2; }

Operand operand(const Arguments& arguments, const char* name) {
  if (!arguments.has(name)) return {};
  const ArrayView v = arguments.oriented(name, arguments.array(name).element, 2);
  return {v.data, v.element, v.strides[0], v.strides[1]};
}

// Of a sum of k products. Tensor cores cut what they add up rather than round it, so that their errors grow
// with the number of sums that they make; docs/low-precision.md has the constants.
double rounding_of_sums(const Arguments& arguments, double k) {
  const Element element = arguments.element();
  if (element == Element::f64) return half_ulp_f64 * std::sqrt(k + 16);
  if (is_fp8(element)) {
    const double cuts = std::ceil(k / 32);
    const bool fast = arguments.text("accumulate") == "fast";
    return 0x1p-13 * (fast ? cuts / 2 + std::sqrt(11 * cuts) : 5);
  }
  if (element != Element::f32) return half_ulp_f32 * (std::sqrt(k + 16) + 2 * std::ceil(k / 16));
  if (arguments.text("compute") != "tf32") return half_ulp_f32 * std::sqrt(k + 16);
  return half_ulp_f32 * (std::sqrt(k + 16) + 2 * std::ceil(k / 8)) + 0x1p-10;
}

struct Result {
  double rounding, least, most;  // relative; absolute, below the smallest normal number; the largest number
};

Result result_of(Element element) {
  constexpr double largest = std::numeric_limits<float>::max();
  switch (element) {
    case Element::f64:
      return {0, 0x1p-1074, std::numeric_limits<double>::max()};
    case Element::bf16:
      return {0.58 * 0x1p-8, 0x1p-133, largest};
    case Element::f16:
      return {0.58 * 0x1p-11, 0x1p-24, 65504};
    default:
      return {0, 0x1p-149, largest};
  }
}

// ±[1, 2) in so few bits that the product with a float is a double.
double weight(std::uint64_t seed, std::int64_t index) {
  const std::uint64_t bits = Random(seed, static_cast<std::uint64_t>(index)).next();
  const double size = 1 + static_cast<double>(bits >> 56) / 256;
  return (bits & 1) != 0 ? size : -size;
}

// The exponent that makes the largest of some elements about 1, so that squares of norms stay doubles.
// Of what a double holds with ease squared, it is left alone.
int scaling_of(const Operand& x, std::int64_t rows, std::int64_t cols) {
  if (x.element != Element::f64 || rows == 0 || cols == 0) return 0;
  constexpr std::int64_t looked_at = 64;
  double largest = 0;
  for (std::int64_t i = 0; i < std::min(rows, looked_at); ++i)
    for (std::int64_t j = 0; j < std::min(cols, looked_at); ++j) {
      const std::int64_t row = i * rows / std::min(rows, looked_at),
                         col = j * cols / std::min(cols, looked_at);
      const double value = std::fabs(static_cast<const double*>(x.data)[row * x.row + col * x.col]);
      if (is_number(value)) largest = std::max(largest, value);
    }
  return largest == 0 ? 0 : -std::ilogb(largest);
}

Operand turned(Operand x) {
  std::swap(x.row, x.col);
  return x;
}

// What is kept of a factor's columns (of B) or rows (of A) between the parts that share them, in the device's
// memory: the weights, as they are and scaled for norms, and the factor's own checksums with their norms.
struct Fold {
  Fold(std::int64_t count, std::int64_t depth, Memory& memory)
      : step(even(count)), vectors(Element::f64, {3 * step + 2 * even(depth)}, memory) {
    weights = vectors.as<double>();
    sizes = weights + step;
    result_sizes = sizes + step;
    sums = result_sizes + step;
    norms = sums + even(depth);
  }
  // Each vector begins where 16 bytes can be read at once.
  static std::int64_t even(std::int64_t count) { return (count + 1) / 2 * 2; }

  std::int64_t step;  // from one vector of weights to the next
  Array vectors;
  double *weights, *sizes, *result_sizes, *sums, *norms;
};

class ProductChecksums final : public Checksums {
 public:
  ProductChecksums(const Arguments& whole, const Device& device, std::unique_ptr<Summing> summing)
      : backend_(&backend_of(device)), memory_(&backend_->memory(device)), summing_(std::move(summing)) {
    const Checked p = Checked::of(whole);
    a_exponent_ = scaling_of(p.a, p.m, p.k);
    b_exponent_ = scaling_of(p.b, p.k, p.n);
    constexpr int most = 1000;
    result_exponent_ = std::clamp(a_exponent_ + b_exponent_, -most, most);
  }

  ChecksumVerdict look(const Tile& tile, const Arguments& part, const Run& run) override {
    const Checked p = Checked::of(part);
    // A sum that goes on where its output lies has lost what it began with.
    ChecksumVerdict out;
    out.decided = p.beta == 0 || p.c0.data != p.c.data;
    if (!out.decided || p.m == 0 || p.n == 0) return out;
    const Tolerance tolerance = tolerance_of(part, p, a_exponent_ + b_exponent_, result_exponent_);
    const Fold &cols = cols_of(tile.cols, p, run), &rows = rows_of(tile.rows, p, run);
    reserve(6 * (p.m + p.n));
    std::vector<Pass> passes;
    const Lines row_lines = lines({p.a, p.c, p.c0}, p.m, p.n, p, cols, 0, passes);
    const Lines col_lines =
        lines({turned(p.b), turned(p.c), turned(p.c0)}, p.n, p.m, p, rows, 6 * p.m, passes);
    summing_->run(passes, run);
    const Tally tally = summing_->tally(row_lines, col_lines, tolerance, run);
    out.decided = tally.untold == 0;
    if (tally.beyond > 0) name_lines(row_lines, col_lines, tolerance, run, out);
    return out;
  }

  void forget() override {
    rows_.clear();
    cols_.clear();
  }

 private:
  using Kept = std::map<std::pair<std::int64_t, std::int64_t>, Fold>;
  struct Matrices {
    Operand factor, result, added;  // a line's sum runs along their rows
  };

  // B·v. Its norms are made ready to weigh A's elements, hence A's scale.
  const Fold& cols_of(const Interval& cols, const Checked& p, const Run& run) {
    return fold(cols_, cols, {p.b, p.k, p.n}, 1, b_exponent_, a_exponent_, run);
  }
  // wᵀ·A
  const Fold& rows_of(const Interval& rows, const Checked& p, const Run& run) {
    return fold(rows_, rows, {turned(p.a), p.k, p.m}, 2, a_exponent_, b_exponent_, run);
  }

  const Fold& fold(Kept& kept, const Interval& side, Pass pass, std::uint64_t seed, int own_exponent,
                   int other_exponent, const Run& run) {
    const auto key = std::pair{side.first, side.last};
    if (const auto known = kept.find(key); known != kept.end()) return known->second;
    Fold& out = kept.emplace(key, Fold(side.size(), pass.rows, *memory_)).first->second;
    const auto count = static_cast<std::size_t>(side.size()), step = static_cast<std::size_t>(out.step);
    std::vector<double> weights(3 * step);
    for (std::size_t i = 0; i < count; ++i) {
      const double w = weight(seed, side.first + static_cast<std::int64_t>(i));
      weights[i] = w;
      weights[step + i] = std::ldexp(w, own_exponent);
      weights[2 * step + i] = std::ldexp(w, result_exponent_);
    }
    backend_->copy(run, out.weights, weights.data(), weights.size() * sizeof(double));
    pass.weights = out.weights;
    pass.sizes = out.sizes;
    pass.sums = out.sums;
    pass.norms = out.norms;
    pass.factor = std::ldexp(1.0, other_exponent);
    summing_->run({&pass, 1}, run);
    return out;
  }

  void reserve(std::int64_t count) {
    if (scratch_.extents().empty() || scratch_.extents()[0] < count)
      scratch_ = Array(Element::f64, {count}, *memory_);
  }

  // The passes that make them, from `at` on in the scratch memory.
  Lines lines(const Matrices& of, std::int64_t count, std::int64_t length, const Checked& p, const Fold& fold,
              std::int64_t at, std::vector<Pass>& passes) {
    double* const to = scratch_.as<double>() + at;
    Lines out{count, to, to + count, to + 2 * count, to + 3 * count, nullptr, nullptr};
    passes.push_back({of.factor, count, p.k, fold.sums, fold.norms, to + 2 * count, to + 3 * count, 1});
    passes.push_back({of.result, count, length, fold.weights, fold.result_sizes, to, to + count, 1});
    if (p.beta == 0) return out;
    out.added = to + 4 * count;
    out.added_norm = to + 5 * count;
    passes.push_back(
        {of.added, count, length, fold.weights, fold.result_sizes, to + 4 * count, to + 5 * count, 1});
    return out;
  }

  std::vector<std::int64_t> beyond(const Lines& lines, const Tolerance& tolerance, const Run& run,
                                   std::uint64_t& mark) const {
    const std::int64_t members = lines.added == nullptr ? 4 : 6, n = lines.count;
    std::vector<double> here(static_cast<std::size_t>(members * n));
    backend_->copy(run, here.data(), lines.got, here.size() * sizeof(double));
    backend_->synchronize(run);
    const double* const first = here.data();
    Lines there{n, first, first + n, first + 2 * n, first + 3 * n, nullptr, nullptr};
    if (members == 6) there.added = first + 4 * n, there.added_norm = first + 5 * n;
    std::vector<std::int64_t> out;
    for (std::int64_t i = 0; i < n; ++i) {
      if (residual_ratio(tolerance, there.at(i)) > 1) out.push_back(i);
      mark = Random(mark ^ std::bit_cast<std::uint64_t>(there.got[i])).next();
    }
    return out;
  }

  void name_lines(const Lines& rows, const Lines& cols, const Tolerance& tolerance, const Run& run,
                  ChecksumVerdict& out) const {
    out.rows = beyond(rows, tolerance, run, out.mark);
    out.cols = beyond(cols, tolerance, run, out.mark);
  }

  Backend* backend_;
  Memory* memory_;
  std::unique_ptr<Summing> summing_;
  int a_exponent_ = 0, b_exponent_ = 0, result_exponent_ = 0;
  Kept rows_, cols_;
  Array scratch_;
};

}  // namespace

bool Checked::serves(const Arguments& arguments) {
  const Element element = arguments.element(), c = arguments.array("C").element;
  if (is_integer(element) || is_integer(c)) return false;
  return arguments.text("activation") == "none" && !arguments.has("bias") && !arguments.has("scale-a") &&
         !arguments.has("scale-b");
}

Checked Checked::of(const Arguments& arguments) {
  Checked out{operand(arguments, "A"), operand(arguments, "B"), {}, operand(arguments, "C"), 0, 0, 0, 1, 0};
  out.m = arguments.dim("m");
  out.n = arguments.dim("n");
  const auto factor = [&](const char* name) {
    const double value = arguments.real(name);
    return arguments.element() == Element::f64 ? value : static_cast<double>(static_cast<float>(value));
  };
  out.alpha = factor("alpha");
  out.k = out.alpha == 0 ? 0 : arguments.dim("k");
  out.beta = arguments.has("C0") ? factor("beta") : 0;
  if (out.beta != 0) out.c0 = operand(arguments, "C0");
  return out;
}

Tolerance tolerance_of(const Arguments& arguments, const Checked& p, int product_exponent,
                       int result_exponent) {
  const auto k = static_cast<double>(p.k);
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n);
  const Result result = result_of(p.c.element);
  Tolerance out;
  out.sum = rounding_of_sums(arguments, k);
  out.result = result.rounding;
  // Sums of the checksums are made of eight or more, side by side.
  out.own = half_ulp_f64 * std::sqrt((k + m + n) / 8 + 64);
  const double least_sum = std::min(result.least, 0x1p-149);  // sums of few bits are floats
  out.tiny = 4 * std::max(m, n) * ((k + 3) * (std::fabs(out.alpha = p.alpha) + 1) * least_sum) +
             2 * Tolerance::deviations * std::sqrt(std::max(m, n)) * result.least;
  out.limit = result.most / 4;
  out.root_k = std::sqrt(k);
  out.beta = p.beta;
  out.product_unit = std::ldexp(1.0, -product_exponent);
  out.result_unit = std::ldexp(1.0, -result_exponent);
  return out;
}

std::unique_ptr<Checksums> make_checksums(const Arguments& whole, const Device& device,
                                          std::unique_ptr<Summing> summing) {
  if (!Checked::serves(whole)) return nullptr;
  return std::make_unique<ProductChecksums>(whole, device, std::move(summing));
}

}  // namespace tessera::matmul
