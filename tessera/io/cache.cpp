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

std::optional<std::string> read_cached(const std::string& name) {
  const auto folder = cache_folder();
  if (!folder) return std::nullopt;
  std::ifstream file(*folder + "/" + name, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string write_cached(const std::string& name, const std::string& text, bool lasting) {
  const auto folder = cache_folder();
  if (!folder) return "neither XDG_CACHE_HOME nor HOME names a folder";
  const std::filesystem::path path = std::filesystem::path(*folder) / name;
  std::error_code failed;
  std::filesystem::create_directories(path.parent_path(), failed);
  if (failed) return path.parent_path().string() + ": " + failed.message();
  try {
    AtomicFile file(path.string());
    file.write(std::as_bytes(std::span(text)));
    file.commit(lasting);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

namespace {

// Returns the FNV-1a hash. No byte can change alone, because each step has an inverse.
std::string checksum(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  char out[17];
  std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(hash));
  return out;
}

// The file holds the whole key, so that a collision of names costs only time.
std::string file_name(const CacheFolder& folder, const std::string& key) {
  return folder.name + "/" + checksum(key);
}

// Returns the file's content: the key's length, the key, the result, and a checksum of all that, by which a
// truncated or corrupted file is detected.
std::string file_of(const std::string& key, const std::string& result) {
  const std::string out = std::to_string(key.size()) + "\n" + key + result;
  return out + checksum(out);
}

// Another process may have deleted the files first; errors are ignored.
void drop_oldest(const CacheFolder& of) {
  namespace fs = std::filesystem;
  const auto folder = cache_folder();
  if (!folder) return;
  std::error_code failed;
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  for (fs::directory_iterator at(*folder + "/" + of.name, failed), end; !failed && at != end;
       at.increment(failed))
    files.emplace_back(at->last_write_time(failed), at->path());
  if (files.size() <= of.most) return;
  std::sort(files.begin(), files.end());
  for (std::size_t i = 0; i < files.size() - of.most / 2; ++i) fs::remove(files[i].second, failed);
}

}  // namespace

std::optional<std::string> find_cached(const CacheFolder& folder, const std::string& key) {
  const auto file = read_cached(file_name(folder, key));
  const std::string start = std::to_string(key.size()) + "\n" + key;
  constexpr std::size_t sum = 16;
  if (!file || !file->starts_with(start) || file->size() < start.size() + sum) return std::nullopt;
  const std::string_view all(file->data(), file->size() - sum);
  if (checksum(all) != std::string_view(*file).substr(all.size())) return std::nullopt;
  return std::string(all.substr(start.size()));
}

void store_cached(const CacheFolder& folder, const std::string& key, const std::string& result) {
  // The checksum detects a file that was truncated by a power loss.
  if (write_cached(file_name(folder, key), file_of(key, result), false).empty()) drop_oldest(folder);
}

}  // namespace tessera
