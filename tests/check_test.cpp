// SPDX-License-Identifier: Apache-2.0
// tessera::check: right products of loops of several orders and arithmetics give no alarm, and mutants of
// products are found and named. TESSERA_CHECK_PRODUCTS, TESSERA_CHECK_MUTANTS and TESSERA_CHECK_SEED select
// longer runs with another seed.
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include "tessera/check.hpp"
#include "tessera/core/array/random.hpp"
#include "tessera/core/operation/operation.hpp"

namespace tessera {
namespace {

using matmul::Activation;
using matmul::Order;
using matmul::detail::AnyMatrix;

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Bytes of a matrix or vector, and its values.
struct Stored {
  Element element = Element::f32;
  std::int64_t rows = 0, cols = 0;
  Order order = Order::rows;
  std::int64_t leading = 0;
  std::vector<char> bytes;

  Stored() = default;
  Stored(Element e, std::int64_t r, std::int64_t c, Order o = Order::rows, std::int64_t gap = 0)
      : element(e), rows(r), cols(c), order(o), leading((o == Order::rows ? c : r) + gap) {
    bytes.resize(static_cast<std::size_t>((o == Order::rows ? r : c) * leading + 1) * size_of(e));
  }
  char* at(std::int64_t i, std::int64_t j) {
    const std::int64_t place = order == Order::rows ? i * leading + j : j * leading + i;
    return bytes.data() + static_cast<std::size_t>(place) * size_of(element);
  }
  double get(std::int64_t i, std::int64_t j) const {
    return load_as_double(element, const_cast<Stored*>(this)->at(i, j));
  }
  void set(std::int64_t i, std::int64_t j, double value) { store_from_double(element, at(i, j), value); }
  AnyMatrix any() const { return {bytes.data(), element, rows, cols, leading, order}; }
};

enum class Sums { own, reversed, pairs, blocks, f64 };

// What is done to a product, right or wrong.
struct How {
  Sums sums = Sums::own;
  bool fused = true;
  Element kept_in = Element::f64;               // f16 or bf16: each sum is rounded to it
  int dropped_bits = 0;                         // of f32 operands
  bool cut = false;                             // they are truncated, else rounded to nearest
  std::int64_t parts = 1;                       // rounded to C's element
  std::int64_t first = 0, last = 0, times = 1;  // this interval of k counts so often
  std::int64_t a_row = 0, b_col = 0, a_k = 0;   // shifts
  bool a_crossed = false, b_crossed = false, c_crossed = false, bias_crossed = false, wraps = false;
  double alphas = 1, c0s = 1, biases = 1, scales_a = 1, scales_b = 1;  // exponents or factors: 0: forgotten
  bool activates = true;
};

struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  Stored a, b, c0, bias, scale_a, scale_b;  // op applied
  Element c = Element::f32;
  matmul::Options options;
  std::string arithmetic;
  How how;

  double operand(double x, const How& h) const {
    if (h.dropped_bits == 0) return x;
    auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
    const std::uint32_t mask = (1U << h.dropped_bits) - 1;
    if (!std::isfinite(x)) return x;
    if (!h.cut) bits += (mask >> 1) + ((bits >> h.dropped_bits) & 1);
    return std::bit_cast<float>(bits & ~mask);
  }
  static double rounded(Element element, double x) {
    std::array<char, 8> bytes{};
    store_from_double(element, bytes.data(), x);
    return load_as_double(element, bytes.data());
  }

  template <class T>
  double sum_of(const std::vector<double>& x, const std::vector<double>& y, const How& h) const {
    const auto count = static_cast<std::int64_t>(x.size());
    const auto run = [&](std::int64_t from, std::int64_t to, std::int64_t step) {
      T sum = 0;
      for (std::int64_t l = from; l != to; l += step) {
        const T p = static_cast<T>(x[static_cast<std::size_t>(l)]),
                q = static_cast<T>(y[static_cast<std::size_t>(l)]);
        sum = h.fused ? std::fma(p, q, sum) : sum + p * q;
        if (h.kept_in != Element::f64) sum = static_cast<T>(rounded(h.kept_in, sum));
      }
      return sum;
    };
    if (h.kept_in != Element::f64 || h.sums == Sums::own) return run(0, count, 1);
    if (h.sums == Sums::reversed) return run(count - 1, -1, -1);
    if (h.sums == Sums::blocks) {
      T sum = 0;
      for (std::int64_t l = 0; l < count; l += 16) sum += run(l, std::min(count, l + 16), 1);
      return sum;
    }
    if (h.sums == Sums::f64) {
      double sum = 0;
      for (std::int64_t l = 0; l < count; ++l)
        sum += x[static_cast<std::size_t>(l)] * y[static_cast<std::size_t>(l)];
      return static_cast<T>(sum);
    }
    const std::function<T(std::int64_t, std::int64_t)> pairs = [&](std::int64_t from, std::int64_t to) -> T {
      if (to - from <= 4) return run(from, to, 1);
      const std::int64_t middle = (from + to) / 2;
      return pairs(from, middle) + pairs(middle, to);
    };
    return pairs(0, count);
  }

  template <class T>
  double activated(double x) const {
    return matmul::apply(matmul::PostOp{options.activation}, static_cast<T>(x));
  }

  template <class T>
  double element(std::int64_t i, std::int64_t j, const How& h) const {
    const auto row = [&](std::int64_t x) { return std::clamp<std::int64_t>(x, 0, m - 1); };
    const auto col = [&](std::int64_t x) { return std::clamp<std::int64_t>(x, 0, n - 1); };
    std::vector<double> x, y;
    for (std::int64_t l = 0; l < k; ++l) {
      const std::int64_t times = l >= h.first && l < h.last ? h.times : 1, from = l + h.a_k;
      const double p = h.a_crossed ? a.get(l, i) : from >= 0 && from < k ? a.get(row(i + h.a_row), from) : 0;
      const double q = h.b_crossed ? b.get(j, l) : b.get(l, col(j + h.b_col));
      for (std::int64_t t = 0; t < times; ++t) x.push_back(operand(p, h)), y.push_back(operand(q, h));
    }
    if (is_integer(a.element)) {
      std::int32_t sum = 0;
      for (std::size_t l = 0; l < x.size(); ++l) sum += static_cast<std::int32_t>(x[l] * y[l]);
      return finished<double>(i, j, h.wraps ? static_cast<std::int16_t>(sum) : sum, h);
    }
    if (h.parts == 1) return finished<T>(i, j, sum_of<T>(x, y, h), h);
    double sum = 0;
    for (std::int64_t part = 0; part < h.parts; ++part) {
      const auto from = static_cast<std::ptrdiff_t>(x.size()) * part / h.parts,
                 to = static_cast<std::ptrdiff_t>(x.size()) * (part + 1) / h.parts;
      sum = static_cast<float>(sum + rounded(c, sum_of<T>({x.begin() + from, x.begin() + to},
                                                          {y.begin() + from, y.begin() + to}, h)));
    }
    return finished<T>(i, j, sum, h);
  }

  template <class T>
  double finished(std::int64_t i, std::int64_t j, double sum, const How& h) const {
    T factor = static_cast<T>(std::pow(options.alpha, h.alphas));
    if (!scale_a.bytes.empty())
      factor *= static_cast<T>(std::pow(scale_a.get(0, scale_a.cols == 1 ? 0 : i), h.scales_a));
    if (!scale_b.bytes.empty())
      factor *= static_cast<T>(std::pow(scale_b.get(0, scale_b.cols == 1 ? 0 : j), h.scales_b));
    T value = factor * static_cast<T>(sum);
    if (!c0.bytes.empty()) value += static_cast<T>(options.beta * h.c0s) * static_cast<T>(c0.get(i, j));
    if (!bias.bytes.empty())
      value += static_cast<T>(h.biases * bias.get(0, h.bias_crossed != options.bias.along_rows ? i : j));
    return h.activates ? activated<T>(value) : static_cast<double>(value);
  }
  double element(std::int64_t i, std::int64_t j, const How& h) const {
    if (h.c_crossed) std::swap(i, j);
    return a.element == Element::f64 ? element<double>(i, j, h) : element<float>(i, j, h);
  }

  Stored computed(const How& h, Order order) const {
    Stored out(c, m, n, order, order == Order::rows ? 0 : 3);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        const double value = element(i, j, h);
        out.set(i, j, c == Element::i8 ? std::clamp(std::nearbyint(value), -128.0, 127.0) : value);
      }
    return out;
  }

  Finding check(const Stored& result) {
    if (!c0.bytes.empty()) options.c0 = {c0.bytes.data(), c0.leading, c0.order};
    if (!bias.bytes.empty()) options.bias.data = bias.bytes.data();
    if (!scale_a.bytes.empty())
      options.scale_a = {reinterpret_cast<const float*>(scale_a.bytes.data()), scale_a.cols > 1};
    if (!scale_b.bytes.empty())
      options.scale_b = {reinterpret_cast<const float*>(scale_b.bytes.data()), scale_b.cols > 1};
    return matmul::detail::check_any(result.any(), a.any(), b.any(), options, arithmetic);
  }
};

enum class Data { normal, uniform, cancelling, wide, special, subnormal, whole };

double drawn(Random& random, Data data, Element element) {
  const bool narrow = element == Element::f16 || element == Element::e4m3 || element == Element::e5m2;
  if (element == Element::i8) return std::floor(random.uniform() * 255) - 127;
  if (element == Element::i32) return std::floor(random.uniform() * 2001) - 1000;
  switch (data) {
    case Data::uniform:
      return random.uniform();
    case Data::wide:
      return random.normal() *
             std::exp2(std::floor(random.uniform() * (narrow ? 6 : 40)) - (narrow ? 3 : 20));
    case Data::subnormal:
      return random.normal() * (narrow ? 0x1p-9 : element == Element::f64 ? 0x1p-520 : 0x1p-70);
    case Data::whole:
      return std::floor(random.uniform() * 17) - 8;
    case Data::special:
      if (random.below(300) == 0)
        return random.below(2) == 0 ? INFINITY : random.below(2) == 0 ? -INFINITY : NAN;
      return random.normal();
    default:
      return random.normal();
  }
}

constexpr std::array elements{Element::f32,  Element::f64,  Element::bf16, Element::f16,
                              Element::e4m3, Element::e5m2, Element::i8,   Element::i32};

Product make(Random& random, Element a, Data data, std::int64_t m, std::int64_t n, std::int64_t k) {
  Product p;
  p.m = m, p.n = n, p.k = k;
  const auto order = [&] { return random.below(2) == 0 ? Order::rows : Order::columns; };
  p.a = Stored(a, m, k, order(), static_cast<std::int64_t>(random.below(3)));
  p.b = Stored(a, k, n, order(), static_cast<std::int64_t>(random.below(3)));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t l = 0; l < k; ++l) p.a.set(i, l, drawn(random, data, a));
  for (std::int64_t l = 0; l < k; ++l)
    for (std::int64_t j = 0; j < n; ++j) p.b.set(l, j, drawn(random, data, a));
  if (data == Data::cancelling)
    for (std::int64_t l = k / 2; l < k / 2 * 2; ++l) {
      for (std::int64_t i = 0; i < m; ++i) p.a.set(i, l, p.a.get(i, l - k / 2));
      for (std::int64_t j = 0; j < n; ++j) p.b.set(l, j, -p.b.get(l - k / 2, j));
    }
  const std::vector<Element> results =
      a == Element::f32 || a == Element::f64 || a == Element::i32 ? std::vector{a}
      : a == Element::i8                                          ? std::vector{Element::i32, Element::f32}
                         : std::vector{Element::bf16, Element::f16, Element::f32};
  p.c = results[random.below(results.size())];
  return p;
}

void add_c0(Product& p, Random& random) {
  p.options.alpha = p.c == Element::i32 ? 3 : 1.5, p.options.beta = p.c == Element::i32 ? 2 : -0.75;
  p.c0 = Stored(p.c, p.m, p.n);
  const double size = p.c == Element::i32 ? 3000 : std::sqrt(static_cast<double>(p.k));
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) p.c0.set(i, j, std::floor(size * random.normal() * 16) / 16);
}
void add_bias(Product& p, Random& random, bool rows) {
  p.bias = Stored(p.c, 1, rows ? p.m : p.n);
  p.options.bias.element = p.c;
  p.options.bias.along_rows = rows;
  for (std::int64_t j = 0; j < p.bias.cols; ++j)
    p.bias.set(
        0, j,
        std::floor(random.normal() * 64 * (p.c == Element::i32 ? 10 : 1)) / (p.c == Element::i32 ? 1 : 16));
}
bool takes_scales(const Product& p) { return p.a.element != Element::f64 && p.c != Element::i32; }
void add_scales(Product& p, Random& random) {
  p.scale_a = Stored(Element::f32, 1, random.below(2) == 0 ? 1 : p.m);
  p.scale_b = Stored(Element::f32, 1, random.below(2) == 0 ? 1 : p.n);
  for (Stored* s : {&p.scale_a, &p.scale_b})
    for (std::int64_t i = 0; i < s->cols; ++i) s->set(0, i, 0.25 + random.uniform());
}

// Selects a summation that the named arithmetic allows.
void choose_arithmetic(Product& p, Random& random) {
  p.how.sums = static_cast<Sums>(random.below(5));
  p.how.fused = random.below(2) == 0;
  const Element a = p.a.element;
  const bool shorter = a == Element::bf16 || a == Element::f16;
  if (a == Element::f32 && random.below(4) == 0) {
    const bool tf32 = random.below(2) == 0;
    p.arithmetic = tf32 ? "tf32" : "bf16";
    p.how.dropped_bits = tf32 ? 13 : 16;
    p.how.cut = tf32 && random.below(2) == 0;
  } else if (shorter && random.below(4) == 0) {
    p.how.kept_in = random.below(2) == 0 ? Element::f16 : Element::bf16;
    p.arithmetic = p.how.kept_in == Element::f16 ? "sums=f16" : "sums=bf16";
  } else if (shorter && size_of(p.c) == 2 && random.below(3) == 0) {
    p.how.parts = 1 + static_cast<std::int64_t>(random.below(5));
    p.arithmetic = "parts=" + std::to_string(p.how.parts);
  }
}

TEST(Check, GivesNoAlarmForRightProducts) {
  const std::uint64_t count = setting("TESSERA_CHECK_PRODUCTS", 3000),
                      seed = setting("TESSERA_CHECK_SEED", 1);
  std::uint64_t alarms = 0;
  for (std::uint64_t at = 0; at < count; ++at) {
    Random random(seed * 1'000'003 + at);
    const Element a = elements[at % elements.size()];
    const auto data = static_cast<Data>(random.below(7));
    const auto extent = [&] {
      return 1 + static_cast<std::int64_t>(random.below(random.below(8) == 0 ? 96 : 24));
    };
    const std::int64_t k =
        random.below(16) == 0 ? 1 + static_cast<std::int64_t>(random.below(600)) : extent();
    Product p = make(random, a, data, extent(), extent(), k);
    if (random.below(3) == 0) add_c0(p, random);
    if (random.below(3) == 0) add_bias(p, random, random.below(2) == 0);
    if (takes_scales(p) && random.below(3) == 0) add_scales(p, random);
    if (!is_integer(a) && random.below(4) == 0)
      p.options.activation = static_cast<Activation>(1 + random.below(4));
    choose_arithmetic(p, random);
    const Finding found = p.check(p.computed(p.how, random.below(2) == 0 ? Order::rows : Order::columns));
    alarms += !found.right;
    if (!found.right && alarms <= 5)
      ADD_FAILURE() << "product " << at << ", " << name_of(a) << ", data " << static_cast<int>(data) << ", "
                    << p.m << " × " << p.n << " × " << p.k << ", sums " << static_cast<int>(p.how.sums)
                    << ", activation " << static_cast<int>(p.options.activation) << "\n"
                    << found.text;
  }
  RecordProperty("products", static_cast<int>(count));
  EXPECT_EQ(alarms, 0u) << "of " << count;
}

// The rungs of the library on processors, at sizes where the randomised check is used, too.
TEST(Check, GivesNoAlarmForOurOwnProducts) {
  Random random(7);
  for (const Element a : elements)
    for (const std::int64_t size : {33, 200, 560}) {
      Product p = make(random, a, Data::normal, size, size + 5, size);
      Stored c(p.c, p.m, p.n);
      matmul::detail::multiply(p.a.any(), p.b.any(), c.any(), p.options);
      const Finding found = p.check(c);
      EXPECT_TRUE(found.right) << name_of(a) << " " << size << "\n" << found.text;
    }
}

struct Mutant {
  std::string kind;
  std::vector<std::string> words;  // the cause has one of them
  std::function<void(Product&, Random&)> prepare;
  std::function<void(How&, Product&, Random&)> change;
  std::function<void(Stored&, Product&, Random&)> spoil = {};  // afterwards
};

constexpr std::int64_t tile = 16;

// Calls f for the elements of one or two tiles.
void for_tiles(const Product& p, Random& random, const std::function<void(std::int64_t, std::int64_t)>& f) {
  for (std::uint64_t count = 1 + random.below(2); count > 0; --count) {
    const auto row = static_cast<std::int64_t>(
                         random.below(static_cast<std::uint64_t>((p.m + tile - 1) / tile))) *
                     tile,
               col = static_cast<std::int64_t>(
                         random.below(static_cast<std::uint64_t>((p.n + tile - 1) / tile))) *
                     tile;
    for (std::int64_t i = row; i < std::min(p.m, row + tile); ++i)
      for (std::int64_t j = col; j < std::min(p.n, col + tile); ++j) f(i, j);
  }
}

void nothing(Product&, Random&) {}
void to_square(Product& p, Random& random) { p = make(random, p.a.element, Data::normal, p.m, p.m, p.m); }

std::vector<Mutant> mutants() {
  const auto below = [](Random& r, std::int64_t limit) {
    return static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(limit)));
  };
  const auto with_f32 = [](Product& p, Random& r) { p = make(r, Element::f32, Data::normal, p.m, p.n, p.k); };
  const auto with_c0 = [](Product& p, Random& r) { add_c0(p, r); };
  const auto with_bias = [](Product& p, Random& r) { add_bias(p, r, r.below(2) == 0); };
  const auto with_scales = [](Product& p, Random& r) {
    if (!takes_scales(p)) p = make(r, Element::bf16, Data::normal, p.m, p.n, p.k);
    add_scales(p, r);
  };
  return {
      {"tail of k missing",
       {"tail of k is missing"},
       nothing,
       [=](How& h, Product& p, Random& r) {
         h.first = p.k - 1 - below(r, std::min<std::int64_t>(p.k - 1, 40)), h.last = p.k, h.times = 0;
       }},
      {"first products missing",
       {"first", "products"},
       nothing,
       [=](How& h, Product& p, Random& r) {
         h.last = std::int64_t{8} << r.below(2), h.last = std::min(h.last, p.k - 1), h.times = 0;
       }},
      {"a slice of k missing",
       {"missing"},
       nothing,
       [=](How& h, Product& p, Random& r) {
         h.first = 8 * below(r, std::max<std::int64_t>(1, p.k / 8)), h.last = std::min(p.k, h.first + 8),
         h.times = 0;
       }},
      {"a slice of k twice",
       {"added twice"},
       nothing,
       [=](How& h, Product& p, Random& r) {
         h.first = 8 * below(r, std::max<std::int64_t>(1, p.k / 8)), h.last = std::min(p.k, h.first + 8),
         h.times = 2;
       }},
      {"A transposed", {"A is transposed"}, to_square, [](How& h, Product&, Random&) { h.a_crossed = true; }},
      {"B transposed", {"B is transposed"}, to_square, [](How& h, Product&, Random&) { h.b_crossed = true; }},
      {"C transposed",
       {"C is transposed", "A and B are transposed"},
       to_square,
       [](How& h, Product&, Random&) { h.c_crossed = true; }},
      {"A a row off",
       {"A is shifted", "C is shifted"},
       nothing,
       [](How& h, Product&, Random& r) { h.a_row = r.below(2) == 0 ? 1 : -1; }},
      {"B a column off",
       {"B is shifted", "C is shifted"},
       nothing,
       [](How& h, Product&, Random& r) { h.b_col = r.below(2) == 0 ? 1 : -1; }},
      {"A off along k",
       {"along k"},
       nothing,
       [](How& h, Product&, Random& r) { h.a_k = r.below(2) == 0 ? 1 : -1; }},
      {"C0 forgotten", {"C0 is forgotten"}, with_c0, [](How& h, Product&, Random&) { h.c0s = 0; }},
      {"C0 twice", {"C0 is applied twice"}, with_c0, [](How& h, Product&, Random&) { h.c0s = 2; }},
      {"α forgotten", {"α is forgotten"}, with_c0, [](How& h, Product&, Random&) { h.alphas = 0; }},
      {"bias forgotten", {"bias is forgotten"}, with_bias, [](How& h, Product&, Random&) { h.biases = 0; }},
      {"bias twice", {"bias is applied twice"}, with_bias, [](How& h, Product&, Random&) { h.biases = 2; }},
      {"bias in the other direction",
       {"other direction"},
       [=](Product& p, Random& r) { to_square(p, r), add_bias(p, r, r.below(2) == 0); },
       [](How& h, Product&, Random&) { h.bias_crossed = true; }},
      {"scale forgotten",
       {"scale of A is forgotten"},
       with_scales,
       [](How& h, Product&, Random&) { h.scales_a = 0; }},
      {"scale twice",
       {"scale of B is applied twice"},
       with_scales,
       [](How& h, Product&, Random&) { h.scales_b = 2; }},
      {"activation forgotten",
       {"activation is forgotten"},
       [=](Product& p, Random& r) {
         if (is_integer(p.a.element)) p = make(r, Element::f16, Data::normal, p.m, p.n, p.k);
         p.options.activation = static_cast<Activation>(1 + r.below(4));
       },
       [](How& h, Product&, Random&) { h.activates = false; }},
      {"sums in f16",
       {"sums are kept in f16"},
       [](Product& p, Random& r) {
         p = make(r, Element::f16, Data::normal, p.m, p.n, 200 + p.k), p.c = Element::f16;
       },
       [](How& h, Product&, Random&) { h.kept_in = Element::f16; }},
      {"sums in bf16",
       {"sums are kept in bf16"},
       [](Product& p, Random& r) {
         p = make(r, Element::bf16, Data::normal, p.m, p.n, 200 + p.k), p.c = Element::bf16;
       },
       [](How& h, Product&, Random&) { h.kept_in = Element::bf16; }},
      {"TF32 for f32",
       {"TF32"},
       with_f32,
       [](How& h, Product&, Random& r) { h.dropped_bits = 13, h.cut = r.below(2) == 0; }},
      {"bf16 for f32",
       {"products of bf16"},
       with_f32,
       [](How& h, Product&, Random&) { h.dropped_bits = 16; }},
      {"sums of 16 bits of i8",
       {"wrap at 16 bits"},
       [](Product& p, Random& r) { p = make(r, Element::i8, Data::normal, p.m, p.n, p.k); },
       [](How& h, Product&, Random&) { h.wraps = true; }},
      {"zeros left",
       {"never written"},
       nothing,
       {},
       [](Stored& c, Product& p, Random& r) { for_tiles(p, r, [&](auto i, auto j) { c.set(i, j, 0); }); }},
      {"garbage left",
       {"never written"},
       nothing,
       {},
       [](Stored& c, Product& p, Random& r) { for_tiles(p, r, [&](auto i, auto j) { c.set(i, j, -107); }); }},
      {"C0 left",
       {"never written"},
       with_c0,
       {},
       [](Stored& c, Product& p, Random& r) {
         for_tiles(p, r, [&](auto i, auto j) { c.set(i, j, p.c0.get(i, j)); });
       }},
      {"NaN tile",
       {"NaN"},
       [](Product& p, Random& r) {
         if (is_integer(p.a.element)) p = make(r, Element::f32, Data::normal, p.m, p.n, p.k);
       },
       {},
       [](Stored& c, Product& p, Random& r) { for_tiles(p, r, [&](auto i, auto j) { c.set(i, j, NAN); }); }},
      {"one wrong element",
       {"one wrong element"},
       nothing,
       {},
       [=](Stored& c, Product& p, Random& r) {
         const std::int64_t i = below(r, p.m), j = below(r, p.n);
         c.set(i, j, c.get(i, j) + 1 + std::fabs(c.get(i, j)) * (1 + r.uniform()));
       }},
  };
}

TEST(Check, FindsAndNamesMutants) {
  const std::uint64_t rounds = setting("TESSERA_CHECK_MUTANTS", 5), seed = setting("TESSERA_CHECK_SEED", 1);
  struct Count {
    int all = 0, found = 0, named = 0;
  };
  Count large, small;
  std::map<std::string, Count> kinds;
  int shown = 0;
  for (std::uint64_t round = 0; round < rounds; ++round)
    for (const Mutant& mutant : mutants()) {
      Random random(seed * 7'000'003 + round, std::hash<std::string>{}(mutant.kind));
      const auto extent = [&] { return 20 + static_cast<std::int64_t>(random.below(60)); };
      Product p = make(random, elements[random.below(elements.size())],
                       random.below(3) == 0 ? Data::uniform : Data::normal, extent(), extent(), extent());
      mutant.prepare(p, random);
      p.how.sums = static_cast<Sums>(random.below(5));
      How how = p.how;
      if (mutant.change) mutant.change(how, p, random);
      const bool in_part = mutant.change && random.below(3) == 0;
      Stored c = p.computed(in_part || !mutant.change ? p.how : how, Order::rows);
      if (in_part)
        for_tiles(p, random, [&](std::int64_t i, std::int64_t j) { c.set(i, j, p.element(i, j, how)); });
      if (mutant.spoil) mutant.spoil(c, p, random);
      const Finding found = p.check(c);
      // All elements are compared at these sizes, so the ratio is that of the worst one.
      Count& count = found.largest_ratio > 4 ? large : small;
      const bool named = !found.right && std::ranges::any_of(mutant.words, [&](const std::string& word) {
        return found.cause.find(word) != std::string::npos;
      });
      ++count.all, count.found += !found.right, count.named += named;
      Count& kind = kinds[mutant.kind];
      ++kind.all, kind.found += !found.right, kind.named += named;
      if (!named && found.largest_ratio > 4 && ++shown <= 12)
        std::printf("not named: %s of %s in round %d: %s\n", mutant.kind.c_str(),
                    std::string(name_of(p.a.element)).c_str(), static_cast<int>(round), found.text.c_str());
    }
  for (const auto& [kind, count] : kinds)
    std::printf("%-28s %d of %d found, %d named\n", kind.c_str(), count.found, count.all, count.named);
  std::printf("above 4 bounds: %d of %d found, %d named; below: %d of %d found, %d named\n", large.found,
              large.all, large.named, small.found, small.all, small.named);
  EXPECT_GE(large.found * 100, large.all * 99);
  EXPECT_GE(large.named * 10, large.all * 9);
}

// Beyond the size at which every element is compared.
TEST(Check, FindsMutantsByTheRandomisedCheck) {
  Random random(setting("TESSERA_CHECK_SEED", 1) + 11);
  for (const Element a : {Element::f32, Element::f64, Element::bf16, Element::i8}) {
    Product p = make(random, a, Data::normal, 600, 620, 500);
    Stored right(p.c, p.m, p.n);
    matmul::detail::multiply(p.a.any(), p.b.any(), right.any(), p.options);
    const Finding fine = p.check(right);
    EXPECT_TRUE(fine.right) << fine.text;
    EXPECT_NE(fine.text.find("randomised"), std::string::npos) << fine.text;
    Stored hole = right, one = right, tail = right, small = right;
    for (std::int64_t i = 128; i < 192; ++i)
      for (std::int64_t j = 64; j < 128; ++j) hole.set(i, j, 0);
    const Finding of_hole = p.check(hole);
    EXPECT_NE(of_hole.cause.find("never written"), std::string::npos) << of_hole.text;
    EXPECT_NE(of_hole.text.find("columns 64–127"), std::string::npos) << of_hole.text;
    one.set(333, 77, one.get(333, 77) + std::max(8.0, 2 * fine.sees));
    EXPECT_NE(p.check(one).cause.find("one wrong element"), std::string::npos) << p.check(one).text;
    if (a == Element::f32 || a == Element::f64) {  // the error that the answer names is found
      double size = 0;
      for (std::int64_t l = 0; l < p.k; ++l) size += std::fabs(p.a.get(200, l) * p.b.get(l, 5));
      const double bound = static_cast<double>(p.k + 3) * (a == Element::f32 ? 0x1p-24 : 0x1p-53) * size;
      small.set(200, 5, small.get(200, 5) + 1.5 * fine.sees * bound);
      EXPECT_FALSE(p.check(small).right) << fine.text;
      EXPECT_LT(fine.sees, 2);
    }
    How how;
    how.first = 484, how.last = 500, how.times = 0;
    for (std::int64_t i = 300; i < 364; ++i)
      for (std::int64_t j = 256; j < 384; ++j) tail.set(i, j, p.element(i, j, how));
    EXPECT_NE(p.check(tail).cause.find("its last 16 products"), std::string::npos) << p.check(tail).text;
  }
}

TEST(Check, AllowsSumsThatAreFlushedToZero) {
  float a[] = {0x1p-70F}, b[] = {0x1.8p-60F}, zero[] = {0}, larger[] = {0x1p-119F};
  using View = matmul::MatrixView<float>;
  const auto is_right = [&](float* c, const char* words) {
    return check(View{c, 1, 1}, View{a, 1, 1}, View{b, 1, 1}, {}, words).right;
  };
  for (const char* words : {"", "tf32"}) {
    EXPECT_TRUE(is_right(zero, words));
    EXPECT_FALSE(is_right(larger, words));
  }
  // Several zeros are not taken for C rounded to f16.
  std::vector<float> rows(16 * 16), cols(16 * 16), product(16 * 16);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<float>(i % 7 + 1) * 0x1p-66F, cols[i] = static_cast<float>(i % 11 + 1) * 0x1p-66F;
  const View several{rows.data(), 16, 16}, others{cols.data(), 16, 16};
  EXPECT_TRUE(check(View{product.data(), 16, 16}, several, others).right);
  product[77] = 0x1p-119F;
  EXPECT_FALSE(check(View{product.data(), 16, 16}, several, others).right);
  double of_f64[] = {0x1p-70}, zero_f64[] = {0};
  const matmul::MatrixView<double> factor{of_f64, 1, 1};
  EXPECT_FALSE(check(matmul::MatrixView<double>{zero_f64, 1, 1}, factor, factor).right);
}

TEST(Check, TakesBatchesAndRefusesWhatDoesNotFit) {
  std::vector<float> a(3 * 4 * 5, 1), b(5 * 6, 2), c(3 * 4 * 6, 10);
  using matmul_batch::BatchView;
  const BatchView<float> left{a.data(), 3, 4, 5}, right{b.data(), 1, 5, 6}, result{c.data(), 3, 4, 6};
  EXPECT_TRUE(check(result, left, right).right);
  c[2 * 24 + 7] = 11;
  const Finding found = check(result, left, right);
  EXPECT_FALSE(found.right);
  EXPECT_EQ(found.first, (Extents{2, 1, 1}));
  EXPECT_NE(found.text.find("entry 2"), std::string::npos) << found.text;
  const matmul::MatrixView<float> x{a.data(), 4, 5}, y{b.data(), 5, 6}, z{c.data(), 4, 6};
  EXPECT_TRUE(check(z, x, y).right);
  EXPECT_THROW((void)check(z, x, y, {.beta = 1}), Error);
  EXPECT_THROW((void)check(z, x, y, {}, "sums=f16"), Error);
  EXPECT_THROW((void)check(z, x, y, {}, "parts=4"), Error);
  EXPECT_THROW((void)check(z, x, y, {}, "f64"), Error);
}

}  // namespace
}  // namespace tessera
