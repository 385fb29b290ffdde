// SPDX-License-Identifier: Apache-2.0
#include "tessera/cuda/nvrtc.hpp"
#include <dlfcn.h>
#include <memory>
#include <utility>
#include "tessera/core/error.hpp"
#include "tessera/io/cache.hpp"

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

const CacheFolder kernels{"kernels"};

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
  if (auto code = find_cached(kernels, key); code && !code->empty()) return {std::move(*code), true};
  Cubin out{compile_now(source, architecture)};
  store_cached(kernels, key, out.code);
  return out;
}

}  // namespace tessera::cuda
