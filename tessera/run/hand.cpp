// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/hand.hpp"
#include <chrono>
#include "tessera/run/place.hpp"

namespace tessera {

std::vector<dist::Span> HandHere::compute(const Tile& tile) {
  using std::chrono::steady_clock;
  const auto start = steady_clock::now();
  const auto now = [start] { return std::chrono::duration<double>(steady_clock::now() - start).count(); };
  const Arguments part = division_->part(tile);
  Plan plan = plan_;
  if (refuses(plan, part)) plan = choose_on(plan.device, *operation_, part, request_);
  std::vector<dist::Span> out;
  const bool copies = !backend_of(plan.device).shares_host_memory();
  double first = 0;
  const auto note = [&](dist::Deed deed) {
    const double last = now();
    if (copies || deed == dist::Deed::compute) out.push_back({0, deed, 0, first, last});
    first = last;
  };
  Placed placed(plan, part);
  placed.upload();
  note(dist::Deed::copy_in);
  const double seconds = placed.launch_and_measure();
  if (look_) look_(tile, placed, seconds);
  note(dist::Deed::compute);
  placed.fetch();
  note(dist::Deed::copy_out);
  return out;
}

}  // namespace tessera
