// SPDX-License-Identifier: Apache-2.0
// Arguments generated for a Case, for verification and measurement.
#pragma once
#include <map>
#include <string>
#include "tessera/core/operation/operation.hpp"
#include "tessera/run/guard.hpp"

namespace tessera {

struct Layout {
  std::int64_t padding = 0;     // elements between the rows of every array, filled with bytes 0xFF
  std::size_t guard_bytes = 0;  // before and after every array, likewise; a multiple of 256
};

// Arrays for a case: filled inputs, and outputs with memory.
class Inputs {
 public:
  Inputs(const Operation& operation, Element element, const Case& chosen, std::uint64_t seed,
         Layout layout = {});

  Arguments& arguments() { return arguments_; }
  const Arguments& arguments() const { return arguments_; }
  void poison();                // outputs and their padding
  bool padding_intact() const;  // nothing was written between the rows of an output

  // From now on, check_guards() reports a write to an input or, with guards, outside any array.
  void seal();
  Reason check_guards() const;
  void restore();  // resets the inputs to their first values, and seals them again

 private:
  void fill_inputs();

  const Operation* operation_;
  Distribution distribution_;
  std::uint64_t seed_;
  std::map<std::string, Guarded> buffers_;             // with padding
  std::map<std::string, std::uint64_t> fingerprints_;  // hashes of the inputs, since seal()
  Arguments arguments_;
};

// Returns the arguments of a case as choices see them: arrays have extents, strides and alignment, but no
// memory.
[[nodiscard]] Arguments arguments_without_memory(const Operation& operation, Element element,
                                                 const Case& chosen);

// Fills with standard normal numbers; integers with random bits. A seed gives the same numbers with any
// number of threads.
void fill_normal(std::uint64_t seed, const ArrayView& to);

}  // namespace tessera
