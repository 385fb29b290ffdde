// SPDX-License-Identifier: Apache-2.0
// What is made to go wrong, so that it can be seen to lose nothing.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Fault {
  enum class Kind {
    kill,    // the device's process ends in the middle of a tile, part of which is smashed
    fail,    // the device reports an error
    poison,  // a kernel's trap leaves a GPU unusable for its process
    hang,    // it never answers again
    delay,   // a tile takes so many seconds longer
    flip,    // a bit of the tile it delivers is wrong
    strew,   // the highest bit but the sign's, of several elements
    swap,    // two columns have changed places
  };
  Kind kind = Kind::fail;
  std::size_t device = 0;  // its place in the list, from 0
  std::size_t tile = 1;    // the first, second, … that it computes
  double seconds = 0;      // delay
  int number = -1;  // flip: the bit, from the lowest, or -1, the highest but the sign's; strew: elements
};

// "kill:1@3,delay:0@2:0.5,flip:0@1:20,strew:0@2:3". Throws Error.
std::vector<Fault> parse_faults(const std::string& words);
const char* name_of(Fault::Kind kind);
std::optional<Fault::Kind> kind_named(std::string_view name);

}  // namespace tessera
