// SPDX-License-Identifier: Apache-2.0
#include "tessera/simt/tracer/symbols.hpp"
#include <array>
#include <fstream>
#include <string_view>
#if defined(TESSERA_HAS_LIBDW)
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>
#include <cstdlib>
#include <mutex>
#endif

namespace tessera::simt {

#if defined(TESSERA_HAS_LIBDW)

namespace {

char* no_path = nullptr;

const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                  .find_debuginfo = dwfl_standard_find_debuginfo,
                                  .section_address = nullptr,
                                  .debuginfo_path = &no_path};

Dwarf_Word attribute(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute memory;
  Dwarf_Word value = 0;
  Dwarf_Attribute* const found = dwarf_attr(die, name, &memory);
  return found != nullptr && dwarf_formudata(found, &value) == 0 ? value : 0;
}

// Adds the call sites of the functions that are inlined at an address.
void add_calls(Dwarf_Die* unit, Dwarf_Addr address, std::vector<SourceLine>& out) {
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (dwarf_getsrcfiles(unit, &files, &count) != 0) return;
  Dwarf_Die *innermost = nullptr, *scopes = nullptr;
  if (dwarf_getscopes(unit, address, &innermost) < 1) return;
  // The enclosing scopes in the code: beyond an inlined function, dwarf_getscopes lists the scopes of its
  // declaration instead.
  const int depth = dwarf_getscopes_die(&innermost[0], &scopes);
  std::free(innermost);
  for (int i = 0; i < depth; ++i) {
    if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine) continue;
    const char* const file = dwarf_filesrc(files, attribute(&scopes[i], DW_AT_call_file), nullptr, nullptr);
    out.push_back({file == nullptr ? "" : file, static_cast<int>(attribute(&scopes[i], DW_AT_call_line))});
  }
  std::free(scopes);
}

}  // namespace

// Caches the debug information, which is slow to read, until an address is in a new module.
struct Symbols::Modules {
  std::mutex mutex;
  Dwfl* dwfl = nullptr;

  void read() {
    if (dwfl != nullptr) dwfl_end(dwfl);
    dwfl = dwfl_begin(&callbacks);
    if (dwfl == nullptr) return;
    dwfl_linux_proc_report(dwfl, getpid());
    dwfl_report_end(dwfl, nullptr, nullptr);
  }
  Dwfl_Module* at(Dwarf_Addr address) {
    if (dwfl == nullptr) read();
    Dwfl_Module* found = dwfl == nullptr ? nullptr : dwfl_addrmodule(dwfl, address);
    if (found != nullptr) return found;
    read();
    return dwfl == nullptr ? nullptr : dwfl_addrmodule(dwfl, address);
  }
};

Symbols::Modules& Symbols::modules() {
  static auto* const all = new Modules;  // never destroyed: code that runs at program exit uses it
  return *all;
}

std::vector<SourceLine> Symbols::lines(std::uint64_t address) const {
  std::vector<SourceLine> out;
  if (address == 0) return out;
  const std::lock_guard lock(modules().mutex);
  const Dwarf_Addr call = address - 1;  // within the call instruction
  Dwfl_Module* const module = modules().at(call);
  if (module == nullptr) return out;
  int line = 0;
  Dwfl_Line* const found = dwfl_module_getsrc(module, call);
  const char* const file =
      found == nullptr ? nullptr : dwfl_lineinfo(found, nullptr, &line, nullptr, nullptr, nullptr);
  if (file == nullptr) return out;
  out.push_back({file, line});
  Dwarf_Addr bias = 0;
  if (Dwarf_Die* const unit = dwfl_module_addrdie(module, call, &bias)) add_calls(unit, call - bias, out);
  return out;
}

#else

std::vector<SourceLine> Symbols::lines(std::uint64_t) const { return {}; }

#endif

namespace {

// True for the headers that every kernel includes.
bool is_plumbing(std::string_view file) {
  // The last two: headers for CUDA files, in the source tree and installed.
  constexpr std::array<std::string_view, 5> plumbing = {"tessera/core/", "tessera/simt/executor/launch.hpp",
                                                        "include/tessera/kernel.hpp",
                                                        "tessera/frontend/include/", "share/tessera/cuda/"};
  for (const std::string_view part : plumbing)
    if (file.find(part) != std::string_view::npos) return true;
  return file.starts_with("/usr/include/");
}

}  // namespace

SourceLine Symbols::line_of_kernel(std::uint64_t address) const {
  const auto all = lines(address);
  const std::string* kernel_file = nullptr;
  for (const SourceLine& line : all)
    if (!is_plumbing(line.file)) kernel_file = &line.file;
  for (const SourceLine& line : all)
    if (kernel_file != nullptr && line.file == *kernel_file) return line;
  return all.empty() ? SourceLine{} : all.front();
}

const std::string& SourceText::operator[](const SourceLine& line) {
  static const std::string nothing;
  const auto [file, fresh] = files_.try_emplace(line.file);
  if (fresh) {
    std::ifstream in(line.file);
    for (std::string text; std::getline(in, text);) {
      const std::size_t first = text.find_first_not_of(" \t");
      file->second.push_back(first == std::string::npos ? "" : text.substr(first));
    }
  }
  const auto index = static_cast<std::size_t>(line.line) - 1;
  return line.line > 0 && index < file->second.size() ? file->second[index] : nothing;
}

}  // namespace tessera::simt
