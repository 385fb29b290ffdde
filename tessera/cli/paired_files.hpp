// SPDX-License-Identifier: Apache-2.0
// Files that go with others, such as masks with pictures.
#pragma once
#include <string>
#include <vector>

namespace tessera::cli {

// The file that --FLAG WORD means for each of the inputs. One serves all; "masks/{name}.png" has each input's
// name; a pattern or an @list means several: those called as the inputs are, but for folder and ending, or,
// where no name is the same, as many as there are inputs, in their order. Throws Error where they do not go
// together.
std::vector<std::string> paired_files(const std::string& flag, const std::string& word,
                                      const std::vector<std::string>& inputs);

}  // namespace tessera::cli
