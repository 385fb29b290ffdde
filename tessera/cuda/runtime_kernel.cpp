// SPDX-License-Identifier: Apache-2.0
#include "tessera/cuda/runtime_kernel.hpp"
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include "tessera/core/text/error.hpp"
#include "tessera/cuda/dynamic_library.hpp"
#include "tessera/io/cache.hpp"

namespace tessera::cuda {

namespace {

using Program = void*;

struct Library {
  DynamicLibrary file{{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, toolkit_folders};
  const char* (*text)(int) = file.required("nvrtcGetErrorString");
  int (*version)(int*, int*) = file.required("nvrtcVersion");
  int (*create)(Program*, const char*, const char*, int, const char* const*,
                const char* const*) = file.required("nvrtcCreateProgram");
  int (*destroy)(Program*) = file.required("nvrtcDestroyProgram");
  int (*compile)(Program, int, const char* const*) = file.required("nvrtcCompileProgram");
  int (*log_size)(Program, std::size_t*) = file.required("nvrtcGetProgramLogSize");
  int (*log)(Program, char*) = file.required("nvrtcGetProgramLog");
  int (*cubin_size)(Program, std::size_t*) = file.required("nvrtcGetCUBINSize");
  int (*cubin)(Program, char*) = file.required("nvrtcGetCUBIN");
  int major = 0, minor = 0;
  std::string absent;  // the reason why there is none; empty: loaded

  Library() {
    if (!file.found()) absent = "NVRTC was not found (libnvrtc.so.13 or .12)";
    else if (!file.missing().empty()) absent = "this NVRTC has no " + file.missing();
    else if (version(&major, &minor) != 0) absent = "NVRTC does not tell its version";
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

namespace {

// Values from the driver's header cuda.h.
constexpr int illegal_address = 700, misaligned_address = 716;
constexpr int attribute_max_threads = 0, attribute_registers = 4, attribute_max_dynamic_shared = 8;

struct Driver {
  DynamicLibrary file{{"libcuda.so.1"}};
  int (*init)(unsigned) = file.required("cuInit");
  int (*error_string)(int, const char**) = file.required("cuGetErrorString");
  int (*current_device)(int*) = file.required("cuCtxGetDevice");
  int (*load_library)(void**, const void*, void*, void*, unsigned, void*, void*,
                      unsigned) = file.required("cuLibraryLoadData");
  int (*unload_library)(void*) = file.required("cuLibraryUnload");
  int (*get_kernel)(void**, void*, const char*) = file.required("cuLibraryGetKernel");
  int (*get_attribute)(int*, int, void*, int) = file.required("cuKernelGetAttribute");
  int (*set_attribute)(int, int, void*, int) = file.required("cuKernelSetAttribute");
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                void**) = file.required("cuLaunchKernel");
  std::string absent;  // the reason why there is none; empty: loaded

  Driver() {
    if (!file.found()) absent = "the driver's library libcuda.so.1 is not there";
    else if (!file.missing().empty()) absent = "the driver is too old: libcuda.so.1 has no " + file.missing();
    else if (const int status = init(0); status != 0) absent = "the driver does not start: " + words(status);
  }

  std::string words(int status) const {
    const char* text = nullptr;
    if (error_string(status, &text) != 0 || text == nullptr) return "error " + std::to_string(status);
    return text;
  }
};

// Stays loaded until the program ends, because the runtime uses it until then.
const Driver& driver() {
  static const Driver* const loaded = new Driver;
  return *loaded;
}

void check(int status, const std::string& doing) {
  if (status == 0) return;
  const bool bad_access = status == illegal_address || status == misaligned_address;
  throw Error(bad_access ? Error::Kind::memory : Error::Kind::internal,
              "CUDA: " + doing + ": " + driver().words(status));
}

struct Loaded {
  std::shared_ptr<void> code;
  bool cached = false;
};

Loaded load(const std::string& source, int compute_capability) {
  const Cubin cubin = compile(source, architecture_of(compute_capability));
  void* library = nullptr;
  check(driver().load_library(&library, cubin.code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        "loading a compiled formula");
  return {std::shared_ptr<void>(library, [](void* loaded) { (void)driver().unload_library(loaded); }),
          cubin.cached};
}

// Loads a library through a cache that is bounded, so that a search over many formulas does not fill the GPU.
// Never destroyed: at exit the driver may already be unloaded.
Loaded loaded_once(const std::string& source, int compute_capability) {
  constexpr std::size_t most = 64;
  static std::mutex mutex;
  static auto* const known = new std::map<std::pair<std::string, int>, std::shared_ptr<void>>;
  const std::lock_guard lock(mutex);
  const std::pair key(source, compute_capability);
  if (const auto found = known->find(key); found != known->end()) return {found->second, true};
  Loaded out = load(source, compute_capability);
  if (known->size() == most) known->clear();
  known->emplace(key, out.code);
  return out;
}

int current_device() {
  int device = 0;
  check(driver().current_device(&device), "no device is current");
  return device;
}

}  // namespace

Reason no_driver() { return driver().absent.empty() ? Reason() : driver().absent; }

Variant compiled_variant(std::string idea, Choice choice) {
  Variant out;
  out.idea = std::move(idea);
  out.where = Where::cuda;
  out.unsupported_device = [](const Device&) -> Reason {
    if (Reason absent = no_nvrtc()) return absent;
    return no_driver();
  };
  out.choices.push_back(std::move(choice));
  return out;
}

RuntimeKernel::RuntimeKernel(const std::string& source, const std::string& name, int compute_capability) {
  if (const Reason absent = no_driver()) throw Error(Error::Kind::no_device, *absent);
  Loaded loaded = loaded_once(source, compute_capability);
  library_ = std::move(loaded.code);
  cached_ = loaded.cached;
  check(driver().get_kernel(&kernel_, library_.get(), name.c_str()), "finding the kernel " + name);
}

int RuntimeKernel::attribute(int which) const {
  int value = 0;
  check(driver().get_attribute(&value, which, kernel_, current_device()), "asking about a kernel");
  return value;
}
int RuntimeKernel::registers() const { return attribute(attribute_registers); }
int RuntimeKernel::max_threads_per_block() const { return attribute(attribute_max_threads); }

void RuntimeKernel::launch_with(const Launch& launch, std::size_t shared_bytes, void* stream,
                                void** arguments) const {
  if (shared_bytes > 48 * 1024)
    check(driver().set_attribute(attribute_max_dynamic_shared, static_cast<int>(shared_bytes), kernel_,
                                 current_device()),
          "asking for shared memory");
  const auto size = [](auto n) { return static_cast<unsigned>(n); };
  check(driver().launch(kernel_, size(launch.grid.x), size(launch.grid.y), size(launch.grid.z),
                        size(launch.block.x), size(launch.block.y), size(launch.block.z), size(shared_bytes),
                        stream, arguments, nullptr),
        "launching a compiled formula");
}

}  // namespace tessera::cuda
