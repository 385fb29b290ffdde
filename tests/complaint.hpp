// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <string>
#include "tessera/core/text/error.hpp"

namespace tessera {

// What a caller's mistake is told to be; "none" if nothing is thrown.
template <class Call>
std::string complaint(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::user);
    return error.what();
  }
  return "none";
}

}  // namespace tessera
