// SPDX-License-Identifier: Apache-2.0
// How a batch of products is cut: between entries, whose bits do not depend on their place.
#include "tessera/core/division.hpp"
#include <algorithm>
#include <memory>
#include "tessera/core/operation.hpp"

namespace tessera::matmul_batch {
namespace {

// What serves all entries is read by every tile.
Slice slice_of(const Arguments& arguments, const Parameter& p, Interval entries) {
  Slice out{p.name, {}};
  for (const std::int64_t extent : arguments.array(p.name).extents) out.box.push_back({0, extent});
  if (!p.is_shared(arguments.words())) out.box.front() = entries;
  return out;
}

std::vector<Slice> reads_of(const Arguments& arguments, const Tile& tile) {
  std::vector<Slice> out;
  for (const Parameter* p : arguments.signature().of(Parameter::Kind::input))
    if (arguments.has(p->name)) out.push_back(slice_of(arguments, *p, tile.rows));
  return out;
}

Slice written(const Arguments& arguments, const Tile& tile) {
  return slice_of(arguments, arguments.signature().at("C"), tile.rows);
}

Arguments part(const Arguments& whole, const Tile& tile) {
  std::map<std::string, ArrayView> inputs;
  for (const Slice& slice : reads_of(whole, tile))
    inputs.emplace(slice.array, part_of(whole.array(slice.array), slice.box));
  Arguments out(whole.signature(), whole.element(), std::move(inputs), whole.words());
  out.set_array("C", part_of(whole.array("C"), written(whole, tile).box));
  return out;
}

Division divide(const Arguments& arguments) {
  const auto whole = std::make_shared<const Arguments>(arguments);
  if (std::ranges::all_of(reads_of(arguments, {}), [&](const Slice& slice) {
        return arguments.signature().at(slice.array).is_shared(arguments.words());
      }))
    throw Error("a batch whose operands serve all entries is one product: it runs on one device");
  Division out;
  out.rows = arguments.dim("batch");
  out.same_bits = [](Where) { return true; };
  const double each = find_operation("matmul_batch")->flops(arguments) /
                      static_cast<double>(std::max<std::int64_t>(1, out.rows));
  out.flops = [each](const Tile& tile) { return each * static_cast<double>(tile.rows.size()); };
  out.reads = [whole](const Tile& tile) { return reads_of(*whole, tile); };
  out.writes = [whole](const Tile& tile) { return std::vector<Slice>{written(*whole, tile)}; };
  out.part = [whole](const Tile& tile) { return part(*whole, tile); };
  return out;
}

[[maybe_unused]] const bool division_registered = (register_division("matmul_batch", divide), true);

}  // namespace
}  // namespace tessera::matmul_batch
