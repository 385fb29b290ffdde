// SPDX-License-Identifier: Apache-2.0
// From CUDA files to a program for this machine: g++ -E, rewrite, g++, link with the runtime. What was
// compiled once is kept in the cache folder under a hash of all that it was made from.
#pragma once
#include <memory>
#include <string>
#include <vector>
#include "tessera/frontend/rewrite.hpp"
#include "tessera/io/temporary_folder.hpp"

namespace tessera::frontend {

// Behind the text of one of the files.
struct Addition {
  std::string file, text;
  std::string name;  // of the text, in messages
};

struct Source {
  std::vector<std::string> files;  // .cu is rewritten, .cpp and its like compiled as they are
  std::vector<std::string> include_folders, definitions;  // as of -I and -D
  std::vector<Replacement> replacements;
  Addition addition = {};
  bool traced = false;    // compiled with a call before each access
  bool coloured = false;  // the compiler's messages
};

// The files as the rewriter gets them. Throws CompilerError or Error.
std::vector<std::string> preprocessed(const Source& source);

// What the compiler says.
class CompilerError : public Error {
 public:
  using Error::Error;
};

// An executable file. Where there is no cache folder it is deleted with the object.
class OwnProgram {
 public:
  // Throws Refusal or CompilerError for the files, Error for what is missing.
  explicit OwnProgram(const Source& source);

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::unique_ptr<TemporaryFolder> folder_;  // null: the cache holds the program
};

struct Ending {
  int code = 0;    // what the program returned
  int signal = 0;  // or what ended it
};

// Runs the program with this process' files and environment, to which `variables` ("NAME=VALUE") are added;
// its standard output may be this process' standard error.
Ending run_program(const std::string& path, const std::vector<std::string>& arguments,
                   const std::vector<std::string>& variables, bool output_to_errors = false);

// The line of a refusal with a mark below its column, as compilers show it; "" where it cannot be read.
std::string excerpt(const Place& place);

}  // namespace tessera::frontend
