// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/losses.hpp"
#include <algorithm>

namespace tessera {

std::string reason_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const NoDeviceLeft& error) {
    return error.reasons().size() == 1 ? error.reasons().front() : error.what();
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an unknown failure";
  }
}

void fail_without_devices(const Spread& spread, const std::vector<Share>& shares,
                          const std::exception_ptr& first, const std::string& more) {
  std::string text = "no device is left: ";
  std::vector<std::string> reasons;
  for (std::size_t d = 0; d < shares.size(); ++d) {
    text += (d == 0 ? "" : "; ") + shares[d].plan.device.label() + " (device " +
            std::to_string(spread.place_of(d)) + "): " + shares[d].lost;
    reasons.push_back(shares[d].lost);
  }
  try {
    std::rethrow_exception(first);
  } catch (const Error& error) {
    const bool same =
        std::ranges::all_of(reasons, [&](const std::string& reason) { return reason == reasons.front(); });
    if (error.kind() == Error::Kind::user && same && (reasons.size() > 1 || more.empty())) throw;
    throw NoDeviceLeft(error.kind(), text + more, std::move(reasons));
  }
}

}  // namespace tessera
