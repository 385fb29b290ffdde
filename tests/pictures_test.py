#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures as arguments of the program, whatever the operation.   pictures_test.py PROGRAM"""
import os
import struct
import unittest

import cli_case


def save_pfm(path, rows, columns, value):
    """Little-endian floats, the lowest row first."""
    with open(path, "wb") as file:
        file.write(b"Pf\n%d %d\n-1.0\n" % (columns, rows))
        for i in reversed(range(rows)):
            file.write(struct.pack("<%df" % columns, *(value(i, j) for j in range(columns))))


def load_pfm(path):
    with open(path, "rb") as file:
        magic, size, scale, data = file.read().split(b"\n", 3)
    columns, rows = map(int, size.split())
    assert magic == b"Pf" and float(scale) < 0
    values = struct.unpack("<%df" % (rows * columns), data)
    return [v for i in reversed(range(rows)) for v in values[i * columns:(i + 1) * columns]]


class Pictures(cli_case.Case):
    def setUp(self):
        save_pfm("A.pfm", 5, 3, lambda i, j: i + 2 * j)
        save_pfm("B.pfm", 3, 4, lambda i, j: i - j)

    def test_a_picture_stands_for_any_array(self):
        self.passes("matmul", "A.npy", "B.npy", "-o", "C.npy")
        done = self.passes("matmul", "A.pfm", "B.pfm", "-o", "C.pfm", "--check")
        self.assertIn("5 × 4 × 1 of f32, written to C.pfm", done.stdout)
        self.assertEqual(load_pfm("C.pfm"), cli_case.load("C.npy"))
        self.passes("matmul", "A.pfm", "B.npy", "-o", "D.npy")
        self.assertEqual(cli_case.load("D.npy"), cli_case.load("C.npy"))

    def test_samples_are_converted_to_the_requested_type(self):
        with open("A.pgm", "wb") as file:
            file.write(b"P5\n3 5\n255\n" + bytes(i + 2 * j for i in range(5) for j in range(3)))
        self.passes("matmul", "A.npy", "B.npy", "-o", "C.npy")
        self.passes("matmul", "A.pgm", "B.npy", "-o", "E.npy", "--element", "f32")
        self.assertEqual(cli_case.load("E.npy"), cli_case.load("C.npy"))
        self.fails(2, "A.pgm: holds u8, which e4m3 cannot", "matmul", "A.pgm", "B.npy", "--element", "e4m3")

    def test_unwritable_outputs_are_reported_before_the_work(self):
        self.fails(2, "x.png: PNG holds u8, u16, not f32", "matmul", "A.npy", "B.npy", "-o", "x.png")
        self.fails(2, "x.ppm: .ppm holds 3 channels, not 1", "matmul", "A.npy", "B.npy", "-o", "x.ppm")
        self.assertFalse(os.path.exists("x.png"))

    def test_a_result_beyond_the_limit_is_refused_before_the_work(self):
        with open("p.pgm", "wb") as file:
            file.write(b"P5\n30 20\n255\n" + bytes(600))
        self.passes("resize", "p.pgm", "--width", "60", "--height", "20", "--most-pixels", "1200", "-o", "same.pgm")
        for name in ("big.pgm", "big.png", "big.tif", "big.jpg"):
            self.fails(2, name + ": has 61 × 20 pixels, more than the limit of 1200", "resize", "p.pgm", "--width", "61", "--height", "20", "--most-pixels", "1200",
                       "-o", name)
            self.assertFalse(os.path.exists(name))
        self.fails(2, "more than the limit of 1200", "seamcarve", "p.pgm", "--height", "40", "--width", "31", "--most-pixels", "1200", "-o", "big.pgm")
        self.passes("resize", "p.pgm", "--width", "61", "--height", "20", "--most-pixels", "1200", "-o", "big.npy")
        self.fails(2, "wide.jpg: a JPEG file has at most 65500 rows and columns", "resize", "p.pgm", "--width", "65501", "--height", "20", "-o", "wide.jpg")

    def test_the_first_of_several_pages_is_read_with_a_note(self):
        def page(value, after):
            entries = [(256, 4, 2), (257, 4, 1), (258, 3, 8), (259, 3, 1), (262, 3, 1), (273, 4, after - 2), (277, 3, 1), (278, 4, 1), (279, 4, 2)]
            data = struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", t, k, 1, v) for t, k, v in entries)
            return bytes([value, value]), data
        (one, first), (two, second) = page(7, 10), page(9, 12 + 9 * 12 + 2 + 4)
        body = b"II*\0" + struct.pack("<I", 10) + one + first
        end = len(body) + 4
        with open("pages.tif", "wb") as file:
            file.write(body + struct.pack("<I", end + 2) + two + second + struct.pack("<I", 0))
        done = self.passes("filter", "pages.tif", "--kernel", "1", "-o", "page.pgm")
        self.assertIn("pages.tif: has several pictures; the first is read", done.stderr)
        with open("page.pgm", "rb") as file:
            self.assertEqual(file.read()[-2:], bytes([7, 7]))

    def test_trailing_data_is_reported(self):
        one = b"P5\n2 1\n255\n\7\7"
        for name, data, says in (("two.pgm", one + b"P6 1 1 255\n\1\2\3", "two.pgm: has several pictures; the first is read"),
                                 ("one.pgm", one + b"more", "")):
            with open(name, "wb") as file:
                file.write(data)
            self.assertEqual(self.passes("filter", name, "--kernel", "1", "-o", "out.pgm").stderr.strip(), says)
            with open("out.pgm", "rb") as file:
                self.assertEqual(file.read(), b"P5\n2 1\n255\n\7\7")

    def test_a_mask_of_16_bits_counts_by_its_upper_eight(self):
        def save_pgm(path, most, values):
            with open(path, "wb") as file:
                file.write(b"P5\n6 1\n%d\n" % most + struct.pack(">6" + ("H" if most > 255 else "B"), *values))
        save_pgm("p.pgm", 255, [0, 1, 2, 3, 4, 5])
        save_pgm("m.pgm", 65535, [65535, 32768, 32767, 127, 32768, 65535])
        self.passes("seamcarve", "p.pgm", "--protect", "m.pgm", "--width", "4", "-o", "kept.pgm")
        with open("kept.pgm", "rb") as file:
            self.assertEqual(file.read()[-4:], bytes([0, 1, 4, 5]))

    def test_each_of_several_pictures_has_its_mask(self):
        def save_pgm(path, values):
            with open(path, "wb") as file:
                file.write(b"P5\n%d 1\n255\n" % len(values) + bytes(values))

        def row(path):
            with open(path, "rb") as file:
                return list(file.read()[-2:])

        for folder in ("rows", "marks", "by_order", "narrow"):
            os.makedirs(folder, exist_ok=True)
        for name, marked in (("a", (0, 1)), ("b", (2, 3)), ("c", (0, 3))):
            save_pgm(f"rows/{name}.pgm", [10, 20, 30, 40])
            save_pgm(f"marks/{name}.pgm", [255 * (i in marked) for i in range(4)])
            save_pgm(f"by_order/{'zyx'['abc'.index(name)]}.pgm", [255 * (i in marked) for i in range(4)])
        by_name = {"a": [10, 20], "b": [30, 40], "c": [10, 40]}
        for word in ("marks/*.pgm", "marks/{name}.pgm"):
            for devices in ((), ("--devices", "cpu:threads=1,cpu:threads=1")):
                self.passes("seamcarve", "rows/*.pgm", "--protect", word, "--width", "2", "-o", "narrow/{name}.pgm", *devices)
                self.assertEqual({name: row(f"narrow/{name}.pgm") for name in "abc"}, by_name, word)
        self.passes("seamcarve", "rows/*.pgm", "--protect", "by_order/*.pgm", "--width", "2", "-o", "narrow/{name}.pgm")
        self.assertEqual([row(f"narrow/{name}.pgm") for name in "abc"], [[10, 40], [30, 40], [10, 20]])
        self.passes("seamcarve", "rows/*.pgm", "--protect", "marks/b.pgm", "--width", "2", "-o", "narrow/{name}.pgm")
        self.assertEqual([row(f"narrow/{name}.pgm") for name in "abc"], [[30, 40]] * 3)
        with open("pairs", "w", encoding="utf-8") as file:
            file.write("by_order/y.pgm\nby_order/x.pgm\n")
        self.fails(2, "means 2 files for 3 files to be read", "seamcarve", "rows/*.pgm", "--protect", "@pairs", "--width", "2",
                   "-o", "narrow/{name}.pgm")
        self.fails(2, "--protect marks/a.pgm is what -o names", "seamcarve", "rows/*.pgm", "--protect", "marks/*.pgm", "--width", "2",
                   "-o", "marks/{name}.pgm")
        self.fails(2, "means 3 files for 1 file", "seamcarve", "rows/a.pgm", "--protect", "by_order/*.pgm", "--width", "2", "-o", "narrow/a.pgm")
        self.passes("seamcarve", "rows/b.pgm", "--remove", "marks/{name}.pgm", "-o", "narrow/b.pgm")
        self.assertEqual(row("narrow/b.pgm"), [10, 20])
        os.remove("marks/c.pgm")
        self.fails(2, "means 2 files for 3 files to be read", "seamcarve", "rows/*.pgm", "--protect", "marks/*.pgm", "--width", "2",
                   "-o", "narrow/{name}.pgm")
        self.assertFalse(os.path.exists("marks/c.pgm"))

    def test_other_files_are_refused(self):
        with open("no.png", "wb") as file:
            file.write(b"GIF89a, or so")
        self.fails(2, "no.png: is no PNG, JPEG, TIFF, PGM, PPM or PFM file", "matmul", "no.png", "B.npy")
        for name, content, says in (("notes.txt", b"a text\n", "seems to be text; supported are"), ("page.pdf", b"%PDF-1.7\n", "seems to be a PDF document"),
                                    ("none", b"", "is empty; supported are"), ("photo.heif", b"\0\0\0\x20ftypheic", "seems to be a HEIC picture"),
                                    ("text.png", b"a text\n", "PFM file, but seems to be text"), ("bytes", b"\x01\x02", "is not known; supported are")):
            with open(name, "wb") as file:
                file.write(content)
            for words in (("filter",), ("resize", "--width", "3", "--height", "3"), ("seamcarve", "--width", "3"), ("sharpest",)):
                done = self.fails(2, f"{name}: ", words[0], name, *words[1:])
                self.assertIn(says, done.stderr)
                self.assertIn("PNG, JPEG, TIFF, PGM, PPM", done.stderr)
        with open("cut.pfm", "wb") as file:
            file.write(b"Pf\n3 5\n-1.0\n" + bytes(59))
        self.fails(2, "cut.pfm: is damaged: it ends too early", "matmul", "cut.pfm", "B.npy")
        self.fails(2, "gone.png: No such file", "matmul", "gone.png", "B.npy")


if __name__ == "__main__":
    unittest.main()
