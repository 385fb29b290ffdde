// SPDX-License-Identifier: Apache-2.0
// Sums of segments as an operation: its arguments, what it costs, what to try; and the integral that several
// devices make of them.
#include "strip_sums.hpp"
#include <algorithm>
#include "checking.hpp"
#include "tessera/core/division.hpp"
#include "tessera/core/operation.hpp"

namespace tessera::strip_sums {
namespace {

constexpr const char *all_segments = "segments behind the first", *all_numbers = "numbers of a sum";

Segments segments_by(const std::map<std::string, std::string>& words) {
  return segments_of(integration::sum_named(words.at("sum")), evaluate(words.at("strips")),
                     words.at("abscissa") == "accumulated");
}

std::int64_t count_of_segments(const std::map<std::string, ArrayView>&, const Dims& dims,
                               const std::map<std::string, std::string>& words) {
  const Segments all = segments_by(words);
  if (dims.at("first") >= all.count)
    throw Error("--first " + words.at("first") + ": there are " + std::to_string(all.count) + " segments");
  return all.count - dims.at("first");
}

std::int64_t count_of_numbers(const std::map<std::string, ArrayView>&, const Dims&,
                              const std::map<std::string, std::string>& words) {
  return numbers_of(integration::sum_named(words.at("sum")));
}

Signature signature() {
  using namespace parameter;
  Parameter sums =
      output("sums", {"segments", "numbers"}, "of each segment's heights, but half of both limits'");
  sums.element_from = [](Element element, const Arguments::Words& words) {
    const auto sum = words.find("sum");
    return sum != words.end() && sum->second == "exact" ? Element::i32 : element;
  };
  Parameter segments = dimension("segments", all_segments, 1, "how many; all of them");
  segments.size_from = count_of_segments;
  Parameter numbers = dimension("numbers", all_numbers, 2, "that tell a sum; as many as it needs");
  numbers.size_from = count_of_numbers;
  Signature out;
  out.parameters = {word("FORMULA", "the integrand, such as \"sqrt(1-x^2)\""),
                    words("LIMITS", "FROM TO for x, x=[FROM,TO] for any variable; k=VALUE fixes a parameter"),
                    integer("strips", 65536 * 256, 1, std::int64_t{1} << 50, "strips of the whole range"),
                    choice("sum", {"pairwise", "double_float", "exact"}, "how heights are added"),
                    choice("abscissa", {"index", "accumulated"},
                           "x from the strip's number, or by adding the width again and again"),
                    choice("scale-at", {"end", "term"}, "term: each height is multiplied by a strip's width"),
                    integer("first", 0, 0, std::int64_t{1} << 50, "the first segment that is wanted"),
                    segments,
                    numbers,
                    sums};
  return out;
}

std::int64_t strips_here(const Arguments& arguments) {
  const Segments all = segments_by(arguments.words());
  const std::int64_t strips = arguments.integer("strips"), first = arguments.dim("first") * all.strips;
  return std::min(strips, first + arguments.dim("segments") * all.strips) - std::min(strips, first);
}

double flops(const Arguments& arguments) {
  const int steps = integration::program_of<double>(integration::strips_of(arguments)).step_count;
  return static_cast<double>(strips_here(arguments)) * (1 + steps);
}

Case tried(std::string formula, std::string limits, std::string strips, Arguments::Words more = {}) {
  more["FORMULA"] = std::move(formula);
  more["LIMITS"] = std::move(limits);
  more["strips"] = std::move(strips);
  return {.dims = {}, .words = std::move(more)};
}

std::vector<Case> cases() {
  std::vector<Case> out = {
      tried("x*sin(3*x)+k", "0 pi k=0.25", "9000", {{"first", "1"}}),
      tried("1/(1+t^4)", "t=[2,-1]", "4097", {{"scale-at", "term"}}),
      tried("exp(x)", "-1 1", "12000", {{"abscissa", "accumulated"}}),
  };
  for (const char* sum : {"pairwise", "double_float", "exact"}) {
    out.push_back(tried("sqrt(1-x^2)", "0 1", "1", {{"sum", sum}}));
    out.push_back(tried("log(2+x)*cos(x)", "-1.5 2.5", "20000", {{"sum", sum}}));
    out.push_back(tried("4/(1+x^2)", "0 1", "30000", {{"sum", sum}, {"first", "2"}, {"segments", "3"}}));
  }
  return out;
}

// How a range of segments is cut: between them.
Arguments part(const Arguments& whole, const Tile& tile) {
  Arguments::Words words = whole.words();
  words["first"] = std::to_string(whole.dim("first") + tile.rows.first);
  words["segments"] = std::to_string(tile.rows.size());
  Arguments out(whole.signature(), whole.element(), {}, words);
  out.set_array("sums", part_of(whole.array("sums"), {tile.rows, {0, whole.dim("numbers")}}));
  return out;
}

Division divide(const Arguments& arguments) {
  const auto whole = std::make_shared<const Arguments>(arguments);
  Division out;
  out.rows = arguments.dim("segments");
  out.same_bits = [](Where) { return true; };
  out.same_everywhere = true;
  const double each = flops(arguments) / static_cast<double>(out.rows);
  out.flops = [each](const Tile& tile) { return each * static_cast<double>(tile.rows.size()); };
  out.reads = [](const Tile&) { return std::vector<Slice>{}; };
  out.writes = [whole](const Tile& tile) {
    return std::vector<Slice>{{"sums", {tile.rows, {0, whole->dim("numbers")}}}};
  };
  out.part = [whole](const Tile& tile) { return part(*whole, tile); };
  return out;
}

Operation operation() {
  Operation out;
  out.name = "strip_sums";
  out.summary = "partial sums of an integral: of segments of its strips";
  out.signature = signature();
  out.elements = {Element::f64, Element::f32};
  out.output = "sums";
  out.flops = flops;
  out.reference = reference;
  out.suspect_rows = suspect_rows;
  out.cases = cases();
  return out;
}

[[maybe_unused]] const bool strip_sums_registered =
    (register_division("strip_sums", divide), register_operation(operation()), true);

}  // namespace

// Exact sums may be cut anywhere, but begin abscissae that are accumulated anew where their runs do.
Segments segments_of(Sum sum, std::int64_t strips, bool accumulated) {
  constexpr std::int64_t least = 4096, most = 1 << 17, most_exact = 1 << 15;
  if (!has_fixed_order(sum)) throw Error("--sum plain and kahan have no order that segments could keep");
  integration::Problem<double> p;
  p.sum = sum;
  p.strips = strips;
  std::int64_t each = p.runs(1).strips;
  if (sum == Sum::exact && !accumulated)
    each = std::min(each, std::max(least, (strips + most_exact - 1) / most_exact));
  while (sum != Sum::exact && (each < least || each < (strips + most - 1) / most)) each *= 2;
  return {(strips + each - 1) / each, each};
}

}  // namespace tessera::strip_sums
