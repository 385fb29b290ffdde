// SPDX-License-Identifier: Apache-2.0
// Arguments made up for a Case: what verification and measuring run on.
#pragma once
#include <map>
#include <string>
#include "tessera/core/operation.hpp"

namespace tessera {

struct Layout {
  std::int64_t padding = 0;  // elements between the rows of every array, filled with bytes 0xFF
};

// Arrays for a case, filled, and outputs with memory.
class Inputs {
 public:
  Inputs(const Operation& operation, Element element, const Case& chosen, std::uint64_t seed,
         Layout layout = {});

  Arguments& arguments() { return arguments_; }
  const Arguments& arguments() const { return arguments_; }
  void poison();                // outputs and their padding
  bool padding_intact() const;  // nothing was written between the rows of an output

 private:
  std::map<std::string, Array> buffers_;  // with padding
  Arguments arguments_;
};

// Standard normal; integers: every bit random. The same numbers for a seed on any number of threads.
void fill_normal(std::uint64_t seed, const ArrayView& to);

}  // namespace tessera
