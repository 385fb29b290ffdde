// SPDX-License-Identifier: Apache-2.0
// Heights at samples as an operation: its arguments, what it costs, how it is cut and checked.
#include "sample_heights.hpp"
#include <cmath>
#include <limits>
#include <memory>
#include "ops/integrate/bounded.hpp"
#include "tessera/core/division.hpp"

namespace tessera::sample_heights {
namespace {

Signature signature() {
  using namespace parameter;
  Parameter heights = output("heights", {"n"}, "the formula's values, in f64");
  heights.element = Element::f64;
  Signature out;
  out.parameters = {word("FORMULA", "of x and y, such as \"x*y^2\""),
                    words("LIMITS", "k=VALUE fixes a parameter"), input("X", {"n"}, "abscissae of samples"),
                    input("Y", {"n"}, "what belongs to them"), heights};
  return out;
}

formula::Program<double> program_of(const Arguments& arguments) {
  return integration::program_of_samples(arguments.text("FORMULA"), arguments.text("LIMITS"));
}

double flops(const Arguments& arguments) {
  return static_cast<double>(arguments.dim("n")) * (1 + program_of(arguments).step_count);
}

Arguments part(const Arguments& whole, const Tile& tile) {
  std::map<std::string, ArrayView> inputs;
  for (const char* name : {"X", "Y"}) inputs.emplace(name, part_of(whole.array(name), {tile.rows}));
  Arguments out(whole.signature(), whole.element(), std::move(inputs), whole.words());
  out.set_array("heights", part_of(whole.array("heights"), {tile.rows}));
  return out;
}

Division divide(const Arguments& arguments) {
  const auto whole = std::make_shared<const Arguments>(arguments);
  Division out;
  out.rows = arguments.dim("n");
  out.row_granule = 32;
  out.same_bits = [](Where) { return true; };
  out.same_everywhere = true;
  const double each = out.rows == 0 ? 0 : flops(arguments) / static_cast<double>(out.rows);
  out.flops = [each](const Tile& tile) { return each * static_cast<double>(tile.rows.size()); };
  out.reads = [](const Tile& tile) { return std::vector<Slice>{{"X", {tile.rows}}, {"Y", {tile.rows}}}; };
  out.writes = [](const Tile& tile) { return std::vector<Slice>{{"heights", {tile.rows}}}; };
  out.part = [whole](const Tile& tile) { return part(*whole, tile); };
  return out;
}

Case tried(std::string formula, std::int64_t n, std::string fixed = "") {
  return {.dims = {{"n", n}}, .words = {{"FORMULA", std::move(formula)}, {"LIMITS", std::move(fixed)}}};
}

Operation operation() {
  Operation out;
  out.name = "sample_heights";
  out.summary = "a formula's values at the samples of a table";
  out.signature = signature();
  out.elements = {Element::f64, Element::f32};
  out.output = "heights";
  out.flops = flops;
  out.reference = reference;
  out.cases = {tried("y", 1), tried("x*y^2+k", 1000, "k=0.25"), tried("sin(x)*exp(-y*y)", 2500),
               tried("sqrt(abs(x))+atan(y)", 33), tried("x-y", 0)};
  return out;
}

[[maybe_unused]] const bool sample_heights_registered =
    (register_division("sample_heights", divide), register_operation(operation()), true);

}  // namespace

// In higher precision, with what each step may round.
void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data, Expected& out) {
  const auto program = program_of(arguments);
  const ArrayView &x = arguments.array("X"), &y = arguments.array("Y");
  const auto at = [](const ArrayView& view, std::int64_t i) {
    const auto bytes = i * view.strides[0] * static_cast<std::int64_t>(size_of(view.element));
    return load_as_double(view.element, static_cast<const char*>(view.data) + bytes);
  };
  for (const std::int64_t row : rows) {
    const integration::Bounded inputs[] = {{at(x, row), 0}, {at(y, row), 0}};
    const integration::Bounded height = integration::bounded(program, inputs);
    const bool known = std::isfinite(height.value) && std::isfinite(height.error);
    out.value.push_back(static_cast<double>(height.value));
    out.bound.push_back(known ? static_cast<double>(height.error * 1.001L) +
                                    std::fabs(static_cast<double>(height.value)) *
                                        std::numeric_limits<double>::epsilon()
                              : std::numeric_limits<double>::infinity());
    out.beyond.push_back(static_cast<std::uint8_t>(
        known ? Expected::nothing : Expected::infinity | Expected::minus_infinity | Expected::not_a_number));
  }
}

}  // namespace tessera::sample_heights
