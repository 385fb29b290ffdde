// SPDX-License-Identifier: Apache-2.0
// Names of files as one types them: patterns and lists that mean several, {name} and {index} for what is
// written.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tessera::cli {

// The files that a word means: "photos/*.jpg", or "@list" for a file of names; nothing: it is the file's own
// name.
std::vector<std::string> several(const std::string& word);

// Throws Error where the name of an output has a field in braces that is neither {name} nor {index}.
void demand_known_fields(const std::string& pattern);
// "out/{name}.png" for "in/cat.jpg": "out/cat.png". {index} stays.
std::string named_after(const std::string& pattern, const std::string& input);
// The same with {index} for one of several. Throws Error where the pattern would not tell files apart.
std::string name_for(const std::string& pattern, const std::string& input, std::size_t index);

bool has_index(const std::string& pattern);
// {index} as a number of `count`, all of one length so that they sort.
std::string numbered(const std::string& pattern, std::int64_t index, std::int64_t count);

// Throws Error where one of several would be written over another, or over an input that is not its own.
void demand_apart(const std::vector<std::string>& inputs,
                  const std::vector<std::vector<std::string>>& outputs);
// What a flag names beside inputs and outputs, such as --json; "" and "-": no file.
using FlagFile = std::pair<const char*, std::string>;
// Throws Error where one of them would be written over an input, an output or another of them.
void demand_files_of_their_own(const std::vector<FlagFile>& files, const std::vector<std::string>& inputs,
                               const std::vector<std::string>& outputs);

// The file that --FLAG WORD means for each of the inputs. One serves all; "masks/{name}.png" has each input's
// name; a pattern or an @list means several: those called as the inputs are, but for folder and ending, or,
// where no name is the same, as many as there are inputs, in their order. Throws Error where they do not go
// together.
std::vector<std::string> paired_files(const std::string& flag, const std::string& word,
                                      const std::vector<std::string>& inputs);

}  // namespace tessera::cli
