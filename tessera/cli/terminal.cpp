// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/terminal.hpp"
#include <sys/ioctl.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include "tessera/cli/command.hpp"
#include "tessera/io/atomic_file.hpp"

namespace tessera::cli {
namespace {

volatile std::sig_atomic_t noted = 0;

void end(int) {
  remove_unfinished_files();
  _exit(exit_code::interrupted);
}

// Its parent shall see which signal ended it.
void end_by(int signal) {
  remove_unfinished_files();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void note(int signal) {
  noted = 1;
  std::signal(signal, end);
}

}  // namespace

Progress::Progress() : terminal_(isatty(STDERR_FILENO) != 0) {}

void Progress::say(const std::string& text) {
  if (!terminal_) return;
  constexpr std::size_t most = 100;
  std::fprintf(stderr, "\r\033[K%s", text.substr(0, most).c_str());
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

std::size_t terminal_width() {
  constexpr std::size_t usual = 100;  // of a terminal that does not tell
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr)
    if (const long width = std::strtol(columns, nullptr, 10); width > 0)
      return static_cast<std::size_t>(width);
  if (isatty(STDOUT_FILENO) == 0) return 0;
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

void clean_up_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (std::signal(signal, end_by) == SIG_IGN) std::signal(signal, SIG_IGN);  // as nohup has it
}
void note_interrupts() { std::signal(SIGINT, note); }
bool interrupted() { return noted != 0; }
void end_on_interrupt() { std::signal(SIGINT, end); }

}  // namespace tessera::cli
