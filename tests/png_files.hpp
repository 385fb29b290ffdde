// SPDX-License-Identifier: Apache-2.0
// PNG files piece by piece (ISO/IEC 15948): what reads them is tested, not what writes them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

enum class PngKind : char { grey = 0, rgb = 2, palette = 3, grey_alpha = 4, rgb_alpha = 6 };

inline const std::string png_signature = "\x89PNG\r\n\x1a\n";

inline std::string png_number(std::uint32_t value) {
  std::string out;
  for (int i = 3; i >= 0; --i) out += static_cast<char>(value >> 8 * i & 255);
  return out;
}

// The checksum of a chunk's kind and data (CRC-32).
inline std::uint32_t png_sum(std::string_view bytes) {
  std::uint32_t sum = ~0u;
  for (const char c : bytes) {
    sum ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ ((sum & 1) != 0 ? 0xedb88320u : 0);
  }
  return ~sum;
}

// `kind` is four letters.
inline std::string png_chunk(const std::string& kind, const std::string& data = "") {
  return png_number(static_cast<std::uint32_t>(data.size())) + kind + data + png_number(png_sum(kind + data));
}

inline std::string png_header(std::uint32_t width, std::uint32_t height, int depth, PngKind kind) {
  return png_chunk("IHDR", png_number(width) + png_number(height) + static_cast<char>(depth) +
                               static_cast<char>(kind) + std::string(3, '\0'));
}

// A stream of zlib (RFC 1950) with one block that is stored as it is; up to 65535 bytes.
inline std::string png_stream(const std::string& data) {
  std::uint32_t a = 1, b = 0;
  for (const char c : data) {
    a = (a + static_cast<unsigned char>(c)) % 65521;
    b = (b + a) % 65521;
  }
  const std::size_t n = data.size();
  const char low = static_cast<char>(n & 255), high = static_cast<char>(n >> 8 & 255);
  return std::string("\x78\x01\x01") + low + high + static_cast<char>(~low) + static_cast<char>(~high) +
         data + png_number(b << 16 | a);
}

// `rows` are whole, each behind its filter's byte; `before` and `behind` are chunks about the pixels.
inline std::string png_file(const std::string& header, const std::string& before, const std::string& rows,
                            const std::string& behind = "") {
  return png_signature + header + before + png_chunk("IDAT", png_stream(rows)) + behind + png_chunk("IEND");
}

}  // namespace tessera
