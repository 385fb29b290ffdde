// SPDX-License-Identifier: Apache-2.0
// Problems whose arrays lie in blocks of made-up devices, and how they may be cut.
#pragma once
#include <gtest/gtest.h>
#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include "tessera/run/inputs.hpp"
#include "tessera/run/resident.hpp"
#include "tessera/run/verify.hpp"

namespace tessera::resident {

inline const Operation& product() { return *find_operation("matmul"); }
inline Case sizes(std::int64_t m, std::int64_t n, std::int64_t k) { return {{{"m", m}, {"n", n}, {"k", k}}}; }

// Every array of a problem in blocks, each apart in memory, rows (or columns) further apart than they need
// be.
class Blocks {
 public:
  // `along`: of each array, by its name. `cut`: the blocks of an extent.
  using Cut = std::function<std::vector<dist::ResidentBlock>(std::int64_t extent)>;

  Blocks(Element element, const Case& problem, const std::map<std::string, std::size_t>& along,
         std::size_t devices, const Cut& cut, bool by_columns = false)
      : inputs_(product(), element, problem, 7), devices_(devices), by_columns_(by_columns) {
    for (const auto& [name, dimension] : along) {
      const ArrayView& whole = inputs_.arguments().array(name);
      ResidentArray& array = arrays_[name];
      array.spread = {dimension, cut(whole.extents[dimension])};
      for (const dist::ResidentBlock& block : array.spread.blocks)
        array.blocks.push_back(make_block(whole, dimension, block));
    }
  }

  ResidentCall call() {
    Arguments whole = inputs_.arguments();
    std::map<std::string, ArrayView> views;
    for (const Parameter* p : whole.signature().of(Parameter::Kind::input))
      if (whole.has(p->name)) views[p->name] = without_memory(whole.array(p->name));
    Arguments sizes(whole.signature(), whole.element(), views, whole.words());
    sizes.set_array("C", without_memory(whole.array("C")));
    return {.operation = &product(),
            .whole = sizes,
            .arrays = arrays_,
            .in_place = "C0",
            .devices = std::vector<Device>(devices_, find_device("cpu:threads=1")),
            .request = {.cached = false},
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
    for (std::size_t b = 0; b < c.blocks.size(); ++b)
      copy(part(inputs_.arguments().array("C"), c.spread, b), c.blocks[b]);
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
    Extents in_memory =
        by_columns_ ? Extents{extents[1], extents[0] + padding} : Extents{extents[0], extents[1] + padding};
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
    return static_cast<char*>(view.data) +
           (i * view.strides[0] + j * view.strides[1]) * static_cast<std::int64_t>(size_of(view.element));
  }
  static void copy(const ArrayView& to, const ArrayView& from) {
    for (std::int64_t i = 0; i < to.extents[0]; ++i)
      for (std::int64_t j = 0; j < to.extents[1]; ++j)
        std::memcpy(at(to, i, j), at(from, i, j), size_of(to.element));
  }
  bool intact(const ArrayView& view, const ArrayView& memory) const {
    const std::size_t line = size_of(view.element) * static_cast<std::size_t>(memory.extents[1]),
                      gap = size_of(view.element) * padding;
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

inline std::vector<dist::ResidentBlock> equal(std::int64_t extent, std::size_t devices) {
  std::vector<dist::ResidentBlock> out;
  const auto count = static_cast<std::int64_t>(devices);
  for (std::int64_t d = 0; d < count; ++d)
    out.push_back({static_cast<std::size_t>(d), {extent * d / count, extent * (d + 1) / count}});
  return out;
}

// Blocks anywhere, several of a device or none, some empty.
inline Blocks::Cut uneven(std::size_t devices, unsigned seed) {
  return [devices, random = std::make_shared<std::mt19937>(seed)](std::int64_t extent) {
    std::set<std::int64_t> cuts{0, extent};
    for (int i = 0; i < 4; ++i)
      cuts.insert(static_cast<std::int64_t>((*random)() % static_cast<unsigned>(extent + 1)));
    std::vector<dist::ResidentBlock> out;
    for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut)
      out.push_back({(*random)() % devices, {*cut, *std::next(cut)}});
    if (!out.empty()) out.push_back({0, {out[0].range.first, out[0].range.first}});
    std::ranges::reverse(out);
    return out;
  };
}

inline std::vector<std::map<std::string, std::size_t>> all_splits() {
  std::vector<std::map<std::string, std::size_t>> out;
  for (std::size_t i = 0; i < 8; ++i) out.push_back({{"A", i & 1}, {"B", i >> 1 & 1}, {"C", i >> 2}});
  return out;
}

}  // namespace tessera::resident
