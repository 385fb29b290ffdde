#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of the .npy fuzzer into a folder (default: npy, beside this file).

Bytes are laid down by hand rather than by NumPy, so that versions, quirks and damage that NumPy
never writes are there too and the files are the same on every machine.
"""
import pathlib
import struct
import sys


def npy(descr, shape, data=b"", fortran=False, version=1, text=None):
    if text is None:
        text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    head = text.encode()
    length_bytes = 2 if version == 1 else 4
    head += b" " * (-(8 + length_bytes + len(head) + 1) % 64) + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(head))
    return b"\x93NUMPY" + bytes([version, 0]) + length + head + data


def seeds():
    six = bytes(range(6))
    for code, size in {"f8": 8, "f4": 4, "f2": 2, "i4": 4, "V2": 2}.items():
        yield f"little_{code}", npy("<" + code, "(2, 3)", bytes(range(6 * size)))
        yield f"big_{code}", npy(">" + code, "(2, 3)", bytes(range(6 * size)), fortran=True)
    yield "i1", npy("|i1", "(6,)", six)
    yield "u1_version_2", npy("|u1", "(3, 2)", six, version=2)
    yield "u1_version_3", npy("|u1", "(1, 2, 3)", six, fortran=True, version=3)
    yield "scalar", npy("<f4", "()", bytes(4))
    yield "empty", npy("<f4", "(0, 7)")
    yield "empty_huge", npy("|u1", f"(0, {2**62}, {2**62})")
    yield "trailing", npy("|u1", "(2,)", six)
    yield "truncated", npy("|u1", "(7,)", six)
    yield "overflowing", npy("<f8", f"({2**32}, {2**32})", six)
    yield "beyond_int64", npy("|u1", f"({2**64},)", six)
    yield "negative", npy("|u1", "(-6, -1)", six)
    yield "rank_64", npy("|u1", str((1,) * 64), b"\0")
    yield "rank_65", npy("|u1", str((1,) * 65), b"\0")
    yield "int64", npy("<i8", "(2,)", bytes(16))
    yield "version_4", npy("|u1", "(6,)", six, version=4)
    odd = '\t{ "shape" :(3L,\n 2 ) ,"fortran_order":False,"descr":"|u1"}'
    yield "python_2", npy("", "", six, text=odd)
    yield "records", npy("", "", six, text="{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}")
    yield "duplicate", npy("", "", six, text="{'descr': '|u1', 'descr': '|u1', 'shape': (6,)}")
    yield "missing", npy("", "", six, text="{'descr': '|u1', 'shape': (6,)}")
    yield "nested", npy("", "", six, text="{" * 40 + "(" * 40)
    yield "header_too_long", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{"
    yield "zip", b"PK\x03\x04" + six


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "npy")
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds():
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
