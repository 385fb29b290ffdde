// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/multi_device/multi_device.hpp"
#include <algorithm>
#include <charconv>
#include <cstring>
#include "tessera/core/text/suggest.hpp"
#include "tessera/run/multi_device/scheduler.hpp"
#include "tessera/run/overlap.hpp"

namespace tessera {
namespace {

template <class T>
bool read(std::string_view word, T& into) {
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), into);
  return failed == std::errc() && end == word.data() + word.size();
}

void poison_outputs(const Arguments& host) {
  for (const Parameter* p : host.signature().of(Parameter::Kind::output)) {
    const ArrayView& view = host.array(p->name);
    const std::vector<unsigned char> poison(view.row_major() ? 0 : view.bytes(), 0xff);
    if (!view.row_major()) unpack(poison.data(), view);
    else if (view.bytes() != 0) std::memset(view.data, 0xff, view.bytes());
  }
}

MultiDeviceOutcome run_once(const Operation& operation, const Arguments& host,
                            const MultiDeviceOptions& options, DevicePool& pool) {
  const Partition partition = partition_of(operation, host);
  MultiDeviceOutcome out = Scheduler(operation, host, partition, options, pool).run();
  out.flops = partition.flops(partition.whole());
  return out;
}

// Returns the median run; of an even number, the mean time of the middle two, and the rest from the faster
// one.
MultiDeviceOutcome median_of(std::vector<MultiDeviceOutcome> runs) {
  if (runs.size() == 1) return std::move(runs.front());
  std::vector<double> times;
  double start_seconds = 0;
  for (const MultiDeviceOutcome& run : runs) {
    times.push_back(run.seconds);
    start_seconds = std::max(start_seconds, run.start_seconds);
  }
  const std::vector<DeviceReport> last = runs.back().devices;
  std::ranges::sort(runs, {}, &MultiDeviceOutcome::seconds);
  const std::size_t upper = runs.size() / 2, lower = (runs.size() - 1) / 2;
  const double median = (runs[lower].seconds + runs[upper].seconds) / 2;
  MultiDeviceOutcome out = std::move(runs[lower]);
  out.seconds = median;
  out.start_seconds = start_seconds;
  out.times = std::move(times);
  for (std::size_t d = 0; d < last.size(); ++d) {
    out.devices[d].begun = last[d].begun;
    out.devices[d].failed = last[d].failed;
  }
  return out;
}

std::vector<Slice> whole_arrays(const Arguments& host, Parameter::Kind kind) {
  std::vector<Slice> out;
  for (const Parameter* p : host.signature().of(kind)) {
    if (!host.has(p->name)) continue;
    Slice& slice = out.emplace_back(Slice{p->name, {}});
    for (const std::int64_t extent : host.array(p->name).extents) slice.box.push_back({0, extent});
  }
  return out;
}

}  // namespace

Split parse_split(const std::string& word) {
  if (word.empty() || word == "auto" || word == "dynamic") return {};
  Split out{.how = Split::How::shares};
  for (std::size_t first = 0; first <= word.size();) {
    const std::size_t last = std::min(word.find(':', first), word.size());
    double share = 0;
    if (!read(std::string_view(word).substr(first, last - first), share) || !(share >= 0))
      throw Error("--split cannot be '" + word + "'" +
                  suggestion(word, {"auto", "dynamic", "shares as in 2:1"}));
    out.shares.push_back(share);
    first = last + 1;
  }
  return out;
}

std::vector<Fault> parse_faults(const std::string& words) {
  std::vector<Fault> out;
  for (std::size_t first = 0; first < words.size();) {
    const std::size_t last = std::min(words.find(',', first), words.size());
    const std::string_view word = std::string_view(words).substr(first, last - first);
    const std::size_t at = word.find('@');
    Fault fault;
    if (!word.starts_with("kill:") || at == std::string_view::npos ||
        !read(word.substr(5, at - 5), fault.device) || !read(word.substr(at + 1), fault.tile) ||
        fault.tile < 1)
      throw Error("--fault cannot be '" + std::string(word) + "': write kill:DEVICE@PART");
    out.push_back(fault);
    first = last + 1;
  }
  return out;
}

std::vector<std::string> missed_faults(const std::vector<Fault>& faults,
                                       const std::vector<DeviceReport>& devices) {
  std::vector<std::string> out;
  for (const Fault& fault : faults) {
    const std::size_t begun = devices.at(fault.device).begun;
    if (fault.tile <= begun) continue;
    const std::string device = std::to_string(fault.device);
    out.push_back("fault kill:" + device + "@" + std::to_string(fault.tile) + " did not happen: device " +
                  device + " had " + std::to_string(begun) + (begun == 1 ? " part" : " parts"));
  }
  return out;
}

Partition partition_of(const Operation& operation, const Arguments& host) {
  if (const Partitioner* const divide = find_partition(operation.name)) return (*divide)(host);
  Partition out;
  out.rows = 1;
  out.same_bits = [](Where) { return true; };
  const double flops = operation.flops ? operation.flops(host) : 0;
  out.flops = [flops](const Tile&) { return flops; };
  out.reads = [&host](const Tile&) { return whole_arrays(host, Parameter::Kind::input); };
  out.writes = [&host](const Tile&) { return whole_arrays(host, Parameter::Kind::output); };
  out.part = [&host](const Tile&) { return host; };
  return out;
}

MultiDeviceOutcome run_on_devices(const Operation& operation, const Arguments& given,
                                  const MultiDeviceOptions& options, bool check) {
  if (options.devices.empty()) throw Error("no device is named");
  if (!options.whole && find_partition(operation.name) == nullptr)
    throw Error(operation.name + " runs on one device: its result is not computed in parts");
  refuse_overlaps(given);
  check_faults(options);
  std::map<std::string, Array> outputs;
  // Worker processes write into shared memory without a copy.
  const Arguments host = with_outputs(given, outputs, options.in_processes());
  const std::vector<std::shared_ptr<void>> pinned =
      options.pin ? pin(host, options) : std::vector<std::shared_ptr<void>>();
  DevicePool pool(options.devices.size());
  std::vector<MultiDeviceOutcome> runs;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, options.repeat); ++i) {
    if (check) poison_outputs(host);
    runs.push_back(run_once(operation, host, options, pool));
  }
  MultiDeviceOutcome out = median_of(std::move(runs));
  out.outputs = std::move(outputs);
  if (operation.report_values) operation.report_values(host, out.values);
  if (check) out.verdict = verify(operation, host);
  if (out.verdict && !out.verdict->passed) out.same_bits = false;
  return out;
}

}  // namespace tessera
