// SPDX-License-Identifier: Apache-2.0
// Calls one function of CUDA files that have no main(): `--call 'solve(a, b, c, n)'`. A generated main(),
// compiled with the file, copies the arrays to the device, calls the function, and copies back the written
// ones.
#pragma once
#include <memory>
#include <string>
#include <vector>
#include "tessera/frontend/explain/explain.hpp"
#include "tessera/frontend/compile/own_program.hpp"
#include "tessera/io/npy.hpp"

namespace tessera::frontend {

// The flags of the command line; lists of "NAME=WHAT".
struct CallOptions {
  std::string call;
  std::vector<std::string> values;  // n=1024
  std::vector<std::string> in;      // a=FILE.npy, or the shape of made-up numbers: a=1024x1024, a=nxn
  std::vector<std::string> out;     // c=SHAPE
  std::vector<std::string> expect;  // c=FILE.npy
  std::vector<std::string> save;    // c=FILE.npy
};

// An array that the function may have written, after the call.
struct CallResult {
  std::string name, type;
  npy::Elements elements;
  std::string expected;  // a file, or ""
  std::int64_t wrong = 0;
  double largest_difference = 0;  // the largest within tolerance
  std::string first_wrong, got, wanted;

  std::string text() const;  // a line
  Json json() const;
};

class Call {
 public:
  // Finds the function in the source, to which main() is added, and reads or makes up the arrays. Throws
  // Error for the options, Refusal for the function.
  Call(const CallOptions& options, Source& source);
  ~Call();

  const std::string& main_text() const;
  std::vector<std::string> arguments() const;  // the program's

  // Returns the written arrays after the program has run. Writes the files of --save.
  std::vector<CallResult> results() const;

 private:
  struct Hidden;
  std::unique_ptr<Hidden> hidden_;
};

}  // namespace tessera::frontend
