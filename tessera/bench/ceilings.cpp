// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/ceilings.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <vector>
#include "tessera/bench/machine.hpp"
#include "tessera/core/device/streams.hpp"
#include "tessera/io/cache.hpp"

namespace tessera::bench {
namespace {

// Each file has the date, and a line for each rate.
const CacheFolder folder{"ceilings"};

// Returns the properties that the ceilings depend on.
std::string key_of(const Device& device) {
  return fmt::format("3|{}|{}|{} threads|{} processors|{}", name_of(device.where), device.name,
                     device.threads, device.multiprocessors, device.driver);
}

Ceilings of_the_processors(const Device& device) {
  constexpr int fewest = 8, most = 32;
  Ceilings out;
  out.bytes_per_second = copy_bytes_per_second(device);
  for (const Element element : {Element::f32, Element::f64, Element::i32})
    out.flops_per_second[element] =
        best_of(fewest, most, [&] { return fma_flops_per_second(element, device.threads); });
  return out;
}

}  // namespace

double best_of(int fewest, int most, const std::function<double()>& rate) {
  constexpr double better = 1.005;
  double best = 0;
  for (int made = 0, stood = 0; made < most && stood < fewest; ++made) {
    const double now = rate();
    stood = now > better * best ? 0 : stood + 1;
    best = std::max(best, now);
  }
  return best;
}

MeasuredCeilings measure_ceilings(const Device& device) {
  return {
      device.where == Where::cpu ? of_the_processors(device) : backend_of(device).measure_ceilings(device),
      now_utc()};
}

MeasuredCeilings better_of(const MeasuredCeilings& known, const MeasuredCeilings& now) {
  MeasuredCeilings out = now;
  if (const auto before = known.rates.bytes_per_second)
    out.rates.bytes_per_second = std::max(*before, out.rates.bytes_per_second.value_or(0));
  for (const auto& [element, rate] : known.rates.flops_per_second) {
    double& best = out.rates.flops_per_second[element];
    best = std::max(best, rate);
  }
  return out;
}

std::optional<MeasuredCeilings> known_ceilings(const Device& device) {
  const auto text = find_cached(folder, key_of(device));
  if (!text) return std::nullopt;
  std::istringstream in(*text);
  MeasuredCeilings out;
  std::getline(in, out.date);
  std::string name;
  for (double rate = 0; in >> name >> rate;) {
    if (name == "copy") out.rates.bytes_per_second = rate;
    else if (const auto element = parse_element(name)) out.rates.flops_per_second[*element] = rate;
  }
  return out;
}

std::string remember(const Device& device, const MeasuredCeilings& ceilings) {
  std::string text = ceilings.date + "\n";
  if (ceilings.rates.bytes_per_second) text += fmt::format("copy {}\n", *ceilings.rates.bytes_per_second);
  for (const auto& [element, rate] : ceilings.rates.flops_per_second)
    text += fmt::format("{} {}\n", name_of(element), rate);
  return store_cached(folder, key_of(device), text);
}

Ceilings ceilings_of(const Device& device) {
  static std::mutex mutex;
  static std::map<std::string, Ceilings> used;  // ceilings that this process has used
  const std::lock_guard lock(mutex);
  const auto [at, fresh] = used.emplace(key_of(device), Ceilings{});
  if (!fresh) return at->second;
  if (const auto known = known_ceilings(device)) return at->second = known->rates;
  const MeasuredCeilings measured = measure_ceilings(device);
  // If the cache cannot be written, the next command measures again.
  if (!measured.empty()) (void)remember(device, measured);
  return at->second = measured.rates;
}

namespace {

const CacheFolder link_folder{"links"};

std::string key_of(std::span<const Device> devices) {
  std::string out = "3";
  for (const Device& device : devices) out += "|" + device.label() + "|" + key_of(device);
  return out;
}

// A device's streams, and memory to copy from and to.
struct End {
  static constexpr std::size_t bytes = std::size_t{256} << 20;
  std::unique_ptr<Streams> streams;
  std::shared_ptr<void> host_in = streams->pinned(bytes), host_out = streams->pinned(bytes);
  void* in = streams->allocate(bytes);
  void* out = streams->allocate(bytes);

  explicit End(std::unique_ptr<Streams> opened) : streams(std::move(opened)) {}
  ~End() {
    streams->free(in);
    streams->free(out);
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  void copy(StreamKind kind, void* to, void* from) const {
    streams->copy(kind, {to, bytes}, {from, bytes}, {1, bytes});
  }
};

// Returns the best rate of some copies of End::bytes each, made at once by `enqueue`.
double rate_of(const std::vector<std::unique_ptr<End>>& ends, std::size_t copies,
               const std::function<void()>& enqueue) {
  return best_of(3, 8, [&] {
    const auto start = std::chrono::steady_clock::now();
    enqueue();
    for (const auto& end : ends) end->streams->synchronize();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return static_cast<double>(copies * End::bytes) / took.count();
  });
}

}  // namespace

std::optional<LinkRates> measure_links(std::span<const Device> devices) {
  std::vector<std::unique_ptr<End>> ends;
  for (const Device& device : devices) {
    StreamFactory* const factory = find_streams(device.where);
    if (factory == nullptr) return std::nullopt;
    ends.push_back(std::make_unique<End>(factory->open(device)));
  }
  if (ends.empty()) return std::nullopt;
  const End& first = *ends.front();
  const auto in = [](const End& end) { end.copy(StreamKind::in, end.in, end.host_in.get()); };
  const auto out = [](const End& end) { end.copy(StreamKind::out, end.host_out.get(), end.out); };
  const auto all = [&](const auto& copy) {
    for (const auto& end : ends) copy(*end);
  };
  LinkRates rates{.to_device = rate_of(ends, 1, [&] { in(first); }),
                  .from_device = rate_of(ends, 1, [&] { out(first); })};
  // Panels of columns, as of B.
  constexpr std::size_t row = 8 << 10, panels = 8;
  rates.short_rows = rate_of(ends, 1, [&] {
    for (std::size_t panel = 0; panel < panels; ++panel)
      first.streams->copy(StreamKind::in, {first.in, row},
                          {static_cast<char*>(first.host_in.get()) + panel * row, panels * row},
                          {End::bytes / (panels * row), row});
  });
  rates.host =
      std::max({rate_of(ends, ends.size(), [&] { all(in); }), rate_of(ends, ends.size(), [&] { all(out); }),
                rate_of(ends, 2 * ends.size(), [&] { all(in), all(out); })});
  if (const End& second = *ends.back(); ends.size() > 1 && first.streams->reaches(*second.streams))
    rates.between = rate_of(ends, 1, [&] { first.copy(StreamKind::peer, first.in, second.out); });
  if (rates.between < rates.to_device) rates.between = 0;
  return rates;
}

std::optional<LinkRates> known_links(std::span<const Device> devices) {
  const auto text = find_cached(link_folder, key_of(devices));
  if (!text) return std::nullopt;
  std::istringstream in(*text);
  LinkRates out;
  in >> out.to_device >> out.from_device >> out.short_rows >> out.host >> out.between;
  return in && out.host > 0 ? std::optional(out) : std::nullopt;
}

std::string remember(std::span<const Device> devices, const LinkRates& rates) {
  return store_cached(link_folder, key_of(devices),
                      fmt::format("{} {} {} {} {}\n", rates.to_device, rates.from_device, rates.short_rows,
                                  rates.host, rates.between));
}

}  // namespace tessera::bench
