// SPDX-License-Identifier: Apache-2.0
// Buffers between two zones of known bytes, which detect writes outside the buffer. The bytes are 0xFF, like
// a poisoned output: a read outside gives NaN, which fails every verification.
#pragma once
#include <cstddef>
#include <string>
#include "tessera/core/array/array.hpp"
#include "tessera/core/device/device.hpp"
#include "tessera/core/operation/variant.hpp"

namespace tessera {

// Zone before and after each buffer that is verified or measured: some rows of most arrays.
inline constexpr std::size_t wide_zone = 64 * 1024;

class Guarded {
 public:
  Guarded() = default;
  // Row-major and uninitialised, with zones of `zone_bytes`, a multiple of 256, before and after; 0: none.
  Guarded(Element element, Extents extents, Memory& memory, std::size_t zone_bytes);

  const ArrayView& view() const { return array_.view(); }

  // arm() fills the zones; check_guards() reports writes to them. For a buffer in host memory:
  void arm();
  Reason check_guards(
      const std::string& name) const;  // "a write outside C: 64 bytes, from 16 bytes behind its end"
  // For a buffer in device memory:
  void arm(Backend& backend, const Run& run);
  Reason check_guards(const std::string& name, Backend& backend, const Run& run) const;

 private:
  unsigned char* before() const;  // the zone's first byte
  unsigned char* behind() const;

  Array array_;
  std::size_t zone_bytes_ = 0, bytes_ = 0;
};

// Returns a hash of many bytes, computed in parallel: different bytes almost never have the same hash.
std::uint64_t fingerprint(const void* bytes, std::size_t count);

}  // namespace tessera
