// SPDX-License-Identifier: Apache-2.0
// The one exception. What ends a request is thrown; what a caller expects (a variant that cannot
// run here, a result out of tolerance) is a value.
#pragma once
#include <stdexcept>
#include <string>

namespace tessera {

class Error : public std::runtime_error {
 public:
  enum class Kind {
    user,       // the words, a file, a shape: the caller can mend it
    no_device,  // a device was asked for and none is usable
    memory,     // a race, a bad access, a divergent barrier in a kernel
    internal,   // our fault
  };

  Error(Kind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  explicit Error(const std::string& text) : Error(Kind::user, text) {}

  Kind kind() const noexcept { return kind_; }

 private:
  Kind kind_;
};

}  // namespace tessera
