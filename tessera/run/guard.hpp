// SPDX-License-Identifier: Apache-2.0
// Buffers between two zones of known bytes, so that a write outside leaves a trace. The bytes are
// 0xFF, as of a poisoned output: what is read there is NaN, which no verification lets pass.
#pragma once
#include <cstddef>
#include <string>
#include "tessera/core/array.hpp"
#include "tessera/core/device.hpp"
#include "tessera/core/variant.hpp"

namespace tessera {

// Before and behind each buffer of what is verified or measured: some rows of most arrays.
inline constexpr std::size_t wide_zone = 64 * 1024;

class Guarded {
 public:
  Guarded() = default;
  // Row-major and uninitialised, with `zone_bytes`, a multiple of 256, before and behind; 0: no zones.
  Guarded(Element element, Extents extents, Memory& memory, std::size_t zone_bytes);

  const ArrayView& view() const { return array_.view(); }

  // In memory of the host …
  void arm();
  Reason check_guards(
      const std::string& name) const;  // "a write outside C: 64 bytes, from 16 bytes behind its end"
  // … or of a device.
  void arm(Backend& backend, const Run& run);
  Reason check_guards(const std::string& name, Backend& backend, const Run& run) const;

 private:
  unsigned char* before() const;  // the zone's first byte
  unsigned char* behind() const;

  Array array_;
  std::size_t zone_bytes_ = 0, bytes_ = 0;
};

// Of many bytes, in parallel: equal for equal bytes, and for others as good as never.
std::uint64_t fingerprint(const void* bytes, std::size_t count);

}  // namespace tessera
