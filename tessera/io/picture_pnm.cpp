// SPDX-License-Identifier: Apache-2.0
// PGM, PPM and PFM: a few numbers as text, then the samples. If the largest sample is not 255 or 65535,
// samples are scaled to that range and rounded to nearest.
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>
#include "tessera/io/picture_codec.hpp"

namespace tessera::picture {
namespace {

class Text {
 public:
  Text(std::span<const std::byte> file, const std::string& name)
      : text_(reinterpret_cast<const char*>(file.data()), file.size()), name_(name) {}

  // Returns the next word; comments reach to the end of their line.
  std::string_view word() {
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size() - 1);
      else if (std::isspace(static_cast<unsigned char>(text_[at_])) == 0) break;
    }
    const std::size_t start = at_;
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) == 0) ++at_;
    if (start == at_) throw Error(name_ + ": is damaged: it ends too early");
    return text_.substr(start, at_ - start);
  }

  std::int64_t number(std::int64_t least, std::int64_t most) {
    const std::string_view text = word();
    std::int64_t value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc() || end != text.data() + text.size() || value < least || value > most)
      throw Error(name_ + ": is damaged: a number from " + std::to_string(least) + " to " +
                  std::to_string(most) + " is missing");
    return value;
  }

  // Returns the samples, after the single white-space character that ends the header.
  std::string_view rest(std::size_t bytes) {
    ++at_;
    if (at_ > text_.size() || text_.size() - at_ < bytes)
      throw Error(name_ + ": is damaged: it ends too early");
    const std::string_view out = text_.substr(at_, bytes);
    at_ += bytes;
    return out;
  }

  // Returns the unread rest. White space after samples in text form is skipped.
  std::string_view behind(bool as_text) {
    if (as_text)
      while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return text_.substr(std::min(at_, text_.size()));
  }

 private:
  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 2;
};

constexpr std::int64_t max_side = 0x7fffffff;

template <class T>
T stretched(std::int64_t value, std::int64_t most) {
  constexpr std::int64_t full = std::numeric_limits<T>::max();
  return static_cast<T>((value * full + most / 2) / most);
}

// A sample above `most`, the largest that the header allows, is an error, as in Netpbm, because its meaning
// is undefined.
template <class T>
void read_samples(Text& text, const std::string& name, bool as_text, std::int64_t most, T* to,
                  std::size_t count) {
  if (as_text) {
    for (std::size_t i = 0; i < count; ++i) to[i] = stretched<T>(text.number(0, most), most);
    return;
  }
  const std::string_view bytes = text.rest(count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t value = 0;
    for (std::size_t b = 0; b < sizeof(T); ++b)
      value = value << 8 | static_cast<unsigned char>(bytes[i * sizeof(T) + b]);
    if (value > most)
      throw Error(name + ": is damaged: sample " + std::to_string(i + 1) + " is " + std::to_string(value) +
                  ", more than the largest value of " + std::to_string(most) + " that its header names");
    to[i] = stretched<T>(value, most);
  }
}

float reversed(float value) {
  return std::bit_cast<float>(__builtin_bswap32(std::bit_cast<std::uint32_t>(value)));
}

// Rows are stored bottom-up; a negative scale means little-endian bytes.
void read_floats(Text& text, const std::string& name, Array& pixels) {
  const std::string scale_text(text.word());
  char* end = nullptr;
  const double scale = std::strtod(scale_text.c_str(), &end);
  if (*end != 0 || !std::isfinite(scale) || scale == 0)
    throw Error(name + ": is damaged: its scale is no number");
  const std::size_t bytes = pixels.view().bytes(), rows = static_cast<std::size_t>(pixels.extents()[0]),
                    row_bytes = bytes / rows;
  const std::string_view from = text.rest(bytes);
  const bool swapped = (scale < 0) != (std::endian::native == std::endian::little);
  for (std::size_t y = 0; y < rows; ++y)
    std::memcpy(pixels.as<char>() + (rows - 1 - y) * row_bytes, from.data() + y * row_bytes, row_bytes);
  if (swapped)
    for (std::size_t i = 0; i < bytes / sizeof(float); ++i)
      pixels.as<float>()[i] = reversed(pixels.as<float>()[i]);
}

bool begins_as_pnm(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == 'P' &&
         std::string_view("1234567fF").find(bytes[1]) != std::string_view::npos &&
         std::isspace(static_cast<unsigned char>(bytes[2])) != 0;
}

Raw parse_pnm(std::span<const std::byte> file, const std::string& name, const Limits& limits) {
  const char kind = static_cast<char>(file[1]);
  Text text(file, name);
  const std::int64_t width = text.number(1, max_side), height = text.number(1, max_side);
  const bool floats = kind == 'f' || kind == 'F', as_text = kind == '2' || kind == '3';
  const std::int64_t channels = kind == '3' || kind == '6' || kind == 'F' ? 3 : 1;
  const std::int64_t most = floats ? 0 : text.number(1, 65535);
  const Element element = floats ? Element::f32 : most > 255 ? Element::u16 : Element::u8;
  // Every sample takes at least a byte of the file: a short file must not cause a large allocation.
  if (height <= limits.pixels / width && height * width * channels > static_cast<std::int64_t>(file.size()))
    throw Error(name + ": is damaged: it ends too early");
  Raw raw;
  Array& pixels = raw.picture.pixels = pixels_for(name, limits, element, height, width, channels);
  const auto count = static_cast<std::size_t>(pixels.view().count());
  if (floats) read_floats(text, name, pixels);
  else if (element == Element::u16)
    read_samples(text, name, as_text, most, pixels.as<std::uint16_t>(), count);
  else read_samples(text, name, as_text, most, pixels.as<std::uint8_t>(), count);
  raw.picture.first_of_several = begins_as_pnm(text.behind(as_text));
  return raw;
}

Bytes encode_pnm(const std::string&, const ArrayView& pixels, const Style&) {
  const bool floats = pixels.element == Element::f32, colour = pixels.extents[2] == 3;
  constexpr bool little = std::endian::native == std::endian::little;
  const std::string header = std::string(floats   ? colour ? "PF" : "Pf"
                                         : colour ? "P6"
                                                  : "P5") +
                             "\n" + std::to_string(pixels.extents[1]) + " " +
                             std::to_string(pixels.extents[0]) + "\n" +
                             (floats                          ? little ? "-1.0" : "1.0"
                              : pixels.element == Element::u8 ? "255"
                                                              : "65535") +
                             "\n";
  const std::size_t bytes = pixels.bytes(), rows = static_cast<std::size_t>(pixels.extents[0]),
                    row_bytes = bytes / rows;
  Bytes out(header.size() + bytes);
  std::memcpy(out.data(), header.data(), header.size());
  std::byte* const to = out.data() + header.size();
  const auto* const from = static_cast<const std::byte*>(pixels.data);
  if (floats) {
    for (std::size_t y = 0; y < rows; ++y)
      std::memcpy(to + (rows - 1 - y) * row_bytes, from + y * row_bytes, row_bytes);
  } else {
    std::memcpy(to, from, bytes);
    if (pixels.element == Element::u16 && little)
      for (std::size_t i = 0; i < bytes; i += 2) std::swap(to[i], to[i + 1]);
  }
  return out;
}

}  // namespace

constinit const Codec pnm_codec{.parse = parse_pnm, .encode = encode_pnm};

}  // namespace tessera::picture
