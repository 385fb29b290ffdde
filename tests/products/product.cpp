// SPDX-License-Identifier: Apache-2.0
#include "product.hpp"
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <mutex>
#include <sstream>
#include "ops/matmul/verify/bounds.hpp"
#include "tessera/core/device/parallel.hpp"

namespace tessera::products {
namespace {

constexpr const char* activations[] = {"none", "relu", "gelu", "gelu-tanh", "silu"};

std::string text_of(double value) {
  std::ostringstream out;
  out << std::setprecision(17) << value;
  return out.str();
}

bool is_mixed(Element a) { return matmul::has_mixed_problem(a) && a != Element::f32; }

Arguments::Words words_of(const Asked& asked) {
  const auto op = [](bool turned) { return turned ? "transpose" : "none"; };
  Arguments::Words out{{"alpha", text_of(asked.alpha)}, {"op-a", op(asked.op_a)}, {"op-b", op(asked.op_b)}};
  if (asked.beta != 0) out["beta"] = text_of(asked.beta);
  if (asked.b != asked.a) out["element-b"] = name_of(asked.b);
  if (is_mixed(asked.a)) out["output-element"] = name_of(asked.c);
  if (asked.tf32) out["compute"] = "tf32";
  if (asked.fast) out["accumulate"] = "fast";
  if (asked.bias_along_rows) out["bias-along"] = "rows";
  if (asked.scale_a_for_all) out["scale-a-per"] = "tensor";
  if (asked.scale_b_for_all) out["scale-b-per"] = "tensor";
  out["activation"] = activations[static_cast<std::size_t>(asked.activation)];
  return out;
}

// How far z may be off where an activation is not exact; docs/products.md.
double stray_of(matmul::Activation activation, double z) {
  using enum matmul::Activation;
  if (activation == none || activation == relu) return 0;
  return std::fabs(z) * (activation == gelu_tanh ? 0x1p-11 : 0x1p-20);
}

// Rungs' functions and this one of doubles, both within 2^-49 of z.
bool is_right_f64(matmul::Activation activation, double got, double z) {
  using enum matmul::Activation;
  const double value = matmul::applied_exactly({activation}, z);
  return activation == none || activation == relu ? got == value
                                                  : std::fabs(got - value) <= std::fabs(z) * 0x1p-48;
}

// `z`: before the activation, exactly.
bool is_right(const Asked& asked, double got, double z) {
  if (asked.c == Element::i32) {
    const double least = asked.activation == matmul::Activation::relu ? 0 : -0x1p31;
    const auto wrapped = static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(z)));
    return got == std::max(static_cast<double>(wrapped), least);
  }
  if (asked.c == Element::f64) return is_right_f64(asked.activation, got, z);
  const double value = matmul::applied_exactly({asked.activation}, z), stray = stray_of(asked.activation, z);
  return got >= matmul::rounded_to(asked.c, value - stray) &&
         got <= matmul::rounded_to(asked.c, value + stray);
}

// Whether f32 holds z, and what it is summed from, without rounding.
bool is_exact(const Asked& asked, double z) {
  if (asked.scales_a * asked.scales_b != 1) return static_cast<float>(z) == z;  // nothing is added to it
  return asked.c == Element::i32 || asked.c == Element::f64 ||
         (std::fabs(z) < 0x1p20 && z * 8 == std::nearbyint(z * 8));
}

}  // namespace

std::string to_string(const Asked& asked) {
  std::ostringstream out;
  out << name_of(asked.a) << '*' << name_of(asked.b) << '>' << name_of(asked.c);
  if (asked.batch != 0) out << " batch=" << asked.batch;
  out << " m=" << asked.m << " n=" << asked.n << " k=" << asked.k;
  const auto tell = [&](const char* name, const Lie& lie) {
    out << ' ' << name << (lie.by_columns ? " by columns" : "") << " +" << lie.more << " ahead " << lie.ahead
        << " apart " << lie.apart;
  };
  tell("A", asked.lies_a), tell("B", asked.lies_b), tell("C", asked.lies_c);
  if (asked.beta != 0) tell("C0", asked.lies_c0);
  for (const auto& [name, value] : words_of(asked)) out << ' ' << name << '=' << value;
  if (asked.bias) out << " bias";
  if (asked.scale_a) out << " scale-a";
  if (asked.scale_b) out << " scale-b";
  return out.str() + " vectors ahead " + std::to_string(asked.vectors_ahead);
}

Product::Product(const Run& run, const Operation& operation, const Asked& asked, Random& random)
    : run_(run), asked_(asked) {
  const std::int64_t entries = std::max<std::int64_t>(asked.batch, 1);
  for (std::int64_t e = 0; e < (asked.a_for_all ? 1 : entries); ++e)
    a_.push_back(draw(asked.m, asked.k, asked.most, random));
  for (std::int64_t e = 0; e < (asked.b_for_all ? 1 : entries); ++e)
    b_.push_back(draw(asked.k, asked.n, asked.most, random));
  place_factor("A", a_, asked.a, asked.op_a, asked.a_for_all, asked.lies_a);
  place_factor("B", b_, asked.b, asked.op_b, asked.b_for_all, asked.lies_b);
  Extents extents{asked.m, asked.n};
  if (asked.batch != 0) extents.insert_front(asked.batch);
  place_added(random);
  for (const auto& [name, array] : arrays_) array.upload();
  std::map<std::string, ArrayView> inputs;
  for (const auto& [name, array] : arrays_) inputs[name] = array.view();
  c_ = &place("C", asked.c, extents, asked.lies_c);
  arguments_.emplace(operation.signature, asked.a, std::move(inputs), words_of(asked));
  arguments_->set_array("C", c_->view());
}

void Product::place_added(Random& random) {
  Extents extents{asked_.m, asked_.n};
  if (asked_.batch != 0) extents.insert_front(asked_.batch);
  if (asked_.beta != 0) {
    c0_ = &place("C0", asked_.c, extents, asked_.lies_c0);
    c0_->fill([&] { return static_cast<double>(random() % 9) - 4; });
  }
  const Element of_bias = asked_.c == Element::i8 ? Element::f32 : asked_.c;
  if (asked_.bias)
    bias_ = place_vector("bias", of_bias, asked_.bias_along_rows ? asked_.m : asked_.n, {-3, -1, 0, 1, 2, 4},
                         random);
  const auto place_scales = [&](const char* name, bool for_all, std::int64_t size, double times) {
    return place_vector(name, Element::f32, for_all ? 1 : size, {0.5 * times, times, 2 * times}, random);
  };
  if (asked_.scale_a) scale_a_ = place_scales("scale-a", asked_.scale_a_for_all, asked_.m, asked_.scales_a);
  if (asked_.scale_b) scale_b_ = place_scales("scale-b", asked_.scale_b_for_all, asked_.n, asked_.scales_b);
}

DeviceMatrix& Product::place(const char* name, Element element, Extents extents, const Lie& lie) {
  return arrays_
      .emplace_back(std::piecewise_construct, std::forward_as_tuple(name),
                    std::forward_as_tuple(run_, element, std::move(extents), lie))
      .second;
}

void Product::place_factor(const char* name, const std::vector<Whole>& entries, Element element, bool turned,
                           bool for_all, const Lie& lie) {
  const Whole& first = entries.front();
  const std::int64_t rows = turned ? first.cols : first.rows, cols = turned ? first.rows : first.cols;
  Extents extents{rows, cols};
  if (asked_.batch != 0 && !for_all) extents.insert_front(asked_.batch);
  DeviceMatrix& array = place(name, element, extents, lie);
  std::size_t at = 0, of = 0;
  const auto size = static_cast<std::size_t>(rows * cols);
  array.fill([&]() -> double {
    if (at == size) at = 0, ++of;
    const auto i = static_cast<std::int64_t>(at) / cols, j = static_cast<std::int64_t>(at) % cols;
    ++at;
    return turned ? entries[of].at(j, i) : entries[of].at(i, j);
  });
}

DeviceMatrix* Product::place_vector(const char* name, Element element, std::int64_t size,
                                    const std::vector<double>& from, Random& random) {
  Extents extents{size};
  if (asked_.batch != 0) extents.insert_front(asked_.batch);
  DeviceMatrix& array = place(name, element, extents, {.ahead = asked_.vectors_ahead});
  for (std::int64_t at = 0; at < array.count(); ++at) array.set(at, from[random() % from.size()]);
  return &array;
}

double Product::before_activation(std::int64_t entry, std::int64_t i, std::int64_t j, double sum) const {
  // Of entry `entry`'s vector of so many numbers; one serves all.
  const auto of = [&](const DeviceMatrix& vector, std::int64_t size, std::int64_t at, bool for_all) {
    return for_all ? vector.get(entry) : vector.get(entry * size + at);
  };
  double z = asked_.alpha * sum;
  if (scale_a_ != nullptr && asked_.k != 0) z *= of(*scale_a_, asked_.m, i, asked_.scale_a_for_all);
  if (scale_b_ != nullptr && asked_.k != 0) z *= of(*scale_b_, asked_.n, j, asked_.scale_b_for_all);
  if (c0_ != nullptr) z += asked_.beta * c0_->get((entry * asked_.m + i) * asked_.n + j);
  if (bias_ != nullptr)
    z += asked_.bias_along_rows ? of(*bias_, asked_.m, i, false) : of(*bias_, asked_.n, j, false);
  return z;
}

std::string Product::wrong_in(std::int64_t entry) const {
  const auto e = static_cast<std::size_t>(entry);
  const std::vector<double> sums = product_of(a_[asked_.a_for_all ? 0 : e], b_[asked_.b_for_all ? 0 : e]);
  std::string out;
  std::int64_t count = 0;
  std::mutex mutex;
  const int threads = static_cast<int>(std::clamp<std::int64_t>(asked_.m, 1, host_threads()));
  parallel(threads, [&](int thread) {
    for (std::int64_t i = thread; i < asked_.m; i += threads)
      for (std::int64_t j = 0; j < asked_.n; ++j) {
        const double z = before_activation(entry, i, j, sums[static_cast<std::size_t>(i * asked_.n + j)]);
        const double got = c_->get((entry * asked_.m + i) * asked_.n + j);
        const bool exact = is_exact(asked_, z);
        if (exact && is_right(asked_, got, z)) continue;
        const std::scoped_lock lock(mutex);
        if (count++ == 0)
          out = exact ? "entry " + std::to_string(entry) + ", (" + std::to_string(i) + ", " +
                            std::to_string(j) + ") is " + text_of(got) + ", but " + text_of(z) +
                            " before the activation"
                      : "the test asks for more than f32 holds: " + text_of(z);
      }
  });
  return count < 2 ? out : out + ", and " + std::to_string(count - 1) + " more of this entry";
}

std::string Product::wrong() {
  c_->fetch();
  for (std::int64_t e = 0; e < std::max<std::int64_t>(asked_.batch, 1); ++e)
    if (std::string out = wrong_in(e); !out.empty()) return out;
  if (std::string out = c_->guard_violation(); !out.empty()) return "around C, " + out;
  return {};
}

}  // namespace tessera::products
