// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/files.hpp"
#include <glob.h>
#include <unistd.h>
#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include "tessera/core/text/expression.hpp"
#include "tessera/core/text/suggest.hpp"
#include "tessera/io/file_kind.hpp"
#include "tessera/io/npy.hpp"
#include "tessera/io/picture.hpp"

namespace tessera::cli {
namespace {

constexpr const char *name_field = "{name}", *index_field = "{index}";

bool has(const std::string& pattern, const std::string& field) {
  return pattern.find(field) != std::string::npos;
}

// Returns the same name for a file, however it is typed.
std::string place_of(const std::string& path) {
  std::error_code none;
  const auto real = std::filesystem::weakly_canonical(std::filesystem::absolute(path, none), none);
  return none ? path : real.string();
}

// False for pipes and devices, which have no content to overwrite.
bool can_be_lost(const std::string& path) {
  std::error_code none;
  return !path.empty() && path != "-" &&
         (!std::filesystem::exists(path, none) || std::filesystem::is_regular_file(path, none));
}

}  // namespace

std::vector<std::string> several(const std::string& word) {
  std::vector<std::string> out;
  if (word.starts_with('@')) {
    std::ifstream list(word.substr(1));
    if (!list) throw Error(word.substr(1) + ": cannot be read");
    for (std::string line; std::getline(list, line);) {
      if (line.ends_with('\r')) line.pop_back();  // a list written on Windows
      if (!line.empty()) out.push_back(line);
    }
    if (out.empty()) throw Error(word.substr(1) + ": names no file");
    return out;
  }
  if (word.find_first_of("*?[") == std::string::npos || std::filesystem::exists(word)) return out;
  glob_t found = {};
  if (::glob(word.c_str(), 0, nullptr, &found) == 0)
    out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (out.empty()) throw Error("'" + word + "' means no file");
  return out;
}

std::string named_after(const std::string& pattern, const std::string& input) {
  return boost::replace_all_copy(pattern, name_field, std::filesystem::path(input).stem().string());
}

std::string name_for(const std::string& pattern, const std::string& input, std::size_t index) {
  if (!has(pattern, name_field) && !has_index(pattern))
    throw Error("-o " + pattern + " would be written for every file; put {name} or {index} into it");
  return named_after(boost::replace_all_copy(pattern, index_field, std::to_string(index)), input);
}

bool has_index(const std::string& pattern) { return has(pattern, index_field); }

std::string numbered(const std::string& pattern, std::int64_t index, std::int64_t count) {
  std::string digits = std::to_string(index);
  digits.insert(0, std::to_string(count - 1).size() - digits.size(), '0');
  return boost::replace_all_copy(pattern, index_field, digits);
}

void require_apart(const std::vector<std::string>& inputs,
                   const std::vector<std::vector<std::string>>& outputs) {
  std::map<std::string, std::size_t> read, written;
  for (std::size_t i = 0; i < inputs.size(); ++i) read.emplace(place_of(inputs[i]), i);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    for (const std::string& output : outputs[i]) {
      const std::string at = place_of(output);
      if (const auto other = read.find(at); other != read.end() && other->second != i)
        throw Error(output + ", made from " + inputs[i] + ", is one of the files to be read");
      if (const auto [other, fresh] = written.emplace(at, i); !fresh)
        throw Error(inputs[other->second] + " and " + inputs[i] + " would both be written to " + output +
                    "; {index} in -o tells them apart");
    }
}

void require_files_of_their_own(const std::vector<FlagFile>& files, const std::vector<std::string>& inputs,
                                const std::vector<std::string>& outputs) {
  std::map<std::string, std::string> others;  // the role of each path
  for (const std::string& input : inputs)
    if (can_be_lost(input)) others.emplace(place_of(input), "is one of the files to be read");
  for (const std::string& output : outputs)
    if (can_be_lost(output)) others.emplace(place_of(output), "is what -o names");
  for (const auto& [flag, file] : files) {
    if (!can_be_lost(file)) continue;
    const auto [other, fresh] = others.emplace(place_of(file), std::string("is what ") + flag + " names");
    if (!fresh) throw Error(std::string(flag) + " " + file + " " + other->second + "; nothing was written");
  }
}

namespace {

std::string count(std::size_t files) { return std::to_string(files) + (files == 1 ? " file" : " files"); }

}  // namespace

std::vector<std::string> paired_files(const std::string& flag, const std::string& word,
                                      const std::vector<std::string>& inputs) {
  std::vector<std::string> out;
  if (word.find("{name}") != word.npos) {
    for (const std::string& input : inputs) out.push_back(named_after(word, input));
    return out;
  }
  const std::vector<std::string> files = several(word);
  if (files.size() < 2) return std::vector<std::string>(inputs.size(), files.empty() ? word : files.front());
  if (files.size() == inputs.size()) return files;
  throw Error("--" + flag + " " + word + " means " + count(files.size()) + " for " + count(inputs.size()) +
              " to be read: one serves all; else give as many, in the same order, or {name}");
}

namespace {

constexpr std::size_t picture_dimensions = 3;  // height, width, channels
constexpr std::size_t grey_dimensions = 2;     // a picture file with one channel

// True if every value of `from` is a value of `to`.
bool widens(Element from, Element to) {
  if (from == to) return true;
  switch (to) {
    case Element::u16:
    case Element::i16:
    case Element::f16:
      return from == Element::u8;
    case Element::i32:
      return from == Element::u8 || from == Element::u16 || from == Element::i16;
    case Element::f32:
    case Element::f64:
      return from != Element::f64 && from != Element::i32;
    default:
      return false;
  }
}

// Returns a mask of 16 bits, by its upper bytes.
Array upper_bytes(const Array& from) {
  Array out(Element::u8, from.extents());
  for (std::int64_t i = 0; i < from.view().count(); ++i)
    out.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(from.as<std::uint16_t>()[i] >> 8);
  return out;
}

Array converted(const std::string& path, const Array& from, std::optional<Element> as) {
  if (!as || from.element() == *as) return from;
  if (!widens(from.element(), *as))
    throw Error(path + ": holds " + std::string(name_of(from.element())) + ", which " +
                std::string(name_of(*as)) + " cannot");
  Array out(*as, from.extents());
  const std::size_t count = static_cast<std::size_t>(from.view().count()), size = size_of(*as),
                    old = size_of(from.element());
  for (std::size_t i = 0; i < count; ++i)
    store_from_double(*as, out.as<char>() + i * size,
                      load_as_double(from.element(), from.as<char>() + i * old));
  return out;
}

// Widens a view to the dimensions of the signature: one more in front, one more at the end.
ArrayView widened(const ArrayView& view) {
  ArrayView out = view;
  const auto front = [&out](std::int64_t extent) {
    out.extents.insert_front(extent);
    out.strides.insert_front(0);
  };
  if (out.extents.size() == 2) {
    out.extents.push_back(1);
    out.strides.push_back(1);
  }
  if (out.extents.size() == picture_dimensions) front(1);
  return out;
}

// Returns a range of channels: the colours, or the alpha after them.
Array channels_of(const Array& pixels, std::int64_t first, std::int64_t count) {
  ArrayView part = pixels.view();
  part.data = const_cast<char*>(pixels.as<char>()) + static_cast<std::size_t>(first) * size_of(part.element);
  part.extents[2] = count;
  return packed_copy(part);
}

bool is_plain_integer(Element element) { return element == Element::u8 || element == Element::u16; }

// Scales between the full ranges of u8 and u16; other types keep their values.
Array alpha_as(const Array& alpha, Element element) {
  if (alpha.element() == element || !is_plain_integer(element) || !is_plain_integer(alpha.element()))
    return converted("alpha", alpha, element);
  Array out(element, alpha.extents());
  for (std::int64_t i = 0; i < alpha.view().count(); ++i)
    if (element == Element::u16)
      out.as<std::uint16_t>()[i] = static_cast<std::uint16_t>(alpha.as<std::uint8_t>()[i] * 257);
    else out.as<std::uint8_t>()[i] = static_cast<std::uint8_t>((alpha.as<std::uint16_t>()[i] + 128) / 257);
  return out;
}

// Throws Error for a file that is neither a picture nor an array: its likely kind, and the kinds that can be
// read.
void require_array(const std::string& path) {
  constexpr std::string_view array = "\x93NUMPY",
                             archive = "PK\x03\x04";  // the array reader has its own message for archives
  const auto beginning = beginning_of(path);
  if (!beginning) return;  // reading it reports the reason
  const std::string_view text(reinterpret_cast<const char*>(beginning->data()), beginning->size());
  if (!text.empty() && (text.starts_with(array.substr(0, text.size())) || text.starts_with(archive))) return;
  const std::string kind = kind_of(*beginning);
  throw Error(path + ": " +
              (kind.empty()   ? "is not known"
               : text.empty() ? "is empty"
                              : "seems to be " + kind) +
              "; supported are .npy arrays and PNG, JPEG, TIFF, PGM, PPM and PFM pictures");
}

}  // namespace

Files::Files(const FileOptions& options) : alpha_rule_(options.alpha), tiles_(options.tiles) {
  if (!options.most_pixels.empty()) limits_.pixels = evaluate(options.most_pixels);
  if (!options.quality.empty())
    style_.quality = static_cast<int>(std::clamp<std::int64_t>(evaluate(options.quality), 0, 101));
  if (style_.quality < 1 || style_.quality > 100) throw Error("--quality is 1 to 100");
  if (!options.png_level.empty())
    style_.png_level = static_cast<int>(std::clamp<std::int64_t>(evaluate(options.png_level), -1, 10));
  if (const int level = style_.png_level.value_or(0); level < 0 || level > 9)
    throw Error("--png-level is 0 to 9");
  if (!alpha_rule_.empty() && alpha_rule_ != "aside" && alpha_rule_ != "channel" && alpha_rule_ != "drop")
    throw Error("--alpha cannot be '" + alpha_rule_ + "'" +
                suggestion(alpha_rule_, {"aside", "channel", "drop"}));
}

Array Files::without_alpha(const Parameter& p, const picture::Picture& picture) {
  const std::string usual = p.picture == Picture::colour ? "aside" : "channel";
  const std::string rule = alpha_rule_.empty() ? usual : alpha_rule_;
  if (!picture.alpha) return picture.pixels;
  const std::int64_t channels = picture.pixels.extents()[2];
  if (rule == "channel") {
    whole_alpha_ = true;
    return picture.pixels;
  }
  if (rule == "aside" && !alpha_) alpha_ = channels_of(picture.pixels, channels - 1, 1);
  return channels_of(picture.pixels, 0, channels - 1);
}

picture::Picture Files::noted(const std::string& name, picture::Picture picture) {
  if (picture.first_of_several) notes_.push_back(name + ": has several pictures; the first is read");
  return picture;
}

picture::Picture Files::parsed(const std::string& path) { return noted(path, picture::read(path, limits_)); }

Array Files::read_picture(const Parameter& p, const std::string& path, std::optional<Element> as) {
  const picture::Picture picture = parsed(path);
  const bool first = !dimensions_;
  if (first) profile_ = picture.profile;
  Array pixels = first || !picture.alpha ? without_alpha(p, picture)
                                         : channels_of(picture.pixels, 0, picture.pixels.extents()[2] - 1);
  if (first) dimensions_ = grey_dimensions;
  const bool mask = p.element == Element::u8 && pixels.element() == Element::u16;
  return converted(path, mask ? upper_bytes(pixels) : pixels, as);
}

// Reads a grid; results computed from it are written as pictures.
Array Files::read_grid(const Parameter& p, const std::string& path, std::optional<Element> as) {
  if (alpha_rule_ == "aside") throw Error("--alpha of " + p.name + " is channel or drop: each has its own");
  const bool drop = alpha_rule_ == "drop", named = picture::names_grid(path);
  if (named && !tiles_.empty()) throw Error("--tiles is for one picture, not for " + path);
  dimensions_ = grey_dimensions;
  if (!named && !picture::begins_as_picture(path) && !picture::named_as_picture(path)) {
    if (!tiles_.empty()) throw Error("--tiles is for one picture, not for " + path);
    require_array(path);
    dimensions_ = picture_dimensions;
    return npy::read(path, as);
  }
  if (!named && tiles_.empty())
    throw Error(path +
                ": is one picture; --tiles ROWSxCOLS says how many it holds, and a name with {row} and {col} "
                "means several files");
  const picture::Picture grid =
      named ? noted("a view of " + path, picture::read_grid(picture::find_grid(path), drop, limits_))
            : picture::cut_tiles(parsed(path), tiles_, path);
  profile_ = grid.profile;
  whole_alpha_ = grid.alpha && !drop;
  if (!grid.alpha || !drop || named) return converted(path, grid.pixels, as);
  ArrayView colours = grid.pixels.view();
  --colours.extents.back();
  return converted(path, packed_copy(colours), as);
}

Array Files::read(const Parameter& p, const std::string& path, std::optional<Element> as) {
  if (is_grid(p)) return read_grid(p, path, as);
  const bool picture = picture::begins_as_picture(path);
  if (!picture && picture::named_as_picture(path)) (void)picture::read(path, limits_);  // throws the reason
  if (!picture) require_array(path);
  if (p.picture == Picture::no) {
    if (!picture) return npy::read(path, as);
    const Array pixels = converted(path, parsed(path).pixels, as);
    ArrayView view = pixels.view();
    if (p.extents.size() == 2 && view.extents[2] == 1) {
      view.extents.pop_back();
      view.strides.pop_back();
    }
    return Array(view, std::make_shared<Array>(pixels));
  }
  const Array array = picture ? read_picture(p, path, as) : npy::read(path, as);
  if (!dimensions_) dimensions_ = array.extents().size();
  return Array(widened(array.view()), std::make_shared<Array>(array));
}

void Files::cut_alpha(std::int64_t row, std::int64_t col, std::int64_t height, std::int64_t width) {
  if (!alpha_ || height > alpha_->extents()[0] - row || width > alpha_->extents()[1] - col) return;
  ArrayView part = alpha_->view();
  part.data = alpha_->as<char>() +
              static_cast<std::size_t>(row * part.strides[0] + col * part.strides[1]) * size_of(part.element);
  part.extents = {height, width, 1};
  alpha_ = packed_copy(part);
}

ArrayView Files::as_in_file(const Parameter& p, const ArrayView& view) const {
  ArrayView out = view;
  if (p.picture == Picture::no || out.extents.size() != 4 || out.extents[0] != 1) return out;
  // A batch of one keeps its first dimension if it was read with one, unless the signature has exactly one
  // picture.
  if (dimensions_.value_or(4) > picture_dimensions && p.extents[0] != "1") return out;
  out.extents.erase_front();
  out.strides.erase_front();
  if (dimensions_ == grey_dimensions && out.extents[2] == 1) {
    out.extents.pop_back();
    out.strides.pop_back();
  }
  return out;
}

bool Files::takes_alpha(const std::string& path, const ArrayView& pixels) const {
  if (!alpha_ || pixels.extents[2] % 2 == 0 || pixels.extents[2] > 3) return false;
  if (pixels.extents[0] != alpha_->extents()[0] || pixels.extents[1] != alpha_->extents()[1]) return false;
  const Element from = alpha_->element(), to = pixels.element;
  if (!widens(from, to) && !(is_plain_integer(from) && is_plain_integer(to)))
    throw Error(path + ": its alpha of " + std::string(name_of(from)) + " cannot go with colours of " +
                std::string(name_of(to)) + "; --alpha drop leaves it out, --alpha channel computes on it");
  return true;
}

Array Files::with_alpha(const ArrayView& pixels) const {
  const Array alpha = alpha_as(*alpha_, pixels.element);
  const std::int64_t channels = pixels.extents[2];
  const std::size_t size = size_of(pixels.element), colours = static_cast<std::size_t>(channels) * size;
  Array out(pixels.element, {pixels.extents[0], pixels.extents[1], channels + 1});
  const auto count = static_cast<std::size_t>(pixels.extents[0] * pixels.extents[1]);
  const auto* from = static_cast<const char*>(pixels.data);
  for (std::size_t i = 0; i < count; ++i) {
    char* const to = out.as<char>() + i * (colours + size);
    std::memcpy(to, from + i * colours, colours);
    std::memcpy(to + colours, alpha.as<char>() + i * size, size);
  }
  return out;
}

namespace {

// Returns the view as [height,width,channels], or throws Error.
ArrayView as_picture(const std::string& path, ArrayView view) {
  if (view.extents.size() == 2) {
    view.extents.push_back(1);
    view.strides.push_back(1);
  }
  if (view.extents.size() == 4)
    throw Error(path + ": a picture file holds one picture; a .npy file holds " + to_string(view.extents));
  if (view.extents.size() != picture_dimensions)
    throw Error(path + ": a picture has height and width, and perhaps channels");
  return view;
}

// True for several pictures with a file each.
bool is_numbered(const Parameter& p, const std::string& path, const ArrayView& view) {
  return p.picture != Picture::no && view.extents.size() == 4 && has_index(path);
}

ArrayView entry_of(const ArrayView& view, std::int64_t index) {
  ArrayView out = view;
  out.extents[0] = 1;
  if (out.data != nullptr)
    out.data = static_cast<char*>(out.data) +
               index * view.strides[0] * static_cast<std::int64_t>(size_of(view.element));
  return out;
}

}  // namespace

void Files::require_room(const Parameter& p, const std::string& path, const ArrayView& view) const {
  if (is_numbered(p, path, view) && view.extents[0] > 1) return require_room(p, path, entry_of(view, 0));
  if (path == standard_output || !picture::is_picture_output(path)) return;
  const ArrayView pixels = as_picture(path, as_in_file(p, view));
  Extents extents = pixels.extents;
  const bool added = p.picture != Picture::no && takes_alpha(path, pixels);
  if (added) ++extents[2];
  const bool alpha = added || (whole_alpha_ && p.picture != Picture::no && extents[2] % 2 == 0);
  if (const auto reason = picture::cannot_hold(path, pixels.element, extents, alpha))
    throw Error(path + ": " + *reason);
  // A written picture must be readable by a call with the same limit.
  picture::require_within(path, limits_, pixels.element, extents);
}

ArrayView Files::write(const Parameter& p, const std::string& path, const ArrayView& view) const {
  if (!is_numbered(p, path, view)) return write_one(p, path, view);
  for (std::int64_t i = 0; i < view.extents[0]; ++i)
    (void)write_one(p, numbered(path, i, view.extents[0]), entry_of(view, i));
  ArrayView shape = view;
  shape.data = nullptr;
  return shape;
}

ArrayView Files::write_one(const Parameter& p, const std::string& path, const ArrayView& view) const {
  const ArrayView held = as_in_file(p, view);
  if (path == standard_output) {
    npy::write(STDOUT_FILENO, "standard output", held);
    return held;
  }
  if (!picture::is_picture_output(path)) {
    npy::write(path, held);
    return held;
  }
  ArrayView pixels = as_picture(path, held);
  picture::Style style = style_;
  Array joined;
  if (p.picture != Picture::no) {
    style.profile = profile_;
    style.alpha = whole_alpha_ && pixels.extents[2] % 2 == 0;
    if (takes_alpha(path, pixels)) {
      joined = with_alpha(pixels);
      pixels = joined.view();
      style.alpha = true;
    }
  }
  picture::write(path, pixels, style);
  pixels.data = nullptr;  // only the shape is reported
  return pixels;
}

}  // namespace tessera::cli
