// SPDX-License-Identifier: Apache-2.0
// From an address in this process to lines of source, by the debug information of its modules.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tessera::simt {

struct SourceLine {
  std::string file;  // as the compiler was given it; "" when it is not known
  int line = 0;
};

class Symbols {
 public:
  // The line of the access that returns to `address`, and the lines that the functions around it were
  // inlined into, innermost first. Empty when nothing is known.
  std::vector<SourceLine> lines(std::uint64_t address) const;

  // Of these the one that explains most: the innermost in the file where the kernel begins.
  SourceLine line_of_kernel(std::uint64_t address) const;

 private:
  struct Modules;
  static Modules& modules();
};

// The text of a line, without the blanks around it; "" where the file is not there.
class SourceText {
 public:
  const std::string& operator[](const SourceLine& line);

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace tessera::simt
