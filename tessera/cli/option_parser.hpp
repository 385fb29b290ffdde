// SPDX-License-Identifier: Apache-2.0
// Parses the words after a verb: flags, each with its environment variable, and positionals. Hides the
// parsing library, and suggests the flag that was meant by a misspelt one.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>
#include "tessera/core/operation/signature.hpp"

namespace tessera::cli {

class OptionParser {
 public:
  OptionParser(std::string verb, std::string usage, std::string about);
  ~OptionParser();
  OptionParser(const OptionParser&) = delete;
  OptionParser& operator=(const OptionParser&) = delete;

  // `names`: such as "-o,--output"; `type`: shown for the value by --help.
  void flag(const std::string& names, bool& into, const std::string& help);
  void value(const std::string& names, std::string& into, const std::string& help, const std::string& type);
  // The value may be omitted: then it is `otherwise`. A value is a number.
  void value_or(const std::string& name, std::string& into, const std::string& otherwise,
                const std::string& help, const std::string& type);
  void values(const std::string& names, std::vector<std::string>& into, const std::string& help,
              const std::string& type);
  // The flag takes two words.
  void pair(const std::string& names, std::vector<std::string>& into, const std::string& help,
            const std::string& type);
  void positionals(const std::string& name, std::vector<std::string>& into, const std::string& help);
  // From now on "-x^2" and "-inf" are positionals: of words with a single '-', only -o and -h are flags.
  void expressions();

  // False if help was requested, and printed with the exit codes below the flags. Throws Error.
  bool read(const std::vector<std::string>& words);

 private:
  struct Hidden;
  std::unique_ptr<Hidden> hidden_;
};

// Declares a parameter's flag. For a choice of no and yes, the flag alone means yes.
void declare_flag(OptionParser& words, const Parameter& p, std::string& into, const std::string& help,
                  const std::string& type);

// Returns "TESSERA_OP_A" for "op-a".
std::string environment_variable(const std::string& flag);

// Returns the value of a flag. Throws Error "FLAG needs WHAT, not 'word'" or that it is out of range.
double number_named(const std::string& flag, const std::string& what, const std::string& word, double least,
                    double most);
std::int64_t count_named(const std::string& flag, const std::string& word, std::int64_t least,
                         std::int64_t most);
std::int64_t bytes_named(const std::string& flag, const std::string& word);  // "500M", "8G", "123456"

// Throws Error "WHAT 'word' is not known", with the nearest candidate or, if none is near, all.
[[noreturn]] void unknown(const std::string& what, const std::string& word,
                          const std::vector<std::string>& candidates);

std::vector<std::string> split(const std::string& text, char at);  // "a,b" → a, b; "" → nothing

}  // namespace tessera::cli
