// SPDX-License-Identifier: Apache-2.0
// Enlists the executor: a device whose memory is the host's.
#include "tessera/core/device.hpp"

namespace tessera::simt {
namespace {

class SimtBackend final : public HostBackend {
 public:
  Where where() const override { return Where::simt; }
  const std::vector<Device>& devices() override { return devices_; }

 private:
  std::vector<Device> devices_{host_device(Where::simt)};
};

const Backend& backend = register_backend(std::make_unique<SimtBackend>());

}  // namespace
}  // namespace tessera::simt
