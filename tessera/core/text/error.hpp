// SPDX-License-Identifier: Apache-2.0
// The one exception. Failures that end a request are thrown; expected outcomes (a variant that cannot run
// here, a result out of tolerance) are values.
#pragma once
#include <stdexcept>
#include <string>

namespace tessera {

class Error : public std::runtime_error {
 public:
  enum class Kind {
    user,       // words, a file, a shape: the caller can correct it
    no_device,  // a device was requested and none is usable
    memory,     // a race, a bad access, a divergent barrier in a kernel
    internal,   // a defect of this program
  };

  Error(Kind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  explicit Error(const std::string& text) : Error(Kind::user, text) {}

  Kind kind() const noexcept { return kind_; }

 private:
  Kind kind_;
};

// Throws Error unless `value` is one of the enumerators 0 to `last`: a program may cast any number.
template <class Enumeration>
void check_enumerator(const char* what, Enumeration value, Enumeration last) {
  const auto number = static_cast<int>(value);
  if (number < 0 || number > static_cast<int>(last))
    throw Error(std::string(what) + " is number " + std::to_string(number) +
                " of its enumeration, which ends at " + std::to_string(static_cast<int>(last)));
}

}  // namespace tessera
