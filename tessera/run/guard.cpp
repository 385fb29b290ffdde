// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/guard.hpp"
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>
#include "tessera/core/device/parallel.hpp"

namespace tessera {
namespace {

constexpr unsigned char known = 0xff;

std::int64_t changed(const unsigned char* zone, std::size_t bytes) {
  return static_cast<std::int64_t>(bytes) - std::count(zone, zone + bytes, known);
}

std::string overlap_text(const std::string& name, std::int64_t count, std::int64_t distance,
                         const char* where) {
  return "a write outside " + name + ": " + std::to_string(count) + " bytes, from " +
         std::to_string(distance) + " bytes " + where;
}

Reason check_guards_of(const std::string& name, const unsigned char* before, const unsigned char* behind,
                       std::size_t bytes) {
  if (const auto count = changed(behind, bytes); count != 0) {
    const auto* first = std::find_if(behind, behind + bytes, [](unsigned char c) { return c != known; });
    return overlap_text(name, count, first - behind, "behind its end");
  }
  if (const auto count = changed(before, bytes); count != 0) {
    const auto* first = std::find_if(before, before + bytes, [](unsigned char c) { return c != known; });
    return overlap_text(name, count, before + bytes - first, "before its start");
  }
  return std::nullopt;
}

constexpr std::uint64_t odd = 0x9e3779b97f4a7c15u;

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

// Hashes with four independent sums, for instruction-level parallelism.
std::uint64_t hash(const unsigned char* bytes, std::size_t count) {
  std::uint64_t sums[4] = {1, 2, 3, 4};
  std::size_t at = 0;
  for (; at + 32 <= count; at += 32)
    for (std::size_t lane = 0; lane < 4; ++lane) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + at + 8 * lane, 8);
      sums[lane] = (sums[lane] ^ word) * odd;
      sums[lane] ^= sums[lane] >> 29;
    }
  std::uint64_t out = count;
  for (const std::uint64_t sum : sums) out = mixed(out * odd ^ sum);
  for (; at < count; ++at) out = mixed(out * odd ^ bytes[at]);
  return out;
}

}  // namespace

Guarded::Guarded(Element element, Extents extents, Memory& memory, std::size_t zone_bytes)
    : zone_bytes_(zone_bytes), bytes_(static_cast<std::size_t>(count_of(extents)) * size_of(element)) {
  if (zone_bytes_ == 0) {
    array_ = Array(element, std::move(extents), memory);
    return;
  }
  auto block = std::make_shared<Array>(Element::u8,
                                       Extents{static_cast<std::int64_t>(bytes_ + 2 * zone_bytes_)}, memory);
  Extents strides = row_major_strides(extents);
  array_ = Array({block->as<unsigned char>() + zone_bytes_, element, std::move(extents), std::move(strides)},
                 block);
}

unsigned char* Guarded::before() const { return static_cast<unsigned char*>(view().data) - zone_bytes_; }
unsigned char* Guarded::behind() const { return static_cast<unsigned char*>(view().data) + bytes_; }

void Guarded::arm() {
  if (zone_bytes_ == 0) return;
  std::fill_n(before(), zone_bytes_, known);
  std::fill_n(behind(), zone_bytes_, known);
}

Reason Guarded::check_guards(const std::string& name) const {
  return zone_bytes_ == 0 ? std::nullopt : check_guards_of(name, before(), behind(), zone_bytes_);
}

void Guarded::arm(Backend& backend, const Run& run) {
  if (zone_bytes_ == 0) return;
  backend.fill(run, before(), known, zone_bytes_);
  backend.fill(run, behind(), known, zone_bytes_);
}

Reason Guarded::check_guards(const std::string& name, Backend& backend, const Run& run) const {
  if (zone_bytes_ == 0) return std::nullopt;
  std::vector<unsigned char> zones(2 * zone_bytes_);
  backend.copy(run, zones.data(), before(), zone_bytes_);
  backend.copy(run, zones.data() + zone_bytes_, behind(), zone_bytes_);
  backend.synchronize(run);
  return check_guards_of(name, zones.data(), zones.data() + zone_bytes_, zone_bytes_);
}

std::uint64_t fingerprint(const void* bytes, std::size_t count) {
  constexpr std::size_t chunk = std::size_t{1} << 20;
  const auto* const from = static_cast<const unsigned char*>(bytes);
  std::vector<std::uint64_t> parts((count + chunk - 1) / chunk);
  const int threads = parts.size() < 2 ? 1 : host_threads();
  parallel(threads, [&](int thread) {
    for (auto i = static_cast<std::size_t>(thread); i < parts.size(); i += static_cast<std::size_t>(threads))
      parts[i] = hash(from + i * chunk, std::min(chunk, count - i * chunk));
  });
  return std::accumulate(parts.begin(), parts.end(), std::uint64_t{count},
                         [](std::uint64_t sum, std::uint64_t part) { return mixed(sum * odd ^ part); });
}

}  // namespace tessera
