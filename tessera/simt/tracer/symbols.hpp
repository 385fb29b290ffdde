// SPDX-License-Identifier: Apache-2.0
// Maps an address in this process to source lines, by the debug information of its modules.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tessera::simt {

struct SourceLine {
  std::string file;  // path as passed to the compiler; "": not known
  int line = 0;
};

class Symbols {
 public:
  // Returns the line of the call whose return address is `address`, and the call sites of the functions
  // inlined around it, innermost first. Empty: not known.
  std::vector<SourceLine> lines(std::uint64_t address) const;

  // Returns the innermost of these lines in the file where the kernel is defined.
  SourceLine line_of_kernel(std::uint64_t address) const;

 private:
  struct Modules;
  static Modules& modules();
};

// The text of a line without its indentation; "" if the file is missing.
class SourceText {
 public:
  const std::string& operator[](const SourceLine& line);

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace tessera::simt
