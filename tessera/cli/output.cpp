// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/output.hpp"
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <nlohmann/json.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <span>
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/io/atomic_file.hpp"

extern char** environ;

namespace tessera::cli {

std::FILE* table_stream(const std::string& json) {
  if (json == "-") return stderr;
  if (!json.empty()) require_writable(json);
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

nlohmann::ordered_json json_head(const Command& command, const char* kind, const std::string& operation) {
  nlohmann::ordered_json out{{"schema", 1}, {"kind", kind}};
  if (!operation.empty()) out["operation"] = operation;
  out.update(bench::provenance(command.argv, bench::now_utc()));
  return out;
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

namespace {

volatile std::sig_atomic_t noted = 0;

void end(int) {
  remove_unfinished_files();
  _exit(exit_code::interrupted);
}

// The parent process must see which signal ended this one.
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
  constexpr std::size_t usual = 100;  // for a terminal that does not report it
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr)
    if (const long width = std::strtol(columns, nullptr, 10); width > 0)
      return static_cast<std::size_t>(width);
  if (isatty(STDOUT_FILENO) == 0) return 0;
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

void clean_up_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (std::signal(signal, end_by) == SIG_IGN) std::signal(signal, SIG_IGN);  // nohup ignores it
}
void note_interrupts() { std::signal(SIGINT, note); }
bool interrupted() { return noted != 0; }
void end_on_interrupt() { std::signal(SIGINT, end); }

std::optional<bool> runs(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
  pid_t process = 0;
  const int failed = posix_spawnp(&process, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return std::nullopt;
  int status = 0;
  return waitpid(process, &status, 0) == process && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace tessera::cli
