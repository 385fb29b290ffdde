// SPDX-License-Identifier: Apache-2.0
// Advice on what to try next. Each piece is a rule over numbers in the files, and shows those numbers.
#pragma once
#include <string>
#include <vector>
#include "tessera/report/document.hpp"

namespace tessera::report {

struct Advice {
  int urgency = 0;  // higher comes first: 100 wrong, 90 unsafe, … 10 worth a look
  std::string title, evidence, action;
};

std::vector<Advice> advice_for(const std::vector<Document>& documents);  // the most urgent first

}  // namespace tessera::report
