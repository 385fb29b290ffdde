// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/output.hpp"
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <span>
#include "tessera/io/atomic_file.hpp"

namespace tessera::cli {

std::FILE* table_stream(const std::string& json) { return json == "-" ? stderr : stdout; }

void write_json(const std::string& json, const nlohmann::ordered_json& value) {
  if (json.empty()) return;
  const std::string text = value.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (json == "-") {
    fmt::print(stdout, "{}", text);
    return;
  }
  AtomicFile file(json);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace tessera::cli
