// SPDX-License-Identifier: Apache-2.0
// How a batch of integrals is cut: between integrals.
#include "tessera/core/division.hpp"
#include <algorithm>
#include <memory>
#include "setting.hpp"
#include "tessera/core/operation.hpp"

namespace tessera::integrate_batch {
namespace {

std::vector<Slice> reads_of(const Arguments& arguments, const Tile& tile) {
  std::vector<Slice> out;
  if (arguments.has("P")) out.push_back({"P", {tile.rows, {0, arguments.array("P").extents[1]}}});
  if (arguments.has("T")) out.push_back({"T", {tile.rows}});
  return out;
}

std::vector<Slice> writes_of(const Tile& tile) {
  std::vector<Slice> out;
  for (const char* name : {"integrals", "errors", "evaluations", "reasons"})
    out.push_back({name, {tile.rows}});
  return out;
}

Arguments part(const Arguments& whole, const Tile& tile) {
  const Setting& setting = setting_of(whole);
  const std::int64_t here = whole.array("integrals").extents[0];
  Arguments::Words words = whole.words();
  words["first"] = std::to_string(setting.first + tile.rows.first);
  words["of"] = std::to_string(setting.of > 0 ? setting.of : here);
  if (!words["n"].empty()) words["n"] = std::to_string(tile.rows.size());
  std::map<std::string, ArrayView> inputs;
  for (const Slice& slice : reads_of(whole, tile))
    inputs.emplace(slice.array, part_of(whole.array(slice.array), slice.box));
  Arguments out(whole.signature(), whole.element(), std::move(inputs), words);
  for (const Slice& slice : writes_of(tile))
    out.set_array(slice.array, part_of(whole.array(slice.array), slice.box));
  return out;
}

Division divide(const Arguments& arguments) {
  const auto whole = std::make_shared<const Arguments>(arguments);
  Division out;
  out.rows = arguments.array("integrals").extents[0];
  out.same_bits = [](Where) { return true; };
  out.same_everywhere = true;
  const double each = find_operation("integrate_batch")->flops(arguments) /
                      static_cast<double>(std::max<std::int64_t>(1, out.rows));
  out.flops = [each](const Tile& tile) { return each * static_cast<double>(tile.rows.size()); };
  // They are those of the least that an integral needs.
  out.least_flops = 2e3;
  out.reads = [whole](const Tile& tile) { return reads_of(*whole, tile); };
  out.writes = [](const Tile& tile) { return writes_of(tile); };
  out.part = [whole](const Tile& tile) { return part(*whole, tile); };
  return out;
}

[[maybe_unused]] const bool division_registered = (register_division("integrate_batch", divide), true);

}  // namespace
}  // namespace tessera::integrate_batch
