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

}  // namespace tessera
