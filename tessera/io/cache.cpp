// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/cache.hpp"
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>
#include <vector>
#include "tessera/core/text/error.hpp"
#include "tessera/io/atomic_file.hpp"

namespace tessera {

std::optional<std::string> cache_folder() {
  const auto absolute = [](const char* path) { return path != nullptr && path[0] == '/'; };
  if (const char* chosen = std::getenv("XDG_CACHE_HOME"); absolute(chosen))
    return std::string(chosen) + "/tessera";
  if (const char* home = std::getenv("HOME"); absolute(home)) return std::string(home) + "/.cache/tessera";
  return std::nullopt;
}

namespace {

namespace fs = std::filesystem;

// Returns the FNV-1a hash. Each step is invertible, so a change of one byte always changes it.
std::string checksum(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  char out[17];
  std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(hash));
  return out;
}

// Returns a file whose name is a hash of the key. The file holds the key, so a collision costs only time.
std::optional<fs::path> file_for(const CacheFolder& folder, const std::string& key) {
  const auto all = cache_folder();
  return all ? std::optional(fs::path(*all) / folder.name / checksum(key)) : std::nullopt;
}

// Returns the file's content: the key's length, the key, the result, and a checksum of these, which detects a
// truncated or corrupted file.
std::string file_of(const std::string& key, const std::string& result) {
  const std::string out = std::to_string(key.size()) + "\n" + key + result;
  return out + checksum(out);
}

}  // namespace

// Errors are ignored, because another process may have deleted the files first.
void drop_oldest(const std::string& folder, std::size_t most) {
  std::error_code failed;
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    files.emplace_back(at->last_write_time(failed), at->path());
  if (files.size() <= most) return;
  std::sort(files.begin(), files.end());
  for (std::size_t i = 0; i < files.size() - most / 2; ++i) fs::remove(files[i].second, failed);
}

std::optional<std::string> find_cached(const CacheFolder& folder, const std::string& key) {
  const auto path = file_for(folder, key);
  if (!path) return std::nullopt;
  std::ifstream in(*path, std::ios::binary);
  const std::string file(std::istreambuf_iterator<char>(in), {});
  const std::string start = std::to_string(key.size()) + "\n" + key;
  constexpr std::size_t sum = 16;
  if (!file.starts_with(start) || file.size() < start.size() + sum) return std::nullopt;
  const std::string_view all(file.data(), file.size() - sum);
  if (checksum(all) != std::string_view(file).substr(all.size())) return std::nullopt;
  return std::string(all.substr(start.size()));
}

std::string store_cached(const CacheFolder& folder, const std::string& key, const std::string& result) {
  const auto path = file_for(folder, key);
  if (!path) return "neither XDG_CACHE_HOME nor HOME names a folder";
  std::error_code failed;
  fs::create_directories(path->parent_path(), failed);
  if (failed) return path->parent_path().string() + ": " + failed.message();
  const std::string text = file_of(key, result);
  try {
    AtomicFile file(path->string());
    file.write(std::as_bytes(std::span(text)));
    file.commit(false);  // the checksum detects a file that was truncated by a power loss
  } catch (const Error& error) {
    return error.what();
  }
  drop_oldest(path->parent_path().string(), folder.most);
  return {};
}

}  // namespace tessera
