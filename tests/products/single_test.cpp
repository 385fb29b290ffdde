// SPDX-License-Identifier: Apache-2.0
// Single products as no case of `verify` asks for them: more tiles than blocks, so that blocks that stay take
// their second and third; any alignment, order and leading dimension; every tile with splits and strips;
// every epilogue. Numbers are whole, so that one result is right. Drawn anew each time, with the numbers to
// repeat it.
#include <algorithm>
#include <map>
#include "on_device.hpp"
#include "ops/matmul/kernels/hopper/tile_plan.hpp"

namespace tessera::products {
namespace {

// A way to compute, an element, and whether the factors lie across k. `waits`: results of 16 bits shall wait
// for the next tile's products.
struct Way {
  const Variant* variant;
  const Choice* choice;
  Element element;
  bool a_across, b_across, waits = false;
};

std::vector<Way> ways_of(const std::vector<const Variant*>& variants) {
  std::vector<Way> out;
  for (const Variant* variant : variants)
    for (const Choice& choice : variant->choices)
      for (const auto& [element, run] : choice.run)
        for (int layout = 0; layout < 4; ++layout) {
          out.push_back({variant, &choice, element, (layout & 1) != 0, (layout & 2) != 0});
          const bool floats = element != Element::i8 && size_of(element) <= 2;
          if (variant->name != "cluster" || choice.tuning.find("tile").value_or(0) != 1 || !floats) continue;
          out.push_back(out.back());
          out.back().waits = true;
        }
  return out;
}

bool promotes(const Asked& asked) {
  return !asked.fast && (asked.a == Element::e4m3 || asked.a == Element::e5m2);
}

// Tiles of rungs whose blocks stay; others get as large a result.
Tiled tiled_of(const Way& way, const Asked& asked, int processors) {
  const auto tile =
      static_cast<std::size_t>(std::max<std::int64_t>(way.choice->tuning.find("tile").value_or(0), 1) - 1);
  matmul::TileShape shape = way.variant->name == "cluster" && promotes(asked)
                                ? matmul::promoted_shapes[std::min<std::size_t>(tile, 3)]
                            : way.variant->name == "cluster" ? matmul::tile_shapes[tile]
                                                             : matmul::tile_shapes[0];
  if (way.variant->name != "cluster") shape.cluster_rows = shape.cluster_cols = 1;
  return {shape, processors / (shape.cluster_rows * shape.cluster_cols)};
}

// What the runs met, by what the plan says of them.
class Met {
 public:
  void note(const Way& way, const Asked& asked, const Tuning& tuning, int processors) {
    ++rounds_[way.variant->name];
    if (way.variant->name != "cluster") return;
    // The plan below is of a product in one launch.
    if (tuning.find("cuts").value_or(0) == static_cast<int>(matmul::Cuts::wherever)) {
      if (asked.m % 64 != 0 && asked.n % 64 != 0 && asked.m > 64 && asked.n > 64) ++rounds_["cuts both ways"];
      return;
    }
    const matmul::TileShapes shapes = promotes(asked) ? matmul::TileShapes(matmul::promoted_shapes)
                                                      : matmul::TileShapes(matmul::tile_shapes);
    const bool turned = asked.lies_c.by_columns && asked.n > 1;
    const auto bytes = static_cast<int>(size_of(asked.a));
    // Operands across k that need no packing allow some tiles only: those may not be counted.
    const auto tile = tuning.find("tile").value_or(0);
    const bool any = bytes != 2 || (!way.a_across && !way.b_across) || tile == 1 || tile == 3;
    if (!any || tile == 0) return;
    const matmul::TilePlan plan =
        matmul::plan_tiles(shapes, turned ? asked.n : asked.m, turned ? asked.m : asked.n, asked.k,
                           128 / bytes, processors, (1u << shapes.size()) - 1,
                           {.tile = static_cast<int>(tile),
                            .splits = static_cast<int>(tuning["splits"]),
                            .tail = static_cast<int>(tuning["strips"])});
    const matmul::TileShape& shape = shapes[static_cast<std::size_t>(plan.tile)];
    const std::string name = "tile " + std::to_string(plan.tile + 1);
    ++rounds_[name];
    const bool second =
        plan.cluster_splits == 1 && plan.units > processors / (shape.cluster_rows * shape.cluster_cols);
    if (second) ++rounds_[name + ", second tiles"];
    if (second && may_wait(asked) && plan.tile == 0 && plan.order.splits == 1 && plan.tail.cols == 0 &&
        plan.depth >= matmul::least_overlapped_depth<2>)
      ++rounds_["results that wait, second tiles"];
    if (plan.tail.cols > 0) ++rounds_[name + ", strips"];
    if (plan.order.splits > 1) ++rounds_[name + ", parts in memory"];
    if (plan.cluster_splits > 1) ++rounds_[name + ", parts in a cluster"];
  }
  // Of what a run on Hopper shall meet; empty: all of it, or none ran there.
  std::string missing() const {
    std::vector<std::string> wanted{"results that wait, second tiles",
                                    "cuts both ways",
                                    "tile 1, strips",
                                    "tile 2, strips",
                                    "tile 1, parts in memory",
                                    "tile 4, parts in memory",
                                    "tile 5, parts in memory",
                                    "tile 2, parts in a cluster",
                                    "tile 3, parts in a cluster"};
    for (int tile = 1; tile <= matmul::tile_count; ++tile)
      wanted.push_back("tile " + std::to_string(tile) + ", second tiles");
    std::string out;
    for (const std::string& what : wanted)
      if (rounds_.contains("cluster") && !rounds_.contains(what)) out += (out.empty() ? "" : "; ") + what;
    return out;
  }
  std::string text() const {
    std::string out;
    for (const auto& [what, count] : rounds_) out += "  " + what + ": " + std::to_string(count) + "\n";
    return out;
  }

 private:
  // Results of 16 bits in boxes, with nothing but a factor.
  static bool may_wait(const Asked& asked) {
    const bool plain = asked.beta == 0 && !asked.bias && (!asked.scale_a || asked.scale_a_for_all) &&
                       (!asked.scale_b || asked.scale_b_for_all) &&
                       asked.activation == matmul::Activation::none;
    const std::int64_t line = asked.lies_c.by_columns ? asked.m : asked.n;
    return plain && !promotes(asked) && size_of(asked.c) == 2 && size_of(asked.a) <= 2 && line % 8 == 0 &&
           asked.lies_c.more % 8 == 0 && asked.lies_c.ahead % 8 == 0;
  }

  std::map<std::string, int> rounds_;
};

class Products : public OnDevice {
 protected:
  // Each way once, in any order; then, on a GPU, again while there is time.
  void try_all(const std::vector<const Variant*>& variants, double seconds) {
    std::vector<Way> ways = ways_of(variants);
    const bool gpu = device_.where == Where::cuda;
    Rounds rounds(seconds, gpu ? std::nullopt : std::optional(ways.size() + 1));
    std::cout << rounds.text() << " and more, of " << ways.size() << " ways\n";
    Random order = rounds.next();
    std::ranges::shuffle(ways, order);
    int wrong_ones = 0;
    for (std::size_t at = 0;
         !ways.empty() && rounds.more(at >= ways.size() && met_.missing().empty()) && wrong_ones < 5; ++at) {
      Random random = rounds.next();
      wrong_ones += try_one(ways[at % ways.size()], random, rounds) ? 0 : 1;
    }
    std::cout << rounds.round() << " products, " << refused_ << " refused\n" << met_.text();
    if (gpu && !rounds.limited()) {
      EXPECT_EQ(met_.missing(), "") << "no run met this";
    }
  }

 private:
  Asked draw(const Way& way, Tuning& tuning, Random& random) const {
    Asked asked = draw_kind(*way.variant, way.element, random);
    const bool gpu = device_.where == Where::cuda, large = way.waits || once_in(random, 6);
    if (way.waits) asked.fast = size_of(way.element) == 1;
    if (!gpu) draw_small_sizes(asked, random);
    else if (large) draw_large_sizes(asked, tiled_of(way, asked, device_.processors), random);
    else draw_sizes(asked, random);
    if (way.waits) {
      // As many stages at least; neither parts nor strips, nor cuts.
      asked.k += matmul::least_overlapped_depth<1> * 128 / static_cast<std::int64_t>(size_of(way.element));
      tuning.set("splits", 1), tuning.set("strips", 1), tuning.set("cuts", 1);
    } else if (way.variant->name == "cluster" && once_in(random, 3)) {
      tuning.set("splits", 1), tuning.set("strips", 2);
      if (!way.choice->tuning.find("cuts")) tuning.set("cuts", 1);
    }
    draw_lies(asked, random);
    set_layout(asked, way.a_across, way.b_across, random);
    const bool low = way.element != Element::f64 && way.element != Element::i32;
    if (way.waits || (gpu && low && once_in(random, 3))) make_plain(asked, random);
    return asked;
  }

  bool try_one(const Way& way, Random& random, const Rounds& rounds) {
    Tuning tuning = draw_tuning(*way.choice, random);
    const Asked asked = draw(way, tuning, random);
    Product product(run_, operation_called("matmul"), asked, random);
    const auto wrong = wrong_by(*way.variant, *way.choice, tuning, product, once_in(random, 2));
    if (!wrong) ++refused_;
    else met_.note(way, asked, tuning, device_.processors);
    const bool right = !wrong || wrong->empty();
    EXPECT_TRUE(right) << way.variant->name << ' ' << to_string(tuning) << ": " << to_string(asked) << "\n"
                       << *wrong << "\n"
                       << rounds.text();
    return right;
  }

  Met met_;
  int refused_ = 0;

 protected:
  // α·s_a is less than f32 has, times s_b it is ordinary again. By every tile.
  std::string wrong_of_extremes(const Variant& variant) {
    const Choice& choice = variant.choices.front();
    std::string out;
    for (const Range& range : choice.ranges)
      if (range.name == "tile")
        for (int tile = range.first; tile <= range.last; ++tile) {
          Tuning tuning = choice.defaults();
          tuning.set("tile", tile);
          out += wrong_of_extremes(variant, tuning);
        }
    return out + wrong_of_extremes(variant, choice.defaults());
  }

 private:
  std::string wrong_of_extremes(const Variant& variant, const Tuning& tuning) {
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
        const auto wrong = wrong_by(variant, variant.choices.front(), tuning, product, false);
        const std::string where = to_string(tuning) + ": " + to_string(asked);
        if (!wrong) return where + " was refused\n";
        if (!wrong->empty()) return where + ": " + *wrong + "\n";
      }
    return {};
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

TEST_F(Products, OfExtremeScalesAreRightOnTheProcessors) {
  take(Where::cpu);
  if (IsSkipped()) return;
  EXPECT_EQ(wrong_of_extremes(*variant_called("matmul", "naive", Where::cpu)), "");
}

TEST_F(Products, OfExtremeScalesAreRightOnAGpu) {
  take(Where::cuda);
  if (IsSkipped()) return;
  for (const char* name : {"cluster", "tensor_cores"}) {
    const Variant* const variant = variant_called("matmul", name, Where::cuda);
    if (variant == nullptr) continue;
    EXPECT_EQ(wrong_of_extremes(*variant), "") << name;
  }
}

// Whoever looks for wrong results must see them.
TEST_F(Products, WhatIsWrongIsSeen) {
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
  const auto compute = [&] { naive.choices.front().run.at(Element::bf16)(arguments, {}, run_); };
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
