// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/inputs.hpp"
#include <algorithm>
#include <cstring>
#include "tessera/core/device/parallel.hpp"
#include "tessera/core/array/random.hpp"

namespace tessera {
namespace {

using Buffers = std::map<std::string, Guarded>;

// Adds a row-major array with `padding` more elements per row than the extents need.
ArrayView add_padded(Buffers& buffers, const Parameter& p, Element element, const Extents& extents,
                     Layout layout) {
  Extents padded = extents;
  if (padded.size() >= p.packed_dimensions()) padded[padded.size() - p.packed_dimensions()] += layout.padding;
  Guarded& buffer = buffers[p.name] = Guarded(element, padded, host_memory(), layout.guard_bytes);
  ArrayView view = buffer.view();
  std::memset(view.data, 0xff, view.bytes());
  view.extents = extents;
  return view;
}

// Returns the elements of a contiguous row: the last dimension, or the last two of a picture.
std::size_t row_elements(const Extents& extents, const Parameter& p) {
  std::int64_t out = 1;
  for (std::size_t d = extents.size() - std::min(extents.size(), p.packed_dimensions()); d < extents.size();
       ++d)
    out *= extents[d];
  return static_cast<std::size_t>(out);
}

// make(parameter, element, extents) returns an array.
template <class Make>
Arguments make_arguments(const Operation& operation, Element element, const Case& chosen, const Make& make) {
  std::map<std::string, ArrayView> inputs;
  for (const Parameter* p : operation.signature.of(Parameter::Kind::input)) {
    if (p->optional && std::ranges::find(chosen.optional_inputs, p->name) == chosen.optional_inputs.end())
      continue;
    inputs[p->name] =
        make(*p, p->element_with(element, chosen.words), extents_in_memory(*p, chosen.dims, chosen.words));
  }
  Arguments arguments(operation.signature, element, std::move(inputs), chosen.words);
  for (const Parameter* p : operation.signature.of(Parameter::Kind::output)) {
    const ArrayView& output = arguments.array(p->name);
    arguments.set_array(p->name, make(*p, output.element, output.extents));
  }
  return arguments;
}

// Returns the address of a row of a view; rows are numbered over all dimensions but the last.
char* row_of(const ArrayView& view, std::int64_t row) {
  std::int64_t offset = 0;
  for (std::size_t d = view.extents.size() - 1; d-- > 0;) {
    offset += row % view.extents[d] * view.strides[d];
    row /= view.extents[d];
  }
  return static_cast<char*>(view.data) + offset * static_cast<std::int64_t>(size_of(view.element));
}

}  // namespace

Inputs::Inputs(const Operation& operation, Element element, const Case& chosen, std::uint64_t seed,
               Layout layout)
    : operation_(&operation),
      distribution_(chosen.distribution),
      seed_(seed),
      arguments_(make_arguments(operation, element, chosen,
                                [&](const Parameter& p, Element of, const Extents& extents) {
                                  return add_padded(buffers_, p, of, extents, layout);
                                })) {
  fill_inputs();
}

Arguments arguments_without_memory(const Operation& operation, Element element, const Case& chosen) {
  std::uintptr_t next = 0;
  return make_arguments(operation, element, chosen,
                        [&](const Parameter&, Element of, const Extents& extents) {
                          return ArrayView{reinterpret_cast<void*>(next += std::uintptr_t{1} << 42), of,
                                           extents, row_major_strides(extents)};
                        });
}

void Inputs::fill_inputs() {
  std::uint64_t count = 0;
  for (const Parameter* p : operation_->signature.of(Parameter::Kind::input)) {
    const std::uint64_t own_seed = seed_ * 16 + count++;
    if (!arguments_.has(p->name)) continue;
    if (operation_->fill)
      operation_->fill(arguments_, p->name, distribution_, own_seed, arguments_.array(p->name));
    else fill_normal(own_seed, arguments_.array(p->name));
  }
}

void Inputs::seal() {
  for (auto& [name, buffer] : buffers_) {
    buffer.arm();
    const ArrayView& view = buffer.view();
    if (arguments_.signature().at(name).kind == Parameter::Kind::input)
      fingerprints_[name] = fingerprint(view.data, view.bytes());
  }
}

Reason Inputs::check_guards() const {
  for (const auto& [name, buffer] : buffers_)
    if (const Reason reason = buffer.check_guards(name)) return reason;
  for (const auto& [name, before] : fingerprints_) {
    const ArrayView& view = buffers_.at(name).view();
    if (fingerprint(view.data, view.bytes()) != before) return "a write to the input " + name;
  }
  return std::nullopt;
}

void Inputs::restore() {
  fill_inputs();
  seal();
}

void Inputs::poison() {
  for (const Parameter* p : arguments_.signature().of(Parameter::Kind::output)) {
    const ArrayView& buffer = buffers_.at(p->name).view();
    std::memset(buffer.data, 0xff, buffer.bytes());
  }
}

bool Inputs::padding_intact() const {
  for (const Parameter* p : arguments_.signature().of(Parameter::Kind::output)) {
    const ArrayView& buffer = buffers_.at(p->name).view();
    if (buffer.extents.empty() || buffer.count() == 0) continue;
    const std::size_t size = size_of(buffer.element);
    const std::size_t row = row_elements(buffer.extents, *p) * size,
                      used = row_elements(arguments_.array(p->name).extents, *p) * size;
    const std::size_t rows = buffer.bytes() / row;
    for (std::size_t r = 0; r < rows; ++r) {
      const auto* bytes = static_cast<const unsigned char*>(buffer.data) + r * row;
      if (std::any_of(bytes + used, bytes + row, [](unsigned char byte) { return byte != 0xff; }))
        return false;
    }
  }
  return true;
}

void fill_normal(std::uint64_t seed, const ArrayView& to) {
  if (to.count() == 0) return;
  const std::size_t size = size_of(to.element);
  const std::int64_t cols = to.extents.empty() ? 1 : to.extents.back(), rows = to.count() / cols;
  const std::int64_t step = (to.extents.empty() ? 1 : to.strides.back()) * static_cast<std::int64_t>(size);
  const int parts = to.count() < 1 << 16 ? 1 : host_threads();
  parallel(parts, [&](int part) {
    for (std::int64_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row) {
      Random random(seed, static_cast<std::uint64_t>(row));
      char* at = to.extents.empty() ? static_cast<char*>(to.data) : row_of(to, row);
      for (std::int64_t j = 0; j < cols; ++j, at += step)
        if (const std::uint64_t bits = is_integer(to.element) ? random.next() : 0; is_integer(to.element))
          std::memcpy(at, &bits, size);
        else store_from_double(to.element, at, random.normal());
    }
  });
}

}  // namespace tessera
