// SPDX-License-Identifier: Apache-2.0
// Single products as no case of `verify` asks for them: more tiles than blocks, so that blocks that stay take
// their second and third; any alignment, order and leading dimension; every tile with splits; every
// epilogue. Numbers are whole, so that one result is right. Drawn anew each time, with the numbers to repeat
// it.
#include <algorithm>
#include "on_device.hpp"
#include "ops/matmul/plans/tile_plan.hpp"

namespace tessera::products {
namespace {

// A way to compute, an element, and whether the factors lie across k.
struct KernelCall {
  const Variant* variant;
  const Choice* choice;
  Element element;
  bool a_across, b_across;
};

std::vector<KernelCall> ways_of(const std::vector<const Variant*>& variants) {
  std::vector<KernelCall> out;
  for (const Variant* variant : variants)
    for (const Choice& choice : variant->choices)
      for (const auto& [element, prepare] : choice.prepare)
        for (int layout = 0; layout < 4; ++layout)
          out.push_back({variant, &choice, element, (layout & 1) != 0, (layout & 2) != 0});
  return out;
}

// Tiles of rungs whose blocks stay; others get as large a result.
Tiled tiled_of(const KernelCall& way, const Asked& asked, int multiprocessors) {
  const bool cluster = way.variant->name == "cluster",
             promotes = !asked.fast && (asked.a == Element::e4m3 || asked.a == Element::e5m2);
  const auto tile =
      static_cast<std::size_t>(std::max<std::int64_t>(way.choice->tuning.find("tile").value_or(0), 1) - 1);
  matmul::TileCost shape =
      cluster && promotes ? matmul::promoted_costs[std::min(tile, std::size(matmul::promoted_costs) - 1)]
      : cluster && tile == matmul::misaligned_tile ? matmul::tile_costs[matmul::misaligned_base_tile]
                                                   : matmul::tile_costs[cluster ? tile : 0];
  if (!cluster) shape.cluster_rows = shape.cluster_cols = 1;
  return {shape, multiprocessors / (shape.cluster_rows * shape.cluster_cols)};
}

class Products : public OnDevice {
 protected:
  // Each way once, in any order; then, on a GPU, again while there is time.
  void try_all(const std::vector<const Variant*>& variants, double seconds) {
    std::vector<KernelCall> ways = ways_of(variants);
    Rounds rounds(seconds, device_.where == Where::cuda ? std::nullopt : std::optional(ways.size() + 1));
    std::cout << rounds.text() << " and more, of " << ways.size() << " ways\n";
    Random order = rounds.next();
    std::ranges::shuffle(ways, order);
    int wrong_ones = 0;
    for (std::size_t at = 0; !ways.empty() && rounds.more(at >= ways.size()) && wrong_ones < 5; ++at) {
      Random random = rounds.next();
      wrong_ones += try_one(ways[at % ways.size()], random, rounds) ? 0 : 1;
    }
    std::cout << rounds.round() << " products, " << refused_ << " refused\n";
  }

 private:
  Asked draw(const KernelCall& way, Random& random) const {
    Asked asked = draw_kind(*way.variant, way.element, random);
    const bool gpu = device_.where == Where::cuda;
    if (!gpu) draw_small_sizes(asked, random);
    else if (once_in(random, 6))
      draw_large_sizes(asked, tiled_of(way, asked, device_.multiprocessors), random);
    else draw_sizes(asked, random);
    draw_lies(asked, random);
    set_layout(asked, way.a_across, way.b_across, random);
    const bool low = way.element != Element::f64 && way.element != Element::i32;
    if (gpu && low && once_in(random, 3)) make_plain(asked, random);
    return asked;
  }

  bool try_one(const KernelCall& way, Random& random, const Rounds& rounds) {
    const Tuning tuning = draw_tuning(*way.choice, random);
    const Asked asked = draw(way, random);
    Product product(run_, operation_called("matmul"), asked, random);
    const auto wrong = wrong_by(*way.variant, *way.choice, tuning, product, once_in(random, 2));
    if (!wrong) ++refused_;
    const bool right = !wrong || wrong->empty();
    EXPECT_TRUE(right) << way.variant->name << ' ' << to_string(tuning) << ": " << to_string(asked) << "\n"
                       << *wrong << "\n"
                       << rounds.text();
    return right;
  }

  int refused_ = 0;

 protected:
  // α·s_a is less than f32 has, times s_b it is ordinary again.
  void expect_extremes_right(const Variant& variant, const Choice& choice) {
    Random random(11);
    for (const bool large : {false, true})
      for (const bool for_all : {false, true}) {
        Asked asked{.a = Element::bf16,
                    .b = Element::bf16,
                    .c = large ? Element::bf16 : Element::f32,
                    .m = large ? 256 : 131,
                    .n = large ? 512 : 72,
                    .k = large ? 256 : 70,
                    .most = 8};
        asked.alpha = 0x1p-100;
        asked.scale_a = asked.scale_b = true;
        asked.scale_a_for_all = asked.scale_b_for_all = for_all;
        asked.scales_a = 0x1p-60, asked.scales_b = 0x1p120;
        Product product(run_, operation_called("matmul"), asked, random);
        // There are fewer tiles for a B across k.
        const char* const refused = &choice == &variant.choices.front() ? "refused" : "";
        EXPECT_EQ(wrong_by(variant, choice, choice.defaults(), product, false).value_or(refused), "")
            << variant.name << ' ' << to_string(choice.tuning) << ": " << to_string(asked);
      }
  }
};

// The processors' rungs: what tests a GPU is itself tested everywhere.
TEST_F(Products, AreRightOnTheProcessors) {
  take(Where::cpu);
  if (IsSkipped()) return;
  std::vector<const Variant*> variants;
  for (const Variant* variant : ladder_of("matmul"))
    if (variant->where == Where::cpu && !variant->baseline) variants.push_back(variant);
  ASSERT_FALSE(variants.empty());
  try_all(variants, 60);
}

TEST_F(Products, AreRightOnAGpu) {
  take(Where::cuda);
  if (IsSkipped()) return;
  std::vector<const Variant*> variants;
  for (const char* name :
       {"cluster", "tensor_cores", "warp_tiles", "wgmma", "warp_specialized", "persistent"})
    if (const Variant* variant = variant_called("matmul", name, Where::cuda)) variants.push_back(variant);
  ASSERT_FALSE(variants.empty());
  try_all(variants, 30);
}

TEST_F(Products, OfExtremeScalesAreRightOnAGpu) {
  take(Where::cuda);
  if (IsSkipped()) return;
  for (const char* name : {"cluster", "tensor_cores"})
    if (const Variant* const variant = variant_called("matmul", name, Where::cuda))
      for (const Choice& choice : variant->choices)
        if (choice.prepare.contains(Element::bf16)) expect_extremes_right(*variant, choice);
}

// Whoever looks for wrong results must see them.
TEST_F(Products, DetectsWrongResults) {
  take(Where::cpu);
  if (IsSkipped()) return;
  const Asked asked{.a = Element::bf16,
                    .b = Element::bf16,
                    .c = Element::f32,
                    .m = 9,
                    .n = 7,
                    .k = 5,
                    .lies_c = {.more = 3},
                    .most = 8};
  Random random(1);
  Product product(run_, operation_called("matmul"), asked, random);
  const Variant& naive = *variant_called("matmul", "naive", Where::cpu);
  const Arguments& arguments = product.arguments();
  const ArrayView c = arguments.array("C");
  const auto compute = [&] { naive.choices.front().run(arguments, {}, run_); };
  auto* const numbers = static_cast<float*>(c.data);
  EXPECT_EQ(wrong(product, 0, true, compute), "");
  EXPECT_NE(wrong(product, 0, false, [&] { compute(), numbers[8 * c.strides[0] + 6] += 1; }), "");
  EXPECT_NE(wrong(product, 0, false, [] {}), "");
  EXPECT_NE(wrong(product, 0, false, [&] { compute(), numbers[7] = 0; }), "") << "between lines";
  EXPECT_NE(wrong(product, 0, false, [&] { compute(), numbers[-1] = 0; }), "");
  EXPECT_NE(wrong(product, 0, false, [&] { compute(), numbers[8 * c.strides[0] + 7] = 0; }), "");
  EXPECT_EQ(wrong(product, 100, false, [&] { compute(), static_cast<char*>(run_.workspace)[99] = 1; }), "");
  EXPECT_NE(wrong(product, 100, false, [&] { compute(), static_cast<char*>(run_.workspace)[100] = 1; }), "");
  EXPECT_NE(wrong(product, 100, false, [&] { compute(), static_cast<char*>(run_.workspace)[-1] = 1; }), "");
}

}  // namespace
}  // namespace tessera::products
