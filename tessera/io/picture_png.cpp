// SPDX-License-Identifier: Apache-2.0
// PNG by libpng, which reports a damaged file by longjmp. A function that calls it after setjmp therefore
// holds no object with a destructor.
#include "tessera/io/picture_codec.hpp"
#if defined(TESSERA_HAS_PNG)
#include <png.h>
#include <zlib.h>
#include <bit>
#include <cstring>

namespace tessera::picture {
namespace {

struct Reading {
  std::span<const std::byte> file;
  std::size_t at = 0;
  char message[160] = {};
  png_structp png = nullptr;
  png_infop info = nullptr;

  ~Reading() { png_destroy_read_struct(&png, &info, nullptr); }
};

struct Writing {
  Bytes* file = nullptr;
  bool full = false;
  char message[160] = {};
  png_structp png = nullptr;
  png_infop info = nullptr;

  ~Writing() { png_destroy_write_struct(&png, &info); }
};

template <class State>
void on_error(png_structp png, png_const_charp text) {
  auto* const state = static_cast<State*>(png_get_error_ptr(png));
  std::strncpy(state->message, text, sizeof state->message - 1);
  png_longjmp(png, 1);
}

// libpng warns of invalid chunks and skips them, which is an error only for pixels and their transparency.
void on_reading_warning(png_structp png, png_const_charp text) {
  auto* const state = static_cast<Reading*>(png_get_error_ptr(png));
  const bool counts = std::strncmp(text, "IDAT", 4) == 0 || std::strncmp(text, "tRNS", 4) == 0;
  if (!counts || state->message[0] != 0) return;
  std::strncpy(state->message, text, sizeof state->message - 1);
}

void on_warning(png_structp, png_const_charp) {}

void take(png_structp png, png_bytep to, std::size_t count) {
  auto* const state = static_cast<Reading*>(png_get_io_ptr(png));
  if (state->file.size() - state->at < count) png_error(png, "it ends too early");
  std::memcpy(to, state->file.data() + state->at, count);
  state->at += count;
}

void put(png_structp png, png_bytep from, std::size_t count) {
  auto* const state = static_cast<Writing*>(png_get_io_ptr(png));
  try {
    const auto* const bytes = reinterpret_cast<const std::byte*>(from);
    state->file->insert(state->file->end(), bytes, bytes + count);
  } catch (const std::bad_alloc&) {
    state->full = true;
  }
  if (state->full) png_error(png, "no memory is left");
}

void flush(png_structp) {}

bool read_header(Reading& r) {
  if (setjmp(png_jmpbuf(r.png))) return false;
  png_set_read_fn(r.png, &r, take);
  // Our own limits bound pixels and memory; the chunk limit stops a text that unpacks to gigabytes.
  png_set_user_limits(r.png, 0x7fffffff, 0x7fffffff);
  png_set_chunk_malloc_max(r.png, png_alloc_size_t{1} << 26);
  png_set_benign_errors(r.png, 1);
  png_set_crc_action(r.png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);  // for every chunk
  png_read_info(r.png, r.info);
  return true;
}

// True if all chunks are inside the file, because libpng allocates the length that a chunk states before it
// finds the file's end (except for IDAT chunks).
bool chunks_fit(std::span<const std::byte> file) {
  constexpr std::size_t signature = 8, head = 8, checksum = 4;
  const auto byte = [&](std::size_t at) { return std::to_integer<std::uint32_t>(file[at]); };
  for (std::size_t at = signature; file.size() >= at + head;) {
    const std::uint32_t length = byte(at) << 24 | byte(at + 1) << 16 | byte(at + 2) << 8 | byte(at + 3);
    const std::string_view kind(reinterpret_cast<const char*>(file.data()) + at + 4, 4);
    if (kind == "IEND") break;
    if (length > file.size() - at - head) return kind == "IDAT";
    at += head + length + checksum;
  }
  return true;
}

// Checks the header's extents against the limits before libpng allocates rows.
void require_room(const Reading& r, const std::string& name, const Limits& limits) {
  const int kind = png_get_color_type(r.png, r.info);
  const bool colour = (kind & PNG_COLOR_MASK_COLOR) != 0,
             alpha = (kind & PNG_COLOR_MASK_ALPHA) != 0 || png_get_valid(r.png, r.info, PNG_INFO_tRNS) != 0;
  require_within(name, limits, png_get_bit_depth(r.png, r.info) == 16 ? Element::u16 : Element::u8,
                 {png_get_image_height(r.png, r.info), png_get_image_width(r.png, r.info),
                  (colour ? 3 : 1) + (alpha ? 1 : 0)});
}

// Converts everything to 8 or 16 bits and 1 to 4 channels.
bool settle(Reading& r, int* passes) {
  if (setjmp(png_jmpbuf(r.png))) return false;
  png_set_expand(r.png);
  if (std::endian::native == std::endian::little) png_set_swap(r.png);
  *passes = png_set_interlace_handling(r.png);
  png_read_update_info(r.png, r.info);
  return true;
}

bool read_rows(Reading& r, png_bytepp rows) {
  if (setjmp(png_jmpbuf(r.png))) return false;
  png_read_image(r.png, rows);
  png_read_end(r.png, r.info);
  return r.message[0] == 0;
}

bool has_chunk(std::span<const std::byte> file, std::string_view kind) {
  constexpr std::size_t signature = 8, beside = 12;  // length, kind and checksum
  for (std::size_t at = signature; at <= file.size() && file.size() - at >= beside;) {
    if (std::memcmp(file.data() + at + 4, kind.data(), 4) == 0) return true;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < 4; ++i) bytes = bytes << 8 | std::to_integer<std::size_t>(file[at + i]);
    at += bytes + beside;
  }
  return false;
}

void take_notes(Reading& r, Raw& raw) {
  png_charp name = nullptr;
  png_bytep profile = nullptr;
  png_uint_32 length = 0;
  int compression = 0;
  if (png_get_iCCP(r.png, r.info, &name, &compression, &profile, &length) != 0) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(profile);
    raw.picture.profile.assign(bytes, bytes + length);
  }
  png_bytep exif = nullptr;
  if (png_get_eXIf_1(r.png, r.info, &length, &exif) != 0)
    raw.orientation = exif_orientation({reinterpret_cast<const std::byte*>(exif), length});
}

std::vector<png_bytep> rows_of(std::byte* pixels, std::size_t height, std::size_t row_bytes) {
  std::vector<png_bytep> rows(height);
  for (std::size_t y = 0; y < height; ++y) rows[y] = reinterpret_cast<png_bytep>(pixels + y * row_bytes);
  return rows;
}

bool write_all(Writing& w, png_uint_32 width, png_uint_32 height, int depth, int kind,
               png_const_bytep profile, png_uint_32 profile_bytes, const int* level, png_bytepp rows) {
  if (setjmp(png_jmpbuf(w.png))) return false;
  png_set_write_fn(w.png, &w, put, flush);
  png_set_user_limits(w.png, 0x7fffffff, 0x7fffffff);
  png_set_IHDR(w.png, w.info, width, height, depth, kind, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  // Differences of neighbours are mostly runs of small numbers, so the fast way is little larger.
  if (level != nullptr) {
    png_set_compression_level(w.png, *level);
  } else {
    png_set_filter(w.png, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB);
    png_set_compression_level(w.png, Z_BEST_SPEED);
    png_set_compression_strategy(w.png, Z_RLE);
  }
  // A profile that libpng rejects is left out, not an error.
  png_set_benign_errors(w.png, 1);
  if (profile_bytes != 0)
    png_set_iCCP(w.png, w.info, "ICC", PNG_COMPRESSION_TYPE_BASE, profile, profile_bytes);
  png_write_info(w.png, w.info);
  if (depth == 16 && std::endian::native == std::endian::little) png_set_swap(w.png);
  png_write_image(w.png, rows);
  png_write_end(w.png, w.info);
  return true;
}

Raw parse_png(std::span<const std::byte> file, const std::string& name, const Limits& limits) {
  if (!chunks_fit(file)) throw unreadable(name, "PNG", "it ends too early");
  Reading r;
  r.file = file;
  r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, on_error<Reading>, on_reading_warning);
  if (r.png != nullptr) r.info = png_create_info_struct(r.png);
  if (r.info == nullptr) throw Error(name + ": no memory is left for reading it");
  if (!read_header(r)) throw unreadable(name, "PNG", r.message);
  require_room(r, name, limits);
  int passes = 0;
  if (!settle(r, &passes)) throw unreadable(name, "PNG", r.message);
  Raw raw;
  const std::size_t height = png_get_image_height(r.png, r.info);
  const int channels = png_get_channels(r.png, r.info);
  raw.picture.pixels =
      pixels_for(name, limits, png_get_bit_depth(r.png, r.info) == 16 ? Element::u16 : Element::u8,
                 static_cast<std::int64_t>(height), png_get_image_width(r.png, r.info), channels);
  raw.picture.alpha = channels == 2 || channels == 4;
  std::vector<png_bytep> rows =
      rows_of(raw.picture.pixels.as<std::byte>(), height, raw.picture.pixels.view().bytes() / height);
  if (!read_rows(r, rows.data())) throw unreadable(name, "PNG", r.message);
  raw.picture.first_of_several = has_chunk(file, "acTL");  // an animation
  take_notes(r, raw);
  return raw;
}

Bytes encode_png(const std::string& name, const ArrayView& pixels, const Style& style) {
  constexpr int kinds[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                           PNG_COLOR_TYPE_RGB_ALPHA};
  const std::int64_t height = pixels.extents[0], width = pixels.extents[1], channels = pixels.extents[2];
  if (height > 0x7fffffff || width > 0x7fffffff) throw Error(name + ": is too large for a PNG file");
  Bytes out;
  Writing w;
  w.file = &out;
  w.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &w, on_error<Writing>, on_warning);
  if (w.png != nullptr) w.info = png_create_info_struct(w.png);
  if (w.info == nullptr) throw Error(name + ": no memory is left for writing it");
  const std::size_t size = size_of(pixels.element);
  std::vector<png_bytep> rows =
      rows_of(static_cast<std::byte*>(pixels.data), static_cast<std::size_t>(height),
              static_cast<std::size_t>(width * channels) * size);
  if (!write_all(w, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height),
                 static_cast<int>(8 * size), kinds[channels - 1],
                 reinterpret_cast<png_const_bytep>(style.profile.data()),
                 static_cast<png_uint_32>(style.profile.size()),
                 style.png_level ? &*style.png_level : nullptr, rows.data()))
    throw Error(name + ": libpng cannot write it: " + w.message);
  return out;
}

}  // namespace

constinit const Codec png_codec{.parse = parse_png, .encode = encode_png};

}  // namespace tessera::picture
#else
namespace tessera::picture {

constinit const Codec png_codec{.lacking =
                                    "PNG: install libpng's development files (libpng-dev) and build again"};

}  // namespace tessera::picture
#endif
