// SPDX-License-Identifier: Apache-2.0
// How refocusing is cut: between planes. Each needs every view.
#include "tessera/core/division.hpp"
#include <algorithm>
#include <memory>
#include "refocus.hpp"
#include "tessera/core/operation.hpp"

namespace tessera::refocus {
namespace {

// The planes of a plan, as the words have them.
std::string slopes_text(const lightfield::Plan& plan, Interval planes) {
  std::string out;
  for (std::int64_t i = planes.first; i < planes.last; ++i) {
    // Whole multiples of 2^-16, which so many digits hold.
    char text[48];
    (void)std::snprintf(text, sizeof text, "%.16f", std::ldexp(plan.slope[i], -lightfield::place_bits));
    out += (out.empty() ? "" : ",") + std::string(text);
  }
  return out;
}

Slice views_of(const Arguments& arguments) {
  Slice out{"views", {}};
  for (const std::int64_t extent : arguments.array("views").extents) out.box.push_back({0, extent});
  return out;
}

Slice written(const Arguments& arguments, const Tile& tile) {
  const Extents& e = arguments.array("refocused").extents;
  return {"refocused", {tile.rows, {0, e[1]}, {0, e[2]}, {0, e[3]}}};
}

Arguments part(const Arguments& whole, const lightfield::Plan& plan, const Tile& tile) {
  Arguments::Words words = whole.words();
  words["slope"] = "0";
  words["slopes"] = slopes_text(plan, tile.rows);
  Arguments out(whole.signature(), whole.element(), {{"views", whole.array("views")}}, words);
  out.set_array("refocused", part_of(whole.array("refocused"), written(whole, tile).box));
  return out;
}

Division divide(const Arguments& arguments) {
  const auto whole = std::make_shared<const Arguments>(arguments);
  const auto plan = std::make_shared<const lightfield::Plan>(plan_of(arguments));
  Division out;
  out.rows = arguments.array("refocused").extents[0];
  if (out.rows < 2)
    throw Error("one plane is refocused on one device; several devices share --slopes, a plane each");
  out.same_bits = [](Where) { return true; };
  out.same_everywhere = true;
  const double each = find_operation("refocus")->flops(arguments) / static_cast<double>(out.rows);
  out.flops = [each](const Tile& tile) { return each * static_cast<double>(tile.rows.size()); };
  out.reads = [whole](const Tile&) { return std::vector<Slice>{views_of(*whole)}; };
  out.writes = [whole](const Tile& tile) { return std::vector<Slice>{written(*whole, tile)}; };
  out.part = [whole, plan](const Tile& tile) { return part(*whole, *plan, tile); };
  return out;
}

[[maybe_unused]] const bool division_registered = (register_division("refocus", divide), true);

}  // namespace
}  // namespace tessera::refocus
