// SPDX-License-Identifier: Apache-2.0
// Standard error as a place for one line of progress, and the interrupt key.
#pragma once
#include <cstddef>
#include <string>

namespace tessera::cli {

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

// How many characters a line of standard output holds: $COLUMNS, or what the terminal says; 0: it is no terminal.
std::size_t terminal_width();

// A terminated program leaves no half-written file.
void clean_up_on_signals();
// From now on an interrupt is noted, and the next one ends the program at once …
void note_interrupts();
bool interrupted();
// … or every one ends it at once, with exit code 130.
void end_on_interrupt();

}  // namespace tessera::cli
