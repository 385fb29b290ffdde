// SPDX-License-Identifier: Apache-2.0
// Products of blocks that lie on several made-up devices, whose every piece of work comes late by chance: a copy that
// is not waited for, or one from the wrong place, shows as a wrong result.
#include "tessera/run/resident.hpp"
#include <gtest/gtest.h>
#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include "tessera/run/inputs.hpp"
#include "tessera/run/verify.hpp"
#include "tests/made_up_lanes.hpp"

namespace tessera {
namespace {

using made_up::MadeUpLanes;
using made_up::Traits;

const Operation& product() { return *find_operation("matmul"); }
Case sizes(std::int64_t m, std::int64_t n, std::int64_t k) { return {{{"m", m}, {"n", n}, {"k", k}}}; }

// Every array of a problem in blocks, each apart in memory, rows (or columns) further apart than they need be.
class Blocks {
 public:
  // `along`: of each array, by its name. `cut`: the blocks of an extent.
  using Cut = std::function<std::vector<dist::ResidentBlock>(std::int64_t extent)>;

  Blocks(Element element, const Case& problem, const std::map<std::string, std::size_t>& along, std::size_t devices, const Cut& cut,
            bool by_columns = false)
      : inputs_(product(), element, problem, 7), devices_(devices), by_columns_(by_columns) {
    for (const auto& [name, dimension] : along) {
      const ArrayView& whole = inputs_.arguments().array(name);
      ResidentArray& array = arrays_[name];
      array.spread = {dimension, cut(whole.extents[dimension])};
      for (const dist::ResidentBlock& block : array.spread.blocks) array.blocks.push_back(make_block(whole, dimension, block));
    }
  }

  ResidentCall call() {
    Arguments whole = inputs_.arguments();
    std::map<std::string, ArrayView> views;
    for (const Parameter* p : whole.signature().of(Parameter::Kind::input))
      if (whole.has(p->name)) views[p->name] = without_memory(whole.array(p->name));
    Arguments sizes(whole.signature(), whole.element(), views, whole.words());
    sizes.set_array("C", without_memory(whole.array("C")));
    return {.operation = &product(), .whole = sizes, .arrays = arrays_, .in_place = "C0",
            .devices = std::vector<Device>(devices_, find_device("cpu:threads=1")), .request = {.cached = false},
            .panel_bytes = 8 << 10};
  }

  // From the host's arrays; C becomes C0, or what must not be read.
  void fill() {
    inputs_.poison();
    for (auto& [name, array] : arrays_)
      for (std::size_t b = 0; b < array.blocks.size(); ++b) {
        const std::string from = name == "C" && inputs_.arguments().has("C0") ? "C0" : name;
        copy(array.blocks[b], part(inputs_.arguments().array(from), array.spread, b));
      }
  }
  void expect_right() {
    const ResidentArray& c = arrays_.at("C");
    for (std::size_t b = 0; b < c.blocks.size(); ++b) copy(part(inputs_.arguments().array("C"), c.spread, b), c.blocks[b]);
    const Verdict verdict = verify(product(), inputs_.arguments());
    EXPECT_TRUE(verdict.passed) << describe(verdict);
    for (const auto& [view, memory] : gaps_) EXPECT_TRUE(intact(view, memory)) << "written between rows";
  }
  std::map<std::string, ResidentArray>& arrays() { return arrays_; }

 private:
  static constexpr std::int64_t padding = 3;

  ArrayView without_memory(const ArrayView& view) const {
    return whole_of_blocks(view.element, view.extents[0], view.extents[1], by_columns_);
  }

  ArrayView make_block(const ArrayView& whole, std::size_t along, const dist::ResidentBlock& block) {
    Extents extents = whole.extents;
    extents[along] = block.range.size();
    Extents in_memory = by_columns_ ? Extents{extents[1], extents[0] + padding} : Extents{extents[0], extents[1] + padding};
    memories_.emplace_back(whole.element, in_memory);
    ArrayView view = memories_.back().view();
    std::memset(view.data, 0xff, view.bytes());
    if (by_columns_) view = view.transposed();
    view.extents = extents;
    gaps_.emplace_back(view, memories_.back().view());
    return view;
  }

  static ArrayView part(const ArrayView& whole, const dist::Distribution& spread, std::size_t b) {
    std::vector<Interval> box{{0, whole.extents[0]}, {0, whole.extents[1]}};
    box[spread.along] = spread.blocks[b].range;
    return part_of(whole, box);
  }

  static char* at(const ArrayView& view, std::int64_t i, std::int64_t j) {
    return static_cast<char*>(view.data) + (i * view.strides[0] + j * view.strides[1]) * static_cast<std::int64_t>(size_of(view.element));
  }
  static void copy(const ArrayView& to, const ArrayView& from) {
    for (std::int64_t i = 0; i < to.extents[0]; ++i)
      for (std::int64_t j = 0; j < to.extents[1]; ++j) std::memcpy(at(to, i, j), at(from, i, j), size_of(to.element));
  }
  bool intact(const ArrayView& view, const ArrayView& memory) const {
    const std::size_t line = size_of(view.element) * static_cast<std::size_t>(memory.extents[1]), gap = size_of(view.element) * padding;
    const auto* bytes = static_cast<const unsigned char*>(memory.data);
    for (std::int64_t r = 0; r < memory.extents[0]; ++r)
      for (std::size_t b = line - gap; b < line; ++b)
        if (bytes[static_cast<std::size_t>(r) * line + b] != 0xff) return false;
    return true;
  }

  Inputs inputs_;
  std::size_t devices_;
  bool by_columns_;
  std::map<std::string, ResidentArray> arrays_;
  std::vector<Array> memories_;
  std::vector<std::pair<ArrayView, ArrayView>> gaps_;
};

std::vector<dist::ResidentBlock> equal(std::int64_t extent, std::size_t devices) {
  std::vector<dist::ResidentBlock> out;
  const auto count = static_cast<std::int64_t>(devices);
  for (std::int64_t d = 0; d < count; ++d) out.push_back({static_cast<std::size_t>(d), {extent * d / count, extent * (d + 1) / count}});
  return out;
}

// Blocks anywhere, several of a device or none, some empty.
Blocks::Cut uneven(std::size_t devices, unsigned seed) {
  return [devices, random = std::make_shared<std::mt19937>(seed)](std::int64_t extent) {
    std::set<std::int64_t> cuts{0, extent};
    for (int i = 0; i < 4; ++i) cuts.insert(static_cast<std::int64_t>((*random)() % static_cast<unsigned>(extent + 1)));
    std::vector<dist::ResidentBlock> out;
    for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) out.push_back({(*random)() % devices, {*cut, *std::next(cut)}});
    if (!out.empty()) out.push_back({0, {out[0].range.first, out[0].range.first}});
    std::ranges::reverse(out);
    return out;
  };
}

struct Made {
  std::vector<MadeUpLanes*> lanes = {};

  Resident resident(Blocks& scattered, Traits traits = {}) {
    return Resident(scattered.call(), [this, traits](const Device& device) {
      auto out = std::make_unique<MadeUpLanes>(device, static_cast<unsigned>(lanes.size()), traits);
      lanes.push_back(out.get());
      return out;
    });
  }
};

// Twice: a run leaves nothing behind that the next would stumble over.
void expect_right(Blocks& scattered) {
  Made made;
  Resident resident = made.resident(scattered);
  for (int i = 0; i < 2; ++i) {
    scattered.fill();
    const Resident::Run run = resident.run();
    scattered.expect_right();
    EXPECT_LE(run.timeline.end(), run.seconds);
  }
}

std::vector<std::map<std::string, std::size_t>> all_splits() {
  std::vector<std::map<std::string, std::size_t>> out;
  for (std::size_t i = 0; i < 8; ++i) out.push_back({{"A", i & 1}, {"B", i >> 1 & 1}, {"C", i >> 2}});
  return out;
}

TEST(Resident, EverySplitOfOneTwoAndThreeDevices) {
  for (const std::size_t devices : {1u, 2u, 3u})
    for (const auto& along : all_splits())
      for (const Element element : {Element::f32, Element::bf16}) {
        Blocks scattered(element, sizes(90, 70, 110), along, devices, [&](std::int64_t extent) { return equal(extent, devices); });
        expect_right(scattered);
      }
}

TEST(Resident, UnevenBlocksSeveralOfADeviceOrNone) {
  unsigned seed = 0;
  for (const auto& along : all_splits())
    for (const Element element : {Element::f64, Element::i32, Element::f16})
      for (const bool by_columns : {false, true}) {
        Blocks scattered(element, sizes(61, 75, 83), along, 4, uneven(4, ++seed), by_columns);
        expect_right(scattered);
      }
}

TEST(Resident, TransposedOperandsFactorsAndWhatIsAddedTo) {
  const Arguments::Words words{{"op-a", "transpose"}, {"op-b", "transpose"}, {"alpha", "-2"}, {"beta", "0.5"}};
  unsigned seed = 40;
  for (const auto& along : all_splits())
    for (const Element element : {Element::f32, Element::bf16}) {
      Blocks scattered(element, {{{"m", 50}, {"n", 66}, {"k", 71}}, words, Distribution::normal, {"C0"}}, along, 3, uneven(3, ++seed));
      expect_right(scattered);
    }
}

// k = 0 leaves α·0 + β·C0; β = 0 reads nothing of what was there.
TEST(Resident, SmallAndEmptyProducts) {
  for (const auto& along : all_splits())
    for (const auto& problem : {sizes(1, 1, 1), sizes(0, 4, 3), sizes(5, 0, 3), sizes(5, 4, 0), sizes(2, 17, 3)}) {
      Blocks scattered(Element::f32, problem, along, 2, [](std::int64_t extent) { return equal(extent, 2); });
      expect_right(scattered);
      Case added = problem;
      added.words["beta"] = "3";
      added.optional_inputs.push_back("C0");
      Blocks more(Element::f32, added, along, 3, uneven(3, 5));
      expect_right(more);
    }
}

// What everybody computes is what is asked for, and each byte comes once for each block of the result.
TEST(Resident, EachRemoteByteIsCopiedOnce) {
  const std::map<std::string, std::size_t> rows{{"A", 0}, {"B", 0}, {"C", 0}}, cols{{"A", 1}, {"B", 1}, {"C", 1}};
  for (const Element element : {Element::f32, Element::bf16})
    for (const auto& along : {rows, cols}) {
      Blocks scattered(element, sizes(128, 96, 160), along, 4, [](std::int64_t extent) { return equal(extent, 4); });
      Made made;
      Resident resident = made.resident(scattered);
      scattered.fill();
      (void)resident.run();
      const std::int64_t passing = along == rows ? 160 * 96 : 128 * 160, size = static_cast<std::int64_t>(size_of(element));
      EXPECT_EQ(resident.plan().bytes_from_peers(), 3 * passing * size);
      std::size_t copied = 0;
      double flops = 0;
      for (std::size_t d = 0; d < 4; ++d) copied += made.lanes[d]->bytes_peer(), flops += resident.plan().flops(resident.division(), d);
      // Sums that are not cut are gathered from all, the device itself among them.
      EXPECT_EQ(copied, static_cast<std::size_t>((element == Element::bf16 ? 4 : 3) * passing * size));
      EXPECT_EQ(flops, 2.0 * 128 * 96 * 160);
    }
}

TEST(Resident, BeginsWithItsOwnBlockAndGoesAroundTheRing) {
  Blocks scattered(Element::f32, sizes(128, 96, 160), {{"A", 0}, {"B", 0}, {"C", 0}}, 4, [](std::int64_t extent) { return equal(extent, 4); });
  const ResidentCall call = scattered.call();
  dist::Distributions spread;
  for (const auto& [name, array] : call.arrays) spread[name] = array.spread;
  const Division division = (*find_division("matmul"))(call.whole);
  const dist::ResidentPlan plan = dist::make_resident_plan(division, call.whole, "C", spread, 4);
  for (std::size_t d = 0; d < 4; ++d) {
    const auto& steps = plan.parts[d].steps;
    ASSERT_EQ(steps.size(), 4u);
    for (std::size_t s = 0; s < 4; ++s) {
      EXPECT_EQ(steps[s].tile.depth.first, static_cast<std::int64_t>(40 * ((d + s) % 4)));
      EXPECT_EQ(steps[s].arrivals.empty(), s == 0);
      EXPECT_EQ(steps[s].begins, s == 0);
    }
    // At most one is computed with while the next arrives, and the one after it.
    EXPECT_LE(plan.parts[d].bytes, 3 * 40 * 96 * 4);
    EXPECT_GT(plan.parts[d].bytes, 0);
  }
}

TEST(Resident, TakesNoMoreRoomThanAFewPanels) {
  Blocks scattered(Element::bf16, sizes(64, 4096, 512), {{"A", 0}, {"B", 0}, {"C", 0}}, 2, [](std::int64_t extent) { return equal(extent, 2); });
  Made made;
  Resident resident = made.resident(scattered);
  for (const auto& part : resident.plan().parts) EXPECT_LE(part.bytes, 4 * (8 << 10) + 4 * 512 * 16);
  scattered.fill();
  (void)resident.run();
  scattered.expect_right();
}

TEST(Resident, RefusesWhatDoesNotFit) {
  const auto fails = [](const auto& change, const std::string& text) {
    Blocks scattered(Element::f32, sizes(64, 48, 32), {{"A", 0}, {"B", 0}, {"C", 0}}, 2, [](std::int64_t extent) { return equal(extent, 2); });
    change(scattered);
    Made made;
    try {
      (void)made.resident(scattered);
      ADD_FAILURE() << "not refused: " << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  fails([](Blocks& s) { s.arrays().at("A").spread.blocks[0].range.last = 20; }, "a gap before 32");
  fails([](Blocks& s) { s.arrays().at("A").spread.blocks[0].range.last = 40; }, "overlap at 32");
  fails([](Blocks& s) { s.arrays().at("B").spread.blocks[1].range.last = 30; }, "end at 30 of 32");
  fails([](Blocks& s) { s.arrays().at("B").spread.blocks[1].device = 2; }, "not there");
  fails([](Blocks& s) { s.arrays().at("B").blocks.pop_back(); }, "memory for 1");
  fails([](Blocks& s) { s.arrays().at("B").blocks[0].extents[1] = 47; }, "16 × 47, not 16 × 48");
  fails([](Blocks& s) { s.arrays().at("C").blocks[1].data = s.arrays().at("B").blocks[0].data; }, "a block of C overlaps one of");
  fails([](Blocks& s) { s.arrays().erase("B"); }, "B has no blocks");
}

TEST(Resident, ADeviceThatFailsEndsTheCall) {
  for (const std::size_t step : {1u, 2u, 3u}) {
    Blocks scattered(Element::f32, sizes(64, 48, 32), {{"A", 0}, {"B", 0}, {"C", 0}}, 3, [](std::int64_t extent) { return equal(extent, 3); });
    Made made;
    Resident resident = made.resident(scattered, {.fails_at_step = step});
    scattered.fill();
    EXPECT_THROW((void)resident.run(), Error);
  }
}

}  // namespace
}  // namespace tessera
