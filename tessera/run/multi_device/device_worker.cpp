// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/multi_device/device_worker.hpp"
#include <chrono>
#include "tessera/run/place.hpp"

namespace tessera {

std::vector<TimelineSpan> LocalWorker::compute(const Tile& tile) {
  using std::chrono::steady_clock;
  const auto start = steady_clock::now();
  const auto now = [start] { return std::chrono::duration<double>(steady_clock::now() - start).count(); };
  const Arguments part = partition_->part(tile);
  Plan plan = plan_;
  if (refuses(plan, part)) plan = choose_on(plan.device, *operation_, part, request_);
  std::vector<TimelineSpan> out;
  const bool copies = !backend_of(plan.device).shares_host_memory();
  double first = 0;
  const auto note = [&](Activity activity) {
    const double last = now();
    if (copies || activity == Activity::compute) out.push_back({0, activity, 0, first, last});
    first = last;
  };
  PlacedCall placed(plan, part);
  placed.upload();
  note(Activity::copy_in);
  (void)placed.launch_and_measure();
  note(Activity::compute);
  placed.fetch();
  note(Activity::copy_out);
  return out;
}

}  // namespace tessera
