// SPDX-License-Identifier: Apache-2.0
// The files of one run: their names as one types them (patterns and lists that mean several, {name} and
// {index} for what is written), arrays from .npy files and from pictures, and outputs written as either.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include "tessera/core/operation.hpp"
#include "tessera/io/picture.hpp"

namespace tessera::cli {

// The files that a word means: "photos/*.jpg", or "@list" for a file of names; nothing: it is the file's own
// name.
std::vector<std::string> several(const std::string& word);

// "out/{name}.png" for "in/cat.jpg": "out/cat.png". {index} stays.
std::string named_after(const std::string& pattern, const std::string& input);
// The same with {index} for one of several. Throws Error where the pattern would not tell files apart.
std::string name_for(const std::string& pattern, const std::string& input, std::size_t index);

inline constexpr const char* standard_output = "-";

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
// name; a pattern or an @list means as many files as there are inputs, in their order. Throws Error where
// they do not go together.
std::vector<std::string> paired_files(const std::string& flag, const std::string& word,
                                      const std::vector<std::string>& inputs);

enum class Alpha {
  aside,    // not computed on; given back to pictures of the same size
  channel,  // computed on, as any channel
  dropped,
};

struct FileOptions {
  std::string most_pixels, quality, alpha, tiles;  // as typed; "": the usual
};

// Whether an array is a grid of pictures, [rows,cols,height,width,channels]: files by a pattern with {row}
// and {col}, or one picture in tiles.
inline bool is_grid(const Parameter& p) { return p.picture != Picture::no && p.extents.size() == 5; }

// Remembers of the first picture what is no pixel, for the outputs: its colour profile, its alpha, and how
// many dimensions its file had.
class Files {
 public:
  explicit Files(const FileOptions& options);

  Array read(const Parameter& p, const std::string& path, std::optional<Element> as);

  // Of a call whose result is that region of the picture: alpha that was set aside keeps only the region,
  // too.
  void cut_alpha(std::int64_t row, std::int64_t col, std::int64_t height, std::int64_t width);

  // Throws Error where the file cannot hold such an output, before it is computed.
  void demand_room(const Parameter& p, const std::string& path, const ArrayView& view) const;
  // What the file was given, for telling; `path` is "-" for standard output.
  // Where the output is several pictures, {index} in `path` makes a file of each.
  ArrayView write(const Parameter& p, const std::string& path, const ArrayView& view) const;
  // What of the files read so far somebody may not expect.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  ArrayView write_one(const Parameter& p, const std::string& path, const ArrayView& view) const;
  // Notes what a file had beside the picture.
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
  std::optional<std::size_t> dimensions_;  // of the first picture's file
  std::optional<Array> alpha_;             // [height,width,1]
  bool whole_alpha_ = false;               // the last channel of what is computed is alpha
};

}  // namespace tessera::cli
