// SPDX-License-Identifier: Apache-2.0
// A program whose processors count as devices that copy and compute at a time: what needs several GPUs can be
// asked for where there is none.
#include <atomic>
#include "tests/made_up_streams.hpp"

namespace tessera::made_up {
namespace {

class Maker final : public StreamFactory {
 public:
  std::unique_ptr<Streams> open(const Device& device) override {
    return std::make_unique<MadeUpStreams>(device, seed_++);
  }
  std::shared_ptr<void> pin(void*, std::size_t) override { return nullptr; }

 private:
  std::atomic<unsigned> seed_{0};
};

[[maybe_unused]] const bool registered = (register_streams(Where::cpu, std::make_unique<Maker>()), true);

}  // namespace
}  // namespace tessera::made_up
