// SPDX-License-Identifier: Apache-2.0
// The one place that turns what went wrong into a message and an exit code.
#include <CLI/Error.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include "tessera/cli/command.hpp"

int main(int argc, char** argv) {
  namespace cli = tessera::cli;
  try {
    const int code = cli::command({argv, argv + argc});
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      throw tessera::Error("cannot write to standard output");
    return code;
  } catch (const tessera::Error& error) {
    std::fprintf(stderr, "tessera: %s\n", error.what());
    return cli::exit_code_of(error.kind());
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "tessera: %s\n", error.what());
    return cli::exit_code::user;
  } catch (const std::bad_alloc&) {
    std::fputs("tessera: the machine has not enough memory for this\n", stderr);
    return cli::exit_code::user;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tessera: internal error: %s\n", error.what());
    return cli::exit_code::internal;
  }
}
