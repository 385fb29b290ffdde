// SPDX-License-Identifier: Apache-2.0
// The files of one run: their names as typed (patterns and lists for several, {name} and {index} for
// outputs), arrays from .npy files and from pictures, and outputs written as either.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include "tessera/core/operation/operation.hpp"
#include "tessera/io/picture.hpp"

namespace tessera::cli {

// Returns the files that a word means: "photos/*.jpg", or "@list" for a file of names; nothing: the word is
// itself a file name.
std::vector<std::string> several(const std::string& word);

// Replaces {name}: "out/{name}.png" becomes "out/cat.png" for "in/cat.jpg". {index} stays.
std::string named_after(const std::string& pattern, const std::string& input);
// Replaces {name} and {index}, for one of several. Throws Error if the pattern would not tell files apart.
std::string name_for(const std::string& pattern, const std::string& input, std::size_t index);

inline constexpr const char* standard_output = "-";

bool has_index(const std::string& pattern);
// {index} as a number of `count`, all of one length so that they sort.
std::string numbered(const std::string& pattern, std::int64_t index, std::int64_t count);

// Throws Error if one of several would overwrite another, or an input that is not its own.
void require_apart(const std::vector<std::string>& inputs,
                   const std::vector<std::vector<std::string>>& outputs);
// A flag besides inputs and outputs, such as --json, with its file; "" and "-": no file.
using FlagFile = std::pair<const char*, std::string>;
// Throws Error if one of them would overwrite an input, an output or another of them.
void require_files_of_their_own(const std::vector<FlagFile>& files, const std::vector<std::string>& inputs,
                                const std::vector<std::string>& outputs);

// Returns the file that --FLAG WORD means for each of the inputs. One serves all; "masks/{name}.png" has each
// input's name; a pattern or an @list means as many files as there are inputs, in their order. Throws Error
// if the numbers do not match.
std::vector<std::string> paired_files(const std::string& flag, const std::string& word,
                                      const std::vector<std::string>& inputs);

struct FileOptions {
  std::string most_pixels, quality, png_level, alpha, tiles;  // text as typed; "": the default
};

// True if an array is a grid of pictures, [rows,cols,height,width,channels]: files by a pattern with {row}
// and {col}, or one picture in tiles.
inline bool is_grid(const Parameter& p) { return p.picture != Picture::no && p.extents.size() == 5; }

// Remembers the first picture's colour profile, alpha and number of dimensions, for the outputs.
class Files {
 public:
  explicit Files(const FileOptions& options);

  Array read(const Parameter& p, const std::string& path, std::optional<Element> as);

  // Cuts the alpha that was set aside to the region of the picture that a call computes.
  void cut_alpha(std::int64_t row, std::int64_t col, std::int64_t height, std::int64_t width);

  // Throws Error if the file cannot hold such an output, before the output is computed.
  void require_room(const Parameter& p, const std::string& path, const ArrayView& view) const;
  // Returns the written array, for reports; `path` is "-" for standard output. {index} in `path` makes a file
  // of each of several pictures.
  ArrayView write(const Parameter& p, const std::string& path, const ArrayView& view) const;
  // Facts about the files read so far that may surprise the user.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  ArrayView write_one(const Parameter& p, const std::string& path, const ArrayView& view) const;
  // Records the parts of a file besides the pixels.
  picture::Picture noted(const std::string& name, picture::Picture picture);
  picture::Picture parsed(const std::string& path);
  Array read_grid(const Parameter& p, const std::string& path, std::optional<Element> as);
  Array read_picture(const Parameter& p, const std::string& path, std::optional<Element> as);
  Array without_alpha(const Parameter& p, const picture::Picture& picture);
  ArrayView as_in_file(const Parameter& p, const ArrayView& view) const;
  bool takes_alpha(const std::string& path, const ArrayView& pixels) const;
  Array with_alpha(const ArrayView& pixels) const;

  picture::Limits limits_;
  picture::Style style_;
  std::string alpha_rule_, tiles_;
  std::vector<std::string> notes_;
  std::vector<std::byte> profile_;
  std::optional<std::size_t> dimensions_;  // in the first picture's file
  std::optional<Array> alpha_;             // [height,width,1]
  bool whole_alpha_ = false;               // the last channel of what is computed is alpha
};

}  // namespace tessera::cli
