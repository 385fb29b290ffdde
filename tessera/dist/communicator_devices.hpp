// SPDX-License-Identifier: Apache-2.0
// Broadcasts and exchanges between the memories of devices, one of each rank: by a library that knows the
// links between them, or through the hosts' memory. All else is left to a communicator of hosts.
#pragma once
#include <exception>
#include "tessera/core/device.hpp"
#include "tessera/core/variant.hpp"
#include "tessera/dist/communicator.hpp"

namespace tessera::dist {

class DeviceCommunicator : public Communicator {
 public:
  explicit DeviceCommunicator(Communicator& hosts) : hosts_(hosts) {}

  int rank() const override { return hosts_.rank(); }
  int size() const override { return hosts_.size(); }
  std::string host() const override { return hosts_.host(); }
  HostPlace on_host() override { return hosts_.on_host(); }
  bool any_thread() const override { return false; }
  std::unique_ptr<Communicator> split(int colour) override { return hosts_.split(colour); }
  std::unique_ptr<Pending> start_largest(std::int64_t& value) override { return hosts_.start_largest(value); }
  std::vector<std::string> gather(const std::string& bytes) override { return hosts_.gather(bytes); }
  [[noreturn]] void abort(int exit_code) noexcept override {
    hosts_.abort(exit_code);
    std::terminate();
  }

 protected:
  Communicator& hosts_;
};

// Copies to the host, broadcasts, copies to the device. `run`: device and stream of the copies, which stay.
class StagedCommunicator : public DeviceCommunicator {
 public:
  StagedCommunicator(Communicator& hosts, Backend& backend, const Run& run)
      : DeviceCommunicator(hosts), backend_(backend), run_(run) {}

  std::string name() const override { return hosts_.name() + " through the hosts' memory"; }
  std::unique_ptr<Pending> start_broadcast(void* data, std::size_t bytes, int root) override;
  std::unique_ptr<Pending> start_exchange(const std::vector<Message>& messages) override;

 private:
  Backend& backend_;
  const Run& run_;
};

// What joins devices of one kind directly; it registers itself where the build has it.
struct DeviceLink {
  std::function<Reason()> unusable;
  // All of `hosts` call it; `run`: device and stream of the broadcasts, which stay.
  std::function<std::unique_ptr<Communicator>(Communicator& hosts, const Run& run)> join;
};
void register_link(Where where, DeviceLink link);

// For groups of ranks, all of whom call it with the same groups: links where every rank of `all` has one, and
// a device of its own, else staged copies. Null entries for devices that share the hosts' memory.
std::vector<std::unique_ptr<Communicator>> join_devices(Communicator& all,
                                                        const std::vector<Communicator*>& groups,
                                                        const Run& run);

}  // namespace tessera::dist
