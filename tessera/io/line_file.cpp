// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/line_file.hpp"
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace tessera {
namespace {

// A write that was cut off (a full disk, a crash) must not swallow the next line.
bool ends_within_a_line(int file) {
  const off_t end = ::lseek(file, 0, SEEK_END);
  char last = '\n';
  return end > 0 && ::pread(file, &last, 1, end - 1) == 1 && last != '\n';
}

std::string reason(const std::string& file, int code) {
  return file + ": " + std::generic_category().message(code);
}

}  // namespace

std::string append_line(const std::string& file, const std::string& line) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::error_code failed;
  if (!folder.empty()) std::filesystem::create_directories(folder, failed);
  if (failed) return folder.string() + ": " + failed.message();
  const int to = ::open(file.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (to < 0) return reason(file, errno);
  // Others wait, so that a line in the making is not taken for one that was cut off. Where a file system has
  // no locks a line is still added whole.
  while (::flock(to, LOCK_EX) != 0 && errno == EINTR) continue;
  const std::string whole = (ends_within_a_line(to) ? "\n" : "") + line + "\n";
  ssize_t written = 0;
  do written = ::write(to, whole.data(), whole.size());
  while (written < 0 && errno == EINTR);
  const int code = written < 0 ? errno : ENOSPC;
  const bool closed = ::close(to) == 0;
  if (written != static_cast<ssize_t>(whole.size())) return reason(file, code);
  return closed ? std::string() : reason(file, errno);
}

std::vector<std::string> read_lines(const std::string& file) {
  std::vector<std::string> out;
  std::ifstream from(file, std::ios::binary);
  for (std::string line; std::getline(from, line);) out.push_back(std::move(line));
  return out;
}

}  // namespace tessera
