// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/trace_arrays.hpp"
#include <sys/mman.h>
#include <cstring>

namespace tessera::bench {
namespace {

// Address space, not memory: pages that nobody touches cost nothing.
constexpr std::size_t red_zone_bytes = std::size_t{256} << 20;
constexpr std::size_t page_bytes = 4096;

std::size_t mapped_bytes(std::size_t bytes) {
  return 2 * red_zone_bytes + (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

}  // namespace

TraceArrays::TraceArrays(const Arguments& host) : arguments_(host) {
  for (const Parameter& p : host.signature().parameters)
    if (p.is_array() && host.has(p.name)) add(p, host.array(p.name));
}

TraceArrays::~TraceArrays() {
  for (const simt::TracedArray& array : arrays_)
    munmap(array.data - red_zone_bytes, mapped_bytes(array.bytes));
}

void TraceArrays::add(const Parameter& parameter, const ArrayView& host) {
  const std::size_t bytes = static_cast<std::size_t>(host.count()) * size_of(host.element);
  void* const memory = mmap(nullptr, mapped_bytes(bytes), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw Error("no memory for a copy of " + parameter.name + ", " + std::to_string(bytes) + " bytes");
  char* const data = static_cast<char*>(memory) + red_zone_bytes;
  const bool input = parameter.kind == Parameter::Kind::input;
  arrays_.push_back({.name = parameter.name,
                     .data = data,
                     .bytes = bytes,
                     .red_zone_bytes = red_zone_bytes,
                     .extents = host.extents,
                     .element_bytes = size_of(host.element),
                     .input = input});
  if (input) {
    if (bytes != 0) std::memcpy(data, packed_copy(host).view().data, bytes);
  } else {
    std::memset(data, 0xff, bytes);
  }
  ArrayView view = host;
  view.data = data;
  view.strides = row_major_strides(host.extents);
  arguments_.set_array(parameter.name, view);
}

}  // namespace tessera::bench
