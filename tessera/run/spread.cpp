// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/spread.hpp"
#include <algorithm>
#include <charconv>
#include <cstring>
#include "tessera/core/poison.hpp"
#include "tessera/core/shared_array.hpp"
#include "tessera/run/crew.hpp"
#include "tessera/run/overlap.hpp"

namespace tessera {
namespace {

// Workers write into it without a copy.
void give_memory_to_outputs(Arguments& host, Together& together, bool shared) {
  for (const Parameter* p : host.signature().of(Parameter::Kind::output)) {
    const ArrayView& view = host.array(p->name);
    if (view.data != nullptr) continue;
    const auto& array = together.outputs[p->name] =
        shared ? shared_array(view.element, view.extents) : Array(view.element, view.extents);
    host.set_array(p->name, array.view());
  }
}

void poison_outputs(const Arguments& host) {
  for (const Parameter* p : host.signature().of(Parameter::Kind::output)) {
    const ArrayView& view = host.array(p->name);
    const std::vector<unsigned char> poison(view.row_major() ? 0 : view.bytes(), 0xff);
    if (!view.row_major()) unpack(poison.data(), view);
    else if (view.bytes() != 0) std::memset(view.data, 0xff, view.bytes());
  }
}

// What is made wrong must be there.
void check_bits(const Spread& spread, const Arguments& host) {
  for (const Fault& fault : spread.faults)
    for (const Parameter* p : host.signature().of(Parameter::Kind::output)) {
      const Element element = host.array(p->name).element;
      if (fault.kind == Fault::Kind::flip && fault.number >= static_cast<int>(8 * size_of(element)))
        throw Error("--fault flip: " + std::string(name_of(element)) + " has no bit " +
                    std::to_string(fault.number));
    }
}

// One tile, which is the call itself.
Division undivided(const Operation& operation, const Arguments& host) {
  Division out;
  out.rows = 1;
  out.same_bits = [](Where) { return true; };
  const double flops = operation.flops ? operation.flops(host) : 0;
  out.flops = [flops](const Tile&) { return flops; };
  out.part = [&host](const Tile&) { return host; };
  return out;
}

Together work(const Operation& operation, const Arguments& host, const Spread& spread) {
  const Divide* const divide = find_division(operation.name);
  const Division division = divide != nullptr ? (*divide)(host) : undivided(operation, host);
  Together out = Crew(operation, host, division, spread).work();
  out.flops = division.flops(division.whole());
  return out;
}

}  // namespace

void check_faults(const Spread& spread) {
  for (const Fault& fault : spread.faults) {
    const std::string word =
        std::string("--fault ") + name_of(fault.kind) + ":" + std::to_string(fault.device);
    if (fault.device >= spread.devices.size())
      throw Error(word + ": the devices are numbered from 0 to " + std::to_string(spread.devices.size() - 1));
    const Device& device = spread.devices[fault.device];
    if (fault.kind == Fault::Kind::poison && find_poison(device.where) == nullptr)
      throw Error(word + ": nothing can poison " + device.label() + "; it takes a GPU");
  }
}

Split parse_split(const std::string& word) {
  if (word.empty() || word == "dynamic") return {};
  if (word == "auto") return {.how = Split::How::measured};
  Split out{.how = Split::How::shares};
  for (std::size_t first = 0; first <= word.size();) {
    const std::size_t last = std::min(word.find(':', first), word.size());
    double share = 0;
    const auto [end, failed] = std::from_chars(word.data() + first, word.data() + last, share);
    if (failed != std::errc() || end != word.data() + last || !(share >= 0))
      throw Error("--split " + word + " is neither auto nor dynamic, nor shares such as 2:1");
    out.shares.push_back(share);
    first = last + 1;
  }
  return out;
}

const Operation& computed_in_parts(const Operation& operation) {
  if (find_division(operation.name) != nullptr) return operation;
  const Reduction* const reduction = find_reduction(operation.name);
  if (reduction == nullptr)
    throw Error(operation.name + " runs on one device: its result is not computed in parts");
  return *find_operation(reduction->partial);
}

Together run_together(const Operation& operation, Arguments& host, const Spread& spread, bool check) {
  if (spread.whole && spread.in_workers() && find_division(operation.name) == nullptr)
    throw Error(operation.name +
                " runs in this process: --protect and --fault are for what is computed in parts");
  const Operation& computed = spread.whole ? operation : computed_in_parts(operation);
  if (spread.devices.empty()) throw Error("no device is named");
  refuse_overlaps(host);
  check_faults(spread);
  check_bits(spread, host);
  Together memory;
  give_memory_to_outputs(host, memory, spread.in_workers());
  if (check) poison_outputs(host);
  const Reduction* const reduction = &computed == &operation ? nullptr : find_reduction(operation.name);
  Together out;
  if (reduction != nullptr) {
    Arguments partial = reduction->divide(host);
    Together partials;
    give_memory_to_outputs(partial, partials, spread.in_workers());
    out = work(computed, partial, spread);
    if (out.complete) reduction->combine(partial, host);
  } else {
    out = work(operation, host, spread);
  }
  out.outputs = std::move(memory.outputs);
  if (!out.complete) return out;
  if (operation.tell) operation.tell(host, out.values);
  if (check) out.verdict = verify(operation, host);
  return out;
}

}  // namespace tessera
