// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/file_kind.hpp"
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace tessera {
namespace {

constexpr std::size_t looked_at = 512;

using namespace std::string_view_literals;

struct Magic {
  std::size_t at;
  std::string_view bytes, kind;
};

constexpr Magic magics[] = {
    {0, "\x89PNG\r\n\x1a\n", "a PNG picture"},
    {0, "\xff\xd8\xff", "a JPEG picture"},
    {0, "II\x2a\0"sv, "a TIFF picture"},
    {0, "MM\0\x2a"sv, "a TIFF picture"},
    {0, "\x93NUMPY", "a .npy array"},
    {0, "%PDF-", "a PDF document"},
    {0, "GIF8", "a GIF picture"},
    {8, "WEBP", "a WebP picture"},
    {4, "ftypavif", "an AVIF picture"},
    {4, "ftyphei", "a HEIC picture"},
    {0, "v/1\x01", "an OpenEXR picture"},
    {0, "\x89HDF\r\n", "an HDF5 file"},
    {0, "\x1f\x8b", "compressed (gzip)"},
    {0, "PK\x03\x04", "a ZIP archive"},
};

// True if all bytes are printable characters, white space, or above 127 (UTF-8).
bool is_text(std::string_view text) {
  return std::ranges::all_of(text,
                             [](unsigned char c) { return c >= 0x20 ? c != 0x7f : std::isspace(c) != 0; });
}

}  // namespace

std::string kind_of(std::span<const std::byte> beginning) {
  const std::string_view text(reinterpret_cast<const char*>(beginning.data()),
                              std::min(beginning.size(), looked_at));
  if (text.empty()) return "empty";
  for (const Magic& magic : magics)
    if (text.size() >= magic.at && text.substr(magic.at).starts_with(magic.bytes))
      return std::string(magic.kind);
  return is_text(text) ? "text" : "";
}

std::string but_seems(std::span<const std::byte> beginning) {
  const std::string kind = kind_of(beginning);
  return kind.empty() ? "" : ", but seems to be " + kind;
}

std::optional<std::vector<std::byte>> beginning_of(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::vector<std::byte> out(looked_at);
  file.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
  out.resize(static_cast<std::size_t>(file.gcount()));
  return out;
}

}  // namespace tessera
