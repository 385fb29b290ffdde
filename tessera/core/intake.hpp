// SPDX-License-Identifier: Apache-2.0
// How a rung reads an input that a word may transpose: what each order in memory costs it. Rungs state it;
// `list` shows it.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include "tessera/core/element.hpp"
#include "tessera/core/here.hpp"

namespace tessera {

enum class Intake {
  as_it_lies,
  turned_in_loading,
  packed_before,           // a pass of its own writes a copy first
  packed_if_large,         // where that pass takes less than it saves; else as it lies, an element at a time
  turned_packed_or_lying,  // as packed_if_large, but else turned in loading, and as it lies where C has few
                           // rows
};
std::string_view text_of(Intake intake);

struct InputOrder {
  std::string input;
  bool transposed = false;  // memory holds the transpose
  bool odd = false;         // an address, or what lies between lines, is no multiple of 16 bytes
};
using TellIntake = std::function<Intake(Element, const InputOrder&)>;

// For the rung of the caller's file.
void register_intake(TellIntake tell, Here here = Here::current());
const TellIntake* intake_of(std::string_view file);  // Variant::file; null: it states nothing

}  // namespace tessera
