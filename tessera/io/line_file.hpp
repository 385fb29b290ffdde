// SPDX-License-Identifier: Apache-2.0
// A file of lines to which several processes may add at once: each adds whole lines at the end.
#pragma once
#include <string>
#include <vector>

namespace tessera {

// Makes the folder. `line` has no line break. Returns why it could not be added, or "".
std::string append_line(const std::string& file, const std::string& line);

// Nothing where there is no such file. What was cut off is a line of its own.
std::vector<std::string> read_lines(const std::string& file);

}  // namespace tessera
