// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/cache_folder.hpp"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include "tessera/core/error.hpp"
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

}  // namespace tessera
