// SPDX-License-Identifier: Apache-2.0
// Where tables and JSON go: tables to standard output, unless `--json -` needs it for itself.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <cstdio>
#include <string>
#include <vector>

namespace tessera::cli {

// `json` is what --json was given: "", "-" or a path. Throws Error where it cannot be written, so that
// this is asked before the work.
std::FILE* table_stream(const std::string& json);
// Whole or not at all; nothing for "".
void write_json(const std::string& json, const nlohmann::ordered_json& value);
// Likewise.
void write_text(const std::string& path, const std::string& text);
// The JSON in a file, or from standard input for "-". Throws Error naming it.
nlohmann::ordered_json read_json(const std::string& path);
// Each on a line of standard error.
void warn(const std::vector<std::string>& texts);

}  // namespace tessera::cli
