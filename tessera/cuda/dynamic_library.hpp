// SPDX-License-Identifier: Apache-2.0
// A shared library that is loaded on first use, so that neither the build nor the start of the program needs
// it. It stays loaded until the process ends.
#pragma once
#include <dlfcn.h>
#include <initializer_list>
#include <span>
#include <string>

namespace tessera::cuda {

inline constexpr const char* loader_path[] = {""};
inline constexpr const char* toolkit_folders[] = {"", "/usr/local/cuda/lib64/", "/usr/local/cuda/lib/",
                                                  "/opt/cuda/lib64/"};

class DynamicLibrary {
 public:
  // Loads the first of `files` that is found in one of `folders`.
  explicit DynamicLibrary(std::initializer_list<std::string> files,
                          std::span<const char* const> folders = loader_path) {
    for (const std::string& file : files)
      for (const char* const folder : folders)
        if (handle_ == nullptr) handle_ = dlopen((folder + file).c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  bool found() const { return handle_ != nullptr; }

  // Converts to a pointer to any function.
  struct Address {
    void* address;
    template <class F>
    operator F*() const {
      return reinterpret_cast<F*>(address);
    }
  };
  // Returns null if the library has no function of this name.
  Address function(const std::string& name) const {
    return {found() ? dlsym(handle_, name.c_str()) : nullptr};
  }
  // Like function(), and records the first missing name.
  Address required(const std::string& name) {
    const Address out = function(name);
    if (out.address == nullptr && missing_.empty()) missing_ = name;
    return out;
  }
  const std::string& missing() const { return missing_; }  // "": nothing is missing

 private:
  void* handle_ = nullptr;
  std::string missing_;
};

}  // namespace tessera::cuda
