// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/gemm/operands.hpp"
#include <algorithm>
#include "ops/matmul/gemm/accuracy.hpp"

namespace tessera::matmul {
namespace {

std::string word_of(const Arguments::Words& words, const char* name, const char* otherwise) {
  const auto found = words.find(name);
  return found == words.end() ? otherwise : found->second;
}

// Returns the element types that C may have for A's element type, the default first; empty: products of that
// type are not supported.
std::span<const Element> outputs_for(Element a) {
  using enum Element;
  static constexpr Element bf16_first[] = {bf16, f16, f32}, f16_first[] = {f16, bf16, f32},
                           of_i8[] = {i32, i8, f32}, own[] = {f32, f64, i32};
  switch (a) {
    case bf16:
    case e4m3:
    case e5m2:
      return bf16_first;
    case f16:
      return f16_first;
    case i8:
      return of_i8;
    case f32:
      return {&own[0], 1};
    case f64:
      return {&own[1], 1};
    case i32:
      return {&own[2], 1};
    default:
      return {};
  }
}

std::string list_of(std::span<const Element> elements) {
  std::string out;
  for (std::size_t i = 0; i < elements.size(); ++i)
    out += (i == 0 ? "" : i + 1 == elements.size() ? " or " : ", ") + std::string(name_of(elements[i]));
  return out;
}

}  // namespace

void check_elements(Element a, Element b, Element c) {
  const auto name = [](Element element) { return std::string(name_of(element)); };
  const auto outputs = outputs_for(a);
  if (outputs.empty()) throw Error("there is no product of " + name(a));
  if (a != b && !(is_fp8(a) && is_fp8(b)))
    throw Error("B holds " + name(b) + ", A " + name(a) + ": only 8-bit floats may be mixed");
  if (std::ranges::find(outputs, c) == outputs.end())
    throw Error("C holds " + name(c) + ": the product of " + name(a) + " can be " + list_of(outputs));
}

Element element_of_b(Element a, const Arguments::Words& words) {
  const std::string word = word_of(words, "element-b", "same");
  if (word == "same") return a;
  const Element b = *parse_element(word);
  if (b != a && !is_fp8(a))
    throw Error("--element-b " + word + " goes with e4m3 or e5m2 alone: A holds " + std::string(name_of(a)));
  return b;
}

// Throws Error if an option would have no effect on products of this element.
void require_options_used(Element a, const Arguments::Words& words) {
  if (word_of(words, "accumulate", "promoted") == "fast" && !is_fp8(a))
    throw Error("--accumulate fast is only for e4m3 and e5m2: A holds " + std::string(name_of(a)));
  const std::string compute = word_of(words, "compute", "strict");
  if (compute != "strict" && a != Element::f32)
    throw Error("--compute " + compute + " is only for f32: A holds " + std::string(name_of(a)));
  check_accuracy(word_of(words, "accuracy", ""), a, compute);
}

Element element_of_c(Element a, const Arguments::Words& words) {
  require_options_used(a, words);
  const std::string word = word_of(words, "output-element", "default");
  const auto allowed = outputs_for(a);
  if (word == "default") return allowed.empty() ? a : allowed[0];
  const Element c = *parse_element(word);
  if (std::ranges::find(allowed, c) == allowed.end())
    throw Error("--output-element " + word + ": the product of " + std::string(name_of(a)) + " can be " +
                list_of(allowed));
  return c;
}

Element element_of_bias(Element a, const Arguments::Words& words) {
  const Element c = element_of_c(a, words);
  return c == Element::i8 ? Element::f32 : c;
}

std::string element_text(const Arguments& arguments) {
  const Element a = arguments.element(), b = element_of_b(a, arguments.words()),
                c = element_of_c(a, arguments.words());
  const Compute compute = a == Element::f32 ? compute_of(arguments) : Compute::strict;
  std::string out(compute == Compute::strict ? name_of(a) : text_of(compute));
  if (b != a) out += "*" + std::string(name_of(b));
  if (c != outputs_for(a)[0]) out += ">" + std::string(name_of(c));
  if (is_fp8(a) && arguments.text("accumulate") == "fast") out += " fast";
  return out;
}

std::optional<std::string> exceeds_index_range(std::int64_t m, std::int64_t n, std::int64_t k) {
  if (std::max({m, n, k}) > std::int64_t{1} << 30) return "m, n and k must be at most 2^30";
  return std::nullopt;
}
std::optional<std::string> exceeds_index_range(const Arguments& arguments) {
  return exceeds_index_range(arguments.dim("m"), arguments.dim("n"), arguments.dim("k"));
}

bool is_plain(const Arguments& arguments) {
  const Element a = arguments.element();
  if (a != Element::f32 && a != Element::f64 && a != Element::i32) return false;
  return PostOp::of(arguments).is_identity() && !arguments.has("bias") && !arguments.has("scale-a") &&
         !arguments.has("scale-b");
}

bool is_mixed(const Arguments& arguments) {
  return has_mixed_problem(arguments.element()) &&
         (!is_plain(arguments) ||
          (arguments.element() == Element::f32 && compute_of(arguments) != Compute::strict));
}

MixedProblem with_addresses(MixedProblem p, std::span<void* const> arrays) {
  p.a.data = arrays[in_a];
  p.b.data = arrays[in_b];
  p.c = arrays[out_c];
  if (p.beta != 0) p.c0.data = arrays[in_c0];
  p.bias = arrays[in_bias];
  p.scale_a = static_cast<const float*>(arrays[in_scale_a]);
  p.scale_b = static_cast<const float*>(arrays[in_scale_b]);
  return p;
}

}  // namespace tessera::matmul
