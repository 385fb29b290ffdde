// SPDX-License-Identifier: Apache-2.0
// TIFF by libtiff, from memory and to memory: grey or RGB, 8 or 16 bits or floats, in strips or tiles, with
// interleaved or separate planes. A warning of libtiff while it reads pixels is an error here, because parts
// of the picture would be missing.
#include "tessera/io/picture_codec.hpp"
#if defined(TESSERA_HAS_TIFF)
#include <tiffio.h>
#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>

namespace tessera::picture {
namespace {

// A file in memory, for libtiff's I/O callbacks.
struct Stream {
  Bytes bytes;                           // for writing
  std::span<const std::byte> file = {};  // for reading
  std::size_t at = 0;
  bool reads_pixels = false, lacks_pixels = false;
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

// Warnings about unknown tags are common and harmless; only a warning while pixels are read counts as an
// error.
int on_warning(TIFF* tiff, void* state, const char* module, const char* format, va_list values) {
  auto* const stream = static_cast<Stream*>(state);
  if (!stream->reads_pixels || std::string_view(format).starts_with("Old-style LZW")) return 1;
  stream->lacks_pixels = true;
  return on_error(tiff, state, module, format, values);
}

using Tiff = std::unique_ptr<TIFF, void (*)(TIFF*)>;

Tiff open(Stream& stream, const std::string& name, const char* mode, std::int64_t max_bytes) {
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                             TIFFOpenOptionsFree);
  if (!options) throw Error(name + ": no memory is left");
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), max_bytes);
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
  bool alpha = false;
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
  const bool grey = h.photometric == PHOTOMETRIC_MINISBLACK;
  if (!grey && h.photometric != PHOTOMETRIC_RGB)
    throw Error(name + ": is a TIFF file of colours (photometric " + std::to_string(h.photometric) +
                ") that are not read here");
  if (h.samples < 1 || h.samples > 4 || (h.photometric == PHOTOMETRIC_RGB && h.samples < 3) ||
      (grey && h.samples > 2))
    throw Error(name + ": is a TIFF file of " + std::to_string(h.samples) +
                " samples for each pixel, which is not read here");
  std::uint16_t extra = 0, *kinds = nullptr;
  if (TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &extra, &kinds) != 0 && extra == 1 && h.samples % 2 == 0) {
    h.alpha = kinds[0] == EXTRASAMPLE_UNASSALPHA;
    if (kinds[0] == EXTRASAMPLE_ASSOCALPHA)
      throw Error(name + ": its colours have been multiplied by alpha, which is not undone here");
  }
  return h;
}

// The layout of a file: strips or tiles, each with one plane or all.
struct Cut {
  bool tiled = false, apart = false;
  std::uint32_t width = 0, height = 0;  // size of a block
  std::size_t samples = 0, row_bytes = 0;
  tmsize_t bytes = 0;
  std::uint64_t blocks = 0;
};

std::uint64_t parts(std::uint64_t whole, std::uint64_t part) { return (whole + part - 1) / part; }

Cut cut_of(TIFF* tiff, const Header& h, const std::string& name) {
  Cut c{.tiled = TIFFIsTiled(tiff) != 0,
        .apart = h.planes == PLANARCONFIG_SEPARATE,
        .width = h.width,
        .height = h.height};
  if (c.tiled) {
    TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &c.width);
    TIFFGetField(tiff, TIFFTAG_TILELENGTH, &c.height);
  } else {
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &c.height);
    c.height = std::min(c.height, h.height);
  }
  c.samples = c.apart ? 1 : h.samples;
  c.row_bytes = (c.width * c.samples * h.bits + 7) / 8;
  c.bytes = c.tiled ? TIFFTileSize(tiff) : TIFFStripSize(tiff);
  const double largest =
      std::max(67108864.0, 4.0 * h.width * h.height * h.samples * static_cast<double>(size_of(h.element)));
  if (c.width == 0 || c.height == 0 || c.bytes <= 0 || static_cast<double>(c.bytes) > largest ||
      static_cast<std::size_t>(c.bytes) / c.row_bytes < c.height)
    throw Error(name + ": is a damaged TIFF file: its strips or tiles have no possible size");
  c.blocks = parts(h.width, c.width) * parts(h.height, c.height) * (c.apart ? h.samples : 1u);
  return c;
}

// Returns the largest number of bytes of pixels that one compressed byte can expand to.
double max_of_a_byte(std::uint16_t compression) {
  switch (compression) {
    case COMPRESSION_NONE:
      return 1;
    case COMPRESSION_PACKBITS:
      return 64;  // a run: 128 bytes from two
    case COMPRESSION_LZW:
    case COMPRESSION_ADOBE_DEFLATE:
    case COMPRESSION_DEFLATE:
      return 4096;
    default:
      return INFINITY;  // not known
  }
}

// Checks, before pixels are allocated, that each block is inside the file and that the blocks can hold as
// many pixels as the header says. libtiff reports the nominal length for a single strip that extends beyond
// the file's end, and reads a block that is not listed from offset 0.
void require_blocks(TIFF* tiff, const Header& h, const Cut& cut, const std::string& name, std::size_t file) {
  double stored = 0;
  for (std::uint64_t i = 0; i < cut.blocks; ++i) {
    const auto index = static_cast<std::uint32_t>(i);
    int failed = i > std::numeric_limits<std::uint32_t>::max() ? 1 : 0, no_count = 0;
    const std::uint64_t at = failed != 0 ? 0 : TIFFGetStrileOffsetWithErr(tiff, index, &failed),
                        length = failed != 0 ? 0 : TIFFGetStrileByteCountWithErr(tiff, index, &no_count);
    if (failed != 0 || no_count != 0 || at == 0 || length == 0)
      throw Error(name + ": is a damaged TIFF file: of its " + std::to_string(cut.blocks) + " " +
                  (cut.tiled ? "tiles" : "strips") + " number " + std::to_string(i + 1) + " is missing");
    if (at > file || length > file - at) throw Error(name + ": is a damaged TIFF file: it ends too early");
    stored += static_cast<double>(length);
  }
  const double wanted = static_cast<double>(h.height) * ((1.0 * h.width * h.samples * h.bits) / 8);
  if (wanted > stored * max_of_a_byte(h.compression))
    throw Error(name + ": is a damaged TIFF file: it ends too early");
}

void put_row(const Header& h, const Cut& cut, const std::byte* from, std::size_t cols, std::byte* to) {
  const std::size_t size = size_of(h.element);
  if (!cut.apart) std::memcpy(to, from, cols * cut.samples * size);
  else
    for (std::size_t x = 0; x < cols; ++x) std::memcpy(to + x * h.samples * size, from + x * size, size);
}

void read_blocks(TIFF* tiff, const Header& h, const Cut& cut, const std::string& name, Stream& stream,
                 std::byte* pixels) {
  const std::size_t size = size_of(h.element);
  Bytes block(static_cast<std::size_t>(cut.bytes));
  std::uint32_t index = 0;
  stream.reads_pixels = true;
  for (std::uint32_t plane = 0; plane < (cut.apart ? h.samples : 1u); ++plane)
    for (std::uint64_t y0 = 0; y0 < h.height; y0 += cut.height)
      for (std::uint64_t x0 = 0; x0 < h.width; x0 += cut.width, ++index) {
        const std::size_t rows = std::min<std::size_t>(cut.height, h.height - y0),
                          cols = std::min<std::size_t>(cut.width, h.width - x0);
        const auto wanted = static_cast<tmsize_t>(cut.tiled ? block.size() : rows * cut.row_bytes);
        const tmsize_t got = cut.tiled ? TIFFReadEncodedTile(tiff, index, block.data(), cut.bytes)
                                       : TIFFReadEncodedStrip(tiff, index, block.data(), cut.bytes);
        if (got < wanted || stream.lacks_pixels)
          throw unreadable(name, "TIFF", stream.message[0] != 0 ? stream.message : "it ends too early");
        for (std::size_t y = 0; y < rows; ++y)
          put_row(h, cut, block.data() + y * cut.row_bytes, cols,
                  pixels + (((y0 + y) * h.width + x0) * h.samples + plane) * size);
      }
  stream.reads_pixels = false;
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

Raw parse_tiff(std::span<const std::byte> file, const std::string& name, const Limits& limits) {
  constexpr std::int64_t min_memory = std::int64_t{1} << 26;  // libtiff counts its own tables, too
  Stream stream;
  stream.file = file;
  const Tiff tiff = open(stream, name, "rm", std::max(limits.bytes, min_memory));
  if (!tiff) throw unreadable(name, "TIFF", stream.message);
  const Header h = read_header(tiff.get(), name);
  require_within(name, limits, h.element, {h.height, h.width, h.samples});
  const Cut cut = cut_of(tiff.get(), h, name);
  require_blocks(tiff.get(), h, cut, name, file.size());
  Raw raw;
  raw.picture.pixels = pixels_for(name, limits, h.element, h.height, h.width, h.samples);
  raw.picture.alpha = h.alpha;
  raw.picture.first_of_several = TIFFLastDirectory(tiff.get()) == 0;
  read_blocks(tiff.get(), h, cut, name, stream, raw.picture.pixels.as<std::byte>());
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
  Bytes strip(rows * row_bytes);  // the predictor overwrites its input
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

}  // namespace

constinit const Codec tiff_codec{.parse = parse_tiff, .encode = encode_tiff};

}  // namespace tessera::picture
#else
namespace tessera::picture {

constinit const Codec tiff_codec{
    .lacking = "TIFF: install libtiff's development files (libtiff-dev) and build again"};

}  // namespace tessera::picture
#endif
