// SPDX-License-Identifier: Apache-2.0
#include "group_entries.hpp"
#include <algorithm>
#include <atomic>
#include "ops/matmul/call.hpp"
#include "ops/matmul/conclusion.hpp"
#include "ops/matmul/elements.hpp"
#include "ops/matmul/naive.hpp"
#include "ops/matmul/simd.hpp"
#include "tessera/core/parallel.hpp"
#include "tessera/run/overlap.hpp"

namespace tessera::matmul_batch {
namespace {

template <class T>
void compute_vectors(const Arguments& entry) {
  if (matmul::is_plain(entry)) return matmul::multiply_simd(matmul::Problem<T>::of(entry), 1);
  const std::size_t apart = matmul::conclusion_bytes(entry);
  const Array own(Element::u8, {static_cast<std::int64_t>(apart)});
  void* const sums = apart == 0 ? nullptr : own.view().data;
  const auto after = matmul::Conclusion<T>::of(entry, sums);
  if (!after.scaled) return matmul::multiply_simd(matmul::Problem<T>::of(entry), 1, &after);
  matmul::multiply_simd(matmul::Problem<T>::of(matmul::before_conclusion(entry, sums)), 1);
  matmul::conclude_on_processors(after, 1);
}

void compute_on_processor(const Arguments& entry) {
  if (entry.element() == Element::f32) return compute_vectors<float>(entry);
  if (entry.element() == Element::f64) return compute_vectors<double>(entry);
  if (entry.element() == Element::i32) return compute_vectors<std::int32_t>(entry);
  matmul::naive_low(matmul::LowProblem::of(entry));
}

Element element_of(const matmul::Scale&) { return Element::f32; }
Element element_of(const matmul::Bias& bias) { return bias.element; }
const void* moved(const void* data, std::int64_t bytes) { return static_cast<const char*>(data) + bytes; }

// A product's own vector, of which there is one; else what Options have for it: `step` elements behind the
// last one's.
template <class Vector>
Vector own_or_shared(const char* name, const Vector& own, const Vector& shared, std::size_t product) {
  if (own.data != nullptr && own.step != 0)
    throw Error(std::string("its own ") + name + " has the step " + std::to_string(own.step) +
                ": it is for one product");
  Vector out = own.data != nullptr ? own : shared;
  if (out.data == nullptr || out.step == 0) return out;
  if (out.step < 0) throw Error(std::string(name) + " has the negative step " + std::to_string(out.step));
  const auto at = static_cast<std::int64_t>(product),
             bytes = static_cast<std::int64_t>(size_of(element_of(out)));
  matmul::check_reach(name, at + 1, out.step, element_of(out));
  out.data = static_cast<decltype(out.data)>(moved(out.data, at * out.step * bytes));
  out.step = 0;
  return out;
}

}  // namespace

Group::Group(std::span<const detail::AnyProduct> products, const Options& options, bool in_place) {
  if (options.c0.data != nullptr) throw Error("in a group β multiplies C, not C0");
  for (std::size_t i = 0; i < products.size(); ++i) try {
      add(products[i], options, in_place);
    } catch (const Error& error) {
      throw Error(error.kind(), "product " + std::to_string(i) + ": " + error.what());
    }
  check_apart();
}

// They run at the same time: nobody writes what another reads or writes.
void Group::check_apart() const {
  std::vector<Access> accesses;
  std::vector<const char*> names;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    for (const char* name : {"C", "A", "B", "scale-a", "scale-b", "bias"})
      if (entries_[i].has(name)) {
        accesses.push_back({entries_[i].array(name), name[0] == 'C', i});
        names.push_back(name);
      }
  const auto found = clash(accesses);
  if (!found) return;
  const auto [writer, other] = *found;
  throw Error("product " + std::to_string(accesses[writer].call) + ": C overlaps " + names[other] +
              " of product " + std::to_string(accesses[other].call) +
              "; a group's products are computed at the same time");
}

void Group::add(const detail::AnyProduct& product, const Options& options, bool in_place) {
  Options own = options;
  own.scale_a = own_or_shared("scale-a", product.scale_a, options.scale_a, entries_.size());
  own.scale_b = own_or_shared("scale-b", product.scale_b, options.scale_b, entries_.size());
  own.bias = own_or_shared("bias", product.bias, options.bias, entries_.size());
  const ArrayView a = matmul::view_of("A", product.a), b = matmul::view_of("B", product.b),
                  c = matmul::view_of("C", product.c);
  ArrayView added = c;
  if (own.beta != 0 && !in_place) added = matmul::set_aside(c, kept_.emplace_back());
  Arguments entry = matmul::arguments_of(a, b, c, own, own.beta != 0 ? &added : nullptr);
  if (!matmul::is_plain(entry)) (void)matmul::concludes(entry);  // throws where there is no such product
  for (const char* input : {"A", "B", "scale-a", "scale-b", "bias"})
    if (entry.has(input) && overlap(entry.array(input), c)) throw Error(std::string("C overlaps ") + input);
  entries_.push_back(std::move(entry));
}

void compute_on_processors(std::span<const Arguments> entries, int threads) {
  std::atomic<std::size_t> next = 0;
  const int useful =
      static_cast<int>(std::clamp<std::size_t>(entries.size(), 1, static_cast<std::size_t>(threads)));
  parallel(useful, [&](int) {
    for (std::size_t e = next++; e < entries.size(); e = next++) compute_on_processor(entries[e]);
  });
}

}  // namespace tessera::matmul_batch
