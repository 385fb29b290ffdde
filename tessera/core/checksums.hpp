// SPDX-License-Identifier: Apache-2.0
// Checksums of a part of a result, made where the part was computed and before it leaves: what does not fit
// is found, and mostly where it is. An operation that has some says so for each kind of device.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>
#include "tessera/core/division.hpp"

namespace tessera {

// What the checksums of one part tell.
struct ChecksumVerdict {
  // False: they cannot tell, since an input is no number, or a sum may overflow. Another check must.
  bool decided = true;
  std::vector<std::int64_t> rows, cols;  // of the part: those that do not fit, ascending
  double seconds = 0;                    // on the device
  std::uint64_t mark = 0;                // where some do not: equal for equal bits of the part

  bool fits() const { return decided && rows.empty() && cols.empty(); }
};

class Checksums {
 public:
  virtual ~Checksums() = default;
  // `part`: the tile's arguments, all in the memory of run.device, with what was computed. Waits for the
  // device.
  virtual ChecksumVerdict look(const Tile& tile, const Arguments& part, const Run& run) = 0;
  // What was kept of the operands is made again: it may be this that is wrong.
  virtual void forget() = 0;
};

// For the parts of one call on one device; `whole` lies in host memory and must stay. Null: there are none
// for such arguments.
using MakeChecksums = std::function<std::unique_ptr<Checksums>(const Arguments& whole, const Device& device)>;

void register_checksums(const std::string& operation, Where where, MakeChecksums make);
const MakeChecksums* find_checksums(const std::string& operation, Where where);  // null: none

}  // namespace tessera
