// SPDX-License-Identifier: Apache-2.0
#include "tessera/load.hpp"
#include <cstdlib>
#include <cxxabi.h>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string_view>
#include "tessera/core/operation/operation.hpp"
#include "tessera/core/text/suggest.hpp"
#include "tessera/core/text/version.hpp"

namespace tessera {
namespace {

// Collects refusals of register_variant() while a file is being opened; null: no file is.
std::vector<std::string>* refused = nullptr;

std::string opening;  // the result of file_being_loaded()

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

// Returns "0.2.0" for "tessera::Interface<0, 2, 0, 64ul>::current".
std::string version_in(const std::string& interface) {
  std::string out;
  for (std::size_t i = interface.find('<') + 1, commas = 0; i < interface.size() && commas < 3; ++i) {
    if (interface[i] == ',' && ++commas < 3) out += '.';
    else if (interface[i] >= '0' && interface[i] <= '9') out += interface[i];
  }
  return out;
}

std::string this_version() {
  return std::to_string(version_major) + "." + std::to_string(version_minor) + "." +
         std::to_string(version_patch);
}

// Returns the version that a file was compiled against, if it is not this one: the file then names an
// Interface that this program does not have.
std::string other_version(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  constexpr std::string_view prefix = "_ZN7tessera9InterfaceI";
  for (std::size_t at = bytes.find(prefix); at != std::string::npos; at = bytes.find(prefix, at + 1)) {
    const std::string name = bytes.c_str() + at;
    if (dlsym(RTLD_DEFAULT, name.c_str()) == nullptr) return version_in(demangled(name));
  }
  return {};
}

// Returns the loader's message, without the file's name, which our message has already.
std::string words_of_loader(const std::string& file) {
  const char* const said = dlerror();
  std::string text = said == nullptr ? "the loader does not say why" : said;
  if (text.starts_with(file + ": ")) text.erase(0, file.size() + 2);
  return text;
}

std::string why_not(const std::string& file) {
  const std::string said = words_of_loader(file);
  constexpr std::string_view undefined = "undefined symbol: ";
  if (!said.starts_with(undefined)) return "cannot be loaded: " + said;
  const std::string other = other_version(file);
  if (other == this_version())
    return "was built against other headers of Tessera " + other + " than this program";
  if (!other.empty()) return "was built against Tessera " + other + ", but this is " + this_version();
  return "needs " + demangled(said.substr(undefined.size())) + ", which this program does not have";
}

// Each file's symbols are local: two files may have functions of the same name.
void* opened(const std::string& file, std::vector<std::string>& kept) {
  struct Opening {
    Opening(const std::string& file, std::vector<std::string>& kept) { opening = file, refused = &kept; }
    ~Opening() { opening.clear(), refused = nullptr; }
  } const here(file, kept);
  // dlopen searches the system's libraries for a name without a slash.
  const std::string path = file.find('/') == std::string::npos ? "./" + file : file;
  if (void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  throw Error(file + " " + why_not(path));
}

void load_one(const std::string& file) {
  static std::set<void*> handles;  // never closed: the registry refers to their code
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) throw Error(file + ": there is no such file");
  if (!std::filesystem::is_regular_file(file, ignored)) throw Error(file + " is no file");
  const std::size_t before = all_variants().size() + operations().size();
  std::vector<std::string> kept;
  void* const handle = opened(file, kept);
  if (!kept.empty()) throw Error(file + ": " + kept.front());
  if (handles.insert(handle).second && all_variants().size() + operations().size() == before)
    throw Error(file + " brings neither a rung nor an operation");
}

}  // namespace

const std::string& file_being_loaded() { return opening; }

void refuse_registration(const std::string& text) {
  if (refused == nullptr) throw Error(Error::Kind::internal, text);
  refused->push_back(text);
}

void load(const std::vector<std::string>& files) {
  for (const std::string& file : files) load_one(file);
  if (files.empty()) return;
  std::vector<std::string> names;
  for (const Operation& operation : operations()) names.push_back(operation.name);
  for (const Variant& variant : all_variants()) {
    if (find_operation(variant.operation) != nullptr) continue;
    throw Error(variant.file + ": there is no operation '" + variant.operation +
                "', as the file's folder says" + suggestion(variant.operation, names));
  }
}

}  // namespace tessera
