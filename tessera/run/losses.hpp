// SPDX-License-Identifier: Apache-2.0
// How a call ends whose devices have all failed: each is named with its reason.
#pragma once
#include <exception>
#include <string>
#include <vector>
#include "tessera/run/spread.hpp"

namespace tessera {

class NoDeviceLeft : public Error {
 public:
  NoDeviceLeft(Kind kind, const std::string& text, std::vector<std::string> reasons)
      : Error(kind, text), reasons_(std::move(reasons)) {}

  const std::vector<std::string>& reasons() const { return reasons_; }  // in the order of the devices

 private:
  std::vector<std::string> reasons_;
};

// Why one device failed. Of a call on that device alone: that device's reason.
std::string reason_of(const std::exception_ptr& failure);

// `shares`: with their losses; `first`: what the first one threw; `more`: what else is to be said. Throws
// NoDeviceLeft of its kind; where all say the same of what was asked, it is no device's fault: then `first`
// itself.
[[noreturn]] void fail_without_devices(const Spread& spread, const std::vector<Share>& shares,
                                       const std::exception_ptr& first, const std::string& more = "");

}  // namespace tessera
