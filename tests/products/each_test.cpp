// SPDX-License-Identifier: Apache-2.0
// Every kernel of the ladders for tensor cores and for strict f32 once or a few times, always the same cases
// at the smallest sizes that show it: two tiles each way and a bit, a few stages. So they can all go through
// the sanitizer's tools, which slow kernels down a hundredfold.
#include <deque>
#include "on_device.hpp"
#include "ops/matmul/plans/tile_plan.hpp"
#include "ops/matmul_batch/matmul_batch.hpp"

namespace tessera::products {
namespace {

// What follows a sum, how C lies, how the sum is cut.
enum class Way { boxes, elements, everything, rows };
constexpr Way all_ways[] = {Way::boxes, Way::elements, Way::everything, Way::rows};

struct Kind {
  Element a, b;
  bool fast = false, tf32 = false;
};

class EachKernel : public OnDevice {
 protected:
  void SetUp() override { take(Where::cuda); }

  // Whether this device runs it; else the test is skipped.
  const Variant* wanted(const char* operation, const char* name) {
    const Variant* const variant = variant_called(operation, name, Where::cuda);
    if (variant == nullptr || (variant->unsupported_device && variant->unsupported_device(device_)))
      return nullptr;
    return variant;
  }

  // `layout`: 1: A lies across k; 2: B does.
  Asked asked_for(const Kind& kind, const matmul::TileCost& tile, Way way, int layout) {
    Asked out{.a = kind.a, .b = kind.b, .fast = kind.fast};
    const bool odd = way == Way::elements || way == Way::rows;
    const std::int64_t less =
        size_of(kind.a) == 1 ? 2 : 3;  // of k: odd lines of bytes have too many remainders
    const auto outputs = outputs_of(kind.a);
    out.c = outputs[static_cast<std::size_t>(count_++) % outputs.size()];
    out.most = max_value(out);
    out.m = std::int64_t{tile.rows} * tile.cluster_rows + (odd ? 9 : 16);
    out.n = std::int64_t{tile.cols} * tile.cluster_cols + (odd ? 21 : 16);
    out.k = (way == Way::everything ? 5 : 3) * 128 / static_cast<std::int64_t>(size_of(kind.a)) -
            (odd ? less : 0);
    out.lies_a.by_columns = (layout & 1) != 0;
    out.lies_b.by_columns = (layout & 2) == 0;
    out.lies_a.ahead = out.lies_b.ahead = odd ? 1 : 0;
    out.lies_c.ahead = out.lies_c.more = odd ? 3 : 0;
    out.lies_c.by_columns = way == Way::everything && count_ % 2 == 0;  // then its transpose is computed
    out.tf32 = kind.tf32;
    apply_plan(out, way);
    return out;
  }

  // For a tile of runtime shape: widths, heights and clusters in turn, each by a step of its own.
  void set_size(Tuning& tuning, bool promoted) {
    if (!tuning.find("below")) return;
    const int i = sized_++, cols = 16 * (1 + (i * 5 + i / 12) % 12),
              heights = promoted || cols + 192 > matmul::max_rows_plus_cols ? 2 : 3,
              rows = 64 * (1 + i / 3 % heights);
    int below = 1 << i % 3, beside = 1 << i / 9 % 3;
    while (cols % (8 * below) != 0) below /= 2;
    if (below * beside > matmul::max_cluster_blocks) beside /= 2;
    tuning.set("rows", rows);
    tuning.set("cols", cols);
    tuning.set("below", below);
    tuning.set("beside", beside);
  }

  Tuning tuning_of(const Choice& choice, Way way, bool promoted) {
    Tuning out = choice.defaults();
    const auto set = [&](const char* name, int value) {
      if (out.find(name)) out.set(name, value);
    };
    set("splits", way == Way::everything ? 2 : way == Way::rows ? 3 : 1);
    set("cuts", 1);
    set_size(out, promoted);
    return out;
  }

  void expect_right(const Variant& variant, const Choice& choice, const Tuning& tuning, const Asked& asked,
                    const char* operation = "matmul", bool may_refuse = false) {
    Random random(static_cast<std::uint64_t>(++tried_));
    Product product(run_, operation_called(operation), asked, random);
    const auto wrong = wrong_by(variant, choice, tuning, product, false);
    EXPECT_EQ(wrong.value_or(may_refuse ? "" : "refused"), "")
        << variant.name << ' ' << to_string(tuning) << ": " << to_string(asked);
  }

  // By one choice: of `layouts` of the operands' layouts, in every way, or in one of them each.
  void expect_right(const Variant& variant, const Choice& choice, const Kind& kind,
                    const matmul::TileCost& tile, int layouts, bool every_way) {
    for (int layout = 0; layout < layouts; ++layout)
      for (int i = 0; i < (every_way ? 4 : 1); ++i) {
        const Way way = all_ways[every_way ? i : layout];
        const Asked asked = asked_for(kind, tile, way, layout);
        if (lacks_tile(kind, choice, way, layout))
          expect_refused(variant, choice, tuning_of(choice, way, promotes(kind)), asked);
        else expect_right(variant, choice, tuning_of(choice, way, promotes(kind)), asked);
      }
  }

  // Whether `cluster` has no kernel of the tile that a choice names: none of the last for sums that are
  // promoted, of others than the first and the third none for factors of 16 bits that are turned in loading,
  // and of the one that reads by remainders none for factors across k, or whose lines are not apart.
  static bool lacks_tile(const Kind& kind, const Choice& choice, Way way, int layout) {
    const auto tile = choice.tuning.find("tile").value_or(0);
    const bool aligned =
        way == Way::boxes || way == Way::everything;  // others are packed before, whatever their order
    const bool turned = size_of(kind.a) == 2 && layout != 0 && aligned;
    if (tile == matmul::misaligned_tile + 1) return layout != 0 || aligned;
    return (promotes(kind) && tile > static_cast<int>(std::size(matmul::promoted_costs))) ||
           (turned && tile != 0 && tile != 1 && tile != 3);
  }

  void expect_refused(const Variant& variant, const Choice& choice, const Tuning& tuning,
                      const Asked& asked) {
    Random random(static_cast<std::uint64_t>(++tried_));
    const Product product(run_, operation_called("matmul"), asked, random);
    const std::string reason =
        variant.refuses(choice, product.arguments(), tuning, device_).value_or("taken");
    EXPECT_TRUE(reason.starts_with("has no tile=") || reason.starts_with("tile="))
        << variant.name << ' ' << to_string(tuning) << ": " << to_string(asked) << ": " << reason;
  }

  static bool promotes(const Kind& kind) {
    return !kind.fast && (kind.a == Element::e4m3 || kind.a == Element::e5m2);
  }

  // Every tile; where kernels for turned operands exist, each of them.
  void expect_tiles_right(std::initializer_list<Kind> kinds) {
    const Variant* const cluster = wanted("matmul", "cluster");
    if (cluster == nullptr) GTEST_SKIP() << "no kernels for this GPU's tensor cores";
    for (const Kind& kind : kinds)
      for (const Choice& choice : cluster->choices) {
        const auto tile = choice.tuning.find("tile").value_or(0);
        const matmul::TileCost& shape = tile_of(kind, tile);
        const bool halves = size_of(kind.a) == 2, turns = halves && (tile == 1 || tile == 3);
        expect_right(*cluster, choice, kind, shape, tile == 0 || turns ? 4 : 1,
                     tile != 0 && (turns || !halves));
        if (halves && tile != 0 && !turns) expect_right(*cluster, choice, kind, shape, 4, false);
        if (tile != 0 && kind.a == kind.b && !lacks_tile(kind, choice, Way::boxes, 0))
          expect_second_tiles_right(*cluster, choice, kind, shape);
      }
    std::cout << tried_ << " products\n";
  }

  // More tiles than blocks that stay, with few products each; deep enough for results to wait where they can.
  void expect_second_tiles_right(const Variant& variant, const Choice& choice, const Kind& kind,
                                 const matmul::TileCost& tile) {
    Asked asked = asked_for(kind, tile, Way::boxes, 0);
    const std::int64_t height = tile.rows * tile.cluster_rows, width = tile.cols * tile.cluster_cols;
    const std::int64_t units = device_.multiprocessors / (tile.cluster_rows * tile.cluster_cols) + 3,
                       rows = 4;
    asked.m = rows * height;
    asked.n = (units + rows - 1) / rows * width;
    asked.lies_c = {};
    asked.c = outputs_of(kind.a).front();
    asked.most = max_value(asked);
    // And so few that a tile's results are still read from shared memory when the next one's are there.
    for (const std::int64_t stages : {matmul::min_overlapped_k_tiles<1>, std::int64_t{1}}) {
      asked.k = stages * 128 / static_cast<std::int64_t>(size_of(kind.a));
      expect_right(variant, choice, tuning_of(choice, Way::boxes, promotes(kind)), asked);
    }
  }

  // A group of one kind, whose entries differ in size and in what follows their sums.
  void expect_group_right(const matmul_batch::GroupKernel& kernel, const Kind& kind, int layout) {
    std::deque<Product> products;
    std::vector<matmul::Gemm> entries;
    Random random(static_cast<std::uint64_t>(++tried_));
    for (const Way way : all_ways) {
      Asked asked = asked_for(kind, {64, 64, 1, 1, 0, 0}, way, layout);
      asked.c = outputs_of(kind.a).front();
      asked.most = max_value(asked);
      if (asked.c == Element::i32) {  // what follows differs by what C holds
        asked.scale_a = asked.scale_b = asked.scale_a_for_all = false;
      }
      asked.m += 70 * static_cast<int>(way);
      entries.push_back(matmul::Gemm::of(
          products.emplace_back(run_, operation_called("matmul"), asked, random).arguments()));
      products.back().poison();
    }
    const Reason reason = kernel.refuses(entries, device_);
    ASSERT_FALSE(reason.has_value()) << *reason;
    const Workspace workspace(run_, kernel.workspace_bytes(entries));
    workspace.lend(run_);
    kernel.run(entries, run_);
    backend_->synchronize(run_);
    EXPECT_EQ(workspace.guard_violation(), "");
    for (Product& product : products) EXPECT_EQ(product.wrong(), "") << to_string(product.asked());
  }

  int tried_ = 0, sized_ = 0;

 private:
  static const matmul::TileCost& tile_of(const Kind& kind, std::int64_t tile) {
    const auto at = static_cast<std::size_t>(std::max<std::int64_t>(tile, 1) - 1);
    return promotes(kind) ? matmul::promoted_costs[std::min(at, std::size(matmul::promoted_costs) - 1)]
           : at == matmul::misaligned_tile ? matmul::tile_costs[matmul::misaligned_base_tile]
                                           : matmul::tile_costs[at];
  }

  static void apply_plan(Asked& out, Way way) {
    const bool whole = out.c == Element::i32;
    if (way == Way::boxes || way == Way::elements) return;
    out.alpha = 2;
    out.beta = way == Way::everything ? -1 : 0;
    out.bias = true;
    out.bias_along_rows = way == Way::rows;
    out.activation = matmul::Activation::relu;
    if (whole || out.a == Element::f64) return;
    out.scale_a = true;
    out.scale_b = way == Way::everything;
    out.scale_a_for_all = way == Way::rows;
  }

  int count_ = 0;
};

TEST_F(EachKernel, OfHalvesIsRightOnAGpu) {
  using enum Element;
  expect_tiles_right({{bf16, bf16}, {f16, f16}});
}

TEST_F(EachKernel, OfEightBitFloatsIsRightOnAGpu) {
  using enum Element;
  expect_tiles_right({{e4m3, e4m3}, {e4m3, e5m2}, {e5m2, e4m3}, {e5m2, e5m2}});
}

TEST_F(EachKernel, OfFastEightBitFloatsIsRightOnAGpu) {
  using enum Element;
  expect_tiles_right({{e4m3, e4m3, true}, {e4m3, e5m2, true}, {e5m2, e4m3, true}, {e5m2, e5m2, true}});
}

TEST_F(EachKernel, OfWholeNumbersAndTf32IsRightOnAGpu) {
  using enum Element;
  expect_tiles_right({{i8, i8}, {f32, f32, false, true}});
}

// Those on the way there, and those of a warp's own: every choice, every layout.
TEST_F(EachKernel, OfOtherRungsIsRightOnAGpu) {
  for (const char* name : {"wgmma", "warp_specialized", "persistent", "tensor_cores", "warp_tiles"}) {
    const Variant* const variant = wanted("matmul", name);
    if (variant == nullptr) continue;
    for (const Choice& choice : variant->choices)
      for (const auto& [element, prepare] : choice.prepare)
        for (int layout = 0; layout < 4; ++layout) {
          const Asked asked = asked_for({element, element}, {128, 128, 1, 1, 0, 0}, all_ways[layout], layout);
          // Its smallest tile is copied 16 bytes at a time, or along k.
          const bool may_refuse = variant->name == "warp_tiles" && element == Element::f32;
          expect_right(*variant, choice, tuning_of(choice, all_ways[layout], false), asked, "matmul",
                       may_refuse);
        }
  }
  std::cout << tried_ << " products\n";
}

TEST_F(EachKernel, OfBatchesIsRightOnAGpu) {
  using enum Element;
  const Variant* const cluster = wanted("matmul_batch", "cluster");
  if (cluster == nullptr) GTEST_SKIP() << "no kernels for this GPU's tensor cores";
  for (const Kind& kind : {Kind{bf16, bf16},
                           {f16, f16},
                           {e4m3, e4m3},
                           {e4m3, e5m2},
                           {e5m2, e4m3},
                           {e5m2, e5m2},
                           {i8, i8},
                           {f32, f32, false, true}})
    for (const Choice& choice : cluster->choices)
      for (int layout = 0; layout < 4; layout += size_of(kind.a) == 2 ? 1 : 3) {
        Asked asked = asked_for(kind, {64, 64, 1, 1, 0, 0}, all_ways[layout], layout);
        asked.batch = 3;
        asked.lies_a.apart = asked.lies_b.apart = layout % 2 == 0 ? 64 : 5;
        asked.fast = false;
        expect_right(*cluster, choice, choice.defaults(), asked, "matmul_batch");
      }
  std::cout << tried_ << " batches\n";
}

TEST_F(EachKernel, OfGroupsIsRightOnAGpu) {
  using enum Element;
  if (wanted("matmul_batch", "cluster") == nullptr) GTEST_SKIP() << "no kernels for this GPU's tensor cores";
  const matmul_batch::GroupKernel* const kernel = matmul_batch::group_kernel();
  ASSERT_NE(kernel, nullptr);
  for (const Kind& kind : {Kind{bf16, bf16},
                           {f16, f16},
                           {e4m3, e4m3},
                           {e4m3, e5m2},
                           {e5m2, e4m3},
                           {e5m2, e5m2},
                           {i8, i8},
                           {f32, f32, false, true}})
    for (int layout = 0; layout < 4; layout += size_of(kind.a) == 2 ? 1 : 3)
      expect_group_right(*kernel, kind, layout);
  std::cout << tried_ << " groups\n";
}

}  // namespace
}  // namespace tessera::products
