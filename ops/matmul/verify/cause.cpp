// SPDX-License-Identifier: Apache-2.0
// The cause of wrong elements: each hypothesis changes what an element is computed from, a sample of the
// wrong elements is computed so, and the first hypothesis under which they are right is named.
#include <fmt/format.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include "ops/matmul/gemm/accuracy.hpp"
#include "ops/matmul/gemm/operands.hpp"
#include "ops/matmul/verify/bounds.hpp"
#include "ops/matmul/verify/examine.hpp"
#include "tessera/core/array/random.hpp"

namespace tessera::matmul {
namespace {

using Vector = std::vector<double>;

// Half of the distance from a number to the next one: relative, and between subnormal numbers.
struct Spacing {
  double relative, least;
  double at(double value) const { return std::max(relative * std::fabs(value), least); }
};
Spacing spacing_of(Element element) {
  if (element == Element::bf16) return {0x1p-8, 0x1p-134};
  if (element == Element::f16) return {0x1p-11, 0x1p-25};
  if (element == Element::f64) return {0x1p-53, 0x1p-1074};
  if (is_integer(element)) return {0, 1};
  return {0x1p-24, 0x1p-150};
}

// Modulo 2^32.
double wrapped(long double x) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(x)));
}

// All that one element of C is computed from.
struct Recipe {
  Vector a, b;         // its row of op(A), its column of op(B)
  bool wraps = false;  // sums are modulo 2^32
  double alpha = 1, beta = 0, c0 = 0, bias = 0, scale_a = 1, scale_b = 1;
  Activation activation = Activation::none;

  double factor() const { return alpha * scale_a * scale_b; }
  long double term(std::size_t l) const {
    const long double out = static_cast<long double>(a[l]) * static_cast<long double>(b[l]);
    return wraps ? static_cast<long double>(wrapped(out)) : out;
  }
  long double sum() const {
    long double out = 0;
    for (std::size_t l = 0; l < a.size(); ++l) out += term(l);
    return out;
  }
  double magnitude() const {
    double out = 0;
    for (std::size_t l = 0; l < a.size(); ++l) out += std::fabs(a[l] * b[l]);
    return out * std::fabs(factor());
  }
  double size() const { return magnitude() + std::fabs(beta * c0) + std::fabs(bias); }
  // Sums blocks of products. `running`: the sums of blocks are rounded, too, not only the blocks.
  double short_sum(Element shorter, std::int64_t block, bool running) const {
    double out = 0, part = 0;
    for (std::size_t l = 0; l < a.size(); ++l) {
      part += a[l] * b[l];
      if ((static_cast<std::int64_t>(l) + 1) % block != 0 && l + 1 != a.size()) continue;
      out = running ? rounded_to(shorter, out + part) : out + rounded_to(shorter, part);
      part = 0;
    }
    return out;
  }
};

struct Sample {
  std::int64_t i = 0, j = 0;
  double got = 0, expected = 0, bound = 0;
  Recipe recipe;
  double size = 0;  // the recipe's
};

// Rounds to tf32 or bf16. `cut`: towards zero.
double shortened(double x, int dropped_bits, bool cut) {
  auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
  const std::uint32_t mask = (1U << dropped_bits) - 1;
  if (!cut) bits += (mask >> 1) + ((bits >> dropped_bits) & 1);
  return std::bit_cast<float>(bits & ~mask);
}

double at(const ArrayView& x, std::int64_t i, std::int64_t j) {
  const std::int64_t offset = i * x.strides[0] + (x.strides.size() == 1 ? 0 : j * x.strides[1]);
  return load_as_double(
      x.element, static_cast<const char*>(x.data) + offset * static_cast<std::int64_t>(size_of(x.element)));
}

class Search {
 public:
  // `wrong` empty: the elements are within their bounds, and only arithmetics of less precision are tried.
  Search(const Arithmetic& arithmetic, const std::vector<Mismatch>& wrong)
      : arguments_(arithmetic.arguments),
        precise_(demands_precision(arithmetic)),
        floor_(arithmetic.slack.floor),
        wrong_(wrong),
        m_(arguments_.dim("m")),
        n_(arguments_.dim("n")),
        k_(arguments_.dim("k")),
        a_(arguments_.oriented("A", arguments_.array("A").element, 2)),
        b_(arguments_.oriented("B", arguments_.array("B").element, 2)),
        c_(arguments_.array("C")),
        activation_(PostOp::of(arguments_).activation) {
    for (std::int64_t width = 1; width <= 256; width *= 2) widths_.push_back(width);
    for (const std::int64_t parts : {2, 3, 4, 8}) widths_.push_back((k_ + parts - 1) / parts);
  }

  std::string cause() {
    if (wrong_.size() == 1 && m_ * n_ > 2) return "one wrong element";
    if (!wrong_.empty()) not_computed();
    if (!found_.empty() || !draw_samples()) return found_;
    if (!wrong_.empty()) epilogue(), operands(), parts_of_sums();
    arithmetics();
    return found_;
  }

 private:
  // Returns false if no element is wrong and the errors are those of the named arithmetic: at most eight
  // roundings of an element of C and of the sum of its terms' magnitudes.
  bool draw_samples() {
    if (wrong_.empty() && (m_ * n_ < 8 || k_ < 2 || !precise_)) return false;
    Random random(1);
    double errors = 0, roundings = 0;
    const std::size_t count = wrong_.empty() ? 16 : std::min<std::size_t>(24, wrong_.size());
    for (std::size_t at = 0; at < count; ++at) {
      Sample s;
      if (!wrong_.empty()) {
        const std::size_t first = wrong_.size() * at / count, last = wrong_.size() * (at + 1) / count;
        const Mismatch& w = wrong_[first + random.below(last - first)];
        s = {w.index[0], w.index[1], w.got, w.expected, w.bound, recipe(w.index[0], w.index[1]), 0};
      } else {
        s.i = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(m_)));
        s.j = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(n_)));
        s.got = tessera::matmul::at(c_, s.i, s.j);
        s.recipe = recipe(s.i, s.j);
        s.expected = finished(s.recipe, s.recipe.sum());
        errors += std::fabs(s.got - s.expected);
        roundings += roundings_of(arguments_, s.expected, s.recipe.magnitude()) +
                     (std::fabs(s.recipe.factor()) + 1) * floor_;
      }
      s.size = s.recipe.size();
      samples_.insert(samples_.begin() + static_cast<std::ptrdiff_t>(random.below(at + 1)), std::move(s));
    }
    return !wrong_.empty() || (std::isfinite(errors) && errors > 8 * roundings);
  }

  // Elements of a matrix by their numbers in row-major order.
  Vector line(const ArrayView& x, std::int64_t from, std::int64_t step) const {
    Vector out;
    const std::int64_t cols = std::max<std::int64_t>(1, x.extents[1]);
    for (std::int64_t l = 0, i = from / cols, j = from % cols; l < k_; ++l) {
      out.push_back(at(x, i, j));
      for (j += step; j >= cols; j -= cols) ++i;
    }
    return out;
  }
  Vector row(std::int64_t i) const { return line(a_, i * k_, 1); }
  Vector column(std::int64_t j) const { return line(b_, j, n_); }
  double vector(const char* name, std::int64_t place, double otherwise) const {
    if (!arguments_.has(name)) return otherwise;
    const ArrayView& all = arguments_.array(name);
    return at(all, std::min(place, all.extents[0] - 1), 0);
  }
  double bias(std::int64_t i, std::int64_t j) const {
    return vector("bias", arguments_.text("bias-along") == "rows" ? i : j, 0);
  }
  Recipe recipe(std::int64_t i, std::int64_t j) const {
    Recipe out{row(i), column(j), a_.element == Element::i32};
    out.alpha = arguments_.real("alpha");
    out.beta = arguments_.real("beta");
    if (arguments_.has("C0")) out.c0 = at(arguments_.array("C0"), i, j);
    out.bias = bias(i, j);
    out.scale_a = vector("scale-a", i, 1);
    out.scale_b = vector("scale-b", j, 1);
    out.activation = activation_;
    return out;
  }

  // Returns the element whose sum of products is `sum`, but for roundings.
  double finished(const Recipe& r, long double sum) const {
    const long double before =
        r.factor() * (r.wraps ? static_cast<long double>(wrapped(sum)) : sum) + r.beta * r.c0 + r.bias;
    const bool whole = c_.element == Element::i32;
    const double value =
        applied_exactly({r.activation}, whole ? wrapped(before) : static_cast<double>(before));
    return whole || c_.element == Element::f64 ? value : rounded_to(c_.element, value);
  }
  double rounding_of(double value) const { return spacing_of(c_.element).at(value); }
  double rounding_of_sum(const Recipe& r) const {
    const Spacing sums = spacing_of(a_.element == Element::f64 ? Element::f64 : Element::f32);
    return sums.relative * r.magnitude() + static_cast<double>(k_) * sums.least * std::fabs(r.factor());
  }

  // Names the hypothesis if it explains four of five elements, and the squares of errors beyond C's own
  // rounding are `gain` times smaller under it. An element has the bound of the sample, larger if its terms
  // are. `value_of`: the element under the hypothesis; nullopt: it does not apply.
  void test(const std::string& words, double gain,
            const std::function<std::optional<double>(const Sample&, double& size)>& value_of) {
    if (!found_.empty()) return;
    std::size_t tried = 0, right = 0;
    long double before = 0, after = 0;
    for (const Sample& s : samples_) {
      double size = s.size;
      const auto value = value_of(s, size);
      if (!value) continue;
      const double left = std::fabs(s.got - *value),
                   rounding = is_integer(c_.element) ? 0 : rounding_of(*value);
      const bool cut = s.bound == 0 && activation_ != Activation::none;  // by the activation
      const double bound =
          s.bound * std::max(1.0, size / s.size) + rounding + (cut ? 8 * rounding_of_sum(s.recipe) : 0);
      right += left <= bound || (std::isnan(s.got) && std::isnan(*value));
      if (++tried >= 4 && right * 2 < tried) return;
      if (!std::isfinite(*value) || !std::isfinite(s.expected) || !std::isfinite(s.got)) continue;
      const long double own = rounding_of(s.expected) / 2,
                        was = std::max(0.0L, std::fabs(s.got - s.expected) - own),
                        is = std::max(0.0L, left - own);
      before += was * was;
      after += is * is;
    }
    if (tried >= 2 && before > 0 && 2 * tried >= samples_.size() && right * 5 >= tried * 4 &&
        after * gain <= before)
      found_ = fmt::format("{} (explains {} of {} elements that were computed so)", words, right, tried);
  }
  // `change` returns false if the hypothesis does not apply to the element.
  void suppose(const std::string& words, const std::function<bool(Recipe&, const Sample&)>& change) {
    test(words, 2, [&](const Sample& s, double& size) -> std::optional<double> {
      Recipe r = s.recipe;
      if (!change(r, s)) return std::nullopt;
      size = r.size();
      return finished(r, r.sum());
    });
  }
  void suppose_sum(const std::string& words, const std::function<double(const Recipe&)>& sum) {
    test(words, 9, [&](const Sample& s, double&) { return finished(s.recipe, sum(s.recipe)); });
  }

  // Names elements that were not computed at all by their values alone.
  void not_computed() {
    const auto share = [&](const auto& holds) {
      return std::ranges::count_if(wrong_, holds) * 5 >= std::ssize(wrong_) * 4;
    };
    const double value = wrong_[wrong_.size() / 2].got;
    if (share([](const Mismatch& w) { return std::isnan(w.got); }))
      found_ = "NaN, as from an uninitialised tile";
    else if (share([](const Mismatch& w) { return !std::isfinite(w.expected) && std::isfinite(w.got); }))
      found_ = "Inf and NaN of the inputs do not reach C";
    else if (c_.element != Element::i8 && activation_ == Activation::none &&
             share([&](const Mismatch& w) { return w.got == value; }))
      found_ = fmt::format("never written: the elements are {:.9g}", value);
    else if (arguments_.has("C0") && share([&](const Mismatch& w) {
               return at(arguments_.array("C0"), w.index[0], w.index[1]) == w.got;
             }))
      found_ = "never written: the elements are those of C0";
  }

  void epilogue() {
    const struct {
      std::string what;
      double Recipe::*value;
      double nothing;
      bool multiplies;
    } terms[] = {{"α", &Recipe::alpha, 1, true},
                 {"C0", &Recipe::beta, 0, false},
                 {"β", &Recipe::beta, 1, true},
                 {"the bias", &Recipe::bias, 0, false},
                 {"the scale of A", &Recipe::scale_a, 1, true},
                 {"the scale of B", &Recipe::scale_b, 1, true}};
    for (const auto& term : terms) {
      suppose(term.what + " is forgotten", [&](Recipe& r, const Sample&) {
        return std::exchange(r.*term.value, term.nothing) != term.nothing;
      });
      suppose(term.what + " is applied twice", [&](Recipe& r, const Sample&) {
        const double once = r.*term.value;
        return (r.*term.value *= term.multiplies ? once : 2) != once;
      });
    }
    suppose("the sign is changed", [](Recipe& r, const Sample&) { return r.alpha = -r.alpha, true; });
    suppose("α multiplies C0 and the bias, too",
            [](Recipe& r, const Sample&) { return r.beta *= r.alpha, r.bias *= r.alpha, r.alpha != 1; });
    suppose("the bias is added along the other direction",
            [&](Recipe& r, const Sample& s) { return r.bias = bias(s.j, s.i), true; });
    suppose("the activation is forgotten", [](Recipe& r, const Sample&) {
      return std::exchange(r.activation, Activation::none) != Activation::none;
    });
  }

  void operands() {
    // A matrix whose memory is read in the other order: square ones are transposed.
    const std::string order = " transposed: its memory is read in the other order";
    suppose("A is" + order, [&](Recipe& r, const Sample& s) { return r.a = line(a_, s.i, m_), true; });
    suppose("B is" + order, [&](Recipe& r, const Sample& s) { return r.b = line(b_, s.j * k_, 1), true; });
    suppose("C is" + order, [this](Recipe& r, const Sample& s) {
      const std::int64_t from = s.i * n_ + s.j;
      return r = recipe(from % m_, from / m_), true;
    });
    for (std::int64_t step = 1; step <= 256; step *= 2)
      for (const std::int64_t by : {step, -step}) {
        const std::string far = fmt::format(" is shifted by {}", by);
        const auto along_k = [&](Vector& x) {
          if (step >= k_) return false;
          if (by > 0) x.erase(x.begin(), x.begin() + by);
          x.insert(by > 0 ? x.end() : x.begin(), static_cast<std::size_t>(step), 0);
          return x.resize(static_cast<std::size_t>(k_)), true;
        };
        for (const bool all : {false, true}) {  // all that an element of C is made of, else A or B alone
          suppose((all ? "C" : "A") + far + " rows", [&](Recipe& r, const Sample& s) {
            if (s.i + by < 0 || s.i + by >= m_) return false;
            return all ? (r = recipe(s.i + by, s.j), true) : (r.a = row(s.i + by), true);
          });
          suppose((all ? "C" : "B") + far + " columns", [&](Recipe& r, const Sample& s) {
            if (s.j + by < 0 || s.j + by >= n_) return false;
            return all ? (r = recipe(s.i, s.j + by), true) : (r.b = column(s.j + by), true);
          });
        }
        suppose("A" + far + " along k", [&](Recipe& r, const Sample&) { return along_k(r.a); });
        suppose("B" + far + " along k", [&](Recipe& r, const Sample&) { return along_k(r.b); });
      }
  }

  // Products of an interval of k that are left out, or added twice. Sums of the first products select those
  // intervals that may explain the first elements; the reference decides.
  void parts_of_sums() {
    if (!found_.empty() || k_ < 2) return;
    struct Part {
      std::int64_t first, last;
      bool twice;
    };
    std::vector<Part> parts;
    for (std::int64_t t = 1; t <= k_; ++t) parts.push_back({k_ - t, k_, false});
    for (std::int64_t t = 1; t < k_; ++t) parts.push_back({0, t, false});
    for (const bool twice : {false, true})
      for (const std::int64_t t : widths_)
        for (std::int64_t first = 0; first < k_; first += t)
          parts.push_back({first, std::min(k_, first + t), twice});
    for (std::int64_t t = 2; t <= k_; ++t) parts.push_back({k_ - t, k_, true});
    for (std::size_t first = 0; first < std::min<std::size_t>(6, samples_.size()); ++first) {
      const Sample& s = samples_[first];
      std::vector<long double> sums(1, 0);
      for (std::size_t l = 0; l < s.recipe.a.size(); ++l) sums.push_back(sums.back() + s.recipe.term(l));
      std::erase_if(parts, [&](const Part& part) {
        const long double some =
            sums[static_cast<std::size_t>(part.last)] - sums[static_cast<std::size_t>(part.first)];
        const double value = finished(s.recipe, sums.back() + (part.twice ? some : -some));
        return !(std::fabs(s.got - value) <= 4 * (s.bound + rounding_of(value)));
      });
    }
    if (parts.size() > 64) parts.resize(64);
    for (const Part& part : parts) {
      const std::string words =
          part.twice || part.last != k_
              ? fmt::format("products {}–{} of k are {}", part.first, part.last - 1,
                            part.twice ? "added twice" : "missing")
              : fmt::format("a tail of k is missing: its last {} products", k_ - part.first);
      suppose(words, [&](Recipe& r, const Sample&) {
        for (Vector* x : {&r.a, &r.b}) {
          const Vector some(x->begin() + part.first, x->begin() + part.last);
          if (part.twice) x->insert(x->end(), some.begin(), some.end());
          else x->erase(x->begin() + part.first, x->begin() + part.last);
        }
        return true;
      });
    }
  }

  void arithmetics() {
    const Element a = a_.element;
    if (a == Element::i8)
      suppose_sum("sums wrap at 16 bits", [](const Recipe& r) {
        return static_cast<double>(static_cast<std::int16_t>(static_cast<std::int64_t>(r.sum())));
      });
    if (is_integer(a)) return;
    for (const Element shorter : {Element::f32, Element::bf16, Element::f16})
      if (size_of(shorter) < size_of(c_.element))
        test("C is rounded to " + std::string(name_of(shorter)), 9, [=](const Sample& s, double&) {
          const bool is_near = std::fabs(s.got - s.expected) <= 2 * spacing_of(shorter).at(s.expected);
          return is_near && rounded_to(shorter, s.got) == s.got ? s.got : s.expected;
        });
    const auto with_operands = [&](const std::string& name, const auto& rounded) {
      suppose_sum("products of " + name + " where " + std::string(name_of(a)) + " was promised",
                  [&](const Recipe& r) {
                    double out = 0;
                    for (std::size_t l = 0; l < r.a.size(); ++l) out += rounded(r.a[l]) * rounded(r.b[l]);
                    return out;
                  });
    };
    const bool tf32 = a == Element::f32 && compute_of(arguments_) == Compute::tf32;
    for (const bool cut : {false, true}) {
      if (a != Element::f32) break;
      if (!tf32) with_operands("TF32", [=](double x) { return shortened(x, 13, cut); });
      with_operands("bf16", [=](double x) { return shortened(x, 16, cut); });
    }
    if (a == Element::f64) with_operands("f32", [](double x) { return static_cast<float>(x); });
    for (const Element shorter : {Element::bf16, Element::f16}) {
      const std::string name(name_of(shorter));
      for (const std::int64_t block : widths_)
        for (const bool running : {true, false})
          suppose_sum((running ? "sums are kept in " : "parts of sums are rounded to ") + name,
                      [=](const Recipe& r) { return r.short_sum(shorter, block, running); });
    }
  }

  const Arguments& arguments_;
  const bool precise_;
  const double floor_;  // smaller sums are flushed to 0
  const std::vector<Mismatch>& wrong_;
  const std::int64_t m_, n_, k_;
  const ArrayView a_, b_, c_;
  const Activation activation_;
  std::vector<std::int64_t> widths_;  // widths of tiles and parts of k
  std::vector<Sample> samples_;
  std::string found_;
};

}  // namespace

bool demands_precision(const Arithmetic& arithmetic) {
  const Element a = arithmetic.arguments.element();
  return arithmetic.slack.growth == 0 && !is_integer(a) && !is_fp8(a) &&
         !(a == Element::f32 && compute_of(arithmetic.arguments) == Compute::tf32);
}

double roundings_of(const Arguments& arguments, double value, double size) {
  const Spacing sums = spacing_of(arguments.element() == Element::f64 ? Element::f64 : Element::f32);
  return spacing_of(arguments.array("C").element).at(value) + sums.relative * size +
         static_cast<double>(arguments.dim("k")) * sums.least;
}

std::string cause_of(const Arithmetic& arithmetic, const std::vector<Mismatch>& wrong) {
  return Search(arithmetic, wrong).cause();
}

}  // namespace tessera::matmul
