// SPDX-License-Identifier: Apache-2.0
// Many products of one size as an operation: its arguments, cost, checks and partition, entries as arguments
// of the single product, and the cases of `verify`. Every entry is checked as a product of its own.
#include <algorithm>
#include <memory>
#include "matmul_batch.hpp"
#include "ops/matmul/epilogue/epilogue.hpp"
#include "ops/matmul/gemm/operands.hpp"
#include "ops/matmul/operation/matmul_operation.hpp"
#include "tessera/core/operation/partition.hpp"
#include "tessera/core/operation/promise.hpp"
#include "tessera/core/operation/operation.hpp"

namespace tessera::matmul_batch {

namespace {

// Returns the option that says if an input is for each entry or for all, such as "a-for" or "scale-a-for".
std::string word_for(const Parameter& input) { return input.flag() + "-for"; }

const Signature& of_one() {
  static const Signature one = matmul::signature();
  return one;
}

ArrayView part_of(const ArrayView& all, std::int64_t entry) {
  ArrayView out = all;
  out.extents.erase_front();
  out.strides.erase_front();
  if (out.data != nullptr)
    out.data = static_cast<char*>(out.data) +
               entry * all.strides[0] * static_cast<std::int64_t>(size_of(all.element));
  return out;
}

bool is_shared(const Arguments& batch, const Parameter& p) {
  return batch.signature().at(p.name).is_shared(batch.words());
}

std::int64_t step_of(const Arguments& batch, const char* name) {
  if (!batch.has(name) || is_shared(batch, batch.signature().at(name))) return 0;
  return batch.array(name).strides[0];
}

const void* moved(const void* data, Element element, std::int64_t elements) {
  if (data == nullptr) return nullptr;
  return static_cast<const char*>(data) + elements * static_cast<std::int64_t>(size_of(element));
}

}  // namespace

// Returns the single product's signature, with one more dimension in front of every array.
Signature signature() {
  Signature out = matmul::signature();
  std::vector<Parameter> words;
  for (Parameter& p : out.parameters) {
    if (!p.is_array()) continue;
    p.extents.insert(p.extents.begin(), "batch");
    for (auto& [word, extents] : p.shapes) extents.insert(extents.begin(), "batch");
    if (p.kind != Parameter::Kind::input) continue;
    p.shared_by = word_for(p);
    words.push_back(parameter::choice(p.shared_by, {"each", "all"},
                                      "all: one " + p.name +
                                          " is shared by all entries; a file of one dimension "
                                          "fewer says so itself"));
  }
  out.parameters.insert(out.parameters.end() - 1, words.begin(), words.end());
  return out;
}

Arguments entry_of(const Arguments& batch, std::int64_t entry) {
  std::map<std::string, ArrayView> inputs;
  Arguments::Words words;
  for (const Parameter& p : of_one().parameters) {
    if (!p.is_array()) words[p.name] = batch.text(p.name);
    else if (p.kind == Parameter::Kind::input && batch.has(p.name))
      inputs[p.name] = is_shared(batch, p) ? batch.array(p.name) : part_of(batch.array(p.name), entry);
  }
  Arguments out(of_one(), batch.element(), std::move(inputs), words);
  out.set_array("C", part_of(batch.array("C"), entry));
  return out;
}

MixedBatch MixedBatch::of(const Arguments& arguments) {
  MixedBatch out;
  out.first = matmul::MixedProblem::of(entry_of(arguments, 0));
  out.batch = arguments.dim("batch");
  out.a_step = step_of(arguments, "A");
  out.b_step = step_of(arguments, "B");
  out.c0_step = step_of(arguments, "C0");
  out.c_step = step_of(arguments, "C");
  out.bias_step = step_of(arguments, "bias");
  out.scale_a_step = step_of(arguments, "scale-a");
  out.scale_b_step = step_of(arguments, "scale-b");
  return out;
}

matmul::MixedProblem MixedBatch::entry(std::int64_t e) const {
  matmul::MixedProblem p = first;
  p.a.data = moved(p.a.data, p.a.element, e * a_step);
  p.b.data = moved(p.b.data, p.b.element, e * b_step);
  p.c0.data = moved(p.c0.data, p.c0.element, e * c0_step);
  p.c = const_cast<void*>(moved(p.c, p.c_element, e * c_step));
  p.bias = moved(p.bias, p.bias_element, e * bias_step);
  if (p.scale_a != nullptr) p.scale_a += e * scale_a_step;
  if (p.scale_b != nullptr) p.scale_b += e * scale_b_step;
  return p;
}

namespace {

struct Size {
  std::int64_t batch, m, n, k;
};

Case sized(const Size& s, Distribution distribution = Distribution::normal) {
  return {.dims = {{"batch", s.batch}, {"m", s.m}, {"n", s.n}, {"k", s.k}}, .distribution = distribution};
}

Case with(Case base, Arguments::Words words, std::vector<std::string> given = {}) {
  base.words = std::move(words);
  base.optional_inputs = std::move(given);
  return base;
}

// Returns the cases of options that only some elements support.
std::vector<Case> mixed_cases() {
  using enum Distribution;
  const std::vector<Element> bytes{Element::e4m3, Element::e5m2},
      floats{Element::f32, Element::bf16, Element::f16, Element::e4m3, Element::e5m2}, i8{Element::i8},
      shorter{Element::bf16, Element::f16, Element::e4m3, Element::e5m2}, own{Element::f64, Element::i32};
  const auto of = [](const std::vector<Element>& elements, Case base, Arguments::Words words,
                     std::vector<std::string> given = {}) {
    base = with(std::move(base), std::move(words), std::move(given));
    base.elements = elements;
    return base;
  };
  return {
      of(shorter, sized({3, 17, 40, 70}), {{"output-element", "f32"}, {"b-for", "all"}}),
      of(bytes, sized({2, 20, 24, 150}), {{"element-b", "e5m2"}, {"op-a", "transpose"}}),
      of(bytes, sized({2, 24, 40, 130}), {{"accumulate", "fast"}}),
      of({Element::f32}, sized({3, 20, 25, 30}), {{"compute", "tf32"}}),
      of(i8, sized({3, 20, 30, 40}), {{"beta", "-2"}, {"alpha", "3"}}, {"C0", "bias"}),
      of(i8, sized({2, 21, 31, 33}), {{"output-element", "i8"}, {"bias-for", "all"}}, {"scale-b", "bias"}),
      of(floats, sized({3, 17, 33, 24}), {{"activation", "relu"}, {"bias-along", "rows"}}, {"bias"}),
      of(floats, sized({2, 18, 20, 30}), {{"alpha", "-2"}, {"beta", "0.5"}, {"scale-a-for", "all"}},
         {"C0", "bias", "scale-a", "scale-b"}),
      of(floats, sized({3, 15, 21, 30}, exact), {{"scale-a-per", "tensor"}, {"scale-b-per", "tensor"}},
         {"scale-a", "scale-b"}),
      of(floats, sized({2, 8, 16, 16}), {{"activation", "gelu"}}, {"bias"}),
      of(own, sized({3, 17, 33, 24}, exact), {{"beta", "-1"}, {"activation", "relu"}, {"bias-along", "rows"}},
         {"C0", "bias"}),
      of({Element::f64}, sized({2, 18, 20, 30}), {{"activation", "silu"}, {"bias-for", "all"}}, {"bias"})};
}

}  // namespace

std::vector<Case> cases() {
  using enum Distribution;
  std::vector<Case> out = {sized({1, 1, 1, 1}, exact),
                           sized({1, 33, 34, 17}, exact),
                           sized({5, 17, 13, 9}),
                           sized({70, 2, 3, 5}, exact),
                           sized({300, 1, 1, 3}),
                           sized({3, 65, 33, 40}, exact),
                           sized({3, 17, 33, 20}, special),
                           with(sized({4, 19, 21, 23}), {{"a-for", "all"}}),
                           with(sized({4, 20, 36, 28}, exact), {{"b-for", "all"}, {"op-b", "transpose"}}),
                           with(sized({3, 16, 24, 20}), {{"op-a", "transpose"}}),
                           with(sized({3, 21, 19, 35}, exact), {{"alpha", "2"}, {"beta", "-3"}}, {"C0"}),
                           with(sized({3, 9, 10, 11}, exact), {{"beta", "2"}, {"c-for", "all"}}, {"C0"}),
                           with(sized({2, 9, 10, 11}), {{"beta", "0"}}, {"C0"}),
                           with(sized({2, 16, 16, 16}), {{"alpha", "0"}, {"beta", "3"}}, {"C0"}),
                           sized({0, 8, 8, 8}),
                           sized({3, 0, 8, 8}),
                           sized({3, 8, 0, 8}),
                           sized({3, 8, 9, 0}),
                           with(sized({3, 8, 9, 0}), {{"beta", "2"}}, {"C0"}),
                           sized({2, 64, 64, 64}, exact)};
  for (Case& more : mixed_cases()) out.push_back(std::move(more));
  return out;
}

namespace {

double flops(const Arguments& arguments) {
  double out = 2;
  for (const char* name : {"batch", "m", "n", "k"}) out *= static_cast<double>(arguments.dim(name));
  return out;
}

void fill(const Arguments& arguments, const std::string& input, Distribution distribution, std::uint64_t seed,
          const ArrayView& to) {
  const bool shared = arguments.signature().at(input).is_shared(arguments.words());
  const std::int64_t entries = shared ? 1 : arguments.dim("batch");
  if (to.count() == 0) return;  // there may be too many empty entries to loop over
  Arguments target = arguments;
  target.set_array(input, to);
  for (std::int64_t e = 0; e < entries; ++e) {
    const Arguments one = entry_of(target, e);
    // These seeds differ from those of other inputs.
    matmul::fill(one, input, distribution, seed + (static_cast<std::uint64_t>(e) << 32), one.array(input));
  }
}

// Row i of entry e has the number e·m + i.
void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data data,
               Expected& expected) {
  const std::int64_t m = arguments.dim("m");
  std::vector<std::int64_t> own;
  for (std::size_t at = 0; at < rows.size();) {
    const std::int64_t entry = rows[at] / m;
    own.clear();
    for (; at < rows.size() && rows[at] / m == entry; ++at) own.push_back(rows[at] % m);
    matmul::reference(entry_of(arguments, entry), own, data, expected);
  }
}

std::vector<std::int64_t> suspect_rows(const Arguments& arguments, Data data, std::uint64_t seed) {
  const std::int64_t m = arguments.dim("m");
  std::vector<std::int64_t> out;
  for (std::int64_t e = 0; e < arguments.dim("batch"); ++e)
    for (const std::int64_t row :
         matmul::suspect_rows(entry_of(arguments, e), data, seed + static_cast<std::uint64_t>(e)))
      out.push_back(e * m + row);
  return out;
}

// Returns the first wrong entry's Finding, else the last one's with the largest errors of all.
Finding examine(const Arguments& arguments, const std::string& arithmetic, const Device* device) {
  Finding out;
  out.right = true;
  out.text = "right: there are no entries";
  const std::int64_t entries = arguments.dim("batch");
  for (std::int64_t e = 0; e < entries && out.right; ++e) {
    Finding one = matmul::examine(entry_of(arguments, e), arithmetic, device);
    one.largest_ratio = std::max(one.largest_ratio, out.largest_ratio);
    one.sees = std::max(one.sees, out.sees);
    out = std::move(one);
    if (!out.right) {
      out.text = "entry " + std::to_string(e) + ": " + out.text;
      if (!out.first.empty()) out.first.insert_front(e);
    }
  }
  if (out.right && entries > 1) out.text = std::to_string(entries) + " entries; the last one is " + out.text;
  return out;
}

Operation operation() {
  Operation out;
  out.name = "matmul_batch";
  out.summary = "many matrix products of one size, C[e] = α·op(A[e])·op(B[e]) + β·C0[e]";
  out.signature = signature();
  out.elements = {Element::f32, Element::f64,  Element::i32,  Element::bf16,
                  Element::f16, Element::e4m3, Element::e5m2, Element::i8};
  out.output = "C";
  out.row_dimensions = 2;
  out.flops = flops;
  out.fill = fill;
  out.reference = reference;
  out.suspect_rows = suspect_rows;
  out.sampled_only = matmul::sampled_only;
  out.examine = examine;
  out.element_text = matmul::element_text;
  out.largest_norm_error = 1e-6;
  out.norm_demanded = matmul::norm_demanded;
  out.cases = cases();
  return out;
}

// Returns a parameter's part for an interval of entries, whose bits do not depend on their position. An input
// that serves all entries is not cut.
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

Partition divide(const Arguments& arguments) {
  const auto whole = std::make_shared<const Arguments>(arguments);
  if (std::ranges::all_of(reads_of(arguments, {}), [&](const Slice& slice) {
        return arguments.signature().at(slice.array).is_shared(arguments.words());
      }))
    throw Error("a batch whose operands serve all entries is one product: it runs on one device");
  Partition out;
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

// The epilogue pass of a batch is the single product's, for all entries at once.
[[maybe_unused]] const bool registered =
    (register_operation(operation()), register_promise("matmul_batch", matmul::batch_invariant_option),
     register_partition("matmul_batch", divide),
     register_epilogue_pass(matmul::epilogue_pass("matmul_batch")), true);

}  // namespace
}  // namespace tessera::matmul_batch
