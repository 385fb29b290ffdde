// SPDX-License-Identifier: Apache-2.0
// Where tables and JSON go: tables to standard output, unless `--json -` needs it for itself. Standard error
// as a place for one line of progress; the interrupt key.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <cstdio>
#include <string>
#include <vector>
#include "tessera/cli/command.hpp"

namespace tessera::cli {

// `json` is what --json was given: "", "-" or a path. Throws Error where it cannot be written, so that
// this is asked before the work.
std::FILE* table_stream(const std::string& json);
// Whole or not at all; nothing for "".
void write_json(const std::string& json, const nlohmann::ordered_json& value);
// Likewise.
void write_text(const std::string& path, const std::string& text);
// What every result begins with: its kind, its operation (if any), and where it comes from.
nlohmann::ordered_json json_head(const Command& command, const char* kind, const std::string& operation = {});
// The JSON in a file, or from standard input for "-". Throws Error naming it.
nlohmann::ordered_json read_json(const std::string& path);
// Each on a line of standard error.
void warn(const std::vector<std::string>& texts);

// One line, rewritten; only where standard error is a terminal. Gone when the object is.
class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void say(const std::string& text);
  void clear();

 private:
  bool terminal_, shown_ = false;
};

// How many characters a line of standard output holds: $COLUMNS, or what the terminal says; 0: it is no
// terminal.
std::size_t terminal_width();

// A terminated program leaves no half-written file.
void clean_up_on_signals();
// From now on an interrupt is noted, and the next one ends the program at once …
void note_interrupts();
bool interrupted();
// … or every one ends it at once, with exit code 130.
void end_on_interrupt();

}  // namespace tessera::cli
