// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/browser.hpp"
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <vector>
#include "tessera/core/error.hpp"
#include "tessera/io/atomic_file.hpp"

extern char** environ;

namespace tessera::report {
namespace {

namespace fs = std::filesystem;

constexpr std::array names{"chromium", "chromium-headless-shell", "chromium-browser", "google-chrome",
                           "google-chrome-stable"};

// A folder of one's own that is gone with the object.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (fs::temp_directory_path() / "tessera-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw Error("cannot create a folder in " + fs::temp_directory_path().string());
    path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

// Runs a program with its output hidden; true when it ended with 0.
bool runs(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
  pid_t process = 0;
  const int failed = posix_spawn(&process, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  return failed == 0 && waitpid(process, &status, 0) == process && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

}  // namespace

std::optional<std::string> find_browser() {
  if (const char* named = std::getenv("TESSERA_BROWSER"); named != nullptr && *named != 0)
    return access(named, X_OK) == 0 ? std::optional<std::string>(named) : std::nullopt;
  const char* path = std::getenv("PATH");
  std::stringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    for (const char* name : names) {
      const std::string file = folder + "/" + name;
      if (access(file.c_str(), X_OK) == 0 && !fs::is_directory(file)) return file;
    }
  return std::nullopt;
}

void write_png(const std::string& svg, double width, double height, const std::string& to) {
  const auto browser = find_browser();
  if (!browser)
    throw Error(
        "a PNG needs a browser, and there is no Chromium here (Debian: apt-get install chromium); --svg "
        "needs none");
  const Scratch scratch;
  const std::string drawing = scratch.file("chart.svg"), picture = scratch.file("chart.png");
  std::ofstream(drawing, std::ios::binary) << svg;
  std::vector<std::string> command{
      *browser,
      "--headless",
      "--disable-gpu",
      "--hide-scrollbars",
      "--force-device-scale-factor=2",
      "--user-data-dir=" + scratch.file("profile"),
      fmt::format("--window-size={:.0f},{:.0f}", std::ceil(width), std::ceil(height)),
      "--screenshot=" + picture,
      "file://" + drawing};
  // Chromium's sandbox refuses to run as root; the drawing is this program's own.
  if (geteuid() == 0) command.insert(command.begin() + 1, "--no-sandbox");
  const bool done = runs(command) && fs::exists(picture);
  if (!done) throw Error("'" + *browser + "' could not make a PNG; --svg needs no browser");
  const std::string bytes = content(picture);
  AtomicFile file(to);
  file.write(std::as_bytes(std::span(bytes)));
  file.commit();
}

}  // namespace tessera::report
