// SPDX-License-Identifier: Apache-2.0
#include "entries.hpp"
#include "matmul_batch.hpp"
#include "ops/matmul/checking.hpp"

namespace tessera::matmul_batch {
namespace {

// "A-for", "scale-a-for": the choice that says whether an input is there for each entry or for all.
std::string word_for(const Parameter& input) { return input.flag() + "-for"; }

const Signature& of_one() {
  static const Signature one = matmul::signature();
  return one;
}

ArrayView part_of(const ArrayView& all, std::int64_t entry) {
  ArrayView out = all;
  out.extents.erase(out.extents.begin());
  out.strides.erase(out.strides.begin());
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

// The single product's, with one dimension more in front of every array.
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
                                          " serves every entry; a file of one dimension "
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

LowBatch LowBatch::of(const Arguments& arguments) {
  LowBatch out;
  out.first = matmul::LowProblem::of(entry_of(arguments, 0));
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

matmul::LowProblem LowBatch::entry(std::int64_t e) const {
  matmul::LowProblem p = first;
  p.a.data = moved(p.a.data, p.a.element, e * a_step);
  p.b.data = moved(p.b.data, p.b.element, e * b_step);
  p.c0.data = moved(p.c0.data, p.c0.element, e * c0_step);
  p.c = const_cast<void*>(moved(p.c, p.c_element, e * c_step));
  p.bias = moved(p.bias, p.bias_element, e * bias_step);
  if (p.scale_a != nullptr) p.scale_a += e * scale_a_step;
  if (p.scale_b != nullptr) p.scale_b += e * scale_b_step;
  return p;
}

}  // namespace tessera::matmul_batch
