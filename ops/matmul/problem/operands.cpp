// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/problem/operands.hpp"
#include <algorithm>
#include "ops/matmul/problem/accuracy.hpp"

namespace tessera::matmul {
namespace {

std::string word_of(const Arguments::Words& words, const char* name, const char* otherwise) {
  const auto found = words.find(name);
  return found == words.end() ? otherwise : found->second;
}

// What C may hold; the first if nothing is said.
std::vector<Element> outputs_for(Element a) {
  using enum Element;
  switch (a) {
    case bf16:
      return {bf16, f16, f32};
    case f16:
      return {f16, bf16, f32};
    case e4m3:
    case e5m2:
      return {bf16, f16, f32};
    case i8:
      return {i32, i8, f32};
    default:
      return {a};
  }
}

std::string list_of(const std::vector<Element>& elements) {
  std::string out;
  for (std::size_t i = 0; i < elements.size(); ++i)
    out += (i == 0 ? "" : i + 1 == elements.size() ? " or " : ", ") + std::string(name_of(elements[i]));
  return out;
}

}  // namespace

Element element_of_b(Element a, const Arguments::Words& words) {
  const std::string word = word_of(words, "element-b", "same");
  if (word == "same") return a;
  const Element b = *parse_element(word);
  if (b != a && !is_fp8(a))
    throw Error("--element-b " + word + " goes with e4m3 or e5m2 alone: A holds " + std::string(name_of(a)));
  return b;
}

// What other elements have no use for, and would silently do without.
void demand_effects(Element a, const Arguments::Words& words) {
  if (word_of(words, "accumulate", "promoted") == "fast" && !is_fp8(a))
    throw Error("--accumulate fast is only for e4m3 and e5m2: A holds " + std::string(name_of(a)));
  const std::string compute = word_of(words, "compute", "strict");
  if (compute != "strict" && a != Element::f32)
    throw Error("--compute " + compute + " is only for f32: A holds " + std::string(name_of(a)));
  check_accuracy(word_of(words, "accuracy", ""), a, compute);
}

Element element_of_c(Element a, const Arguments::Words& words) {
  demand_effects(a, words);
  const std::string word = word_of(words, "output-element", "default");
  const auto allowed = outputs_for(a);
  if (word == "default") return allowed[0];
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

std::optional<std::string> counts_beyond(const Arguments& arguments) {
  for (const char* name : {"m", "n", "k"})
    if (arguments.dim(name) > std::int64_t{1} << 30) return "it counts rows, columns and k up to 2^30";
  return std::nullopt;
}

bool is_plain(const Arguments& arguments) {
  const Element a = arguments.element();
  if (a != Element::f32 && a != Element::f64 && a != Element::i32) return false;
  return arguments.text("activation") == "none" && !arguments.has("bias") && !arguments.has("scale-a") &&
         !arguments.has("scale-b");
}

bool is_mixed(const Arguments& arguments) {
  return has_mixed_problem(arguments.element()) &&
         (!is_plain(arguments) ||
          (arguments.element() == Element::f32 && compute_of(arguments) != Compute::strict));
}

ProductArrays::ProductArrays(const Signature& signature) {
  const auto place_of = [&](const char* name) {
    std::size_t place = 0;
    for (const Parameter& p : signature.parameters) {
      if (!p.is_array()) continue;
      if (p.name == name) return place;
      ++place;
    }
    throw Error(Error::Kind::internal, std::string("a product without ") + name);
  };
  a = place_of("A"), b = place_of("B"), c = place_of("C"), c0 = place_of("C0");
  bias = place_of("bias"), scale_a = place_of("scale-a"), scale_b = place_of("scale-b");
}

MixedProblem ProductArrays::put(MixedProblem p, std::span<void* const> arrays) const {
  p.a.data = arrays[a];
  p.b.data = arrays[b];
  p.c = arrays[c];
  if (p.beta != 0) p.c0.data = arrays[c0];
  p.bias = arrays[bias];
  p.scale_a = static_cast<const float*>(arrays[scale_a]);
  p.scale_b = static_cast<const float*>(arrays[scale_b]);
  return p;
}

}  // namespace tessera::matmul
