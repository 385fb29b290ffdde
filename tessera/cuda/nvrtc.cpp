// SPDX-License-Identifier: Apache-2.0
#include "tessera/cuda/nvrtc.hpp"
#include <dlfcn.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>
#include "tessera/core/error.hpp"
#include "tessera/io/cache_folder.hpp"

namespace tessera::cuda {
namespace {

using Program = void*;

struct Library {
  std::string absent;  // why there is none; empty: loaded
  int major = 0, minor = 0;

  const char* (*text)(int) = nullptr;
  int (*version)(int*, int*) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, std::size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;

  Library() {
    void* const file = open();
    if (file == nullptr) {
      absent = "NVRTC was not found (libnvrtc.so.13 or .12)";
      return;
    }
    load(file, "nvrtcGetErrorString", text);
    load(file, "nvrtcVersion", version);
    load(file, "nvrtcCreateProgram", create);
    load(file, "nvrtcDestroyProgram", destroy);
    load(file, "nvrtcCompileProgram", compile);
    load(file, "nvrtcGetProgramLogSize", log_size);
    load(file, "nvrtcGetProgramLog", log);
    load(file, "nvrtcGetCUBINSize", cubin_size);
    load(file, "nvrtcGetCUBIN", cubin);
    if (absent.empty() && version(&major, &minor) != 0) absent = "NVRTC does not tell its version";
  }

 private:
  static void* open() {
    const std::string folders[] = {"", "/usr/local/cuda/lib64/", "/usr/local/cuda/lib/", "/opt/cuda/lib64/"};
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
      for (const std::string& folder : folders)
        if (void* const file = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return file;
    return nullptr;
  }
  template <class F>
  void load(void* file, const char* name, F& function) {
    function = reinterpret_cast<F>(dlsym(file, name));
    if (function == nullptr && absent.empty()) absent = std::string("this NVRTC has no ") + name;
  }
};

// Stays loaded until the program ends.
const Library& library() {
  static const Library* const loaded = new Library;
  return *loaded;
}

void check(int status) {
  if (status != 0) throw Error(Error::Kind::internal, std::string("NVRTC: ") + library().text(status));
}

struct Destroy {
  void operator()(void* program) const noexcept { (void)library().destroy(&program); }
};

std::string compile_now(const std::string& source, const std::string& architecture) {
  const Library& lib = library();
  Program made = nullptr;
  check(lib.create(&made, source.c_str(), "formula.cu", 0, nullptr, nullptr));
  const std::unique_ptr<void, Destroy> program(made);
  const std::string target = "--gpu-architecture=" + architecture;
  const char* const options[] = {target.c_str(), "--std=c++17",     "--fmad=false",
                                 "--ftz=false",  "--prec-div=true", "--prec-sqrt=true"};
  if (const int status = lib.compile(program.get(), static_cast<int>(std::size(options)), options);
      status != 0) {
    std::size_t size = 0;
    check(lib.log_size(program.get(), &size));
    std::string words(size, '\0');
    check(lib.log(program.get(), words.data()));
    throw Error(Error::Kind::internal,
                std::string("NVRTC: ") + lib.text(status) + " for " + architecture + "\n" + words.c_str());
  }
  std::size_t size = 0;
  check(lib.cubin_size(program.get(), &size));
  std::string code(size, '\0');
  check(lib.cubin(program.get(), code.data()));
  return code;
}

// FNV-1a: no byte can change alone, because each step has an inverse.
std::string checksum(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  char out[17];
  std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(hash));
  return out;
}

// The file holds the whole key, so that two keys of one name cost no more than time.
std::string short_name(const std::string& key) { return "kernels/" + checksum(key); }

// key, its length before it, then the code, then the checksum of all that: a driver is handed no code that is
// cut off or has changed on the disk.
std::string file_of(const std::string& key, const std::string& code) {
  const std::string out = std::to_string(key.size()) + "\n" + key + code;
  return out + checksum(out);
}

std::string code_in(const std::string& file, const std::string& key) {
  const std::string start = std::to_string(key.size()) + "\n" + key;
  constexpr std::size_t sum = 16;
  if (!file.starts_with(start) || file.size() <= start.size() + sum) return {};
  const std::string_view all(file.data(), file.size() - sum);
  if (checksum(all) != std::string_view(file).substr(all.size())) return {};
  return std::string(all.substr(start.size()));
}

// The folder does not grow for ever. Another process may have been here first: then there is nothing to do.
void drop_oldest() {
  constexpr std::size_t most = 512;
  namespace fs = std::filesystem;
  const auto folder = cache_folder();
  if (!folder) return;
  std::error_code failed;
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  for (fs::directory_iterator at(*folder + "/kernels", failed), end; !failed && at != end;
       at.increment(failed))
    files.emplace_back(at->last_write_time(failed), at->path());
  if (files.size() <= most) return;
  std::sort(files.begin(), files.end());
  for (std::size_t i = 0; i < files.size() - most / 2; ++i) fs::remove(files[i].second, failed);
}

}  // namespace

Reason no_nvrtc() { return library().absent.empty() ? Reason() : library().absent; }

std::string nvrtc_version() {
  if (no_nvrtc()) return {};
  return std::to_string(library().major) + "." + std::to_string(library().minor);
}

std::string architecture_of(int compute_capability) { return "sm_" + std::to_string(compute_capability); }

Cubin compile(const std::string& source, const std::string& architecture) {
  if (const Reason absent = no_nvrtc()) throw Error(Error::Kind::no_device, *absent);
  const std::string key = "nvrtc " + nvrtc_version() + " " + architecture + "\n" + source;
  if (const auto file = read_cached(short_name(key)))
    if (std::string code = code_in(*file, key); !code.empty()) return {std::move(code), true};
  Cubin out{compile_now(source, architecture)};
  // Without a cache it only takes longer.
  if (write_cached(short_name(key), file_of(key, out.code)).empty()) drop_oldest();
  return out;
}

}  // namespace tessera::cuda
