# SPDX-License-Identifier: Apache-2.0
"""PNG files written by hand: what reads them is tested, not what writes them."""
import struct
import zlib


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def save_png(path, picture, *notes):
    height, width, channels = picture.shape
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    rows = b"".join(b"\0" + row.tobytes() for row in picture)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)))
        file.write(b"".join(notes) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
