// SPDX-License-Identifier: Apache-2.0
// The cause of wrong elements: each hypothesis changes what an element is computed from, the reference
// computes a sample of the wrong elements so, and the first hypothesis under which they are right is named.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>
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
  switch (element) {
    case Element::bf16:
      return {0x1p-8, 0x1p-134};
    case Element::f16:
      return {0x1p-11, 0x1p-25};
    case Element::f64:
      return {0x1p-53, 0x1p-1074};
    case Element::i8:
    case Element::i32:
      return {0, 1};
    default:
      return {0x1p-24, 0x1p-150};
  }
}

// All that one element of C is computed from.
struct Recipe {
  Vector a, b;  // its row of op(A), its column of op(B)
  double alpha = 1, beta = 0;
  std::optional<double> c0, bias, scale_a, scale_b;
  std::string activation;
  double added_last = 0;  // after the activation
};

double exact_sum(const Recipe& r) {
  double sum = 0;
  for (std::size_t l = 0; l < r.a.size(); ++l) sum += r.a[l] * r.b[l];
  return sum;
}

struct Sample {
  std::int64_t i = 0, j = 0;
  double got = 0, expected = 0, bound = 0;
  Recipe recipe;
};

// Returns false if the hypothesis does not apply to the element.
using Change = std::function<bool(Recipe&, const Sample&)>;

// Modulo 2^32.
double wrapped(long double x) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(x)));
}

class Product {
 public:
  explicit Product(const Arithmetic& arithmetic)
      : arguments(arithmetic.arguments),
        m(arguments.dim("m")),
        n(arguments.dim("n")),
        k(arguments.dim("k")),
        slack_(arithmetic.slack),
        post_op_(PostOp::of(arguments)) {
    a_ = arguments.oriented("A", arguments.array("A").element, 2);
    b_ = arguments.oriented("B", arguments.array("B").element, 2);
    c_ = arguments.array("C");
    if (arguments.has("C0")) c0_ = arguments.array("C0");
  }

  double a(std::int64_t i, std::int64_t l) const { return at(a_, i, l); }
  double b(std::int64_t l, std::int64_t j) const { return at(b_, l, j); }
  double c(std::int64_t i, std::int64_t j) const { return at(c_, i, j); }
  bool holds(std::int64_t i, std::int64_t j) const { return i >= 0 && i < m && j >= 0 && j < n; }

  Vector row(std::int64_t i) const {
    Vector out(static_cast<std::size_t>(k));
    for (std::int64_t l = 0; l < k; ++l) out[static_cast<std::size_t>(l)] = a(i, l);
    return out;
  }
  Vector column(std::int64_t j) const {
    Vector out(static_cast<std::size_t>(k));
    for (std::int64_t l = 0; l < k; ++l) out[static_cast<std::size_t>(l)] = b(l, j);
    return out;
  }

  Recipe recipe(std::int64_t i, std::int64_t j) const {
    Recipe out;
    out.a = row(i);
    out.b = column(j);
    out.alpha = arguments.real("alpha");
    out.beta = arguments.real("beta");
    if (arguments.has("C0")) out.c0 = at(c0_, i, j);
    out.bias = vector("bias", arguments.text("bias-along") == "rows" ? i : j);
    out.scale_a = vector("scale-a", i);
    out.scale_b = vector("scale-b", j);
    out.activation = arguments.text("activation");
    return out;
  }
  std::optional<double> vector(const char* name, std::int64_t at) const {
    if (!arguments.has(name)) return std::nullopt;
    const ArrayView& all = arguments.array(name);
    at = all.extents[0] == 1 ? 0 : std::min(at, all.extents[0] - 1);
    return load_as_double(all.element, address(all, at * all.strides[0]));
  }

  // Returns the reference's values for one element.
  Expected value(const Recipe& r) const {
    std::vector<std::vector<char>> memory;
    std::map<std::string, ArrayView> inputs;
    const auto give = [&](const char* name, Element element, const Vector& values, Extents extents) {
      auto& bytes = memory.emplace_back(std::max<std::size_t>(8, values.size() * size_of(element)));
      for (std::size_t at = 0; at < values.size(); ++at)
        store_from_double(element, bytes.data() + at * size_of(element), values[at]);
      const Extents strides = row_major_strides(extents);
      inputs[name] = {bytes.data(), element, std::move(extents), strides};
    };
    const auto depth = static_cast<std::int64_t>(r.a.size());
    give("A", a_.element, r.a, {1, depth});
    give("B", b_.element, r.b, {depth, 1});
    if (r.c0) give("C0", c_.element, {*r.c0}, {1, 1});
    if (r.bias) give("bias", arguments.array("bias").element, {*r.bias}, {1});
    if (r.scale_a) give("scale-a", Element::f32, {*r.scale_a}, {1});
    if (r.scale_b) give("scale-b", Element::f32, {*r.scale_b}, {1});
    Arguments::Words words = arguments.words();
    words["op-a"] = words["op-b"] = "none";
    words["alpha"] = tessera::text_of(r.alpha);
    words["beta"] = tessera::text_of(r.c0 ? r.beta : 0);
    words["activation"] = r.activation;
    const Arguments one(arguments.signature(), arguments.element(), inputs, words);
    Expected out;
    const std::int64_t rows[] = {0};
    reference(one, rows, Data::any, out, slack_);
    if (r.added_last != 0) {
      out.value[0] += r.added_last;
      out.bound[0] += rounding_of(std::fabs(r.added_last) + std::fabs(out.value[0]));
    }
    return out;
  }

  // Returns the element whose sum of products is `sum`, but for roundings.
  double finished(const Recipe& r, double sum) const {
    const double before = r.alpha * r.scale_a.value_or(1) * r.scale_b.value_or(1) * sum +
                          (r.c0 ? r.beta * *r.c0 : 0) + r.bias.value_or(0);
    if (c_.element == Element::i32) return applied_exactly(post_op_, wrapped(before));
    const double value = applied_exactly(post_op_, before);
    return c_.element == Element::f64 ? value : rounded_to(c_.element, value);
  }
  double rounding_of(double value) const { return spacing_of(c_.element).at(value); }
  double rounding_of_sum(const Recipe& r) const {
    double size = 0;
    for (std::size_t l = 0; l < r.a.size(); ++l) size += std::fabs(r.a[l] * r.b[l]);
    const Spacing sums = spacing_of(a_.element == Element::f64 ? Element::f64 : Element::f32);
    const double unit = is_fp8(a_.element) ? 0x1p-13 : sums.relative;
    return (unit * size + static_cast<double>(k) * sums.least) *
           std::fabs(r.alpha * r.scale_a.value_or(1) * r.scale_b.value_or(1));
  }

  const Arguments& arguments;
  const std::int64_t m, n, k;

 private:
  static const char* address(const ArrayView& x, std::int64_t offset) {
    return static_cast<const char*>(x.data) + offset * static_cast<std::int64_t>(size_of(x.element));
  }
  static double at(const ArrayView& x, std::int64_t i, std::int64_t j) {
    return load_as_double(x.element, address(x, i * x.strides[0] + j * x.strides[1]));
  }

  ArrayView a_, b_, c_, c0_;
  Slack slack_;
  PostOp post_op_;
};

bool is_allowed(const Expected& expected, double got) {
  const double value = expected.value[0];
  const int beyond = expected.beyond.empty() ? 0 : expected.beyond[0];
  if (std::isnan(got)) return std::isnan(value) || (beyond & Expected::not_a_number) != 0;
  if (std::isinf(got) && (beyond & (got > 0 ? Expected::infinity : Expected::minus_infinity)) != 0)
    return true;
  return got == value || std::fabs(got - value) <= expected.bound[0];
}

class Search {
 public:
  // `all_within`: the elements are within their bounds, and only arithmetics of less precision are tried.
  Search(const Product& product, std::vector<Sample> samples, bool all_within)
      : p_(product), samples_(std::move(samples)), all_within_(all_within) {}

  std::string cause() {
    if (!all_within_) {
      epilogue();
      operands();
      parts_of_sums();
      integers();
    }
    arithmetics();
    return found_;
  }

 private:
  // Sums the squares of errors beyond C's own rounding, without a hypothesis and with it.
  struct Fit {
    int tried = 0, right = 0;
    long double before = 0, after = 0;

    void add(const Sample& s, double value, bool is_right, double rounding) {
      ++tried;
      right += is_right;
      if (!std::isfinite(value) || !std::isfinite(s.expected) || !std::isfinite(s.got)) return;
      const long double error = std::max(0.0, std::fabs(s.got - s.expected) - rounding),
                        left = std::max(0.0, std::fabs(s.got - value) - rounding);
      before += error * error;
      after += left * left;
    }
    bool hopeless() const { return tried >= 4 && right * 2 < tried; }
    bool holds(std::size_t samples, long double gain) const {
      return tried >= 2 && before > 0 && 2 * static_cast<std::size_t>(tried) >= samples &&
             right * 5 >= tried * 4 && after * gain <= before;
    }
  };

  void name(const std::string& words, const Fit& fit) {
    found_ = words + " (explains " + std::to_string(fit.right) + " of " + std::to_string(fit.tried) +
             " elements that were computed so)";
  }

  void suppose(const std::string& words, const Change& change) {
    if (!found_.empty()) return;
    Fit fit;
    for (const Sample& s : samples_) {
      Recipe r = s.recipe;
      if (!change(r, s)) continue;
      try {
        const Expected v = p_.value(r);
        fit.add(s, v.value[0], is_allowed(v, s.got), p_.rounding_of(s.expected) / 2);
      } catch (const Error&) {  // a number that the element cannot hold
        ++fit.tried;
      }
      if (fit.hopeless()) return;
    }
    if (fit.holds(samples_.size(), 2)) name(words, fit);
  }

  // `value`: the element under the hypothesis, computed in double: its errors must be a third of those
  // without the hypothesis, and those larger than C's own roundings. Where all elements are within their
  // bounds, these count eightfold, and with them one rounding of a sum of its terms' magnitudes.
  void suppose_value(const std::string& words, const std::function<double(const Sample&)>& value_of) {
    if (!found_.empty()) return;
    Fit fit;
    double errors = 0, roundings = 0;
    for (const Sample& s : samples_) {
      const double value = value_of(s), rounding = p_.rounding_of(s.expected);
      errors += std::fabs(s.got - s.expected);
      roundings += rounding + (all_within_ ? p_.rounding_of_sum(s.recipe) : 0);
      const double error = std::fabs(s.got - s.expected), left = std::fabs(s.got - value);
      fit.add(s, value, left <= s.bound || left <= error / 2, rounding);
      if (fit.hopeless()) return;
    }
    if (fit.holds(samples_.size(), 9) && errors > (all_within_ ? 8 : 1.2) * roundings) name(words, fit);
  }
  void suppose_sum(const std::string& words, const std::function<double(const Recipe&)>& sum) {
    suppose_value(words, [&](const Sample& s) { return p_.finished(s.recipe, sum(s.recipe)); });
  }

  void suppose_each(const std::string& what, bool is_there, const std::function<double&(Recipe&)>& value,
                    double nothing, bool multiplies) {
    if (!is_there) return;
    suppose(what + " is forgotten", [&](Recipe& r, const Sample&) { return value(r) = nothing, true; });
    suppose(what + " is applied twice", [&](Recipe& r, const Sample&) {
      double& x = value(r);
      return x = multiplies ? x * x : 2 * x, true;
    });
  }

  void epilogue() {
    const Recipe& one = samples_.front().recipe;
    const bool adds = one.c0 && one.beta != 0;
    suppose_each(
        "α", one.alpha != 1, [](Recipe& r) -> double& { return r.alpha; }, 1, true);
    suppose_each(
        "C0", adds, [](Recipe& r) -> double& { return r.beta; }, 0, false);
    suppose_each(
        "β", adds && one.beta != 1, [](Recipe& r) -> double& { return r.beta; }, 1, true);
    suppose_each(
        "the bias", one.bias.has_value(), [](Recipe& r) -> double& { return *r.bias; }, 0, false);
    suppose_each(
        "the scale of A", one.scale_a.has_value(), [](Recipe& r) -> double& { return *r.scale_a; }, 1, true);
    suppose_each(
        "the scale of B", one.scale_b.has_value(), [](Recipe& r) -> double& { return *r.scale_b; }, 1, true);
    if (one.scale_a && one.scale_b)
      suppose("both scales are forgotten",
              [](Recipe& r, const Sample&) { return *r.scale_a = *r.scale_b = 1, true; });
    suppose("the sign is changed", [](Recipe& r, const Sample&) { return r.alpha = -r.alpha, true; });
    if (adds && one.alpha != 1)
      suppose("α multiplies C0, too", [](Recipe& r, const Sample&) { return r.beta *= r.alpha, true; });
    if (one.bias) {
      const bool rows = p_.arguments.text("bias-along") == "rows";
      suppose("the bias is added along the other direction",
              [&](Recipe& r, const Sample& s) { return r.bias = p_.vector("bias", rows ? s.j : s.i), true; });
      suppose("α multiplies the bias, too",
              [](Recipe& r, const Sample&) { return *r.bias *= r.alpha, true; });
    }
    for (const char* other : {"none", "relu", "gelu", "gelu-tanh", "silu"}) {
      if (one.activation == other) continue;
      const bool forgotten = std::string(other) == "none";
      suppose(forgotten ? "the activation is forgotten" : std::string("the activation is ") + other,
              [&](Recipe& r, const Sample&) { return r.activation = other, true; });
    }
    if (one.activation == "none") return;
    suppose("the bias is added after the activation", [](Recipe& r, const Sample&) {
      if (!r.bias) return false;
      return r.added_last = *r.bias, r.bias.reset(), true;
    });
    suppose("C0 is added after the activation", [](Recipe& r, const Sample&) {
      if (!r.c0) return false;
      return r.added_last = r.beta * *r.c0, r.c0.reset(), true;
    });
  }

  void operands() {
    const std::int64_t m = p_.m, n = p_.n, k = p_.k;
    // A matrix whose memory is read in the other order: square ones are transposed.
    const auto a_crossed = [=, this](Recipe& r, const Sample& s) {
      for (std::int64_t l = 0; l < k; ++l) {
        const std::int64_t at = s.i + l * m;
        r.a[static_cast<std::size_t>(l)] = p_.a(at / k, at % k);
      }
      return true;
    };
    const auto b_crossed = [=, this](Recipe& r, const Sample& s) {
      for (std::int64_t l = 0; l < k; ++l) {
        const std::int64_t at = l + s.j * k;
        r.b[static_cast<std::size_t>(l)] = p_.b(at / n, at % n);
      }
      return true;
    };
    suppose("A is transposed: its memory is read in the other order", a_crossed);
    suppose("B is transposed: its memory is read in the other order", b_crossed);
    suppose("A and B are transposed",
            [&](Recipe& r, const Sample& s) { return a_crossed(r, s) && b_crossed(r, s); });
    suppose("C is transposed: its memory is written in the other order",
            [=, this](Recipe& r, const Sample& s) {
              const std::int64_t at = s.i * n + s.j;
              return r = p_.recipe(at % m, at / m), true;
            });
    for (const std::int64_t step : {1, 2, 4, 8, 16, 32, 64, 128, 256})
      for (const std::int64_t by : {step, -step}) {
        const std::string far = " by " + std::to_string(by);
        const auto shifted = [by, k](Vector& x) {
          const Vector from = x;
          for (std::int64_t l = 0; l < k; ++l)
            x[static_cast<std::size_t>(l)] =
                l + by >= 0 && l + by < k ? from[static_cast<std::size_t>(l + by)] : 0;
          return true;
        };
        if (step < m) {
          suppose("A is shifted" + far + " rows", [&](Recipe& r, const Sample& s) {
            return p_.holds(s.i + by, s.j) && (r.a = p_.row(s.i + by), true);
          });
          suppose("C is shifted" + far + " rows", [&](Recipe& r, const Sample& s) {
            return p_.holds(s.i + by, s.j) && (r = p_.recipe(s.i + by, s.j), true);
          });
        }
        if (step < n) {
          suppose("B is shifted" + far + " columns", [&](Recipe& r, const Sample& s) {
            return p_.holds(s.i, s.j + by) && (r.b = p_.column(s.j + by), true);
          });
          suppose("C is shifted" + far + " columns", [&](Recipe& r, const Sample& s) {
            return p_.holds(s.i, s.j + by) && (r = p_.recipe(s.i, s.j + by), true);
          });
          if (samples_.front().recipe.bias)
            suppose("the bias is shifted" + far, [&](Recipe& r, const Sample& s) {
              const std::int64_t at = (p_.arguments.text("bias-along") == "rows" ? s.i : s.j) + by;
              return at >= 0 && (r.bias = p_.vector("bias", at), true);
            });
        }
        if (step < k) {
          suppose("A is shifted" + far + " along k", [&](Recipe& r, const Sample&) { return shifted(r.a); });
          suppose("B is shifted" + far + " along k", [&](Recipe& r, const Sample&) { return shifted(r.b); });
        }
      }
  }

  // Products of an interval of k that are left out, or added twice. Sums of the first products select those
  // intervals that may explain the first elements; the reference decides.
  void parts_of_sums() {
    if (!found_.empty() || p_.k < 2) return;
    struct Part {
      std::int64_t first, last;
      bool twice;
    };
    std::vector<Part> parts;
    const std::int64_t k = p_.k;
    for (std::int64_t t = 1; t <= k; ++t) parts.push_back({k - t, k, false});
    for (std::int64_t t = 1; t < k; ++t) parts.push_back({0, t, false});
    for (const bool twice : {false, true})
      for (const std::int64_t t : {std::int64_t{1}, std::int64_t{2}, std::int64_t{4}, std::int64_t{8},
                                   std::int64_t{16}, std::int64_t{32}, std::int64_t{64}, std::int64_t{128},
                                   std::int64_t{256}, k / 2, k / 3, k / 4, k / 8})
        for (std::int64_t first = 0; t > 0 && first < k; first += t)
          parts.push_back({first, std::min(k, first + t), twice});
    for (std::int64_t t = 2; t <= k; ++t) parts.push_back({k - t, k, true});
    const bool wraps = p_.arguments.element() == Element::i32;
    for (std::size_t at = 0; at < std::min<std::size_t>(6, samples_.size()); ++at) {
      const Sample& s = samples_[at];
      std::vector<long double> sums(1, 0);
      long double size = 0;
      for (std::size_t l = 0; l < s.recipe.a.size(); ++l) {
        const long double term =
            static_cast<long double>(s.recipe.a[l]) * static_cast<long double>(s.recipe.b[l]);
        sums.push_back(sums.back() + (wraps ? static_cast<long double>(wrapped(term)) : term));
        size += std::fabs(term);
      }
      std::erase_if(parts, [&](const Part& part) {
        const long double some =
            sums[static_cast<std::size_t>(part.last)] - sums[static_cast<std::size_t>(part.first)];
        const long double sum = sums.back() + (part.twice ? some : -some);
        const double value = p_.finished(s.recipe, wraps ? wrapped(sum) : static_cast<double>(sum));
        return !(std::fabs(s.got - value) <=
                 4 * (s.bound + p_.rounding_of(value)) + 0x1p-44 * static_cast<double>(size));
      });
    }
    if (parts.size() > 64) parts.resize(64);
    for (const Part& part : parts) {
      const std::string where = std::to_string(part.first) + "–" + std::to_string(part.last - 1);
      std::string words =
          part.twice ? "products " + where + " of k are added twice"
          : part.last == k
              ? "a tail of k is missing: its last " + std::to_string(k - part.first) + " products"
          : part.first == 0 ? "the first " + std::to_string(part.last) + " products of k are missing"
                            : "products " + where + " of k are missing";
      suppose(words, [&](Recipe& r, const Sample&) {
        if (!part.twice) {
          for (Vector* x : {&r.a, &r.b}) x->erase(x->begin() + part.first, x->begin() + part.last);
          return true;
        }
        for (Vector* x : {&r.a, &r.b}) {
          const Vector some(x->begin() + part.first, x->begin() + part.last);
          x->insert(x->end(), some.begin(), some.end());
        }
        return true;
      });
    }
  }

  void integers() {
    if (p_.arguments.element() != Element::i8) return;
    suppose_sum("sums wrap at 16 bits", [](const Recipe& r) {
      return static_cast<double>(static_cast<std::int16_t>(static_cast<std::int64_t>(exact_sum(r))));
    });
    suppose_sum("sums saturate at 16 bits",
                [](const Recipe& r) { return std::clamp(exact_sum(r), -32768.0, 32767.0); });
  }

  // Rounds to tf32 or bf16. `cut`: towards zero.
  static double shortened(double x, int dropped_bits, bool cut) {
    auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
    const std::uint32_t mask = (1U << dropped_bits) - 1;
    if (!cut) bits += (mask >> 1) + ((bits >> dropped_bits) & 1);
    return std::bit_cast<float>(bits & ~mask);
  }

  void arithmetics() {
    const Element a = p_.arguments.element(), c = p_.arguments.array("C").element;
    if (is_integer(a)) return;
    const auto with_operands = [&](const std::string& name, const std::function<double(double)>& rounded) {
      suppose_sum("products of " + name + " where " + std::string(name_of(a)) + " was promised",
                  [&](const Recipe& r) {
                    double sum = 0;
                    for (std::size_t l = 0; l < r.a.size(); ++l) sum += rounded(r.a[l]) * rounded(r.b[l]);
                    return sum;
                  });
    };
    const bool tf32 = a == Element::f32 && compute_of(p_.arguments) == Compute::tf32;
    for (const bool cut : {false, true}) {
      if (a != Element::f32) break;
      if (!tf32) with_operands("TF32", [=](double x) { return shortened(x, 13, cut); });
      with_operands("bf16", [=](double x) { return shortened(x, 16, cut); });
    }
    if (a == Element::f32 && !tf32)
      with_operands("f16", [](double x) { return rounded_to(Element::f16, x); });
    if (a == Element::f64) with_operands("f32", [](double x) { return static_cast<float>(x); });
    for (const Element shorter : {Element::f32, Element::bf16, Element::f16})
      if (size_of(shorter) < size_of(c))
        suppose_value("C is rounded to " + std::string(name_of(shorter)),
                      [=](const Sample& s) { return rounded_to(shorter, s.expected); });
    for (const Element shorter : {Element::bf16, Element::f16}) {
      const std::string name(name_of(shorter));
      for (const std::int64_t step :
           {std::int64_t{1}, std::int64_t{2}, std::int64_t{4}, std::int64_t{8}, std::int64_t{16},
            std::int64_t{32}, std::int64_t{64}, std::int64_t{128}, std::int64_t{256}, (p_.k + 1) / 2,
            (p_.k + 2) / 3, (p_.k + 3) / 4, (p_.k + 7) / 8})
        for (const bool running : {true, false})
          suppose_sum(running ? "sums are kept in " + name : "parts of sums are rounded to " + name,
                      [=](const Recipe& r) { return short_sum(r, shorter, step, running); });
    }
    for (const Element shorter : {Element::bf16, Element::f16})
      if (!all_within_) alike(shorter);
  }

  static double short_sum(const Recipe& r, Element shorter, std::int64_t step, bool running) {
    double sum = 0;
    const auto all = static_cast<std::int64_t>(r.a.size());
    for (std::int64_t first = 0; first < all; first += std::max<std::int64_t>(1, step)) {
      double part = 0;
      for (std::int64_t l = first; l < std::min(all, first + step); ++l)
        part += r.a[static_cast<std::size_t>(l)] * r.b[static_cast<std::size_t>(l)];
      sum = running ? rounded_to(shorter, sum + part) : sum + rounded_to(shorter, part);
    }
    return sum;
  }

  // The order of sums is unknown: errors as large as those of sums in order, within that arithmetic's bound.
  void alike(Element shorter) {
    if (!found_.empty() || samples_.size() < 4) return;
    double got = 0, least = std::numeric_limits<double>::infinity(), most = 0, roundings = 0;
    bool within = true;
    for (const Sample& s : samples_) {
      const double error = std::fabs(s.got - s.expected);
      double size = 0;
      for (std::size_t l = 0; l < s.recipe.a.size(); ++l) size += std::fabs(s.recipe.a[l] * s.recipe.b[l]);
      within = within && error <= s.bound + static_cast<double>(p_.k + 4) * spacing_of(shorter).relative *
                                                size *
                                                std::fabs(s.recipe.alpha * s.recipe.scale_a.value_or(1) *
                                                          s.recipe.scale_b.value_or(1)) *
                                                1.2;
      got += error;
      roundings += p_.rounding_of(s.expected);
    }
    for (const std::int64_t step : {1, 4, 16, 64}) {
      double errors = 0;
      for (const Sample& s : samples_)
        errors += std::fabs(p_.finished(s.recipe, short_sum(s.recipe, shorter, step, true)) - s.expected);
      least = std::min(least, errors), most = std::max(most, errors);
    }
    if (within && got > 4 * roundings && got >= least / 2 && got <= 2 * most)
      found_ =
          "sums are kept in " + std::string(name_of(shorter)) + ": the errors are as large as those give";
  }

  const Product& p_;
  std::vector<Sample> samples_;
  bool all_within_;
  std::string found_;
};

std::string one_wrong(const Product& p, const Mismatch& wrong) {
  const Element c = p.arguments.array("C").element;
  std::string out = "one wrong element";
  std::array<unsigned char, 8> bytes{};
  for (std::size_t bit = 0; bit < 8 * size_of(c); ++bit) {
    store_from_double(c, bytes.data(), wrong.got);
    bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1U << (bit % 8)));
    if (std::fabs(load_as_double(c, bytes.data()) - wrong.expected) <= wrong.bound)
      return out + ", with its bit " + std::to_string(bit) + " inverted";
  }
  return out;
}

// Elements that were not computed at all, by their values alone.
std::string not_computed(const Product& p, const std::vector<Mismatch>& wrong) {
  const auto share = [&](const auto& holds) {
    return std::ranges::count_if(wrong, holds) * 5 >= std::ssize(wrong) * 4;
  };
  if (share([](const Mismatch& w) { return std::isnan(w.got); })) return "NaN, as from an uninitialised tile";
  if (share([](const Mismatch& w) { return !std::isfinite(w.expected) && std::isfinite(w.got); }))
    return "Inf and NaN of the inputs do not reach C";
  const double value = wrong[wrong.size() / 2].got;
  const bool may_be =
      p.arguments.array("C").element != Element::i8 && p.arguments.text("activation") == "none";
  if (may_be && share([&](const Mismatch& w) { return w.got == value; })) {
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", value);
    return std::string("never written: the elements are ") + text;
  }
  if (p.arguments.has("C0") &&
      share([&](const Mismatch& w) { return p.recipe(w.index[0], w.index[1]).c0 == w.got; }))
    return "never written: the elements are those of C0";
  return "";
}

constexpr std::size_t most_samples = 24;

std::string cause_of_wrong(const Product& p, const std::vector<Mismatch>& wrong) {
  if (wrong.size() == 1 && p.m * p.n > 2) return one_wrong(p, wrong.front());
  if (std::string out = not_computed(p, wrong); !out.empty()) return out;
  std::vector<Sample> samples;
  Random random(1);
  const std::size_t count = std::min(most_samples, wrong.size());
  for (std::size_t at = 0; at < count; ++at) {
    const std::size_t first = wrong.size() * at / count, last = wrong.size() * (at + 1) / count;
    const Mismatch& w = wrong[first + random.below(last - first)];
    samples.push_back({w.index[0], w.index[1], w.got, w.expected, w.bound, p.recipe(w.index[0], w.index[1])});
  }
  for (std::size_t at = count; at > 1; --at) std::swap(samples[at - 1], samples[random.below(at)]);
  return Search(p, std::move(samples), false).cause();
}

}  // namespace

std::string cause_of(const Arithmetic& arithmetic, const std::vector<Mismatch>& wrong) {
  const Product p(arithmetic);
  if (!wrong.empty()) return cause_of_wrong(p, wrong);
  if (p.m * p.n < 8 || p.k < 2 || arithmetic.slack.growth > 0 || is_integer(arithmetic.arguments.element()))
    return "";
  std::vector<Sample> samples;
  Random random(2);
  constexpr int enough = 16;
  for (int at = 0; at < enough; ++at) {
    const auto i = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(p.m))),
               j = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(p.n)));
    Sample s{i, j, p.c(i, j), 0, 0, p.recipe(i, j)};
    s.expected = p.finished(s.recipe, exact_sum(s.recipe));
    if (!std::isfinite(s.got) || !std::isfinite(s.expected)) return "";
    samples.push_back(std::move(s));
  }
  return Search(p, std::move(samples), true).cause();
}

}  // namespace tessera::matmul
