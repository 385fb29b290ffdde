// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/checksums.hpp"
#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include "ops/matmul/checksums_kept.hpp"
#include "ops/matmul/problem/elements.hpp"
#include "tessera/core/random.hpp"
#include "ops/matmul/problem/typed_operands.hpp"

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
  if (arguments.text("compute") != "tf32" || arguments.element() != Element::f32)
    return half_ulp_f32 * std::sqrt(k + 16);
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

// ±[1, 2) in so mixed precision that the product with a float is a double.
double weight(std::uint64_t seed, std::int64_t index) {
  const std::uint64_t bits = Random(seed, static_cast<std::uint64_t>(index)).next();
  const double size = 1 + static_cast<double>(bits >> 56) / 256;
  return (bits & 1) != 0 ? size : -size;
}

// The exponent that makes the largest of some elements of a line of x about 1; nothing where they tell none.
template <class T>
std::optional<int> exponent_of(const Operand& x, std::int64_t first, std::int64_t step, std::int64_t length) {
  constexpr std::int64_t looked_at = 16;
  constexpr int most = 900;  // what is scaled back by as much is a double, too
  double largest = 0;
  for (std::int64_t i = 0; i < std::min(length, looked_at); ++i) {
    const double value = std::fabs(
        widened(static_cast<const T*>(x.data)[first + i * length / std::min(length, looked_at) * step]));
    if (is_number(value)) largest = std::max(largest, value);
  }
  if (largest == 0) return std::nullopt;
  return std::clamp(-std::ilogb(largest), -most, most);
}

using Exponents = std::vector<std::optional<int>>;

// Of each of some columns of x; nothing of one that tells none.
Exponents exponents_of(const Operand& x, std::int64_t rows, const Interval& cols) {
  Exponents out;
  dispatch(x.element, [&](auto type) {
    using T = typename decltype(type)::type;
    for (std::int64_t j = cols.first; j < cols.last; ++j)
      out.push_back(exponent_of<T>(x, j * x.col, x.row, rows));
  });
  return out;
}

// Of a whole matrix.
std::optional<int> exponent_of(const Operand& x, std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t looked_at = 64;
  std::optional<int> out;
  dispatch(x.element, [&](auto type) {
    using T = typename decltype(type)::type;
    for (std::int64_t i = 0; i < std::min(rows, looked_at); ++i)
      if (const auto found = exponent_of<T>(x, i * rows / std::min(rows, looked_at) * x.row, x.col, cols))
        out = std::min(*found, out.value_or(*found));
  });
  return out;
}

// What makes β·C0 look like an addend of the other factor: where that is x, the product adds about
// |α|·√k·|factor|·x.
int exponent_beside(const Operand& factor, std::int64_t rows, const Checked& whole) {
  const auto own = exponent_of(factor, rows, whole.k);
  if (!own) return 0;  // the product is nothing, or unknown
  const double shift = std::log2(std::fabs(whole.alpha)) + 0.5 * std::log2(static_cast<double>(whole.k)) -
                       std::log2(std::fabs(whole.beta)) - *own;
  return is_number(shift) ? static_cast<int>(std::clamp(shift, -4000.0, 4000.0)) : 0;
}

Operand turned(Operand x) {
  std::swap(x.row, x.col);
  return x;
}

// One side of a part: what its lines' checksums are made of. A line's sum runs along the matrices' rows.
struct Side {
  Operand factor, other, result, added;  // `other` makes the fold
  std::int64_t count, length;            // lines, and how long they are
  Interval lines;                        // these, in the whole
  Interval cols;                         // of the other factor, in the whole
  Operand whole;                         // that factor in host memory
  Operand whole_added;                   // C0, too; no data: nothing is added
  std::int64_t whole_count;              // lines of the whole
  int beside;                            // C0's exponents as the other factor's
  std::uint64_t seed;
};

class ProductChecksums final : public Checksums {
 public:
  ProductChecksums(const Arguments& whole, const Device& device, std::unique_ptr<Summing> summing)
      : backend_(&backend_of(device)),
        memory_(&backend_->memory(device)),
        summing_(std::move(summing)),
        whole_(Checked::of(whole)) {
    // Where results take C0's place, it is no more what it was, and may be written just now.
    if (whole_.beta == 0 || whole_.c0.data == whole_.c.data) whole_.c0 = {};
    if (whole_.c0.data == nullptr) return;
    a_beside_ = exponent_beside(whole_.a, whole_.m, whole_);
    b_beside_ = exponent_beside(turned(whole_.b), whole_.n, whole_);
  }

  // Rows alone see what is wrong; columns are asked where.
  ChecksumVerdict look(const Tile& tile, const Arguments& part, const Run& run) override {
    const Checked p = Checked::of(part);
    ChecksumVerdict out;
    // A sum that goes on where its output lies has lost what it began with.
    out.decided = p.beta == 0 || p.c0.data != p.c.data;
    if (!out.decided || p.m == 0 || p.n == 0) return out;
    out.rows = look_at(
        {p.a, p.b, p.c, p.c0, p.m, p.n, tile.rows, tile.cols, whole_.b, whole_.c0, whole_.m, a_beside_, 1},
        cols_, part, p, run, out);
    if (out.rows.empty()) return out;
    out.cols = look_at({turned(p.b), turned(p.a), turned(p.c), turned(p.c0), p.n, p.m, tile.cols, tile.rows,
                        turned(whole_.a), turned(whole_.c0), whole_.n, b_beside_, 2},
                       rows_, part, p, run, out);
    return out;
  }

  void forget() override {
    rows_.clear();
    cols_.clear();
  }

 private:
  // The lines that do not fit.
  std::vector<std::int64_t> look_at(const Side& side, Kept& kept, const Arguments& part, const Checked& p,
                                    const Run& run, ChecksumVerdict& out) {
    Fold& fold = fold_of(side, kept, p.k, run);
    const Tolerance tolerance = tolerance_of(part, p, fold.least, fold.most);
    reserve(4 * side.count);
    std::vector<Pass> passes;
    std::vector<Product*> making;
    const Product& product = product_of(side, kept, p.k, passes, making);
    const Lines lines = lines_of(side, p, fold, product, passes);
    out.seconds += backend_->seconds(run, [&] {
      if (!fold.made) {
        const Pass make{side.other, p.k, side.length, fold.weights, fold.weights, fold.sums, fold.norms};
        summing_->run({&make, 1}, run);
      }
      fold.made = true;
      summing_->run(passes, run);
      summing_->count(lines, tolerance, run);
    });
    const Tally tally = summing_->counted(run);
    for (Product* const one : making) one->made = true;
    out.decided = out.decided && tally.untold == 0;
    return tally.beyond == 0 ? std::vector<std::int64_t>() : beyond(lines, tolerance, run, out.mark);
  }

  // Weights make columns of what is summed about equally large, lest small ones hide behind large ones: the
  // larger decides of what the product adds to a column, which goes with the other factor's, and of what C0
  // adds. A column that tells neither has the last one's.
  static std::vector<int> exponents_for(const Side& side, std::int64_t depth) {
    const Exponents factor = exponents_of(side.whole, depth, side.cols);
    const Exponents added = side.whole_added.data == nullptr
                                ? Exponents(factor.size())
                                : exponents_of(side.whole_added, side.whole_count, side.cols);
    constexpr int most = 900;
    std::vector<int> out;
    int last = 0;
    for (std::size_t i = 0; i < factor.size(); ++i) {
      if (factor[i]) last = *factor[i];
      if (added[i]) {
        const int beside = std::clamp(*added[i] + side.beside, -most, most);
        last = factor[i] ? std::min(last, beside) : beside;
      }
      out.push_back(last);
    }
    return out;
  }

  Fold& fold_of(const Side& side, Kept& kept, std::int64_t depth, const Run& run) {
    const auto key = std::pair{side.cols.first, side.cols.last};
    if (const auto known = kept.folds.find(key); known != kept.folds.end()) return known->second;
    Fold out(side.length, depth, *memory_);
    const std::vector<int> exponents = exponents_for(side, depth);
    const auto count = static_cast<std::size_t>(side.length);
    std::vector<double> weights(static_cast<std::size_t>(even(side.length)));
    for (std::size_t i = 0; i < count; ++i) {
      const double w =
          std::ldexp(weight(side.seed, side.cols.first + static_cast<std::int64_t>(i)), exponents[i]);
      weights[i] = w;
      out.least = i == 0 ? std::fabs(w) : std::min(out.least, std::fabs(w));
      out.most = std::max(out.most, std::fabs(w));
    }
    backend_->copy(run, out.weights, weights.data(), weights.size() * sizeof(double));
    return kept.folds.emplace(key, std::move(out)).first->second;
  }

  // The part's product with its fold, and the passes that make it where it is not there yet: at one reading
  // of the factor with those other folds that further parts of these lines will want.
  Product& product_of(const Side& side, Kept& kept, std::int64_t depth, std::vector<Pass>& passes,
                      std::vector<Product*>& making) {
    const Kept::Place lines{side.lines.first, side.lines.last}, own{side.cols.first, side.cols.last};
    if (const auto known = kept.products.find({lines, own});
        known != kept.products.end() && known->second.made)
      return known->second;
    std::vector<std::pair<Kept::Place, const Fold*>> wanted{{own, &kept.folds.at(own)}};
    for (const auto& [place, fold] : kept.folds) {
      const auto known = kept.products.find({lines, place});
      if (wanted.size() < summing_->at_once() && place != own && fold.made &&
          (known == kept.products.end() || !known->second.made))
        wanted.emplace_back(place, &fold);
    }
    const std::int64_t step = 2 * even(side.count);
    const auto room = std::make_shared<Array>(Element::f64, Extents{std::ssize(wanted) * step}, *memory_);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      double* const sums = room->as<double>() + static_cast<std::int64_t>(i) * step;
      const auto& [place, fold] = wanted[i];
      Product& product = kept.products[{lines, place}] = {room, sums, sums + step / 2, false};
      passes.push_back(
          {side.factor, side.count, depth, fold->sums, fold->norms, product.sums, product.norms});
      making.push_back(&product);
    }
    return *making.front();
  }

  void reserve(std::int64_t count) {
    if (scratch_.extents().empty() || scratch_.extents()[0] < count)
      scratch_ = Array(Element::f64, {count}, *memory_);
  }

  // The passes that make the others, in the scratch memory.
  Lines lines_of(const Side& side, const Checked& p, const Fold& fold, const Product& product,
                 std::vector<Pass>& passes) {
    double* const to = scratch_.as<double>();
    const std::int64_t n = side.count;
    Lines out{n, to, to + n, product.sums, product.norms, nullptr, nullptr};
    passes.push_back({side.result, n, side.length, fold.weights, fold.weights, to, to + n});
    if (p.beta == 0) return out;
    out.added = to + 2 * n;
    out.added_norm = to + 3 * n;
    passes.push_back({side.added, n, side.length, fold.weights, fold.weights, to + 2 * n, to + 3 * n});
    return out;
  }

  std::vector<std::int64_t> beyond(const Lines& lines, const Tolerance& tolerance, const Run& run,
                                   std::uint64_t& mark) const {
    const std::int64_t n = lines.count;
    Lines there = lines;
    std::vector<std::vector<double>> here;
    for (const double* Lines::*const member : {&Lines::got, &Lines::got_norm, &Lines::product,
                                               &Lines::product_norm, &Lines::added, &Lines::added_norm}) {
      if (lines.*member == nullptr) continue;
      std::vector<double>& values = here.emplace_back(static_cast<std::size_t>(n));
      backend_->copy(run, values.data(), lines.*member, values.size() * sizeof(double));
      there.*member = values.data();
    }
    backend_->synchronize(run);
    std::vector<std::int64_t> out;
    for (std::int64_t i = 0; i < n; ++i) {
      if (residual_ratio(tolerance, there.at(i)) > 1) out.push_back(i);
      mark = Random(mark ^ std::bit_cast<std::uint64_t>(there.got[i])).next();
    }
    return out;
  }

  Backend* backend_;
  Memory* memory_;
  std::unique_ptr<Summing> summing_;
  Checked whole_;
  int a_beside_ = 0, b_beside_ = 0;
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

Tolerance tolerance_of(const Arguments& arguments, const Checked& p, double least_weight,
                       double most_weight) {
  const auto k = static_cast<double>(p.k);
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n);
  const Result result = result_of(p.c.element);
  Tolerance out;
  out.alpha = p.alpha;
  out.beta = p.beta;
  out.sum = rounding_of_sums(arguments, k);
  out.result = result.rounding;
  // Sums of the checksums are made of eight or more, side by side.
  out.own = half_ulp_f64 * std::sqrt((k + m + n) / 8 + 64);
  const double least_sum = std::min(result.least, 0x1p-149);  // sums of mixed precision are floats
  // Weights below 1 make the checksums' own sums underflow before those of C do.
  out.tiny =
      std::max(1.0, most_weight) * (4 * std::max(m, n) * ((k + 3) * (std::fabs(p.alpha) + 1) * least_sum) +
                                    2 * Tolerance::deviations * std::sqrt(std::max(m, n)) * result.least);
  out.limit = result.most / 4 * std::min(1.0, least_weight);
  out.root_k = std::sqrt(k);
  return out;
}

std::unique_ptr<Checksums> make_checksums(const Arguments& whole, const Device& device,
                                          std::unique_ptr<Summing> summing) {
  if (!Checked::serves(whole)) return nullptr;
  return std::make_unique<ProductChecksums>(whole, device, std::move(summing));
}

}  // namespace tessera::matmul
