// SPDX-License-Identifier: Apache-2.0
// What a random test of products asks: sizes about every border, any alignment and order, everything that may
// follow a sum.
#pragma once
#include <array>
#include "ops/matmul/plans/tile_plan.hpp"
#include "product.hpp"
#include "tessera/core/operation/variant.hpp"

namespace tessera::products {

// How long to go on and from which number on to draw, by TESSERA_TEST_SECONDS, TESSERA_TEST_ROUNDS and
// TESSERA_TEST_SEED; else for `seconds`, from the clock's.
class Rounds {
 public:
  // `most`: rounds are enough.
  explicit Rounds(double seconds, std::optional<std::uint64_t> most = {});
  bool more(bool enough = true) const;  // somewhat longer, where it was not enough
  Random next() { return Random(seed_ + round_++); }
  std::uint64_t round() const { return round_; }
  bool limited() const { return most_.has_value(); }
  std::string text() const;  // with which to repeat them

 private:
  std::uint64_t seed_, round_ = 0;
  double seconds_;
  std::optional<std::uint64_t> most_;
  double begun_;
};

// Tiles of C, and how many blocks or clusters take them at once.
struct Tiled {
  matmul::TileCost shape;
  int slots;
};

// What C may hold, the first if nothing is said.
std::vector<Element> outputs_of(Element a);
// Magnitudes whose sums stay exact wherever they are summed, and spread over what C holds.
int max_value(const Asked& asked);

// Elements and what follows the sums of a product by `variant`.
Asked draw_kind(const Variant& variant, Element element, Random& random);
// Sizes about every border, for a GPU …
void draw_sizes(Asked& asked, Random& random);
// … with more tiles than are taken at once, of few products each …
void draw_large_sizes(Asked& asked, const Tiled& tiled, Random& random);
// … and for processors that have other work, too.
void draw_small_sizes(Asked& asked, Random& random);
// Nothing but a factor follows the sums, and C lies as the TMA stores it, in 16 bits where that can
// be.
void make_plain(Asked& asked, Random& random);
void draw_lies(Asked& asked, Random& random);  // may make sizes multiples of 16

}  // namespace tessera::products
