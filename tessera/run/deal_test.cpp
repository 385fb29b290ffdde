// SPDX-License-Identifier: Apache-2.0
// Whole calls dealt out to devices: each is made once, and what a lost device held is made by another.
#include "tessera/run/deal.hpp"
#include <gtest/gtest.h>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include "tessera/run/losses.hpp"

namespace tessera {
namespace {

Spread of_two(const char* split = "dynamic") {
  return {.devices = {find_device("cpu:threads=1"), find_device("cpu:threads=1")},
          .request = {.cached = false},
          .split = parse_split(split)};
}

// What a call on one device tells.
Together of_one(const Spread& on) {
  Together out;
  out.shares.push_back({.plan = {}, .tiles = 1, .begun = 1, .lost = {}});
  out.shares.back().plan.device = on.devices.at(0);
  return out;
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
                          return of_one(on);
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
                           return of_one(on);
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
                     return of_one(on);
                   }});
  EXPECT_EQ(faults, std::vector<std::size_t>{4});  // the second of 3, 4, 5
}

TEST(Deal, WhatCouldNotBeReadIsNoPartOfItsDevice) {
  Spread spread = of_two("1:1");
  spread.faults = parse_faults("kill:1@1,kill:0@4");
  std::mutex mutex;
  std::vector<std::size_t> faults;
  const auto deal = [&](const std::set<std::size_t>& unreadable) {
    faults.clear();
    return run_dealt(spread,
                     {.work = std::vector<double>(6, 1), .make = [&](std::size_t call, const Spread& on) {
                        if (unreadable.contains(call)) return Together{};
                        const std::lock_guard lock(mutex);
                        for (std::size_t i = 0; i < on.faults.size(); ++i) faults.push_back(call);
                        return of_one(on);
                      }});
  };
  // The second of 3, 4, 5 is the first that the device has; the other one has no fourth.
  Together together = deal({3});
  EXPECT_EQ(faults, std::vector<std::size_t>{4});
  EXPECT_EQ(together.shares[1].tiles, 2u);
  EXPECT_EQ(faults_left(spread, together),
            std::vector<std::string>{"fault kill:0@4 did not happen: device 0 had 3 parts"});
  together = deal({3, 4, 5});
  EXPECT_TRUE(faults.empty());
  EXPECT_EQ(together.shares[1].tiles, 0u);
  EXPECT_EQ(faults_left(spread, together).front(), "fault kill:1@1 did not happen: device 1 had 0 parts");
}

TEST(Deal, WithoutAnyDeviceLeftEachIsNamed) {
  const Deal lost{.work = {1, 1}, .make = [](std::size_t, const Spread& on) -> Together {
                    throw NoDeviceLeft(Error::Kind::no_device,
                                       "no device is left: " + on.devices[0].label() + ": no power",
                                       {"no power"});
                  }};
  try {
    (void)run_dealt(of_two("1:1"), lost);
    FAIL();
  } catch (const NoDeviceLeft& error) {
    EXPECT_EQ(error.kind(), Error::Kind::no_device);
    EXPECT_STREQ(error.what(), "no device is left: cpu (device 0): no power; cpu (device 1): no power");
  }
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
