#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a light field, 5 × 5 views of a table, a cup and a lamp at different distances, as tiles of one PNG.

    examples/make_views.py views.png
"""
import struct
import sys
import zlib

ROWS = COLS = 5
WIDTH, HEIGHT = 96, 64


def noise(seed, y, x):
    v = (seed * 0x9E3779B1 + y * 8191 + x * 131071 + 12345) & 0xFFFFFFFF
    v = ((v ^ (v >> 15)) * 0x2C1B3CD1) & 0xFFFFFFFF
    return (v ^ (v >> 13)) & 63


def wall(y, x):
    shade = noise(1, y // 2, x // 2)
    return (150 + shade, 160 + shade // 2, 120 + shade) if (x // 8 + y // 8) % 2 else (90 + shade, 110 + shade, 130 + shade)


def cup(y, x):
    if not (26 <= y < 52 and 16 <= x < 40):
        return None
    shade = noise(2, y, x)
    return (190 + shade, 60 + shade, 40 + shade // 2) if y % 6 < 3 else (230, 220 - shade, 200 - shade)


def lamp(y, x):
    if (y - 24) ** 2 + (x - 66) ** 2 >= 13 ** 2 and not (36 <= y < 62 and 64 <= x < 68):
        return None
    shade = noise(3, y, x)
    return (250 - shade // 2, 220 - shade, 70 + shade)


# What is farther away is drawn first; pixels by which it moves from one view to the next.
SCENE = ((wall, -1), (cup, 1), (lamp, 3))


def view(t, s):
    for y in range(HEIGHT):
        for x in range(WIDTH):
            for thing, disparity in reversed(SCENE):
                colour = thing(y - disparity * (t - ROWS // 2), x - disparity * (s - COLS // 2))
                if colour:
                    yield bytes(min(255, max(0, c)) for c in colour)
                    break


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def main(path):
    tiles = {(t, s): b"".join(view(t, s)) for t in range(ROWS) for s in range(COLS)}
    line = 3 * WIDTH
    rows = b"".join(b"\0" + b"".join(tiles[t, s][line * y:line * (y + 1)] for s in range(COLS)) for t in range(ROWS) for y in range(HEIGHT))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", COLS * WIDTH, ROWS * HEIGHT, 8, 2, 0, 0, 0)))
        file.write(chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


if __name__ == "__main__":
    main(sys.argv[1])
