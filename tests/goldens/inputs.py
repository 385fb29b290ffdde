# SPDX-License-Identifier: Apache-2.0
"""The files that the calls of calls.txt read, made by the standard library alone, and what an output holds."""
import hashlib
import pathlib
import shutil
import struct
import zlib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LETTERS = {"<f4": "f", "<f8": "d", "<i4": "i", "|i1": "b", "|u1": "B", "<f2": "e"}


def npy(path, kind, shape, value):
    count = 1
    for extent in shape:
        count *= extent
    text = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (kind, "".join(f"{extent}, " for extent in shape))
    text += " " * (-(len(text) + 11) % 64) + "\n"
    data = struct.pack(f"<{count}{LETTERS[kind]}", *(value(i) for i in range(count)))
    pathlib.Path(path).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(path, height, width, channels, value):
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    step = width * channels
    rows = b"".join(b"\0" + bytes(value(y * step + i) for i in range(step)) for y in range(height))
    pathlib.Path(path).write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def sample(i):
    """Some number below 256 for each index: of a smooth part and a rough one."""
    return (i * 7 // 3 + (i * 2654435761 >> 13) % 41) % 256


def write(folder):
    here = pathlib.Path(folder)
    npy(here / "A.npy", "<f4", (5, 3), lambda i: i // 3 + 2 * (i % 3))
    npy(here / "B.npy", "<f4", (3, 4), lambda i: i // 4 - i % 4)
    npy(here / "At.npy", "<f4", (3, 5), lambda i: i % 5 + 2 * (i // 5))
    npy(here / "Bt.npy", "<f4", (4, 3), lambda i: i % 3 - i // 3)
    npy(here / "C0.npy", "<f4", (5, 4), lambda i: (i // 4) * (i % 4))
    npy(here / "tall.npy", "<f4", (4, 4), lambda i: 1)
    npy(here / "vector.npy", "<f4", (3,), lambda i: i)
    npy(here / "empty.npy", "<f4", (5, 0), lambda i: 0)
    npy(here / "bias.npy", "<f4", (4,), lambda i: 10 * i - 5)
    npy(here / "rows.npy", "<f4", (5,), lambda i: 3 - 7 * i)
    npy(here / "half.npy", "<f2", (6, 6), lambda i: i % 5 - 2)
    npy(here / "bytes.npy", "|i1", (6, 6), lambda i: i % 7 - 3)
    npy(here / "double.npy", "<f8", (6, 6), lambda i: i % 7 - 3)
    npy(here / "whole.npy", "<i4", (6, 6), lambda i: i * 1000003 % 4001 - 2000)
    npy(here / "As.npy", "<f4", (3, 5, 3), lambda i: i % 11 - 5)
    npy(here / "Bs.npy", "<f4", (3, 3, 4), lambda i: i % 7 - 3)
    npy(here / "parameters.npy", "<f8", (9, 1), lambda i: 0.5 + i)
    npy(here / "picture.npy", "|u1", (24, 31, 3), sample)
    npy(here / "views.npy", "|u1", (2, 3, 14, 22, 3), sample)
    npy(here / "stack.npy", "|u1", (4, 14, 22, 3), sample)
    png(here / "picture.png", 24, 31, 3, sample)
    png(here / "tiles.png", 28, 66, 3, sample)
    png(here / "mask.png", 24, 31, 1, lambda i: 255 if i % 31 < 8 else 0)
    (here / "pictures").mkdir()
    for name in range(3):
        png(here / "pictures" / f"{name}.png", 20 + name, 31, 3, lambda i, name=name: sample(i + name))
    (here / "bad.npy").write_bytes(b"\x93NUMPY\x01\x00\xff")
    shutil.copy(HERE / "data/homework.cu.txt", here / "homework.cu")
    for name in ("before.json", "after.json"):
        shutil.copy(HERE / "data" / name, here)


def content(path):
    """A digest of what a file holds: of a picture its pixels, whatever the compressor made of them."""
    data = path.read_bytes()
    if path.suffix == ".png":
        at, pixels, head = 8, b"", b""
        while at < len(data):
            length, kind = struct.unpack(">I4s", data[at:at + 8])
            if kind == b"IHDR":
                head = data[at + 8:at + 8 + length]
            if kind == b"IDAT":
                pixels += data[at + 8:at + 8 + length]
            at += length + 12
        data = head + zlib.decompress(pixels)
    return f"{len(data)} bytes {hashlib.sha256(data).hexdigest()[:16]}"
