// SPDX-License-Identifier: Apache-2.0
// Builds a program for this machine from CUDA files: g++ -E, rewrite, g++, link with the runtime. Compiled
// results are kept in the cache folder under a hash of all their inputs.
#pragma once
#include <memory>
#include <string>
#include <vector>
#include "tessera/frontend/compile/rewrite.hpp"
#include "tessera/io/temporary_folder.hpp"

namespace tessera::frontend {

// Text appended to one of the files.
struct Addition {
  std::string file, text;
  std::string name;  // the text's name in messages
};

struct Source {
  std::vector<std::string> files;  // .cu is rewritten, .cpp and its like compiled as they are
  std::vector<std::string> include_folders, definitions;  // given by -I and -D
  std::vector<Replacement> replacements;
  Addition addition = {};
  bool traced = false;    // compiled with a call before each access
  bool coloured = false;  // the compiler's messages
};

// Returns the files as the rewriter gets them. Throws CompilerError or Error.
std::vector<std::string> preprocessed(const Source& source);

// The compiler's messages.
class CompilerError : public Error {
 public:
  using Error::Error;
};

// A mistake in the files that the compiler notices: a variable that is not set, a function without a result.
struct Warning {
  std::string file, text, remedy;
  int line = 0;
};

// The executable that is built from a Source. It is kept in the cache folder; if there is none, the
// destructor deletes it.
class OwnProgram {
 public:
  // Throws Refusal or CompilerError for the files, Error for what is missing.
  explicit OwnProgram(const Source& source);

  const std::string& path() const { return path_; }
  const std::vector<Warning>& warnings() const { return warnings_; }

 private:
  std::string path_;
  std::vector<Warning> warnings_;
  std::unique_ptr<TemporaryFolder> folder_;  // null: the cache holds the program
};

struct Ending {
  int code = 0;    // exit status
  int signal = 0;  // the signal that ended it
};

// Runs the program with this process' files and environment, to which `variables` ("NAME=VALUE") are added;
// its standard output may be this process' standard error.
Ending run_program(const std::string& path, const std::vector<std::string>& arguments,
                   const std::vector<std::string>& variables, bool output_to_errors = false);

// Returns the refused source line with a mark below its column, as compilers show it; "" if it cannot be
// read.
std::string excerpt(const SourcePosition& place);

}  // namespace tessera::frontend
