// SPDX-License-Identifier: Apache-2.0
// The one place that turns errors into messages and exit codes.
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>
#include "tessera/cli/command.hpp"
#include "tessera/cli/ranks.hpp"
#include "tessera/cli/output.hpp"

namespace {

using tessera::Error;
using tessera::cli::End;

End end_of(const std::vector<std::string>& argv) {
  try {
    const int code = tessera::cli::command(argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      throw std::system_error(errno, std::generic_category(), "cannot write to standard output");
    return {code};
  } catch (const tessera::SharedError& error) {
    return {0, error, true};
  } catch (const Error& error) {
    return {0, error};
  } catch (const std::bad_alloc&) {
    return {0, Error("the machine has not enough memory for this")};
  } catch (const std::system_error& error) {  // the machine's, above all a full disk behind standard output
    return {0, Error(error.what())};
  } catch (const std::exception& error) {
    return {0, Error(Error::Kind::internal, std::string("internal error: ") + error.what())};
  }
}

}  // namespace

int main(int argc, char** argv) {
  tessera::cli::clean_up_on_signals();
  const End how = end_of({argv, argv + argc});
  return tessera::cli::Ranks::here().end(how);
}
