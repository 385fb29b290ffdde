// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/undivided.hpp"

namespace tessera {
namespace {

std::vector<Slice> whole_arrays(const Arguments& host, Parameter::Kind kind) {
  std::vector<Slice> out;
  for (const Parameter* p : host.signature().of(kind)) {
    if (!host.has(p->name)) continue;
    Slice& slice = out.emplace_back(Slice{p->name, {}});
    for (const std::int64_t extent : host.array(p->name).extents) slice.box.push_back({0, extent});
  }
  return out;
}

Division undivided(const Operation& operation, const Arguments& host) {
  Division out;
  out.rows = 1;
  out.same_bits = [](Where) { return true; };
  const double flops = operation.flops ? operation.flops(host) : 0;
  out.flops = [flops](const Tile&) { return flops; };
  out.reads = [&host](const Tile&) { return whole_arrays(host, Parameter::Kind::input); };
  out.writes = [&host](const Tile&) { return whole_arrays(host, Parameter::Kind::output); };
  out.part = [&host](const Tile&) { return host; };
  return out;
}

}  // namespace

Division division_of(const Operation& operation, const Arguments& host) {
  const Divide* const divide = find_division(operation.name);
  return divide != nullptr ? (*divide)(host) : undivided(operation, host);
}

}  // namespace tessera
