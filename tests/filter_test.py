#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Filtering from outside: NumPy's borders and sums against the program's, and pictures with all that belongs to them.
filter_test.py PROGRAM"""
import os
import unittest

import numpy as np

import cli_case
from png_files import chunk, save_png

PADS = {"constant": {"mode": "constant", "constant_values": 7}, "replicate": {"mode": "edge"}, "reflect": {"mode": "symmetric"},
        "reflect_101": {"mode": "reflect"}, "wrap": {"mode": "wrap"}}
LAPLACIAN8 = np.array([[1, 1, 1], [1, -8, 1], [1, 1, 1]])


def correlate(picture, kernel, border):
    """Whole sums: NumPy pads, and adds shifted pictures."""
    rows, cols = kernel.shape
    above, left = rows // 2, cols // 2
    pads = [(above, rows - 1 - above), (left, cols - 1 - left), (0, 0)]
    wide = np.pad(picture.astype(np.int64), pads, **PADS[border])
    height, width, _ = picture.shape
    return sum(kernel[i, j] * wide[i:i + height, j:j + width] for i in range(rows) for j in range(cols))


class Filter(cli_case.Case):
    def filtered(self, source, *words):
        self.passes("filter", source, *words, "-o", "out.npy", "--check")
        return np.load("out.npy")

    def test_numpys_sums_and_borders(self):
        random = np.random.default_rng(1)
        kernels = [LAPLACIAN8, np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]]), random.integers(-9, 9, (5, 3)), random.integers(-3, 4, (2, 4)),
                   random.integers(-2, 3, (7, 7))]
        for number, kernel in enumerate(kernels):
            for turn, border in enumerate(PADS):
                dtype, shape = ((np.uint8, (19, 33, 3)), (np.int16, (8, 40, 1)), (np.uint16, (31, 9, 2)))[(number + turn) % 3]
                limits = np.iinfo(dtype)
                picture = random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
                np.save("in.npy", picture)
                np.save("k.npy", kernel.astype(np.int32))
                value = ("--border-value", "7") if border == "constant" else ()
                got = self.filtered("in.npy", "--kernel", "k.npy", "--border", border, *value)
                wanted = np.clip(correlate(picture, kernel, border), limits.min, limits.max)
                np.testing.assert_array_equal(got, wanted.astype(dtype), f"{number} {border} {dtype}")

    def test_a_laplacian_of_floats_is_summed_row_after_row(self):
        picture = np.random.default_rng(2).normal(size=(17, 45, 1)).astype(np.float32)
        np.save("in.npy", picture)
        wide = np.pad(picture, [(1, 1), (1, 1), (0, 0)], mode="reflect")
        wanted = wide[:-2, 1:-1] + wide[1:-1, :-2]
        wanted = wanted + np.float32(-4) * wide[1:-1, 1:-1]
        wanted = wanted + wide[1:-1, 2:]
        wanted = wanted + wide[2:, 1:-1]
        np.testing.assert_array_equal(self.filtered("in.npy", "--kernel", "laplacian4"), wanted)

    def test_every_rung_writes_the_same_file(self):
        save_png("p.png", np.random.default_rng(3).integers(0, 256, (30, 41, 3), np.uint8))
        files = set()
        for device, variant in (("cpu", "naive"), ("cpu", "simd"), ("simt", "global"), ("simt", "shared_tiles")):
            self.passes("filter", "p.png", "--kernel", "laplacian8", "--abs", "--border", "reflect_101", "-o", "e.png", "--device", device,
                        "--variant", variant)
            with open("e.png", "rb") as file:
                files.add(file.read())
        self.assertEqual(len(files), 1)

    def test_alpha_is_set_aside(self):
        picture = np.random.default_rng(4).integers(0, 256, (12, 14, 4), np.uint8)
        save_png("rgba.png", picture)
        out = self.passes("filter", "rgba.png", "--kernel", "laplacian8", "-o", "out.png").stdout
        self.assertIn("12 × 14 × 4 of u8", out)
        kept = self.filtered("out.png", "--kernel", "1", "--alpha", "channel")
        np.testing.assert_array_equal(kept[..., 3], picture[..., 3])
        np.testing.assert_array_equal(kept[..., :3], np.clip(correlate(picture[..., :3], LAPLACIAN8, "reflect_101"), 0, 255))
        self.assertEqual(self.filtered("rgba.png", "--kernel", "1", "--alpha", "drop").shape, (12, 14, 3))
        whole = self.filtered("rgba.png", "--alpha", "channel", "--kernel", "laplacian8")
        np.testing.assert_array_equal(whole, np.clip(correlate(picture, LAPLACIAN8, "reflect_101"), 0, 255))

    def test_a_regions_alpha_is_the_regions(self):
        picture = np.random.default_rng(5).integers(0, 256, (12, 14, 4), np.uint8)
        save_png("rgba.png", picture)
        for words, part in ((("--roi-x", "4", "--roi-y", "7", "--roi-width", "9", "--roi-height", "3"), picture[7:10, 4:13]),
                            (("--roi-x", "2"), picture[:, 2:]), (("--roi-height", "5"), picture[:5]),
                            (("--roi-y", "1", "--output-element", "u16"), picture[1:].astype(np.uint16) * [1, 1, 1, 257])):
            self.passes("filter", "rgba.png", "--kernel", "1", *words, "-o", "out.png")
            np.testing.assert_array_equal(self.filtered("out.png", "--kernel", "1", "--alpha", "channel"), part)

    def test_alpha_goes_along_or_is_refused(self):
        picture = np.random.default_rng(8).integers(0, 256, (6, 7, 4), np.uint8)
        save_png("rgba.png", picture)
        for words in (["--element", "f32"], ["--output-element", "i16"], ["--output-element", "f32"], ["--output-element", "f16"]):
            out = self.passes("filter", "rgba.png", "--kernel", "1", *words, "-o", "out.tif").stdout
            self.assertIn("6 × 7 × 4 of", out)
            np.testing.assert_array_equal(self.filtered("out.tif", "--kernel", "1", "--alpha", "channel"), picture)
        self.passes("filter", "rgba.png", "--kernel", "1", "--output-element", "u16", "-o", "wide.png")
        wide = self.filtered("wide.png", "--kernel", "1", "--alpha", "channel")
        np.testing.assert_array_equal(wide[..., 3], picture[..., 3].astype(np.uint16) * 257)
        self.fails(2, "--alpha drop leaves it out", "filter", "wide.png", "--output-element", "i16", "-o", "never.tif")
        self.fails(2, "holds 1 or 3 channels", "filter", "rgba.png", "--output-element", "f32", "-o", "never.pfm")
        self.assertFalse(os.path.exists("never.tif") or os.path.exists("never.pfm"))
        self.passes("filter", "wide.png", "--output-element", "i16", "--alpha", "drop", "-o", "out.tif")

    def test_orientation_is_applied(self):
        picture = np.random.default_rng(5).integers(0, 256, (5, 9, 3), np.uint8)
        exif = b"II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"
        save_png("turned.png", picture, chunk(b"eXIf", exif))
        np.testing.assert_array_equal(self.filtered("turned.png", "--kernel", "1"), np.rot90(picture, -1))

    def test_regions_and_dimensions(self):
        picture = np.random.default_rng(6).integers(0, 256, (20, 30), np.uint8)
        np.save("grey.npy", picture)
        whole = self.filtered("grey.npy", "--kernel", "laplacian8", "--output-element", "s16")
        self.assertEqual(whole.shape, (20, 30))
        part = self.filtered("grey.npy", "--kernel", "laplacian8", "--output-element", "i16", "--roi-x", "4", "--roi-y", "7", "--roi-width", "11")
        np.testing.assert_array_equal(part, whole[7:, 4:15])
        batch = np.random.default_rng(7).integers(0, 256, (3, 6, 8, 2), np.uint8)
        np.save("batch.npy", batch)
        got = self.filtered("batch.npy", "--kernel", "laplacian8")
        for one, result in zip(batch, got):
            np.testing.assert_array_equal(result, np.clip(correlate(one, LAPLACIAN8, "reflect_101"), 0, 255))
        self.fails(2, "out.png: a picture file holds one picture", "filter", "batch.npy", "-o", "out.png")

    def test_several_pictures(self):
        for number in range(3):
            save_png(f"in{number}.png", np.full((4, 5, 1), 10 * number, np.uint8))
        with open("in3.png", "wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n")
        done = cli_case.run("filter", "in?.png", "--kernel", "1", "--offset", "1", "-o", "out-{name}.png")
        self.assertEqual(done.returncode, 2)
        self.assertIn("3 of 4 files done", done.stdout)
        self.assertIn("in3.png: is a damaged PNG file", done.stderr)
        self.assertNotIn("in3.png: in3.png", done.stderr)
        for number in range(3):
            self.assertEqual(self.filtered(f"out-in{number}.png", "--kernel", "1")[2, 3], 10 * number + 1)
        self.assertFalse(os.path.exists("out-in3.png"))
        with open("list.txt", "w", encoding="utf-8") as file:
            file.write("in0.png\nin2.png\n")
        self.assertIn("2 of 2 files done", self.passes("filter", "@list.txt", "--kernel", "1", "-o", "{index}.pgm").stdout)
        with open("windows.txt", "wb") as file:
            file.write(b"in0.png\r\n\r\nin2.png\r\n")
        self.assertIn("2 of 2 files done", self.passes("filter", "@windows.txt", "--kernel", "1", "-o", "crlf-{index}.pgm").stdout)
        self.fails(2, "would be written for every file", "filter", "@list.txt", "-o", "one.png")
        self.fails(2, "'none*.png' means no file", "filter", "none*.png", "-o", "{name}.png")

    def test_outputs_that_collide_are_refused_before_anything_is_written(self):
        os.makedirs("one")
        os.makedirs("two")
        for folder in ("one", "two"):
            save_png(f"{folder}/same.png", np.zeros((4, 5, 1), np.uint8))
        self.fails(2, "would both be written to same-same.png", "filter", "*/same.png", "-o", "same-{name}.png")
        self.assertFalse(os.path.exists("same-same.png"))
        self.passes("filter", "*/same.png", "-o", "same-{index}.png")
        for number in (0, 1, 10):
            save_png(f"row{number}.png", np.zeros((4, 5, 1), np.uint8))
        # In order of names row10 is number 2: what it becomes must not stand in for row2's input.
        save_png("row2.png", np.full((4, 5, 1), 9, np.uint8))
        self.fails(2, "is one of the files to be read", "filter", "row*.png", "-o", "row{index}.png")
        self.assertEqual(self.filtered("row2.png", "--kernel", "1").max(), 9)
        self.passes("filter", "row*.png", "--kernel", "1", "-o", "{name}.png")  # each over its own

    def test_fields_of_names(self):
        save_png("p.png", np.full((4, 5, 1), 7, np.uint8))
        save_png("q.png", np.full((4, 5, 1), 8, np.uint8))
        self.passes("filter", "p.png", "--kernel", "1", "-o", "{name}-one.png")
        self.passes("filter", "p.png", "--kernel", "1", "-o", "{index}-{name}-{index}.png")
        for name in ("p-one.png", "0-p-0.png"):
            self.assertEqual(self.filtered(name, "--kernel", "1").max(), 7)
        self.passes("filter", "p.png", "--kernel", "1", "-o", "a{bc.png")
        self.assertTrue(os.path.exists("a{bc.png"))

    def test_kernels_of_integers(self):
        picture = np.random.default_rng(9).integers(0, 256, (9, 12, 1), np.uint8)
        np.save("in.npy", picture)
        kernel = np.array([[1, -2], [3, 0], [0, 4]])
        wanted = correlate(picture, kernel, "reflect_101").astype(np.float32)
        for dtype in (np.int16, np.int64, np.float64):
            np.save("k.npy", np.asfortranarray(kernel.astype(dtype)))
            np.testing.assert_array_equal(self.filtered("in.npy", "--kernel", "k.npy", "--output-element", "f32"), wanted)
        for dtype in (np.uint32, np.bool_):
            np.save("k.npy", np.array([[1, 0, 1]], dtype))
            np.testing.assert_array_equal(self.filtered("in.npy", "--kernel", "k.npy", "--output-element", "f32"),
                                          correlate(picture, np.array([[1, 0, 1]]), "reflect_101"))
        self.fails(2, "holds bool; convert with", "filter", "k.npy", "-o", "never.npy")

    def test_words_without_effect(self):
        save_png("p.png", np.zeros((20, 30, 1), np.uint8))
        for message, *words in (("--size 5 is only for", "--kernel", "sobel_x", "--size", "5"),):
            self.fails(2, message, "filter", "p.png", "-o", "never.png", *words)
        self.assertFalse(os.path.exists("never.png"))
        self.passes("filter", "p.png", "-o", "o.jpg", "--quality", "50")

    def test_limits_and_wrong_words(self):
        save_png("p.png", np.zeros((20, 30, 1), np.uint8))
        self.fails(2, "more than the limit of 599", "filter", "p.png", "-o", "o.png", "--most-pixels", "599")
        self.fails(2, "did you mean 'gaussian'", "filter", "p.png", "-o", "o.png", "--kernel", "gausian")
        self.assertIn("--abs [=no|yes]", self.passes("filter", "--help").stdout)
        for words in (["--abs"], ["--abs=yes"], ["--abs=no"]):
            self.passes("filter", "p.png", "-o", "o.png", *words)
        self.fails(2, "beyond the image", "filter", "p.png", "-o", "o.png", "--roi-x", "10", "--roi-width", "21")
        self.fails(2, "o.jpg: JPEG holds u8, not i16", "filter", "p.png", "-o", "o.jpg", "--output-element", "i16")


if __name__ == "__main__":
    unittest.main()
