#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Resizing from outside: Pillow's and OpenCV's own results against the program's, and what holds of any resizing.
resize_test.py PROGRAM [OPENCV_PLUGIN]"""
import sys
import unittest

import numpy as np

OPENCV = sys.argv.pop(2) if len(sys.argv) > 2 else ""

import cli_case  # noqa: E402  (takes its own word from the command line)

try:
    from PIL import Image
except ImportError:
    Image = None
    print("python3-pil is not installed: nothing is held against Pillow", file=sys.stderr)

PILLOW = {"nearest": "NEAREST", "box": "BOX", "bilinear": "BILINEAR", "hamming": "HAMMING", "bicubic": "BICUBIC", "lanczos": "LANCZOS"}
SIZES = (((37, 53), (19, 24)), ((37, 53), (50, 111)), ((64, 48), (32, 24)), ((90, 7), (11, 29)), ((1, 1), (3, 5)), ((33, 100), (33, 47)),
         ((120, 130), (40, 26)), ((23, 31), (22, 30)), ((200, 3), (7, 2)))


def noise(shape, dtype=np.uint8, seed=1):
    random = np.random.default_rng(seed)
    if dtype == np.float32:
        return random.normal(size=shape).astype(np.float32)
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)


class Resize(cli_case.Case):
    def resized(self, picture, *words, size=None):
        np.save("in.npy", picture)
        if size:
            words += ("--height", str(size[0]), "--width", str(size[1]))
        self.passes("resize", "in.npy", *words, "-o", "out.npy")
        return np.load("out.npy")

    @unittest.skipUnless(Image, "needs python3-pil")
    def test_pillows_bytes(self):
        for turn, (method, name) in enumerate(PILLOW.items()):
            for number, (source, result) in enumerate(SIZES):
                if (number + turn) % 2 == 1 and number > 1:
                    continue
                channels, mode = ((3, "RGB"), (4, "RGBA"), (1, "L"), (2, "LA"))[number % 4]
                picture = noise((*source, channels), seed=number)
                if number == 1:
                    picture[::3, ::2, 3] = 0
                wanted = np.asarray(Image.fromarray(picture.squeeze(2) if channels == 1 else picture, mode).resize(
                    result[::-1], getattr(Image.Resampling, name))).reshape(*result, channels)
                got = self.resized(picture, "--method", method, "--convention", "pillow", size=result)
                np.testing.assert_array_equal(got, wanted, f"{method} {source} {result} {mode}")

    @unittest.skipUnless(Image, "needs python3-pil")
    def test_pillows_floats(self):
        for method in ("bilinear", "bicubic", "lanczos"):
            for source, result in SIZES[:3]:
                picture = noise((*source, 1), np.float32)
                wanted = np.asarray(Image.fromarray(picture.squeeze(2), "F").resize(result[::-1], getattr(Image.Resampling, PILLOW[method])))
                got = self.resized(picture, "--method", method, "--convention", "pillow", size=result)[..., 0]
                np.testing.assert_allclose(got, wanted, rtol=0, atol=2e-6 * np.abs(picture).max())

    def opencv(self, picture, result, method):
        np.save("in.npy", picture)
        words = ("resize", "in.npy", "--method", method, "--convention", "opencv", "--height", str(result[0]), "--width", str(result[1]))
        self.passes("--load", OPENCV, *words, "--variant", "opencv", "-o", "wanted.npy")
        self.passes(*words, "-o", "out.npy")
        return np.load("out.npy").astype(np.float64), np.load("wanted.npy").astype(np.float64)

    @unittest.skipUnless(OPENCV, "needs libopencv-imgproc-dev")
    def test_opencvs_bytes(self):
        for method, most in (("nearest", 0), ("nearest_exact", 0), ("linear", 0), ("linear_exact", 0), ("area", 0), ("lanczos4", 0), ("cubic", 1)):
            for number, (source, result) in enumerate(SIZES):
                if (number + len(method)) % 2 == 1:
                    continue
                channels = (3, 1, 4, 2, 3)[(number + len(method)) % 5]
                got, wanted = self.opencv(noise((*source, channels), seed=number), result, method)
                self.assertLessEqual(np.abs(got - wanted).max(), most, f"{method} {source} {result} {channels}")

    @unittest.skipUnless(OPENCV, "needs libopencv-imgproc-dev")
    def test_opencvs_exact_bytes_of_random_sizes(self):
        # Some places are halfway between two weights: of sizes at will one of five pictures has one.
        random = np.random.default_rng(3)
        for number in range(9):
            sizes = [int(side) for side in random.integers(1, 300, 4)]
            method = ("linear_exact", "linear_exact", "nearest_exact")[number % 3]
            got, wanted = self.opencv(noise((*sizes[:2], 1 + number % 4), seed=number), sizes[2:], method)
            np.testing.assert_array_equal(got, wanted, f"{method} {sizes}")

    @unittest.skipUnless(OPENCV, "needs libopencv-imgproc-dev")
    def test_opencvs_wider_types(self):
        for method in ("nearest", "linear", "area", "cubic", "lanczos4"):
            for number, (dtype, most) in enumerate(((np.uint16, 1), (np.int16, 1), (np.float32, 2e-5))):
                source, result = SIZES[(number + len(method)) % 2]
                got, wanted = self.opencv(noise((*source, 3), dtype), result, method)
                self.assertLessEqual(np.abs(got - wanted).max(), most, f"{method} {source} {result} {dtype}")

    def test_constants_stay(self):
        for convention in ("opencv", "pillow", "onnx"):
            for method in ("nearest", "linear", "cubic", "lanczos2", "lanczos3", "lanczos4", "area"):
                if (convention, method) == ("onnx", "area"):
                    continue
                source, result = SIZES[len(method) % 2]
                flat = np.full((*source, 3), 201, np.uint8)
                got = self.resized(flat, "--method", method, "--convention", convention, size=result)
                np.testing.assert_array_equal(got, np.full((*result, 3), 201), f"{convention} {method}")

    def test_the_same_size_is_the_same_picture(self):
        picture = noise((17, 23, 3))
        for convention in ("opencv", "pillow", "onnx"):
            for method in ("nearest", "linear", "cubic", "lanczos3"):
                np.testing.assert_array_equal(self.resized(picture, "--width", "23", "--method", method, "--convention", convention), picture)
        np.testing.assert_array_equal(self.resized(picture, "--width", "23", "--method", "area", "--convention", "opencv"), picture)
        np.testing.assert_array_equal(self.resized(picture, "--width", "23", "--method", "lanczos3", "--light", "linear"), picture)

    def test_flips_commute(self):
        # With weights of 22 bits, and of none: samples are picked in one direction where two are as near.
        picture = noise((31, 44, 3))
        for words in (("--method", "cubic"), ("--method", "lanczos3"), ("--method", "area"), ("--method", "linear", "--convention", "opencv"),
                      ("--method", "cubic", "--convention", "opencv")):
            one = self.resized(picture[::-1, ::-1], *words, size=(16, 22))[::-1, ::-1].astype(int)
            other = self.resized(picture, *words, size=(16, 22)).astype(int)
            self.assertLessEqual(np.abs(one - other).max(), 1, words)

    def test_turning_over_commutes(self):
        picture = noise((31, 44, 3), np.float32)
        for words in (("--method", "cubic"), ("--method", "linear", "--convention", "opencv"), ("--method", "cubic", "--convention", "onnx")):
            one = self.resized(picture.transpose(1, 0, 2), *words, size=(22, 16)).transpose(1, 0, 2)
            np.testing.assert_allclose(one, self.resized(picture, *words, size=(16, 22)), rtol=0, atol=2e-6)

    def test_area_keeps_the_mean(self):
        picture = noise((36, 60, 1)).astype(np.float32)
        for convention in ("opencv", "pillow"):
            got = self.resized(picture, "--method", "area", "--convention", convention, size=(9, 20))
            self.assertAlmostEqual(got.astype(np.float64).mean(), picture.astype(np.float64).mean(), places=4)
            blocks = picture.reshape(9, 4, 20, 3, 1).astype(np.float64).mean(axis=(1, 3))
            np.testing.assert_allclose(got, blocks, rtol=1e-6)

    def test_up_and_down_again(self):
        picture = noise((9, 13, 3))
        large = self.resized(picture, "--method", "nearest", size=(27, 52))
        np.testing.assert_array_equal(self.resized(large, "--method", "area", "--convention", "opencv", size=(9, 13)), picture)

    def test_onnx_by_its_definition(self):
        picture = noise((9, 14, 1), np.float32)
        for coordinate, place in (("half_pixel", lambda i, s, d: (i + 0.5) * s / d - 0.5), ("asymmetric", lambda i, s, d: i * s / d),
                                  ("align_corners", lambda i, s, d: i * (s - 1) / (d - 1))):
            for source, result in ((14, 5), (14, 29)):
                at = np.array([place(i, source, result) for i in range(result)])
                low = np.floor(at).astype(int)
                share = at - low
                line = picture[:, np.clip(low, 0, 13), 0] * (1 - share) + picture[:, np.clip(low + 1, 0, 13), 0] * share
                got = self.resized(picture, "--convention", "onnx", "--method", "linear", "--coordinate", coordinate, size=(9, result))[..., 0]
                np.testing.assert_allclose(got, line, rtol=0, atol=2e-6)
                for mode, rounded in (("floor", np.floor), ("ceil", np.ceil), ("round_prefer_ceil", lambda v: np.floor(v + 0.5)),
                                      ("round_prefer_floor", lambda v: np.ceil(v - 0.5))):
                    got = self.resized(picture, "--convention", "onnx", "--method", "nearest", "--coordinate", coordinate, "--nearest-mode", mode,
                                       size=(9, result))
                    np.testing.assert_array_equal(got, picture[:, np.clip(rounded(at).astype(int), 0, 13)])

    def test_linear_light(self):
        # Black and white in turn: half the light, not half the code.
        board = np.indices((20, 20)).sum(axis=0).astype(np.uint8) % 2 * 255
        got = self.resized(board, "--method", "area", "--light", "linear", size=(10, 10))
        np.testing.assert_array_equal(got, np.full((10, 10), 188))
        wide = self.resized(board.astype(np.uint16) * 257, "--method", "area", "--light", "linear", size=(10, 10))
        np.testing.assert_array_equal(wide, np.full((10, 10), round(65535 * (1.055 * 0.5 ** (1 / 2.4) - 0.055))))
        np.save("in.npy", board.astype(np.float32))
        self.fails(2, "linear as it is", "resize", "in.npy", "-o", "out.npy", "--light", "linear", "--width", "5")

    def test_sizes(self):
        picture = noise((30, 40, 3))
        self.assertEqual(self.resized(picture, "--width", "20").shape, (15, 20, 3))
        self.assertEqual(self.resized(picture, "--height", "10").shape, (10, 13, 3))
        self.assertEqual(self.resized(picture, "--width", "1").shape, (1, 1, 3))
        self.assertEqual(self.resized(picture, "--width", "20", "--height", "30").shape, (30, 20, 3))
        self.assertEqual(self.resized(picture, "--height", "10", "--scale", "0.5").shape, (10, 20, 3))
        self.assertEqual(self.resized(picture, "--scale", "0.47").shape, (14, 19, 3))
        self.assertEqual(self.resized(noise((2, 8, 9, 2)), "--scale", "2").shape, (2, 16, 18, 2))

    def test_bad_words(self):
        np.save("in.npy", noise((6, 5, 3)))
        for message, *words in (("did you mean 'lanczos3'", "--method", "lancsos3"), ("is for --convention pillow", "--method", "box", "--convention", "opencv"),
                                ("is for --convention onnx", "--coordinate", "asymmetric"), ("has no area", "--method", "area", "--convention", "onnx"),
                                ("never widens", "--convention", "opencv", "--antialias", "yes"),
                                ("out of its range, 1e-06 to 1000", "--scale", "1e39"),
                                ("needs a number from -1 to 0", "--cubic-a", "2"), ("out of its range", "--width", "0"),
                                ("out of its range", "--scale", "0.01"), ("1 to 16777216", "--width", "20000000")):
            self.fails(2, message, "resize", "in.npy", "-o", "out.npy", "--height", "3", *words)
        self.fails(2, "--width, --height or --scale is missing", "resize", "in.npy", "-o", "out.npy")
        np.save("empty.npy", np.zeros((0, 5, 3), np.uint8))
        self.fails(2, "empty", "resize", "empty.npy", "-o", "out.npy", "--width", "3", "--height", "3")


if __name__ == "__main__":
    unittest.main()
