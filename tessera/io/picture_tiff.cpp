// SPDX-License-Identifier: Apache-2.0
// TIFF by libtiff, from memory and to memory: strips or tiles, planes together or apart, 8 and 16 bits and
// floats.
#include "tessera/io/picture_codec.hpp"
#if defined(TESSERA_HAS_TIFF)
#include <tiffio.h>
#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>

namespace tessera::picture {
namespace {

// A file in memory, as libtiff wants it.
struct Stream {
  Bytes bytes;                           // when writing
  std::span<const std::byte> file = {};  // when reading
  std::size_t at = 0;
  char message[200] = {};

  static Stream& of(thandle_t handle) { return *static_cast<Stream*>(handle); }
};

tmsize_t read_some(thandle_t handle, void* to, tmsize_t count) {
  Stream& s = Stream::of(handle);
  const std::size_t left = s.at < s.file.size() ? s.file.size() - s.at : 0;
  const std::size_t got = std::min(left, static_cast<std::size_t>(count));
  if (got != 0) std::memcpy(to, s.file.data() + s.at, got);
  s.at += got;
  return static_cast<tmsize_t>(got);
}

tmsize_t write_some(thandle_t handle, void* from, tmsize_t count) {
  Stream& s = Stream::of(handle);
  const auto size = static_cast<std::size_t>(count);
  try {
    if (s.bytes.size() < s.at + size) s.bytes.resize(s.at + size);
  } catch (const std::bad_alloc&) {
    return 0;
  }
  std::memcpy(s.bytes.data() + s.at, from, size);
  s.at += size;
  return count;
}

toff_t size_of_stream(thandle_t handle) {
  const Stream& s = Stream::of(handle);
  return std::max(s.file.size(), s.bytes.size());
}

toff_t seek(thandle_t handle, toff_t offset, int from) {
  Stream& s = Stream::of(handle);
  if (from == SEEK_SET) s.at = offset;
  else if (from == SEEK_CUR) s.at += offset;
  else s.at = size_of_stream(handle) + offset;
  return s.at;
}

int on_error(TIFF*, void* state, const char*, const char* format, va_list values) {
  auto* const stream = static_cast<Stream*>(state);
  if (stream->message[0] == 0) std::vsnprintf(stream->message, sizeof stream->message, format, values);
  return 1;
}

int on_warning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

using Tiff = std::unique_ptr<TIFF, void (*)(TIFF*)>;

Tiff open(Stream& stream, const std::string& name, const char* mode, std::int64_t most_bytes) {
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                             TIFFOpenOptionsFree);
  if (!options) throw Error(name + ": no memory is left");
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), most_bytes);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), on_error, &stream);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), on_warning, &stream);
  return {TIFFClientOpenExt(
              name.c_str(), mode, &stream, read_some, write_some, seek, [](thandle_t) { return 0; },
              size_of_stream, [](thandle_t, void**, toff_t*) { return 0; }, [](thandle_t, void*, toff_t) {},
              options.get()),
          TIFFClose};
}

struct Header {
  std::uint32_t width = 0, height = 0;
  std::uint16_t bits = 0, samples = 0, format = 0, photometric = 0, planes = 0, compression = 0;
  Element element = Element::u8;
  bool alpha = false, multiplied = false;  // by alpha already
};

Element element_of_samples(const Header& h, const std::string& name) {
  if (h.format == SAMPLEFORMAT_UINT && h.bits == 8) return Element::u8;
  if (h.format == SAMPLEFORMAT_UINT && h.bits == 16) return Element::u16;
  if (h.format == SAMPLEFORMAT_INT && h.bits == 16) return Element::i16;
  if (h.format == SAMPLEFORMAT_IEEEFP && h.bits == 16) return Element::f16;
  if (h.format == SAMPLEFORMAT_IEEEFP && h.bits == 32) return Element::f32;
  throw Error(name + ": is a TIFF file of " + std::to_string(h.bits) +
              "-bit samples of a type that is not read here");
}

Header read_header(TIFF* tiff, const std::string& name) {
  Header h;
  TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &h.width);
  TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &h.height);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &h.bits);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &h.samples);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &h.format);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &h.planes);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &h.compression);
  if (TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &h.photometric) == 0)
    h.photometric = h.samples < 3 ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_RGB;
  if (h.format == SAMPLEFORMAT_VOID) h.format = SAMPLEFORMAT_UINT;
  h.element = element_of_samples(h, name);
  if (h.photometric == PHOTOMETRIC_YCBCR && h.compression == COMPRESSION_JPEG &&
      h.planes == PLANARCONFIG_CONTIG && TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB) != 0)
    h.photometric = PHOTOMETRIC_RGB;
  const bool grey =
      h.photometric == PHOTOMETRIC_MINISBLACK ||
      (h.photometric == PHOTOMETRIC_MINISWHITE && is_integer(h.element) && h.element != Element::i16);
  const bool palette = h.photometric == PHOTOMETRIC_PALETTE && h.samples == 1 && h.element == Element::u8;
  if (!grey && !palette && h.photometric != PHOTOMETRIC_RGB)
    throw Error(name + ": is a TIFF file of colours (photometric " + std::to_string(h.photometric) +
                ") that are not read here");
  if (h.samples < 1 || h.samples > 4 || (h.photometric == PHOTOMETRIC_RGB && h.samples < 3) ||
      (grey && h.samples > 2))
    throw Error(name + ": is a TIFF file of " + std::to_string(h.samples) +
                " samples for each pixel, which is not read here");
  std::uint16_t extra = 0, *kinds = nullptr;
  if (TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &extra, &kinds) != 0 && extra == 1 && h.samples % 2 == 0) {
    h.alpha = kinds[0] == EXTRASAMPLE_UNASSALPHA || kinds[0] == EXTRASAMPLE_ASSOCALPHA;
    h.multiplied = kinds[0] == EXTRASAMPLE_ASSOCALPHA;
  }
  return h;
}

// What lies together in the file: a strip or a tile, of one plane or of all.
void read_blocks(TIFF* tiff, const Header& h, const std::string& name, const Stream& stream,
                 std::byte* pixels) {
  const bool tiled = TIFFIsTiled(tiff) != 0, apart = h.planes == PLANARCONFIG_SEPARATE;
  std::uint32_t block_width = h.width, block_height = h.height;
  if (tiled) {
    TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &block_width);
    TIFFGetField(tiff, TIFFTAG_TILELENGTH, &block_height);
  } else {
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &block_height);
    block_height = std::min(block_height, h.height);
  }
  const std::size_t size = size_of(h.element), of_block = apart ? 1 : h.samples,
                    row_bytes = block_width * of_block * size;
  const tmsize_t bytes = tiled ? TIFFTileSize(tiff) : TIFFStripSize(tiff);
  const double largest =
      std::max(67108864.0, 4.0 * h.width * h.height * h.samples * static_cast<double>(size));
  if (block_width == 0 || block_height == 0 || bytes <= 0 || static_cast<double>(bytes) > largest ||
      static_cast<std::size_t>(bytes) / row_bytes < block_height)
    throw Error(name + ": is a damaged TIFF file: its strips or tiles have no possible size");
  Bytes block(static_cast<std::size_t>(bytes));
  std::uint32_t index = 0;
  for (std::uint32_t plane = 0; plane < (apart ? h.samples : 1u); ++plane)
    for (std::uint64_t y0 = 0; y0 < h.height; y0 += block_height)
      for (std::uint64_t x0 = 0; x0 < h.width; x0 += block_width, ++index) {
        const std::size_t rows = std::min<std::size_t>(block_height, h.height - y0),
                          cols = std::min<std::size_t>(block_width, h.width - x0);
        const auto wanted = static_cast<tmsize_t>(tiled ? block.size() : rows * row_bytes);
        const tmsize_t got = tiled ? TIFFReadEncodedTile(tiff, index, block.data(), bytes)
                                   : TIFFReadEncodedStrip(tiff, index, block.data(), bytes);
        if (got < wanted)
          throw Error(name + ": is a damaged TIFF file: " +
                      (stream.message[0] != 0 ? stream.message : "it ends too early"));
        for (std::size_t y = 0; y < rows; ++y)
          for (std::size_t x = 0; x < cols; ++x)
            std::memcpy(pixels + (((y0 + y) * h.width + x0 + x) * h.samples + plane) * size,
                        block.data() + y * row_bytes + x * of_block * size, of_block * size);
      }
}

template <class T>
void invert(T* values, std::int64_t count, int samples, bool alpha) {
  const int colours = alpha ? samples - 1 : samples;
  for (std::int64_t i = 0; i < count; i += samples)
    for (int c = 0; c < colours; ++c) values[i + c] = static_cast<T>(~values[i + c]);
}

// Colours as they were before alpha took its share, to the nearest.
template <class T>
void divide_by_alpha(T* values, std::int64_t count, int samples) {
  constexpr std::uint64_t most = std::numeric_limits<T>::max();
  for (std::int64_t i = 0; i < count; i += samples)
    for (int c = 0; c + 1 < samples; ++c)
      if (const std::uint64_t a = values[i + samples - 1]; a != 0)
        values[i + c] = static_cast<T>(std::min(most, (values[i + c] * most + a / 2) / a));
}

void as_straight_colours(const Header& h, const std::string& name, Array& pixels) {
  const std::int64_t count = pixels.view().count();
  const bool wide = h.element == Element::u16;
  if (h.photometric == PHOTOMETRIC_MINISWHITE) {
    if (wide) invert(pixels.as<std::uint16_t>(), count, h.samples, h.alpha);
    else invert(pixels.as<std::uint8_t>(), count, h.samples, h.alpha);
  }
  if (!h.multiplied) return;
  if (wide) divide_by_alpha(pixels.as<std::uint16_t>(), count, h.samples);
  else if (h.element == Element::u8) divide_by_alpha(pixels.as<std::uint8_t>(), count, h.samples);
  else
    throw Error(name + ": its colours have been multiplied by alpha, which is undone for 8 and 16 bits only");
}

// The 16-bit colours that 8-bit numbers stand for.
Array look_up(TIFF* tiff, const std::string& name, const Limits& limits, const Array& numbers) {
  std::uint16_t *red = nullptr, *green = nullptr, *blue = nullptr;
  if (TIFFGetField(tiff, TIFFTAG_COLORMAP, &red, &green, &blue) == 0)
    throw Error(name + ": is a damaged TIFF file: its palette is missing");
  Array out = pixels_for(name, limits, Element::u16, numbers.extents()[0], numbers.extents()[1], 3);
  auto* to = out.as<std::uint16_t>();
  const auto* from = numbers.as<std::uint8_t>();
  for (std::int64_t i = 0; i < numbers.view().count(); ++i, to += 3) {
    to[0] = red[from[i]];
    to[1] = green[from[i]];
    to[2] = blue[from[i]];
  }
  return out;
}

void describe(TIFF* tiff, const ArrayView& pixels, const Style& style, std::uint32_t rows_a_strip) {
  const auto samples = static_cast<int>(pixels.extents[2]);
  const bool floats = !is_integer(pixels.element);
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(pixels.extents[1]));
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(pixels.extents[0]));
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, static_cast<int>(8 * size_of(pixels.element)));
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, samples);
  TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT,
               floats                           ? SAMPLEFORMAT_IEEEFP
               : pixels.element == Element::i16 ? SAMPLEFORMAT_INT
                                                : SAMPLEFORMAT_UINT);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, samples < 3 ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_RGB);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, rows_a_strip);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_LZW);
  if (!floats) TIFFSetField(tiff, TIFFTAG_PREDICTOR, PREDICTOR_HORIZONTAL);
  const std::uint16_t kind = style.alpha ? EXTRASAMPLE_UNASSALPHA : EXTRASAMPLE_UNSPECIFIED;
  if (samples % 2 == 0) TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &kind);
  if (!style.profile.empty())
    TIFFSetField(tiff, TIFFTAG_ICCPROFILE, static_cast<std::uint32_t>(style.profile.size()),
                 style.profile.data());
}

}  // namespace

Raw parse_tiff(std::span<const std::byte> file, const std::string& name, const Limits& limits) {
  constexpr std::int64_t least_memory = std::int64_t{1} << 26;  // libtiff counts its own tables too
  Stream stream;
  stream.file = file;
  const Tiff tiff = open(stream, name, "rm", std::max(limits.bytes, least_memory));
  const auto damaged = [&] { return Error(name + ": is a damaged TIFF file: " + stream.message); };
  if (!tiff) throw damaged();
  const Header h = read_header(tiff.get(), name);
  Raw raw;
  raw.picture.pixels = pixels_for(name, limits, h.element, h.height, h.width, h.samples);
  raw.picture.alpha = h.alpha;
  read_blocks(tiff.get(), h, name, stream, raw.picture.pixels.as<std::byte>());
  as_straight_colours(h, name, raw.picture.pixels);
  if (h.photometric == PHOTOMETRIC_PALETTE)
    raw.picture.pixels = look_up(tiff.get(), name, limits, raw.picture.pixels);
  std::uint16_t orientation = 1;
  if (TIFFGetField(tiff.get(), TIFFTAG_ORIENTATION, &orientation) != 0) raw.orientation = orientation;
  std::uint32_t bytes = 0;
  const void* profile = nullptr;
  if (TIFFGetField(tiff.get(), TIFFTAG_ICCPROFILE, &bytes, &profile) != 0)
    raw.picture.profile.assign(static_cast<const std::byte*>(profile),
                               static_cast<const std::byte*>(profile) + bytes);
  return raw;
}

Bytes encode_tiff(const std::string& name, const ArrayView& pixels, const Style& style) {
  constexpr std::size_t bytes_a_strip = 1 << 18;
  Stream stream;
  Tiff tiff = open(stream, name, pixels.bytes() > (std::size_t{1} << 31) ? "w8m" : "wm", 0);
  if (!tiff) throw Error(name + ": libtiff cannot write it: " + stream.message);
  const auto height = static_cast<std::size_t>(pixels.extents[0]);
  const std::size_t row_bytes = pixels.bytes() / height,
                    rows = std::clamp<std::size_t>(bytes_a_strip / row_bytes, 1, height);
  describe(tiff.get(), pixels, style, static_cast<std::uint32_t>(rows));
  Bytes strip(rows * row_bytes);  // the predictor changes what it is handed
  for (std::size_t y = 0, index = 0; y < height; y += rows, ++index) {
    const std::size_t bytes = std::min(rows, height - y) * row_bytes;
    std::memcpy(strip.data(), static_cast<const std::byte*>(pixels.data) + y * row_bytes, bytes);
    if (TIFFWriteEncodedStrip(tiff.get(), static_cast<std::uint32_t>(index), strip.data(),
                              static_cast<tmsize_t>(bytes)) < 0)
      throw Error(name + ": libtiff cannot write it: " + stream.message);
  }
  if (TIFFFlush(tiff.get()) == 0) throw Error(name + ": libtiff cannot write it: " + stream.message);
  tiff.reset();
  return std::move(stream.bytes);
}

}  // namespace tessera::picture
#else
namespace tessera::picture {

constexpr const char* absent =
    ": this build knows no TIFF; with libtiff's development files (libtiff-dev) it would";
Raw parse_tiff(std::span<const std::byte>, const std::string& name, const Limits&) {
  throw Error(name + absent);
}
Bytes encode_tiff(const std::string& name, const ArrayView&, const Style&) { throw Error(name + absent); }

}  // namespace tessera::picture
#endif
