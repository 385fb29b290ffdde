// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/output.hpp"
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <span>
#include "tessera/core/error.hpp"
#include "tessera/io/atomic_file.hpp"

namespace tessera::cli {

std::FILE* table_stream(const std::string& json) {
  if (json == "-") return stderr;
  if (!json.empty()) demand_writable(json);
  return stdout;
}

void write_json(const std::string& json, const nlohmann::ordered_json& value) {
  if (json.empty()) return;
  write_text(json, value.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void write_text(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  if (path == "-") {
    fmt::print(stdout, "{}", text);
    return;
  }
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

nlohmann::ordered_json read_json(const std::string& path) {
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  if (path != "-" && !file) throw Error(path + ": " + std::strerror(errno));
  std::istream& from = path == "-" ? std::cin : file;
  try {
    return nlohmann::ordered_json::parse(from);
  } catch (const nlohmann::json::exception& error) {
    throw Error(path + " is no JSON: " + error.what());
  }
}

void warn(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) fmt::print(stderr, "warning: {}\n", text);
}

}  // namespace tessera::cli
