// SPDX-License-Identifier: Apache-2.0
// JPEG by libjpeg-turbo, which reports a damaged file by longjmp. A function that calls it after setjmp
// therefore holds no object with a destructor. Truncated or inconsistent data is only a warning to libjpeg,
// but an error here, because parts of the picture would be missing.
#include "tessera/io/picture_codec.hpp"
#if defined(TESSERA_HAS_JPEG)
#include <csetjmp>
#include <cstdio>
#include <cstring>
// jpeglib.h needs size_t and FILE.
#include <jpeglib.h>

namespace tessera::picture {
namespace {

// jpeg_error_mgr comes first: the library passes a pointer to it.
struct Failing {
  jpeg_error_mgr manager;
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

void on_exit(j_common_ptr info) {
  auto* const failing = reinterpret_cast<Failing*>(info->err);
  info->err->format_message(info, failing->message);
  std::longjmp(failing->back, 1);
}

// Stops at the first warning: libjpeg would take long to fill the missing part of a large picture.
void on_message(j_common_ptr info, int level) {
  if (level < 0) on_exit(info);  // other levels are traces
}

void prepare(Failing& failing) {
  jpeg_std_error(&failing.manager);
  failing.manager.error_exit = on_exit;
  failing.manager.emit_message = on_message;
  failing.message[0] = 0;
}

// Limits the number of scans: a small file can request thousands of passes over a large picture.
void on_progress(j_common_ptr info) {
  constexpr int max_scans = 500;
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= max_scans) return;
  auto* const failing = reinterpret_cast<Failing*>(info->err);
  std::strcpy(failing->message, "it has more than 500 scans");
  std::longjmp(failing->back, 1);
}

struct Reading {
  jpeg_decompress_struct info = {};
  Failing failing = {};
  jpeg_progress_mgr progress = {};
  JOCTET* profile = nullptr;
  unsigned profile_bytes = 0;

  ~Reading() {
    std::free(profile);
    jpeg_destroy_decompress(&info);
  }
};

struct Writing {
  jpeg_compress_struct info = {};
  Failing failing = {};
  unsigned char* file = nullptr;
  unsigned long bytes = 0;

  ~Writing() {
    jpeg_destroy_compress(&info);
    std::free(file);
  }
};

constexpr unsigned max_marker = 0xffff;

bool read_header(Reading& r, const unsigned char* file, unsigned long bytes, long max_memory) {
  if (setjmp(r.failing.back)) return false;
  jpeg_create_decompress(&r.info);
  r.info.mem->max_memory_to_use = max_memory;
  r.progress.progress_monitor = on_progress;
  r.info.progress = &r.progress;
  jpeg_mem_src(&r.info, file, bytes);
  jpeg_save_markers(&r.info, JPEG_APP0 + 1, max_marker);
  jpeg_save_markers(&r.info, JPEG_APP0 + 2, max_marker);
  jpeg_read_header(&r.info, TRUE);
  if (r.info.jpeg_color_space != JCS_GRAYSCALE && r.info.num_components == 3)
    r.info.out_color_space = JCS_RGB;
  jpeg_read_icc_profile(&r.info, &r.profile, &r.profile_bytes);
  return true;
}

bool read_rows(Reading& r, unsigned char* pixels, std::size_t row_bytes) {
  if (setjmp(r.failing.back)) return false;
  jpeg_start_decompress(&r.info);
  while (r.info.output_scanline < r.info.output_height) {
    JSAMPROW row = pixels + r.info.output_scanline * row_bytes;
    jpeg_read_scanlines(&r.info, &row, 1);
  }
  jpeg_finish_decompress(&r.info);
  return true;
}

bool write_all(Writing& w, const unsigned char* pixels, unsigned width, unsigned height, int channels,
               int quality, const JOCTET* profile, unsigned profile_bytes) {
  if (setjmp(w.failing.back)) return false;
  jpeg_create_compress(&w.info);
  jpeg_mem_dest(&w.info, &w.file, &w.bytes);
  w.info.image_width = width;
  w.info.image_height = height;
  w.info.input_components = channels;
  w.info.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&w.info);
  jpeg_set_quality(&w.info, quality, TRUE);
  jpeg_start_compress(&w.info, TRUE);
  if (profile_bytes != 0) jpeg_write_icc_profile(&w.info, profile, profile_bytes);
  while (w.info.next_scanline < height) {
    auto* row = const_cast<JSAMPROW>(pixels + std::size_t{w.info.next_scanline} * width *
                                                  static_cast<unsigned>(channels));
    jpeg_write_scanlines(&w.info, &row, 1);
  }
  jpeg_finish_compress(&w.info);
  return true;
}

int orientation_of(const jpeg_decompress_struct& info) {
  constexpr char magic[] = "Exif\0";  // its size includes the literal's final 0
  for (const jpeg_marker_struct* m = info.marker_list; m != nullptr; m = m->next)
    if (m->marker == JPEG_APP0 + 1 && m->data_length > sizeof magic &&
        std::memcmp(m->data, magic, sizeof magic) == 0)
      return exif_orientation(
          {reinterpret_cast<const std::byte*>(m->data) + sizeof magic, m->data_length - sizeof magic});
  return 1;
}

Raw parse_jpeg(std::span<const std::byte> file, const std::string& name, const Limits& limits) {
  Reading r;
  prepare(r.failing);
  r.info.err = &r.failing.manager;
  Raw raw;
  const auto damaged = [&] { return unreadable(name, "JPEG", r.failing.message); };
  if (!read_header(r, reinterpret_cast<const unsigned char*>(file.data()), file.size(), limits.bytes))
    throw damaged();
  const int channels = r.info.num_components;
  if (channels != 1 && channels != 3)
    throw Error(name + ": is a JPEG file of " + std::to_string(channels) +
                " components (CMYK); convert it to RGB");
  raw.picture.pixels =
      pixels_for(name, limits, Element::u8, r.info.image_height, r.info.image_width, channels);
  raw.orientation = orientation_of(r.info);
  const auto* const profile = reinterpret_cast<const std::byte*>(r.profile);
  if (r.profile != nullptr) raw.picture.profile.assign(profile, profile + r.profile_bytes);
  if (!read_rows(r, raw.picture.pixels.as<unsigned char>(),
                 std::size_t{r.info.image_width} * static_cast<unsigned>(channels)))
    throw damaged();
  return raw;
}

Bytes encode_jpeg(const std::string& name, const ArrayView& pixels, const Style& style) {
  const std::int64_t height = pixels.extents[0], width = pixels.extents[1];
  if (style.quality < 1 || style.quality > 100) throw Error(name + ": the quality of JPEG is 1 to 100");
  Writing w;
  prepare(w.failing);
  w.info.err = &w.failing.manager;
  if (!write_all(w, static_cast<const unsigned char*>(pixels.data), static_cast<unsigned>(width),
                 static_cast<unsigned>(height), static_cast<int>(pixels.extents[2]), style.quality,
                 reinterpret_cast<const JOCTET*>(style.profile.data()),
                 static_cast<unsigned>(style.profile.size())))
    throw Error(name + ": libjpeg cannot write it: " + w.failing.message);
  const auto* const bytes = reinterpret_cast<const std::byte*>(w.file);
  return {bytes, bytes + w.bytes};
}

}  // namespace

constinit const Codec jpeg_codec{.parse = parse_jpeg, .encode = encode_jpeg};

}  // namespace tessera::picture
#else
namespace tessera::picture {

constinit const Codec jpeg_codec{
    .lacking = "JPEG: install libjpeg-turbo's development files (libjpeg62-turbo-dev) and build again"};

}  // namespace tessera::picture
#endif
