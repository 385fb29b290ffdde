// SPDX-License-Identifier: Apache-2.0
// Races between blocks that different OS threads ran: each kept a shadow of its own.
#pragma once
#include "tessera/simt/shadow.hpp"
#include "tessera/simt/trace.hpp"

namespace tessera::simt {

struct WorkerShadow {
  std::unique_ptr<Shadow> shadow;
  std::vector<SiteKey> sites;  // by their numbers
};

// Blocks of different shadows that touch the same word, one of them writing.
void find_races_across(std::vector<WorkerShadow>& workers, const Launch& launch, Tracer& tracer);

}  // namespace tessera::simt
