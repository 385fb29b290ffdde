// SPDX-License-Identifier: Apache-2.0
// The call behind a tessera_call, and what makes C values of C++ ones.
#pragma once
#include <string>
#include <vector>
#include "tessera/call.hpp"
#include "tessera/tessera.h"

namespace tessera::c {

// A callback has ended the run.
struct Stopped {};

struct Callable {
  tessera_callable function = nullptr;
  void* context = nullptr;

  void operator()(std::size_t count, std::size_t dimensions, const double* points, double* values) const {
    if (function(context, static_cast<std::int64_t>(count), static_cast<std::int32_t>(dimensions), points,
                 values) != 0)
      throw Stopped{};
  }
};

// Returns the integral of a callable, with its values. The words are the operation's.
Outcome integrate_callable(const Operation& operation, const Arguments::Words& words,
                           const Callable& callable);

[[nodiscard]] DLDataType type_of(Element element);
// Throws Error for a type or a device that no operation takes.
[[nodiscard]] ArrayView view_of(const char* name, const DLTensor& tensor);

[[nodiscard]] std::string operations_as_json();
[[nodiscard]] std::string devices_as_json();
[[nodiscard]] std::string outcome_as_json(const Operation& operation, const Arguments* arguments,
                                          const Outcome& outcome);
[[nodiscard]] std::string choice_as_json(const Operation& operation, const PlannedCall& planned);

}  // namespace tessera::c
