// SPDX-License-Identifier: Apache-2.0
// Batches and groups of products of whole numbers: odd entries, unaligned ones among aligned ones, any step
// from one to the next, enough tiles that blocks take several; a group in a workspace of just the size that
// it asks for.
#include <numeric>
#include "on_device.hpp"
#include "ops/matmul_batch/matmul_batch.hpp"

namespace tessera::products {
namespace {

class Many : public OnDevice {
 protected:
  void try_batches(const Variant& variant, double seconds) {
    const bool gpu = device_.where == Where::cuda;
    Rounds rounds(seconds, gpu ? std::nullopt : std::optional<std::uint64_t>(30));
    std::cout << rounds.text() << " and more\n";
    int refused = 0, wrong_ones = 0;
    while (rounds.more() && wrong_ones < 5) {
      Random random = rounds.next();
      const Choice& choice = variant.choices[random() % variant.choices.size()];
      const Asked asked = draw_batch(variant, draw_element(choice, random), gpu, random);
      const Tuning tuning = draw_tuning(choice, random);
      Product product(run_, operation_called("matmul_batch"), asked, random);
      const auto wrong = wrong_by(variant, choice, tuning, product, once_in(random, 2));
      if (!wrong) ++refused;
      else if (!wrong->empty()) ++wrong_ones;
      EXPECT_TRUE(!wrong || wrong->empty())
          << variant.name << ' ' << tessera::to_string(tuning) << ": " << to_string(asked) << "\n"
          << *wrong << "\n"
          << rounds.text();
    }
    std::cout << rounds.round() << " batches, " << refused << " refused\n";
  }

  void try_groups(double seconds) {
    const matmul_batch::GroupKernel* const kernel = matmul_batch::group_kernel();
    ASSERT_NE(kernel, nullptr);
    Rounds rounds(seconds);
    std::cout << rounds.text() << " and more\n";
    for (int wrong_ones = 0; rounds.more() && wrong_ones < 5;) {
      Random random = rounds.next();
      const std::string wrong = wrong_group(*kernel, random);
      EXPECT_EQ(wrong, "") << rounds.text();
      if (!wrong.empty()) ++wrong_ones;
    }
    std::cout << rounds.round() << " groups\n";
  }

  // Factors that are ordinary numbers grouped, but not one by one or on the way. By every tile.
  std::string wrong_of_extreme_batches(const Variant& variant) {
    std::string out;
    Random random(12);
    for (const Choice& choice : variant.choices)
      for (Asked asked : extremes()) {
        asked.batch = 3;
        Product product(run_, operation_called("matmul_batch"), asked, random);
        const auto wrong = wrong_by(variant, choice, choice.defaults(), product, false);
        if (!wrong || !wrong->empty())
          out += to_string(choice.tuning) + ": " + to_string(asked) + ": " + wrong.value_or("refused") + "\n";
      }
    return out;
  }

  // `compute`: a group of arguments, all of one kind.
  template <class Compute>
  std::string wrong_of_extreme_groups(const Compute& compute) {
    std::string out;
    Random random(13);
    for (const Asked& asked : extremes()) {
      std::deque<Product> products;
      std::vector<matmul::Gemm> entries;
      for (const std::int64_t more : {0, 5, 60}) {
        Asked one = asked;
        one.m += more, one.k += 2 * more;
        entries.push_back(matmul::Gemm::of(
            products.emplace_back(run_, operation_called("matmul"), one, random).arguments()));
        products.back().poison();
      }
      compute(entries);
      backend_->synchronize(run_);
      for (Product& product : products)
        if (const std::string wrong = product.wrong(); !wrong.empty())
          out += to_string(product.asked()) + ": " + wrong + "\n";
    }
    return out;
  }

  static std::vector<Asked> extremes() {
    struct Scales {
      double alpha, a, b;
    };
    std::vector<Asked> out;
    for (const auto& [element, result] : {std::pair{Element::bf16, Element::f32},
                                          {Element::bf16, Element::bf16},
                                          {Element::f16, Element::f32},
                                          {Element::e4m3, Element::bf16},
                                          {Element::i8, Element::f32},
                                          {Element::f32, Element::f32}})
      for (const Scales& scales :
           {Scales{1, 0x1p-100, 0x1p100}, {1, 0x1p100, 0x1p-100}, {0x1p-100, 0x1p-60, 0x1p120}})
        for (const bool for_all : {false, true}) {
          Asked asked{.a = element, .b = element, .c = result, .m = 131, .n = 72, .k = 70, .most = 4};
          asked.alpha = scales.alpha;
          asked.scale_a = asked.scale_b = true;
          asked.scale_a_for_all = asked.scale_b_for_all = for_all;
          asked.scales_a = scales.a, asked.scales_b = scales.b;
          asked.tf32 = element == Element::f32;
          out.push_back(asked);
        }
    return out;
  }

  static constexpr Element elements[] = {Element::bf16, Element::f16, Element::e4m3,
                                         Element::e5m2, Element::i8,  Element::f32};

 private:
  static Element draw_element(const Choice& choice, Random& random) {
    auto it = choice.prepare.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random() % choice.prepare.size()));
    return it->first;
  }

  // Of few large entries, or of many small ones.
  static std::int64_t draw_side(Random& random, bool many) {
    return static_cast<std::int64_t>(1 + random() % (many ? 150 : 700));
  }

  static void draw_sides(Asked& out, bool many, Random& random) {
    out.m = draw_side(random, many), out.n = draw_side(random, many);
    out.k = once_in(random, 10) ? 0 : draw_side(random, many);
  }

  static Asked draw_batch(const Variant& variant, Element element, bool gpu, Random& random) {
    Asked out = draw_kind(variant, element, random);
    const bool many = gpu && once_in(random, 2);
    out.batch = static_cast<std::int64_t>(many ? 50 + random() % 300 : 1 + random() % 12);
    draw_small_sizes(out, random);
    if (gpu) draw_sides(out, many, random);
    draw_lies(out, random);
    set_layout(out, once_in(random, 2), once_in(random, 2), random);
    out.a_for_all = once_in(random, 4);
    out.b_for_all = !out.a_for_all && once_in(random, 3);  // somebody must tell how many there are
    return out;
  }

  std::string wrong_group(const matmul_batch::GroupKernel& kernel, Random& random) {
    const Element element = elements[random() % std::size(elements)];
    const bool many = once_in(random, 2), all_aligned = once_in(random, 6);
    const std::size_t count =
        many ? 43 + random() % 150 : 1 + random() % 10;  // entries beyond what one launch takes
    const Variant& like = *variant_called("matmul", "cluster", Where::cuda);
    const Asked kind = draw_kind(like, element, random);
    std::deque<Product> products;
    std::vector<matmul::Gemm> entries;
    while (products.size() < count) {
      Asked asked = draw_kind(like, element, random);
      asked.b = kind.b, asked.c = kind.c, asked.fast = kind.fast, asked.most = kind.most;
      if (asked.c == Element::i32) asked = kind;  // what follows differs by what C holds
      draw_sides(asked, many, random);
      do draw_lies(asked, random);
      while (all_aligned &&
             (asked.lies_a.more % 16 != 0 || asked.lies_b.more % 16 != 0 || asked.m % 16 != 0));
      set_layout(asked, once_in(random, 2), once_in(random, 2) || all_aligned, random);
      entries.push_back(matmul::Gemm::of(
          products.emplace_back(run_, operation_called("matmul"), asked, random).arguments()));
    }
    if (const Reason reason = kernel.refuses(entries, device_)) return "refused: " + *reason;
    return wrong_of(kernel, entries, products, random);
  }

  std::string wrong_of(const matmul_batch::GroupKernel& kernel, const std::vector<matmul::Gemm>& entries,
                       std::deque<Product>& products, Random& random) {
    const Workspace workspace(run_, kernel.workspace_bytes(entries));
    workspace.lend(run_);
    for (Product& product : products) product.poison();
    for (int times = once_in(random, 2) ? 2 : 1; times > 0; --times) kernel.run(entries, run_);
    backend_->synchronize(run_);
    if (std::string out = workspace.guard_violation(); !out.empty())
      return out + ", group of " + std::to_string(entries.size());
    for (std::size_t i = 0; i < products.size(); ++i)
      if (const std::string out = products[i].wrong(); !out.empty())
        return "product " + std::to_string(i) + " of " + std::to_string(products.size()) + ", " +
               to_string(products[i].asked()) + ": " + out;
    return {};
  }
};

TEST_F(Many, BatchesAreRightOnTheProcessors) {
  take(Where::cpu);
  if (IsSkipped()) return;
  for (const char* name : {"naive", "simd"})
    try_batches(*variant_called("matmul_batch", name, Where::cpu), 60);
}

TEST_F(Many, BatchesAreRightOnAGpu) {
  take(Where::cuda);
  if (IsSkipped()) return;
  const Variant* const cluster = variant_called("matmul_batch", "cluster", Where::cuda);
  ASSERT_NE(cluster, nullptr);
  try_batches(*cluster, 6);
}

TEST_F(Many, BatchesOfExtremeScalesAreRightOnTheProcessors) {
  take(Where::cpu);
  if (IsSkipped()) return;
  EXPECT_EQ(wrong_of_extreme_batches(*variant_called("matmul_batch", "naive", Where::cpu)), "");
}

TEST_F(Many, GroupsOfExtremeScalesAreRightOnTheProcessors) {
  take(Where::cpu);
  if (IsSkipped()) return;
  EXPECT_EQ(wrong_of_extreme_groups(
                [](const std::vector<matmul::Gemm>& entries) { matmul_batch::compute_on_cpu(entries, 2); }),
            "");
}

TEST_F(Many, ExtremeScalesAreRightOnAGpu) {
  take(Where::cuda);
  if (IsSkipped()) return;
  const Variant* const cluster = variant_called("matmul_batch", "cluster", Where::cuda);
  if (cluster == nullptr) GTEST_SKIP() << "this build has no code for Hopper";
  if (const Reason reason = cluster->unsupported_device(device_)) GTEST_SKIP() << *reason;
  EXPECT_EQ(wrong_of_extreme_batches(*cluster), "");
  const matmul_batch::GroupKernel& kernel = *matmul_batch::group_kernel();
  EXPECT_EQ(wrong_of_extreme_groups([&](const std::vector<matmul::Gemm>& entries) {
              const Workspace workspace(run_, kernel.workspace_bytes(entries));
              workspace.lend(run_);
              kernel.run(entries, run_);
              backend_->synchronize(run_);
            }),
            "");
}

TEST_F(Many, GroupsAreRightOnAGpu) {
  take(Where::cuda);
  if (IsSkipped()) return;
  if (const Reason reason = variant_called("matmul", "cluster", Where::cuda)->unsupported_device(device_))
    GTEST_SKIP() << *reason;
  try_groups(6);
}

}  // namespace
}  // namespace tessera::products
