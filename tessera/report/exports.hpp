// SPDX-License-Identifier: Apache-2.0
// Measured rows for other programs: lines of comma-separated values, and JUnit test cases.
#pragma once
#include <string>
#include <vector>
#include "tessera/bench/compare.hpp"
#include "tessera/bench/result.hpp"

namespace tessera::report {

// Quoted as RFC 4180 says; what is missing is n/a, never 0.
std::string csv(const bench::Session& session);

// What a continuous integration shows: each measured choice, or compared pair, as a test case.

struct TestCase {
  enum class Outcome { passed, failed, skipped };
  std::string group, name;
  double seconds = 0;
  Outcome outcome = Outcome::passed;
  std::string text = {};  // why it failed or was skipped
};

std::string junit(const std::string& suite, const std::vector<TestCase>& cases);

// A wrong result, or samples that were all throttled, fail; what cannot run here is skipped.
std::vector<TestCase> test_cases(const bench::Session& session);
// Slower and wrong fail; what one side lacks is skipped.
std::vector<TestCase> test_cases(const std::vector<bench::Pair>& pairs);

}  // namespace tessera::report
