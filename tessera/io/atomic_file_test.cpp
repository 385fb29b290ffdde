// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/atomic_file.hpp"
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <thread>
#include "tessera/io/npy.hpp"
#include "tests/npy_files.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using namespace testing;

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

// Limits files of this process to `most` bytes, which has the effect of a full disk.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t most) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{most, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

 private:
  rlimit before_ = {};
  void (*handler_)(int) = std::signal(SIGXFSZ, SIG_IGN);
};

class AtomicFileTest : public TemporaryFolder {
 protected:
  using TemporaryFolder::path;
  std::string path() const { return path("x"); }
  using TemporaryFolder::content;
  std::string content() const { return content("x"); }
  void write(const std::string& text, const std::string& name = "x") const {
    AtomicFile file(path(name));
    file.write(bytes(text));
    file.commit();
  }
};

TEST_F(AtomicFileTest, appearsWholeAtCommit) {
  {
    AtomicFile file(path());
    file.write(bytes("ab"));
    file.write(bytes("cd"));
    EXPECT_FALSE(fs::exists(path()));
    file.commit();
  }
  EXPECT_EQ(content(), "abcd");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, withoutCommitNothingHappened) {
  write("old");
  {
    AtomicFile file(path());
    file.write(bytes("new"));
    EXPECT_EQ(files(), 2);
  }
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(files(), 1);
}

// A run that a handled signal ends leaves no file.
TEST_F(AtomicFileTest, aSignalRemovesTheTemporaryFile) {
  EXPECT_EXIT(
      {
        AtomicFile file(path());
        file.write(bytes("new"));
        remove_unfinished_files();
        _exit(7);
      },
      ::testing::ExitedWithCode(7), "");
  EXPECT_EQ(files(), 0);
}

TEST_F(AtomicFileTest, aSignalInAChildKeepsTheParentsFiles) {
  AtomicFile file(path());
  file.write(bytes("whole"));
  EXPECT_EXIT(
      {
        remove_unfinished_files();
        _exit(7);
      },
      ::testing::ExitedWithCode(7), "");
  file.commit();
  EXPECT_EQ(content(), "whole");
  remove_unfinished_files();
  EXPECT_EQ(content(), "whole");
}

// The temporary names of all threads are in one table.
TEST_F(AtomicFileTest, severalThreadsWriteAtOnce) {
  constexpr int writers = 4, each = 50;
  {
    std::vector<std::jthread> threads;
    for (int w = 0; w < writers; ++w)
      threads.emplace_back([&, name = "x" + std::to_string(w)] {
        for (int i = 0; i < each; ++i) write(std::to_string(i), name);
      });
  }
  EXPECT_EQ(files(), writers);
  for (int w = 0; w < writers; ++w) EXPECT_EQ(content("x" + std::to_string(w)), std::to_string(each - 1));
}

TEST_F(AtomicFileTest, writesToAnOpenFile) {
  const int file = ::open(path().c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_GE(file, 0);
  AtomicFile open(file, "an open file");
  open.write(bytes("abc"));
  open.commit();
  EXPECT_EQ(::write(file, "d", 1), 1) << "it was closed";
  ::close(file);
  EXPECT_EQ(content(), "abcd");
}

TEST_F(AtomicFileTest, unwritablePathFailsAtConstruction) {
  EXPECT_EQ(error_of([&] { require_writable(path("none/x")); }),
            path("none/x") + ": cannot be written to folder " + path("none") + ": No such file or directory");
  EXPECT_EQ(error_of([&] { require_writable(folder_.string()); }),
            folder_.string() + ": cannot be written: Is a directory");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  require_writable(path("pipe"));  // does not wait for a reader
  write("old");
  require_writable(path());
  require_writable(path("new"));
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(files(), 2);
}

TEST_F(AtomicFileTest, aFullDiskLeavesTheOldFile) {
  write("old");
  const std::string much(100'000, 'x');
  {
    const SmallDisk small(50'000);
    EXPECT_EQ(error_of([&] { write(much); }), path() + ": cannot be written: File too large");
    const Array array(Element::u8, {300, 300});
    EXPECT_EQ(error_of([&] { npy::write(path(), array.view()); }),
              path() + ": cannot be written: File too large");
    EXPECT_EQ(error_of([&] { npy::write(path("y"), array.view()); }),
              path("y") + ": cannot be written: File too large");
  }
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(files(), 1);
  write(much);
  EXPECT_EQ(content(), much);
}

TEST_F(AtomicFileTest, errorsNameFileAndReason) {
  const auto opening = [](const std::string& name) { return error_of([&] { AtomicFile file(name); }); };
  EXPECT_EQ(opening(path("none/x")),
            path("none/x") + ": cannot be written to folder " + path("none") + ": No such file or directory");
  EXPECT_EQ(opening(folder_.string()), folder_.string() + ": cannot be written: Is a directory");
  EXPECT_EQ(opening(path("none/")), path("none/") + ": cannot be written: Is a directory");
  EXPECT_EQ(opening(""), ": cannot be written: No such file or directory");
  write("old");
  EXPECT_EQ(opening(path("x/y")), path("x/y") + ": cannot be written: Not a directory");
  EXPECT_EQ(error_of([] {
              AtomicFile file("/dev/full");
              file.write(bytes("x"));
            }),
            "/dev/full: cannot be written: No space left on device");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, aRemovedFolderIsAnError) {
  fs::create_directory(path("sub"));
  AtomicFile file(path("sub/x"));
  file.write(bytes("new"));
  fs::remove_all(path("sub"));
  EXPECT_EQ(error_of([&] { file.commit(); }),
            path("sub/x") + ": cannot be replaced: No such file or directory");
}

TEST_F(AtomicFileTest, keepsTheOldFilesPermissions) {
  write("old");
  fs::permissions(path(), fs::perms(0640));
  write("new");
  EXPECT_EQ(fs::status(path()).permissions(), fs::perms(0640));
}

TEST_F(AtomicFileTest, aReadOnlyFileStays) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write to it";
  write("old");
  fs::permissions(path(), fs::perms(0444));
  EXPECT_EQ(error_of([&] { write("new"); }), path() + ": cannot be written: Permission denied");
  EXPECT_EQ(content(), "old");
}

TEST_F(AtomicFileTest, followsLinks) {
  fs::create_directory(path("sub"));
  fs::create_symlink("sub/target", path("link"));
  write("first", "link");
  write("second", "link");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content("sub/target"), "second");
}

// Tries a pipe instead of /dev/null, which a failure of this test under root would delete.
TEST_F(AtomicFileTest, specialFilesAreWrittenInPlace) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  const int reader = ::open(path().c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  write("abc");
  char got[4] = {};
  EXPECT_EQ(::read(reader, got, sizeof got), 3);
  EXPECT_STREQ(got, "abc");
  ::close(reader);
  EXPECT_TRUE(fs::is_fifo(path()));
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, acceptsTheLongestFileName) {
  const std::string name(255, 'n');
  write("x", name);
  EXPECT_EQ(content(name), "x");
}

class LineFile : public ::testing::Test {
 protected:
  LineFile() { std::filesystem::remove_all(folder_); }
  ~LineFile() override { std::filesystem::remove_all(folder_); }
  std::string folder_ = ::testing::TempDir() + "lines-" + std::to_string(::getpid());
  std::string file_ = folder_ + "/deeper/file.jsonl";
};

TEST_F(LineFile, GrowsByWholeLines) {
  EXPECT_TRUE(read_lines(file_).empty());
  EXPECT_EQ(append_line(file_, "one"), "");
  EXPECT_EQ(append_line(file_, "two"), "");
  EXPECT_EQ(read_lines(file_), (std::vector<std::string>{"one", "two"}));
}

TEST_F(LineFile, ALineThatWasCutOffHarmsNoOther) {
  EXPECT_EQ(append_line(file_, "one"), "");
  std::ofstream(file_, std::ios::app) << "half a li";
  EXPECT_EQ(append_line(file_, "two"), "");
  EXPECT_EQ(read_lines(file_), (std::vector<std::string>{"one", "half a li", "two"}));
}

TEST_F(LineFile, ManyWritersLoseNothing) {
  constexpr int writers = 4, each = 20;
  {
    std::vector<std::jthread> threads;
    for (int w = 0; w < writers; ++w)
      threads.emplace_back([&, w] {
        for (int i = 0; i < each; ++i)
          EXPECT_EQ(append_line(file_, std::to_string(w) + std::string(5000, static_cast<char>('a' + w))),
                    "");
      });
  }
  auto lines = read_lines(file_);
  ASSERT_EQ(lines.size(), std::size_t{writers * each});
  for (const std::string& line : lines) EXPECT_EQ(line.size(), 5001u);
  std::ranges::sort(lines);
  for (int w = 0; w < writers; ++w)
    EXPECT_EQ(lines[static_cast<std::size_t>(w * each)],
              std::to_string(w) + std::string(5000, static_cast<char>('a' + w)));
}

TEST_F(LineFile, SaysWhyNot) {
  EXPECT_NE(append_line("/dev/null/file", "one"), "");
  EXPECT_NE(append_line(::testing::TempDir(), "one"), "");
  EXPECT_NE(append_line("/dev/full", "one"), "");
}

}  // namespace
}  // namespace tessera
