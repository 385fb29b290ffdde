// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/child.hpp"
#include <gtest/gtest.h>
#include <cstdlib>
#include <string>
#include "tessera/core/error.hpp"

namespace tessera {
namespace {

TEST(Child, WorksOnSharedMemoryInAnEnvironmentOfItsOwn) {
  Child child(
      sizeof(int), [] { setenv("TESSERA_CHILD_TEST", "3", 1); },
      [](const void* request, void* bytes) {
        auto* values = static_cast<double*>(bytes);
        const int count = *static_cast<const int*>(request);
        for (int i = 0; i < count; ++i) values[i] *= std::atof(getenv("TESSERA_CHILD_TEST"));
        return 0.25;
      });
  for (const int count : {10, 100000, 10}) {
    auto* values = static_cast<double*>(child.memory(sizeof(double) * static_cast<std::size_t>(count)));
    for (int i = 0; i < count; ++i) values[i] = i;
    EXPECT_EQ(child.call(count), 0.25);
    for (int i = 0; i < count; ++i) ASSERT_EQ(values[i], 3.0 * i);
  }
  EXPECT_EQ(getenv("TESSERA_CHILD_TEST"), nullptr);
}

std::string failure_of(Child& child, int request) {
  try {
    child.call(request);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(Child, SaysWhatWentWrongAndGoesOn) {
  Child child(
      sizeof(int), [] {},
      [](const void* request, void*) -> double {
        if (*static_cast<const int*>(request) < 0) throw Error("negative");
        return 1;
      });
  EXPECT_EQ(failure_of(child, -1), "negative");
  EXPECT_EQ(failure_of(child, 1), "none");
}

TEST(Child, ItsDeathIsAnError) {
  Child child(
      sizeof(int), [] {}, [](const void*, void*) -> double { _Exit(1); });
  EXPECT_EQ(failure_of(child, 1), "the child process has died");
  EXPECT_EQ(failure_of(child, 1), "the child process has died");
}

}  // namespace
}  // namespace tessera
