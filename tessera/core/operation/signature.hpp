// SPDX-License-Identifier: Apache-2.0
// The inputs, outputs and options of an operation. The command's usage and --help, the shape checks, the
// outputs' sizes, allocation, transfers, and the bytes a run must move all follow from it.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>
#include "tessera/core/array/array.hpp"
#include "tessera/core/text/expression.hpp"

namespace tessera {

// Marks the arrays that picture files may stand for: [images,height,width,channels]. A file of fewer
// dimensions is [height,width] or [height,width,channels], and results computed from it are written with as
// many.
enum class Picture : std::uint8_t {
  no,
  whole,   // alpha is a channel like any other
  colour,  // alpha is separated, and restored in pictures of the same size
};

struct Parameter {
  enum class Kind { input, output, real, integer, text, choice, value };  // value: a named number, returned
  Kind kind = Kind::input;
  std::string name;
  std::string help;
  std::vector<std::string> extents = {};  // arrays: an expression for each dimension
  bool optional = false;                  // inputs: given by --flag, or not at all
  std::string transposed_by = {};       // inputs: the choice whose "transpose" exchanges the last two extents
  std::optional<Element> element = {};  // arrays: a fixed element; otherwise the operation's
  // arrays: the element that follows from the operation's and the words given; throws Error if they do not
  // fit together.
  std::function<Element(Element, const std::map<std::string, std::string>&)> element_from = {};
  // inputs: the choice whose word selects extents from `shapes`; other words leave `extents`
  std::string shaped_by = {};
  std::map<std::string, std::vector<std::string>> shapes = {};
  // inputs: the choice whose word "all" leaves out the first extent: the one array is shared along it. An
  // array of one dimension fewer implies the word.
  std::string shared_by = {};
  std::string value = {};  // scalars: the default, spelled as on the command line
  // integers: the default if it follows from the contents of inputs in host memory; `value` then only
  // names it. Called with the inputs, the dimensions known so far, and the words with their defaults filled
  // in.
  std::function<std::int64_t(const std::map<std::string, ArrayView>&, const Dims&,
                             const std::map<std::string, std::string>&)>
      size_from = {};
  // scalars: true if the word's meaning depends on the contents of an input or a file. Plans of such calls
  // are not cached.
  std::function<bool(const std::string& word)> reads_contents = {};
  double minimum = -1e300, maximum = 1e300;  // real, integer
  std::vector<std::string> options = {};     // choice
  std::string requires_input = {};  // scalars: the optional input without which only the default is valid
  bool positional = false;          // text: positional and mandatory
  bool rest = false;                // text: all words that no other parameter takes, joined by spaces
  Picture picture = Picture::no;    // arrays

  bool is_array() const { return kind == Kind::input || kind == Kind::output; }
  // The number of trailing dimensions that are contiguous in memory.
  std::size_t packed_dimensions() const { return picture == Picture::no ? 1 : 2; }
  bool is_flag() const;      // given as --name, not by position
  std::string flag() const;  // "op-a" for --op-a
  Element element_with(Element of_operation, const std::map<std::string, std::string>& words) const;
  std::vector<std::string> extents_with(const std::map<std::string, std::string>& words) const;
  bool is_shared(const std::map<std::string, std::string>& words) const;
  bool is_transposed(const std::map<std::string, std::string>& words) const;
};

namespace parameter {
Parameter input(std::string name, std::vector<std::string> extents, std::string help);
Parameter optional_input(std::string name, std::vector<std::string> extents, std::string help);
Parameter output(std::string name, std::vector<std::string> extents, std::string help);
Parameter real(std::string name, double value, std::string help);
Parameter integer(std::string name, std::int64_t value, std::int64_t minimum, std::int64_t maximum,
                  std::string help);
// Without a value text() is empty, and no dimension has this name.
Parameter optional_integer(std::string name, std::int64_t minimum, std::int64_t maximum, std::string help);
// The default is an expression of the inputs' dimensions.
Parameter dimension(std::string name, std::string expression, std::int64_t minimum, std::string help);
Parameter choice(std::string name, std::vector<std::string> options,
                 std::string help);  // the first is the default
Parameter text(std::string name, std::string value, std::string help);
Parameter word(std::string name, std::string help);   // positional text
Parameter words(std::string name, std::string help);  // text: the remaining words, perhaps none
Parameter value(std::string name, std::string help);  // a value that a run reports about its result
}  // namespace parameter

struct Signature {
  static constexpr std::size_t max_arrays = 8;  // a limit, so that copies of Arguments allocate nothing

  std::vector<Parameter> parameters;
  // Defaults, as for `bench`, of dimensions where only sizes are given: {"n", "m"} is square by default.
  // Expressions of other dimensions.
  std::map<std::string, std::string> default_sizes = {};

  const Parameter* find(std::string_view name) const;
  const Parameter& at(std::string_view name) const;  // throws Error
  std::vector<const Parameter*> of(Parameter::Kind kind) const;
  // True if a word, given or by default, takes its meaning from the contents of an input or a file.
  bool reads_contents(const std::map<std::string, std::string>& words) const;
  std::vector<const Parameter*> positional_texts() const;
  std::vector<std::string> dimensions() const;  // names that an input's extents introduce, in order
  std::string usage() const;                    // "A[m,k] B[k,n] [OPTIONS] -> C[m,n]"
};

}  // namespace tessera
