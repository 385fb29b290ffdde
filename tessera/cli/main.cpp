// SPDX-License-Identifier: Apache-2.0
// The one place that turns what went wrong into a message and an exit code.
#include <CLI/Error.hpp>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>
#include "tessera/cli/command.hpp"
#include "tessera/cli/terminal.hpp"

int main(int argc, char** argv) {
  namespace cli = tessera::cli;
  cli::clean_up_on_signals();
  try {
    const int code = cli::command({argv, argv + argc});
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      throw std::system_error(errno, std::generic_category(), "cannot write to standard output");
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
  } catch (const std::system_error& error) {  // the machine's, above all a full disk behind standard output
    std::fprintf(stderr, "tessera: %s\n", error.what());
    return cli::exit_code::user;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tessera: internal error: %s\n", error.what());
    return cli::exit_code::internal;
  }
}
