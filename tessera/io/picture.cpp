// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/picture.hpp"
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include "tessera/io/atomic_file.hpp"
#include "tessera/io/file_kind.hpp"
#include "tessera/io/picture_codec.hpp"

namespace tessera::picture {
namespace {

constexpr std::int64_t max_jpeg_side = 65500;  // libjpeg's JPEG_MAX_DIMENSION

enum class Format { none, png, jpeg, tiff, pnm };

Format format_of(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.starts_with("\x89PNG\r\n\x1a\n")) return Format::png;
  if (text.starts_with("\xff\xd8\xff")) return Format::jpeg;
  for (const std::string_view magic : {std::string_view("II\x2a\0", 4), std::string_view("MM\0\x2a", 4),
                                       std::string_view("II\x2b\0", 4), std::string_view("MM\0\x2b", 4)})
    if (text.starts_with(magic)) return Format::tiff;
  const bool letter =
      text.size() > 2 && text[0] == 'P' && std::string_view("2356fF").find(text[1]) != text.npos;
  return letter && (std::isspace(static_cast<unsigned char>(text[2])) != 0 || text[2] == '#') ? Format::pnm
                                                                                              : Format::none;
}

std::string ending_of(const std::string& path) {
  const std::size_t dot = path.find_last_of("./");
  std::string out = dot == std::string::npos || path[dot] == '/' ? "" : path.substr(dot + 1);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

Format format_named(const std::string& path) {
  const std::string ending = ending_of(path);
  if (ending == "png") return Format::png;
  for (const char* name : {"jpg", "jpeg", "jpe", "jfif"})
    if (ending == name) return Format::jpeg;
  if (ending == "tif" || ending == "tiff") return Format::tiff;
  if (ending == "pgm" || ending == "ppm" || ending == "pnm" || ending == "pfm") return Format::pnm;
  return Format::none;
}

Bytes whole_file(const std::string& path, std::int64_t most) {
  std::error_code failed, none;
  const auto bytes = std::filesystem::file_size(path, failed);
  if (std::filesystem::is_other(path, none)) throw Error(path + ": is not a regular file");
  if (failed) throw Error(path + ": " + failed.message());
  if (bytes > static_cast<std::uintmax_t>(most))
    throw Error(path + ": has " + std::to_string(bytes) + " bytes, more than the limit of " +
                std::to_string(most));
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(path + ": " + std::generic_category().message(errno));
  Bytes out(bytes);
  file.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
  out.resize(static_cast<std::size_t>(file.gcount()));
  return out;
}

const Codec& codec_of(Format format, const std::string& name) {
  static constexpr const Codec* codecs[] = {nullptr, &png_codec, &jpeg_codec, &tiff_codec, &pnm_codec};
  const Codec& out = *codecs[static_cast<std::size_t>(format)];
  if (out.lacking != nullptr) throw Error(name + ": this build does not support " + out.lacking);
  return out;
}

// True if the profile is for this number of channels. The ICC header names the colour space at byte 16.
bool serves(std::span<const std::byte> profile, std::int64_t channels) {
  constexpr std::size_t header = 128, at = 16;
  if (profile.size() < header) return false;
  const std::string_view kind(reinterpret_cast<const char*>(profile.data()) + at, 4);
  return kind == (channels <= 2 ? "GRAY" : "RGB ");
}

}  // namespace

void require_within(const std::string& name, const Limits& limits, Element element, const Extents& extents) {
  const std::int64_t height = extents[0], width = extents[1], channels = extents[2];
  if (height < 1 || width < 1) throw Error(name + ": has no pixels");
  if (height > limits.pixels / width)
    throw Error(name + ": has " + std::to_string(width) + " × " + std::to_string(height) +
                " pixels, more than the limit of " + std::to_string(limits.pixels));
  const std::int64_t of_one = channels * static_cast<std::int64_t>(size_of(element));
  if (height * width > limits.bytes / of_one)
    throw Error(name + ": its pixels need more than the limit of " + std::to_string(limits.bytes) + " bytes");
}

Array pixels_for(const std::string& name, const Limits& limits, Element element, std::int64_t height,
                 std::int64_t width, std::int64_t channels) {
  require_within(name, limits, element, {height, width, channels});
  try {
    return Array(element, {height, width, channels});
  } catch (const Error& error) {
    throw Error(error.kind(), name + ": its header announces " + std::to_string(width) + " × " +
                                  std::to_string(height) + " pixels, but " + error.what());
  }
}

Error unreadable(const std::string& name, const std::string& format, const std::string& message) {
  // Words by which libraries report kinds that they do not support.
  for (const char* kind :
       {"nsupported", "not supported", "not implemented", "not configured", "old-style JPEG"})
    if (message.find(kind) != std::string::npos)
      return Error(name + ": is a " + format + " file of a kind that is not read here: " + message);
  return Error(name + ": is a damaged " + format + " file: " + message);
}

bool begins_as_picture(const std::string& path) {
  const auto beginning = beginning_of(path);
  return beginning && format_of(*beginning) != Format::none;
}

bool named_as_picture(const std::string& path) { return format_named(path) != Format::none; }

bool is_picture_output(const std::string& path) {
  if (named_as_picture(path)) return true;
  const std::string ending = ending_of(path);
  std::error_code none;
  const bool device = std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none);
  if (ending.empty() || ending == "npy" || device) return false;
  throw Error(path + ": nothing is written as ." + ending +
              " files; arrays go to .npy, pictures to .png, .jpg, .tif, .pgm, .ppm, .pfm");
}

Picture parse(std::span<const std::byte> file, const std::string& name, const Limits& limits) {
  const Format format = format_of(file);
  if (format == Format::none)
    throw Error(name + ": is " +
                (file.empty() ? "empty" : "no PNG, JPEG, TIFF, PGM, PPM or PFM file" + but_seems(file)));
  Raw raw = codec_of(format, name).parse(file, name, limits);
  raw.picture.pixels = upright(raw.picture.pixels, raw.orientation);
  return std::move(raw.picture);
}

Picture read(const std::string& path, const Limits& limits) {
  return parse(whole_file(path, limits.bytes), path, limits);
}

std::optional<std::string> cannot_hold(const std::string& path, Element element, const Extents& extents,
                                       bool alpha) {
  const std::string type(name_of(element)), ending = ending_of(path);
  if (extents.size() != 3) return "a picture has height, width and channels";
  if (extents[0] < 1 || extents[1] < 1) return "a picture without pixels";
  const std::int64_t channels = extents[2];
  if (channels < 1 || channels > 4) return "a picture has 1 to 4 channels, not " + std::to_string(channels);
  const auto lacks = [&](const char* kind,
                         std::initializer_list<Element> held) -> std::optional<std::string> {
    if (std::ranges::find(held, element) != held.end()) return std::nullopt;
    std::string list;
    for (const Element e : held) list += (list.empty() ? "" : ", ") + std::string(name_of(e));
    return std::string(kind) + " holds " + list + ", not " + type + "; a .npy file holds anything";
  };
  switch (format_named(path)) {
    case Format::png:
      return lacks("PNG", {Element::u8, Element::u16});
    case Format::jpeg:
      if (alpha || channels == 2 || channels == 4) return "JPEG has no alpha; a .png file has";
      if (std::max(extents[0], extents[1]) > max_jpeg_side)
        return "a JPEG file has at most " + std::to_string(max_jpeg_side) + " rows and columns";
      return lacks("JPEG", {Element::u8});
    case Format::tiff:
      return lacks("TIFF", {Element::u8, Element::u16, Element::i16, Element::f16, Element::f32});
    case Format::pnm: {
      const std::int64_t wanted = ending == "pgm" ? 1 : ending == "ppm" ? 3 : channels;
      if (channels != wanted || (channels != 1 && channels != 3))
        return "." + ending + " holds " +
               (ending == "pgm"   ? "1 channel"
                : ending == "ppm" ? "3 channels"
                                  : "1 or 3 channels") +
               ", not " + std::to_string(channels);
      return ending == "pfm" ? lacks("PFM", {Element::f32})
                             : lacks("PGM and PPM", {Element::u8, Element::u16});
    }
    case Format::none:
      break;
  }
  return "its name has no picture format's suffix";
}

std::vector<std::byte> encode(const std::string& path, const ArrayView& pixels, const Style& style) {
  if (const auto reason = cannot_hold(path, pixels.element, pixels.extents, style.alpha))
    throw Error(path + ": " + *reason);
  const Array packed = pixels.row_major() ? Array() : packed_copy(pixels);
  const ArrayView& view = pixels.row_major() ? pixels : packed.view();
  Style fitting = style;
  if (!serves(style.profile, pixels.extents[2])) fitting.profile = {};
  return codec_of(format_named(path), path).encode(path, view, fitting);
}

void write(const std::string& path, const ArrayView& pixels, const Style& style) {
  const Bytes file = encode(path, pixels, style);
  AtomicFile out(path);
  out.write(file);
  out.commit();
}

namespace {

// --- EXIF orientation ---

// Reads numbers of either byte order; 0 beyond the end.
class Numbers {
 public:
  Numbers(std::span<const std::byte> bytes, bool little) : bytes_(bytes), little_(little) {}

  std::uint32_t get(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || bytes_.size() - at < size) return 0;
    std::uint32_t out = 0;
    for (std::size_t i = 0; i < size; ++i)
      out = out << 8 | static_cast<std::uint32_t>(bytes_[little_ ? at + size - 1 - i : at + i]);
    return out;
  }

 private:
  std::span<const std::byte> bytes_;
  bool little_;
};

}  // namespace

int exif_orientation(std::span<const std::byte> exif) {
  constexpr std::uint32_t tag = 0x0112, whole_number = 3, long_number = 4;  // LONG, which some write instead
  constexpr std::size_t entry_bytes = 12;
  if (exif.size() < 8) return 1;
  const Numbers numbers(exif, exif[0] == std::byte{'I'});
  const std::size_t start = numbers.get(4, 4);
  const std::size_t entries = numbers.get(start, 2);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t at = start + 2 + i * entry_bytes;
    if (at > exif.size()) break;
    const std::uint32_t type = numbers.get(at + 2, 2);
    if (numbers.get(at, 2) != tag || (type != whole_number && type != long_number)) continue;
    const auto value = numbers.get(at + 8, type == long_number ? 4 : 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Array upright(const Array& pixels, int orientation) {
  if (orientation <= 1 || orientation > 8) return pixels;
  const bool turned = orientation >= 5;  // rows of the file are columns of the picture
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_below = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const std::int64_t rows = pixels.extents()[0], cols = pixels.extents()[1], channels = pixels.extents()[2];
  const auto size = static_cast<std::size_t>(channels) * size_of(pixels.element());
  Array out(pixels.element(), {turned ? cols : rows, turned ? rows : cols, channels});
  const std::int64_t height = out.extents()[0], width = out.extents()[1];
  const auto* from = pixels.as<std::byte>();
  auto* to = out.as<std::byte>();
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x, to += size) {
      const std::int64_t r = turned ? x : y, c = turned ? y : x;
      const std::int64_t row = from_below ? rows - 1 - r : r, col = from_right ? cols - 1 - c : c;
      std::memcpy(to, from + static_cast<std::size_t>(row * cols + col) * size, size);
    }
  return out;
}

}  // namespace tessera::picture
