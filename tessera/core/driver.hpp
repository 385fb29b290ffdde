// SPDX-License-Identifier: Apache-2.0
// What Device::driver says of a GPU's driver, in its parts: the driver's own version came into it later.
#pragma once
#include <string>

namespace tessera {

struct Driver {
  std::string cuda, version;  // "driver for CUDA 13.0, runtime 13.0", "580.1"; "": it is not told
};

inline std::string driver_text(const Driver& driver) {
  constexpr const char* start = "driver ";
  if (driver.version.empty() || !driver.cuda.starts_with(start)) return driver.cuda;
  return start + driver.version + " " + driver.cuda.substr(std::string(start).size());
}

inline Driver driver_of(const std::string& text) {
  const std::string start = "driver ";
  const auto end = text.find(" for CUDA");
  if (!text.starts_with(start) || end == std::string::npos || end < start.size()) return {text, {}};
  return {start + text.substr(end + 1), text.substr(start.size(), end - start.size())};
}

}  // namespace tessera
