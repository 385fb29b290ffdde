// SPDX-License-Identifier: Apache-2.0
// A traced kernel's arrays: copies, each alone amid so much forbidden but accessible memory that an
// index gone astray lands there and is told, not in another array and not in a fault.
#pragma once
#include <vector>
#include "tessera/core/arguments.hpp"
#include "tessera/simt/tracer/tracer.hpp"

namespace tessera::bench {

class TraceArrays {
 public:
  // Inputs are copied, outputs poisoned with bytes 0xFF: NaN, or -1.
  explicit TraceArrays(const Arguments& host);
  ~TraceArrays();
  TraceArrays(const TraceArrays&) = delete;
  TraceArrays& operator=(const TraceArrays&) = delete;

  const Arguments& arguments() const { return arguments_; }
  const std::vector<simt::TracedArray>& arrays() const { return arrays_; }

 private:
  void add(const Parameter& parameter, const ArrayView& host);

  Arguments arguments_;
  std::vector<simt::TracedArray> arrays_;
};

}  // namespace tessera::bench
