// SPDX-License-Identifier: Apache-2.0
#include "tessera/simt/deeds.hpp"
#include "tessera/simt/task.hpp"

namespace tessera::simt {
namespace {

template <class Extent>
Index3 index_of(std::int64_t rank, const Extent& size) {
  return {static_cast<int>(rank % size.x), static_cast<int>(rank / size.x % size.y),
          static_cast<int>(rank / size.x / size.y)};
}

}  // namespace

std::string who(const Launch& launch, std::int64_t block, std::size_t thread) {
  return "thread " + to_string(index_of(static_cast<std::int64_t>(thread), launch.block)) + " of block " +
         to_string(index_of(block, launch.grid));
}

std::string race_with(const Launch& launch, std::int64_t block, std::size_t thread, SiteKey site) {
  return ", and nothing orders it with " + who(launch, block, thread) + ", which" + deed(site);
}

std::string deed(SiteKey site) {
  const char* const verb = site.act() == Act::read    ? " reads "
                           : site.act() == Act::write ? " writes "
                                                      : " updates ";
  return verb + std::to_string(site.width()) + (site.width() == 1 ? " byte" : " bytes");
}

std::string place_in_shared(std::uint64_t address, std::uint64_t first) {
  return "byte " + std::to_string(static_cast<std::int64_t>(address - first)) + " of shared memory";
}

std::string place_in(const TracedArray& array, std::uint64_t address) {
  const auto offset = static_cast<std::int64_t>(address - reinterpret_cast<std::uint64_t>(array.data));
  const auto size = static_cast<std::int64_t>(array.element_bytes);
  std::int64_t index = offset >= 0 ? offset / size : (offset - size + 1) / size;
  if (offset < 0 || offset >= static_cast<std::int64_t>(array.bytes))
    return "element " + std::to_string(index) + " of " + array.name + ", which has " +
           std::to_string(array.bytes / array.element_bytes);
  std::string text;
  for (std::size_t d = array.extents.size(); d-- > 0; index /= array.extents[d])
    text = std::to_string(index % array.extents[d]) + (text.empty() ? "" : ", ") + text;
  return array.name + "[" + text + "]";
}

}  // namespace tessera::simt
