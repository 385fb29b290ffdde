// SPDX-License-Identifier: Apache-2.0
// Tables go to standard output, unless `--json -` needs it for itself; one line of progress goes to standard
// error. Also handles the interrupt key.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>
#include "tessera/cli/command.hpp"

namespace tessera::cli {

// `json`: the value of --json: "", "-" or a path. Throws Error if it cannot be written, so call this before
// the work.
std::FILE* table_stream(const std::string& json);
// Writes the file whole or not at all; "": nothing.
void write_json(const std::string& json, const nlohmann::ordered_json& value);
// Likewise.
void write_text(const std::string& path, const std::string& text);
// Returns the head of every result: its kind, its operation (if any), and its origin.
nlohmann::ordered_json json_head(const Command& command, const char* kind, const std::string& operation = {});
// Returns the JSON in a file, or from standard input for "-". Throws Error naming it.
nlohmann::ordered_json read_json(const std::string& path);
// Prints each on a line of standard error.
void warn(const std::vector<std::string>& texts);

// Runs a program of PATH with its output hidden. Returns true if it exited with 0; nothing: there is none.
std::optional<bool> runs(const std::vector<std::string>& command);

// One line, rewritten; only if standard error is a terminal. Cleared by the destructor.
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

// Returns the number of characters in a line of standard output: $COLUMNS, or the terminal's width; 0: it is
// no terminal.
std::size_t terminal_width();

// Makes a terminated program leave no half-written file.
void clean_up_on_signals();
// From now on an interrupt sets interrupted(), and the next one ends the program at once …
void note_interrupts();
bool interrupted();
// … or every one ends it at once, with exit code 130.
void end_on_interrupt();

}  // namespace tessera::cli
