// SPDX-License-Identifier: Apache-2.0
// A worker program whose processors count as devices that copy and compute at the same time.
// TESSERA_WRONG_COPIES: so many of their first results arrive wrong.
#include <atomic>
#include <cstdlib>
#include "tests/made_up_streams.hpp"

namespace tessera::made_up {
namespace {

class Maker final : public StreamFactory {
 public:
  std::unique_ptr<Streams> open(const Device& device) override {
    const char* const wrong = std::getenv("TESSERA_WRONG_COPIES");
    return std::make_unique<MadeUpStreams>(
        device, seed_++, Traits{.wrong_copies = wrong == nullptr ? 0 : std::strtoul(wrong, nullptr, 10)});
  }
  std::shared_ptr<void> pin(void*, std::size_t) override { return nullptr; }

 private:
  std::atomic<unsigned> seed_{0};
};

[[maybe_unused]] const bool registered = (register_streams(Where::cpu, std::make_unique<Maker>()), true);

}  // namespace
}  // namespace tessera::made_up
