// SPDX-License-Identifier: Apache-2.0
// A new folder that is deleted with the object.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <string>
#include "tessera/core/text/error.hpp"

namespace tessera {

class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "tessera-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr)
      throw Error("cannot create a folder in " + std::filesystem::temp_directory_path().string());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace tessera
