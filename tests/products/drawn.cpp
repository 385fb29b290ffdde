// SPDX-License-Identifier: Apache-2.0
#include "drawn.hpp"
#include <chrono>
#include <cstdlib>

namespace tessera::products {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::optional<std::uint64_t> message(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

bool is_fp8(Element e) { return e == Element::e4m3 || e == Element::e5m2; }

std::int64_t draw_size(Random& random) {
  switch (random() % 6) {
    case 0:
      return static_cast<std::int64_t>(1 + random() % 70);
    case 1:
      return static_cast<std::int64_t>(8 * (1 + random() % 90));
    case 2:
      return pick<std::int64_t>(random, {63, 64, 128, 255, 256, 257, 320, 384, 512, 513});
    default:
      return static_cast<std::int64_t>(1 + random() % 900);
  }
}

Lie draw_lie(Random& random, bool aligned) {
  Lie out;
  out.more =
      aligned ? pick<std::int64_t>(random, {0, 16, 48}) : pick<std::int64_t>(random, {0, 1, 3, 8, 16, 17});
  out.ahead = aligned ? pick<std::int64_t>(random, {0, 16}) : pick<std::int64_t>(random, {0, 1, 2, 3, 8});
  out.apart = aligned ? pick<std::int64_t>(random, {0, 64}) : pick<std::int64_t>(random, {0, 1, 5});
  return out;
}

}  // namespace

std::vector<Element> outputs_of(Element a) {
  using enum Element;
  switch (a) {
    case bf16:
      return {bf16, f16, f32};
    case f16:
      return {f16, bf16, f32};
    case e4m3:
    case e5m2:
      return {bf16, f16, f32};
    case i8:
      return {i32, f32, i8};
    default:
      return {a};
  }
}

int max_value(const Asked& asked) {
  if (asked.a == Element::i32 || asked.c == Element::i32) return 127;
  if (asked.c == Element::i8) return 2;
  return is_fp8(asked.a) ? 3 : 8;
}

Rounds::Rounds(double seconds, std::optional<std::uint64_t> most)
    : seed_(message("TESSERA_TEST_SEED")
                .value_or(static_cast<std::uint64_t>(
                              std::chrono::system_clock::now().time_since_epoch().count() / 1000 % 1000000) *
                          100000)),
      seconds_(
          static_cast<double>(message("TESSERA_TEST_SECONDS").value_or(static_cast<std::uint64_t>(seconds)))),
      most_(message("TESSERA_TEST_ROUNDS").has_value() ? message("TESSERA_TEST_ROUNDS") : most),
      begun_(now()) {}

bool Rounds::more(bool enough) const {
  constexpr double longer = 15;
  return round_ < most_.value_or(round_ + 1) && now() - begun_ < seconds_ + (enough ? 0 : longer);
}

std::string Rounds::text() const {
  return "TESSERA_TEST_SEED=" + std::to_string(seed_) + " TESSERA_TEST_ROUNDS=" + std::to_string(round_);
}

Asked draw_kind(const Variant& variant, Element element, Random& random) {
  Asked out;
  out.a = out.b = element;
  out.tf32 = element == Element::f32 && variant.name == "cluster";
  if (is_fp8(element)) out.b = pick(random, {Element::e4m3, Element::e5m2});
  const auto outputs = outputs_of(element);
  out.c = outputs[random() % outputs.size()];
  out.fast = is_fp8(element) && once_in(random, 4);
  out.most = max_value(out);
  out.alpha = once_in(random, 3) ? pick<double>(random, {2, -1, 3}) : 1;
  out.beta = once_in(random, 3) ? pick<double>(random, {1, -1, 2}) : 0;
  const bool no_scales = element == Element::f64 || element == Element::i32;
  if (once_in(random, 3)) return out;
  out.bias = once_in(random, 3);
  out.bias_along_rows = out.bias && once_in(random, 2);
  using enum matmul::Activation;
  if (out.c == Element::i32) {
    out.activation = once_in(random, 4) ? relu : none;
    return out;
  }
  if (once_in(random, 4)) out.alpha = 0.5;
  out.activation = once_in(random, 3) ? pick(random, {relu, gelu, gelu_tanh, silu}) : none;
  if (no_scales) return out;
  out.scale_a = once_in(random, 3);
  out.scale_b = once_in(random, 3);
  out.scale_a_for_all = out.scale_a && once_in(random, 2);
  out.scale_b_for_all = out.scale_b && once_in(random, 2);
  return out;
}

void draw_sizes(Asked& asked, Random& random) {
  asked.m = draw_size(random), asked.n = draw_size(random);
  asked.k = once_in(random, 12)  ? 0
            : once_in(random, 4) ? static_cast<std::int64_t>(3000 + random() % 2000)
                                 : draw_size(random);
}

void draw_small_sizes(Asked& asked, Random& random) {
  asked.m = static_cast<std::int64_t>(1 + random() % 70),
  asked.n = static_cast<std::int64_t>(1 + random() % 70);
  asked.k = once_in(random, 12) ? 0 : static_cast<std::int64_t>(1 + random() % 130);
}

void draw_large_sizes(Asked& asked, const Tiled& tiled, Random& random) {
  const std::int64_t height = tiled.shape.rows * tiled.shape.cluster_rows,
                     width = tiled.shape.cols * tiled.shape.cluster_cols;
  const std::int64_t units =
      tiled.slots + 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(tiled.slots));
  const std::int64_t rows = static_cast<std::int64_t>(2 + random() % 14), cols = (units + rows - 1) / rows;
  const auto less = [&](std::int64_t side) {
    return once_in(random, 3) ? 0 : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(side));
  };
  asked.m = rows * height - less(height);
  asked.n = cols * width - less(width);
  // Up to fourteen stages of 128 bytes.
  asked.k = static_cast<std::int64_t>(1 + random() % (14 * 128 / size_of(asked.a)));
}

void make_plain(Asked& asked, Random& random) {
  const double alpha = asked.alpha;
  const bool scaled = asked.scale_a && asked.scale_a_for_all;
  asked = {.a = asked.a,
           .b = asked.b,
           .c = outputs_of(asked.a).front(),
           .m = asked.m,
           .n = (asked.n + 15) / 16 * 16,
           .k = asked.k,
           .op_a = asked.op_a,
           .op_b = asked.op_b,
           .lies_a = asked.lies_a,
           .lies_b = asked.lies_b,
           .tf32 = asked.tf32,
           .fast = asked.fast};
  asked.most = max_value(asked);
  asked.lies_c = draw_lie(random, true);
  if (asked.c == Element::i32) return;
  asked.alpha = alpha;
  asked.scale_a = asked.scale_a_for_all = scaled;
}

void draw_lies(Asked& asked, Random& random) {
  const bool aligned = once_in(random, 2);
  if (aligned)
    for (std::int64_t* size : {&asked.m, &asked.n, &asked.k}) *size = (*size + 15) / 16 * 16;
  asked.lies_a = draw_lie(random, aligned);
  asked.lies_b = draw_lie(random, aligned);
  // C lies as it likes beside factors of either kind.
  asked.lies_c = draw_lie(random, once_in(random, 2));
  asked.lies_c0 = draw_lie(random, once_in(random, 2));
  asked.lies_c.by_columns = once_in(random, 4);
  asked.lies_c0.by_columns = once_in(random, 4);
  asked.vectors_ahead = static_cast<std::int64_t>(random() % 4);
}

}  // namespace tessera::products
