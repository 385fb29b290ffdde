// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/checksums.hpp"
#include <map>
#include <utility>

namespace tessera {
namespace {

using Key = std::pair<std::string, Where>;

std::map<Key, MakeChecksums>& all() {
  static std::map<Key, MakeChecksums> made;
  return made;
}

}  // namespace

void register_checksums(const std::string& operation, Where where, MakeChecksums make) {
  all()[{operation, where}] = std::move(make);
}

const MakeChecksums* find_checksums(const std::string& operation, Where where) {
  const auto found = all().find({operation, where});
  return found == all().end() ? nullptr : &found->second;
}

}  // namespace tessera
