// SPDX-License-Identifier: Apache-2.0
// Whole calls dealt out to devices: each is made once, and what a lost device held is made by another.
#include "tessera/run/deal.hpp"
#include <gtest/gtest.h>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

namespace tessera {
namespace {

Spread of_two(const char* split = "dynamic") {
  return {.devices = {find_device("cpu:threads=1"), find_device("cpu:threads=1")},
          .request = {.cached = false},
          .split = parse_split(split)};
}

TEST(Deal, EachCallIsMadeOnceOnOneDevice) {
  for (const char* split : {"dynamic", "auto", "3:1", "0:1"}) {
    std::mutex mutex;
    std::multiset<std::size_t> made;
    const Together together = run_dealt(
        of_two(split), {.work = std::vector<double>(20, 1), .make = [&](std::size_t call, const Spread& on) {
                          EXPECT_EQ(on.devices.size(), 1u);
                          EXPECT_TRUE(on.whole);
                          const std::lock_guard lock(mutex);
                          made.insert(call);
                          return Together{};
                        }});
    EXPECT_TRUE(together.complete);
    EXPECT_EQ(made.size(), 20u);
    EXPECT_EQ(std::set(made.begin(), made.end()).size(), 20u);
    EXPECT_EQ(together.shares[0].tiles + together.shares[1].tiles, 20u);
    if (split[1] == ':') {
      EXPECT_EQ(together.shares[0].tiles, split[0] == '3' ? 15u : 0u);
    }
  }
}

TEST(Deal, AFailedDevicesCallIsMadeByAnother) {
  std::atomic<bool> failed = false;
  std::atomic<int> made = 0;
  const Device first = find_device("cpu:threads=1"), second = find_device("simt:threads=1");
  Spread spread = of_two("1:1");
  spread.devices = {first, second};
  const Together together =
      run_dealt(spread, {.work = std::vector<double>(6, 1), .make = [&](std::size_t, const Spread& on) {
                           if (on.devices[0].where == Where::simt) {
                             failed = true;
                             throw Error(Error::Kind::no_device, "it fell off the bus");
                           }
                           while (!failed) std::this_thread::yield();
                           ++made;
                           return Together{};
                         }});
  EXPECT_EQ(together.shares[1].lost, "it fell off the bus");
  EXPECT_EQ(together.shares[0].tiles, 6u);
  EXPECT_EQ(made, 6);
}

TEST(Deal, AFaultsPartIsACall) {
  Spread spread = of_two("1:1");
  spread.faults = parse_faults("kill:1@2");
  std::mutex mutex;
  std::vector<std::size_t> faults;
  (void)run_dealt(spread,
                  {.work = std::vector<double>(6, 1), .make = [&](std::size_t call, const Spread& on) {
                     const std::lock_guard lock(mutex);
                     for (const Fault& fault : on.faults) {
                       EXPECT_EQ(fault.device, 0u);
                       EXPECT_EQ(fault.tile, 1u);
                       faults.push_back(call);
                     }
                     return Together{};
                   }});
  EXPECT_EQ(faults, std::vector<std::size_t>{4});  // the second of 3, 4, 5
}

TEST(Deal, WithoutAnyDeviceLeftItSaysWhy) {
  const Deal broken{.work = {1, 1}, .make = [](std::size_t, const Spread&) -> Together {
                      throw Error(Error::Kind::no_device, "no power");
                    }};
  EXPECT_THROW(run_dealt(of_two(), broken), Error);
  Spread spread = of_two();
  spread.checkpoint = "parts";
  EXPECT_THROW(run_dealt(spread, broken), Error);
  EXPECT_THROW(run_dealt(of_two("1:1:1"), broken), Error);
  EXPECT_TRUE(run_dealt(of_two(), {.work = {}, .make = broken.make}).complete);
}

}  // namespace
}  // namespace tessera
