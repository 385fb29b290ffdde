// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/device/device.hpp"
#include <sched.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <numeric>
#include <charconv>
#include "tessera/core/text/error.hpp"

namespace tessera {
namespace {

std::vector<std::unique_ptr<Backend>>& backends() {
  static std::vector<std::unique_ptr<Backend>> all;
  return all;
}

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name"))
      if (const auto colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "unknown processor";
}

class CpuBackend final : public HostBackend {
 public:
  std::string unavailable_reason(const Device&) override {
    return "a processor's clock and power are not read";
  }
  Where where() const override { return Where::cpu; }
  const std::vector<Device>& devices() override { return devices_; }

 private:
  std::vector<Device> devices_{host_device(Where::cpu)};
};

const Backend& cpu = register_backend(std::make_unique<CpuBackend>());

}  // namespace

std::string_view name_of(Where where) {
  constexpr std::string_view names[] = {"cpu", "simt", "cuda"};
  return names[static_cast<std::size_t>(where)];
}

std::optional<Where> parse_where(std::string_view name) {
  if (name == "gpu") return Where::cuda;
  for (const Where where : {Where::cpu, Where::simt, Where::cuda})
    if (name_of(where) == name) return where;
  return std::nullopt;
}

std::string Device::label() const {
  std::string out(name_of(where));
  if (where == Where::cuda) out += ":" + std::to_string(index);
  if (const auto part = part_of(*this))
    out += ":sms=" + std::to_string(part->first) + "-" + std::to_string(part->first + part->count - 1);
  return out;
}

Backend& register_backend(std::unique_ptr<Backend> backend) {
  return *backends().emplace_back(std::move(backend));
}

Backend* find_backend(Where where) {
  const auto found = std::find_if(backends().rbegin(), backends().rend(),
                                  [where](const auto& backend) { return backend->where() == where; });
  return found == backends().rend() ? nullptr : found->get();
}

Backend& backend_of(const Device& device) {
  if (Backend* backend = find_backend(device.where)) return *backend;
  throw Error(Error::Kind::no_device, "this build cannot use " + device.label());
}

int host_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

Device host_device(Where where) {
  Device device;
  device.where = where;
  device.name = where == Where::simt ? "SIMT executor on " + processor_name() : processor_name();
  device.threads = device.multiprocessors = host_threads();
  device.memory_bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  device.cache_bytes = std::max(0L, sysconf(_SC_LEVEL3_CACHE_SIZE));
  // The largest shared memory of a block on today's GPUs, so that the executor runs every rung.
  if (where == Where::simt) device.max_shared_bytes = 227 * 1024;
  return device;
}

void HostBackend::copy(const Run&, void* to, const void* from, std::size_t bytes) {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

void HostBackend::fill(const Run&, void* to, unsigned char byte, std::size_t bytes) {
  if (bytes != 0) std::memset(to, byte, bytes);
}

// Reads memory twice the size of the last-level cache, at most 512 MiB.
void HostBackend::flush_caches(const Run& run) {
  constexpr std::int64_t most = std::int64_t{512} << 20;
  static std::vector<std::int64_t> sweep(
      static_cast<std::size_t>(std::min(most, 2 * std::max(run.device->cache_bytes, most / 16)) / 8), 1);
  volatile std::int64_t sum = std::accumulate(sweep.begin(), sweep.end(), std::int64_t{0});
  (void)sum;
}

double HostBackend::seconds(const Run&, const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string driver_text(const Driver& driver) {
  constexpr const char* start = "driver ";
  if (driver.version.empty() || !driver.cuda.starts_with(start)) return driver.cuda;
  return start + driver.version + " " + driver.cuda.substr(std::string(start).size());
}

Driver driver_of(const std::string& text) {
  const std::string start = "driver ";
  const auto end = text.find(" for CUDA");
  if (!text.starts_with(start) || end == std::string::npos || end < start.size()) return {text, {}};
  return {start + text.substr(end + 1), text.substr(start.size(), end - start.size())};
}

namespace {

constexpr std::string_view part_begin = ", multiprocessors ", part_total = " of ";

std::map<Where, RefusesPart>& registered() {
  static std::map<Where, RefusesPart> all;
  return all;
}

// Parses a number and then `sign` from the front of the text.
bool take(std::string_view& text, int& number, std::string_view sign) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.starts_with(sign)) return false;
  text.remove_prefix(sign.size());
  return true;
}

}  // namespace

std::optional<Part> part_of(const Device& device) {
  const auto at = device.name.rfind(part_begin);
  if (device.where != Where::cuda || at == std::string::npos) return std::nullopt;
  std::string_view text = std::string_view(device.name).substr(at + part_begin.size());
  Part out;
  int last = 0;
  if (!take(text, out.first, "-") || !take(text, last, part_total) || !take(text, out.all, "") ||
      !text.empty())
    return std::nullopt;
  out.count = last - out.first + 1;
  return out;
}

Device as_part(Device gpu, int first, int count) {
  const int all = gpu.multiprocessors, last = first + count - 1;
  if (first < 0 || count < 1 || last >= all)
    throw Error("the multiprocessors " + std::to_string(first) + "-" + std::to_string(last) + " of " +
                gpu.label() + ": it has " + std::to_string(all));
  gpu.name += std::string(part_begin) + std::to_string(first) + "-" + std::to_string(last) +
              std::string(part_total) + std::to_string(all);
  gpu.multiprocessors = count;
  return gpu;
}

void register_parts(Where where, RefusesPart refuses) { registered()[where] = std::move(refuses); }

void check_part(const Device& device) {
  if (!part_of(device)) return;
  const auto found = registered().find(device.where);
  const std::string reason =
      found == registered().end() ? "its multiprocessors cannot be divided" : found->second(device);
  if (!reason.empty()) throw Error(Error::Kind::no_device, device.label() + " cannot be used: " + reason);
}

}  // namespace tessera
