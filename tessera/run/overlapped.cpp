// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/overlapped.hpp"
#include <algorithm>
#include <chrono>
#include "tessera/dist/fitting.hpp"
#include "tessera/dist/split.hpp"
#include "tessera/run/usable_memory.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

// What the trial cannot tell. A peer's link is only weighed against the host's, which is several times
// slower.
constexpr double presumed_flops = 1e12, presumed_link = 1e10, presumed_peer = 2e11, step_seconds = 1e-5,
                 presumed_sums = 2e12;

// Of what a link carries in the trial, the part that a plan counts on: beside computing that goes on, and
// copies the other way, it is less.
constexpr double loaded_part = 0.9;

// Whatever is thrown for one device is that device's failure.
template <class Work>
auto of_device(std::size_t device, const Work& work) {
  try {
    return work();
  } catch (const LostDevice& lost) {  // numbered among those that were at work, which is this one alone
    throw LostDevice{device, lost.cause};
  } catch (...) {
    throw LostDevice{device, std::current_exception()};
  }
}

// A few steps of tiles with that side, or as large as fits.
dist::Manner trial_manner(const Division& division, const Arguments& host, std::int64_t memory,
                          std::int64_t side) {
  constexpr std::int64_t least = 64, usual_panel = 1024;
  dist::Manner out{side, usual_panel, 0};
  while (memory > 0 && least_bytes(division, host, out) > memory && out.tile > least) {
    out.tile /= 2;
    out.panel = std::max(least, out.panel / 2);
  }
  return out;
}

// Three steps of the first tile are enough: the first time they load code, the second time they tell.
dist::Plan trial_plan(const Division& division, const Arguments& host, const dist::Device& device,
                      const dist::Manner& manner) {
  const std::vector<Interval> rows{{0, std::min(division.rows, manner.tile)}};
  dist::Plan out = dist::make_plan(division, host, {device}, rows, manner);
  constexpr std::size_t most_steps = 3;
  auto& steps = out.parts[0].steps;
  steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(std::min(most_steps, steps.size())), steps.end());
  for (dist::Step& step : steps) step.ends = false;  // nothing leaves
  return out;
}

}  // namespace

std::optional<std::string> Overlapped::refuses(const Operation& operation, const Arguments& host,
                                               const Division& division, const Spread& spread) {
  if (spread.whole || division.depth == 0) return "its tiles are no sums";
  if (spread.in_workers()) return "devices are in processes of their own";
  if (!spread.checkpoint.empty() || spread.before_tile || spread.stopped) return "parts are done one by one";
  if (spread.split.how == Split::How::dynamic) return "a queue was asked for";
  for (const Device& device : spread.devices)
    if (find_lanes(device.where) == nullptr) return device.label() + " does one thing after another";
  if (!operation.signature.of(Parameter::Kind::value).empty()) return "it gives numbers back";
  if (auto reason = dist::cannot_lay_out(host)) return reason;
  for (const Device& device : spread.devices)
    if (choose_on(device, operation, host, spread.request).variant->baseline)
      return "a baseline may wait for the device";
  return std::nullopt;
}

Overlapped::Overlapped(const Operation& operation, const Arguments& host, const Division& division,
                       const Spread& spread, const Open& open)
    : operation_(&operation), host_(&host), division_(&division), spread_(&spread) {
  const auto start = Clock::now();
  open_lanes(open);
  if (spread.pin) pinned_ = Pinned(host);
  describe_devices();
  for (std::size_t d = 0; d < devices_.size(); ++d) try_out(d);
  share_links();
  dist::even_out(devices_);
  make_engine();
  start_seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
}

void Overlapped::open_lanes(const Open& open) {
  for (std::size_t d = 0; d < spread_->devices.size(); ++d)
    lanes_.push_back(of_device(d, [&] {
      const Device& device = spread_->devices[d];
      return open ? open(device) : find_lanes(device.where)->open(device);
    }));
}

std::vector<Lanes*> Overlapped::lanes() const {
  std::vector<Lanes*> out;
  for (const auto& one : lanes_) out.push_back(one.get());
  return out;
}

void Overlapped::describe_devices() {
  for (std::size_t d = 0; d < lanes_.size(); ++d) {
    const Device& device = lanes_[d]->device();
    dist::Device about{.name = device.label(),
                       .kind = device.name,
                       .flops_per_second = presumed_flops,
                       .step_seconds = step_seconds,
                       .sum_bytes_per_second = presumed_sums,
                       .bytes_in_per_second = presumed_link,
                       .bytes_out_per_second = presumed_link,
                       .memory_bytes = of_device(d, [&] {
                         return usable_memory(device, spread_->devices, spread_->memory_bytes);
                       })};
    for (std::size_t other = 0; other < lanes_.size(); ++other)
      if (other != d && of_device(d, [&] { return lanes_[d]->sees(*lanes_[other]); })) {
        about.peers.push_back(other);
        about.peer_bytes_per_second = presumed_peer;
      }
    devices_.push_back(std::move(about));
  }
}

void Overlapped::try_out(std::size_t d) {
  constexpr std::int64_t sides[] = {1024, 2048, 4096};
  const std::int64_t extent = std::max(division_->rows, division_->cols);
  for (const std::int64_t side : sides)
    if (side == sides[0] || side < 2 * extent) try_out(d, side);
  dist::Device& device = devices_[d];
  for (const auto& [elements, flops] : device.flops_of_tiles)
    device.flops_per_second =
        elements == device.flops_of_tiles.begin()->first ? flops : std::max(device.flops_per_second, flops);
  describe_link(d);
}

// Each was tried alone; what is named twice, whole or in parts, has one link for all.
void Overlapped::share_links() {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const Device& device = lanes_[d]->device();
    const auto sharing = static_cast<double>(std::ranges::count_if(spread_->devices, [&](const Device& one) {
      return one.where == device.where && one.index == device.index;
    }));
    devices_[d].bytes_in_per_second /= sharing;
    devices_[d].bytes_out_per_second /= sharing;
  }
}

// The call's first steps in tiles of that side, as the device would do them alone.
void Overlapped::try_out(std::size_t d, std::int64_t side) {
  dist::Device alone = devices_[d];
  alone.peers.clear();
  const dist::Plan plan =
      trial_plan(*division_, *host_, alone, trial_manner(*division_, *host_, alone.memory_bytes, side));
  const auto& steps = plan.parts[0].steps;
  const Engine::Run run = of_device(d, [&] {
    Engine engine({operation_, host_, division_, &plan, &spread_->request}, {lanes_[d].get()});
    (void)engine.run();
    return engine.run();
  });
  std::vector<dist::Piece> pieces;
  for (const dist::Step& step : steps)
    for (const dist::Copy& copy : step.copies) pieces.push_back(plan.pieces[copy.piece]);
  double flops = 0;
  std::size_t step = 0, copy = 0;
  for (const dist::Span& span : run.timeline.spans) {
    const double seconds = std::max(span.last - span.first, 1e-7);  // a device's clock may stand still
    if (span.deed == dist::Deed::compute)
      flops = std::max(flops, division_->flops(steps[step++].tile) / seconds);
    if (span.deed != dist::Deed::copy_in) continue;
    const dist::Piece& piece = pieces[copy++];
    rates_[d][piece.row_bytes].push_back(static_cast<double>(piece.bytes) / seconds);
  }
  if (flops > 0) devices_[d].flops_of_tiles[steps[0].tile.rows.size() * steps[0].tile.cols.size()] = flops;
}

// By the length of what lies together, of all that was copied so the median: some of it was beside computing.
void Overlapped::describe_link(std::size_t d) {
  dist::Device& device = devices_[d];
  double best = 0;
  for (auto& [row_bytes, rates] : rates_[d]) {
    std::ranges::sort(rates);
    device.part_of_link[row_bytes] = rates[rates.size() / 2];
    best = std::max(best, device.part_of_link[row_bytes]);
  }
  if (best == 0) return;
  for (auto& [row_bytes, rate] : device.part_of_link) rate /= best;
  device.bytes_in_per_second = device.bytes_out_per_second = best;
}

dist::Plan Overlapped::plan_within(const std::vector<dist::Device>& devices) const {
  const Split& split = spread_->split;
  if (split.how != Split::How::shares) return dist::make_plan(*division_, *host_, devices);
  if (split.shares.size() != devices.size())
    throw Error(std::to_string(split.shares.size()) + " shares for " + std::to_string(devices.size()) +
                " devices");
  return dist::make_plan(*division_, *host_, devices,
                         dist::split_by_shares(division_->rows, division_->row_granule, split.shares));
}

void Overlapped::make_engine() {
  std::vector<dist::Device> devices = devices_;
  for (dist::Device& device : devices) {
    device.bytes_in_per_second *= loaded_part;
    device.bytes_out_per_second *= loaded_part;
  }
  dist::plan_to_fit(
      std::move(devices), [this](const std::vector<dist::Device>& known) { return plan_within(known); },
      [this](const dist::Plan& plan) {
        engine_.reset();
        plan_ = plan;
        engine_.emplace(EngineCall{operation_, host_, division_, &plan_, &spread_->request}, lanes());
        std::vector<std::int64_t> bytes;
        for (std::size_t d = 0; d < devices_.size(); ++d) bytes.push_back(engine_->bytes(d));
        return bytes;
      });
}

void Overlapped::plan_again() {
  const auto start = Clock::now();
  engine_.reset();
  make_engine();
  start_seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
}

double Overlapped::flops_per_second() const {
  double out = 0;
  for (const dist::Device& device : devices_) out += device.flops_per_second;
  return out;
}

Together Overlapped::run() {
  const Engine::Run done = engine_->run();
  Together out;
  out.started = done.started;
  out.seconds = done.seconds;
  out.timeline = done.timeline;
  out.overlap = Overlap{.start_seconds = start_seconds_,
                        .pinned_bytes = pinned_.bytes(),
                        .bytes_from_host = plan_.bytes_from_host(),
                        .bytes_from_peers = plan_.bytes_from_peers(),
                        .held = plan_.held,
                        .tile = plan_.manner.tile,
                        .panel = plan_.manner.panel};
  for (std::size_t d = 0; d < lanes_.size(); ++d) {
    const Plan* const first = engine_->first_plan(d);
    Share share{.plan = first != nullptr
                            ? *first
                            : choose_on(lanes_[d]->device(), *operation_, *host_, spread_->request),
                .lost = {}};
    for (const dist::Step& step : plan_.parts[d].steps) share.tiles += step.ends;
    share.flops = plan_.flops(*division_, d);
    share.busy_seconds = out.timeline.busy(d, dist::Deed::compute);
    share.end_seconds = out.timeline.end(d);
    out.overlap->memory_bytes.push_back(engine_->bytes(d));
    out.overlap->flops_per_second.push_back(devices_[d].flops_per_second);
    out.overlap->bytes_in_per_second.push_back(devices_[d].bytes_in_per_second);
    out.shares.push_back(std::move(share));
  }
  return out;
}

}  // namespace tessera
