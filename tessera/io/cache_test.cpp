// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/cache.hpp"
#include <gtest/gtest.h>
#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tessera {
namespace {

namespace fs = std::filesystem;

class Cache : public ::testing::Test {
 protected:
  Cache() {
    if (const char* before = std::getenv("XDG_CACHE_HOME")) before_ = before;
    fs::remove_all(home_);
    setenv("XDG_CACHE_HOME", home_.c_str(), 1);
  }
  ~Cache() override {
    fs::remove_all(home_);
    if (before_.empty()) unsetenv("XDG_CACHE_HOME");
    else setenv("XDG_CACHE_HOME", before_.c_str(), 1);
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    for (const auto& entry : fs::directory_iterator(home_ + "/tessera/things")) out.push_back(entry.path());
    return out;
  }

  const CacheFolder things_{"things", 8};
  std::string home_ = ::testing::TempDir() + "kept-" + std::to_string(::getpid()), before_;
};

TEST_F(Cache, FindsEntriesByKeyOnly) {
  EXPECT_EQ(find_cached(things_, "a key"), std::nullopt);
  store_cached(things_, "a key", std::string("one\0two", 7));
  EXPECT_EQ(find_cached(things_, "a key"), std::string("one\0two", 7));
  EXPECT_EQ(find_cached(things_, "a ke"), std::nullopt);
  EXPECT_EQ(find_cached({"others"}, "a key"), std::nullopt);
  store_cached(things_, "a key", "");
  EXPECT_EQ(find_cached(things_, "a key"), "");
}

TEST_F(Cache, IgnoresAFileWithAnotherKey) {
  store_cached(things_, "a key", "one");
  store_cached(things_, "b key", "two");
  const auto all = files();
  ASSERT_EQ(all.size(), 2u);
  fs::copy_file(all[0], all[1], fs::copy_options::overwrite_existing);
  EXPECT_NE(find_cached(things_, "a key").has_value(), find_cached(things_, "b key").has_value());
}

TEST_F(Cache, IgnoresTruncatedOrChangedFiles) {
  store_cached(things_, "a key", "something");
  const fs::path file = files().at(0);
  fs::resize_file(file, fs::file_size(file) - 1);
  EXPECT_EQ(find_cached(things_, "a key"), std::nullopt);
  store_cached(things_, "a key", "something");
  const auto size = static_cast<std::streamoff>(fs::file_size(file));
  for (std::streamoff at = 0; at < size; ++at) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(at);
    const char right = static_cast<char>(stream.get());
    const auto put = [&](char c) {
      stream.seekp(at);
      stream.put(c);
      stream.flush();
    };
    put(static_cast<char>(right ^ 1));
    EXPECT_EQ(find_cached(things_, "a key"), std::nullopt) << at;
    put(right);
  }
  EXPECT_EQ(find_cached(things_, "a key"), "something");
}

TEST_F(Cache, LimitsTheSizeOfTheFolder) {
  for (int i = 0; i < 40; ++i) {
    store_cached(things_, std::to_string(i), "x");
    EXPECT_LE(files().size(), things_.most);
    EXPECT_EQ(find_cached(things_, std::to_string(i)), "x") << "the newest stays";
  }
}

TEST_F(Cache, WorksWithoutAFolder) {
  setenv("XDG_CACHE_HOME", "/dev/null", 1);
  store_cached(things_, "a key", "one");
  EXPECT_EQ(find_cached(things_, "a key"), std::nullopt);
}

}  // namespace
}  // namespace tessera
