#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Light fields from outside: views in files, in tiles and as an array, stacks as numbered pictures, and what is wrong with
a grid.   lightfield_test.py PROGRAM"""
import os
import pathlib
import subprocess
import sys
import unittest

import numpy as np

import cli_case
from png_files import save_png

ROOT = pathlib.Path(__file__).resolve().parent.parent


def refocused(views, slope):
    """Whole shifts of views of a grid of odd sides, their mean."""
    rows, cols, height, width, _ = views.shape
    total = np.zeros(views.shape[2:], np.int64)
    for t in range(rows):
        for s in range(cols):
            y = np.clip(np.arange(height) + slope * (t - rows // 2), 0, height - 1)
            x = np.clip(np.arange(width) + slope * (s - cols // 2), 0, width - 1)
            total += views[t, s][y][:, x]
    return (2 * total + rows * cols) // (2 * rows * cols)


class LightField(cli_case.Case):
    def setUp(self):
        self.views = np.random.default_rng(1).integers(0, 256, (3, 5, 14, 22, 3), np.uint8)
        os.makedirs("views", exist_ok=True)
        for t in range(3):
            for s in range(5):
                save_png(f"views/out_{t:02}_{s:02}.png", self.views[t, s])
        np.save("views.npy", self.views)
        save_png("tiles.png", self.views.transpose(0, 2, 1, 3, 4).reshape(3 * 14, 5 * 22, 3))

    def read(self, path):
        self.passes("filter", path, "--kernel", "1", "-o", "read.npy")
        return np.load("read.npy")

    def test_files_tiles_and_an_array_are_the_same_views(self):
        wanted = refocused(self.views, 2)
        for words in (("views/*_{row}_{col}.png",), ("tiles.png", "--tiles", "3x5"), ("views.npy",)):
            self.assertIn("14 × 22 × 3 of u8", self.passes("refocus", *words, "--slope", "2", "-o", "f.png", "--check").stdout)
            np.testing.assert_array_equal(self.read("f.png"), wanted)

    def test_a_stack_is_numbered_pictures_or_an_array(self):
        slopes = (-1, 0, 1, 2)
        self.passes("refocus", "views.npy", "--slopes", "-1:2:4", "-o", "f-{index}.png")
        self.passes("refocus", "views.npy", "--slopes=-1,0,1,2", "-o", "stack.npy")
        stack = np.load("stack.npy")
        self.assertEqual(stack.shape, (4, 14, 22, 3))
        for number, slope in enumerate(slopes):
            np.testing.assert_array_equal(stack[number], refocused(self.views, slope))
            np.testing.assert_array_equal(self.read(f"f-{number}.png"), stack[number])
        self.fails(2, "a picture file holds one picture", "refocus", "views.npy", "--slopes", "0:2:4", "-o", "one.png")

    def test_every_rung_writes_the_same_file(self):
        for name, words in (("refocus", ("--slope", "1.37")), ("viewpoint", ("--at", "0.3,0.7", "--slope", "0.9"))):
            files = set()
            for device, variant in (("cpu", "naive"), ("cpu", "simd"), ("simt", "global"), ("simt", "rows")):
                self.passes(name, "views/*_{row}_{col}.png", *words, "-o", "v.png", "--device", device, "--variant", variant)
                with open("v.png", "rb") as file:
                    files.add(file.read())
            self.assertEqual(len(files), 1)

    def test_the_sharpest_plane_of_a_stack(self):
        self.passes("refocus", str(ROOT / "examples/views.png"), "--tiles", "5x5", "--slopes", "-1,1,3", "-o", "stack.npy", "--check")
        self.passes("sharpest", "stack.npy", "--radius", "3", "-o", "sharp.png", "--check")
        self.passes("sharpest", "stack.npy", "--radius", "3", "--give", "depth", "-o", "depth.png", "--check")
        stack, sharp, depth = np.load("stack.npy"), self.read("sharp.png"), self.read("depth.png")
        # The middle of the cup, of the lamp and of the wall above them.
        for rows, cols, plane in ((slice(31, 47), slice(21, 35), 1), (slice(18, 30), slice(60, 72), 2), (slice(4, 8), slice(44, 50), 0)):
            self.assertTrue((depth[rows, cols] == plane * 32767).all(), f"{plane}: {depth[rows, cols]}")
            np.testing.assert_array_equal(sharp[rows, cols], stack[plane][rows, cols])

    def test_the_views_of_the_examples(self):
        subprocess.run([sys.executable, ROOT / "examples/make_views.py", "made.png"], check=True)
        np.testing.assert_array_equal(self.read("made.png"), self.read(str(ROOT / "examples/views.png")))

    def test_views_warped_by_disparities(self):
        picture = np.random.default_rng(3).integers(0, 256, (20, 30, 3), np.uint8)
        depth = np.full((20, 30), 10.0)
        depth[5:9, 6:12] = 20
        depth[15, 3] = np.inf
        np.save("left.npy", picture)
        np.savez("disparity.npz", depth)
        subprocess.run([sys.executable, ROOT / "examples/warp_stereo.py", "left.npy", "disparity.npz", "warped.npy", "--grid", "3"], check=True)
        warped = np.load("warped.npy")
        self.assertEqual(warped.shape, (3, 3, 20, 30, 3))
        np.testing.assert_array_equal(np.delete(warped[1, 1].reshape(-1, 3), 15 * 30 + 3, 0), np.delete(picture.reshape(-1, 3), 15 * 30 + 3, 0))
        for t in range(3):
            for s in range(3):  # what is near lies two pixels further, over what is behind
                np.testing.assert_array_equal(warped[t, s, 5 + 2 * (t - 1):9 + 2 * (t - 1), 6 + 2 * (s - 1):12 + 2 * (s - 1)], picture[5:9, 6:12])
        self.passes("refocus", "warped.npy", "--slope", "2", "-o", "near.npy", "--check")
        np.testing.assert_array_equal(np.load("near.npy")[5:9, 6:12], picture[5:9, 6:12])

    def test_a_camera_sees_its_view(self):
        self.passes("viewpoint", "views/*_{row}_{col}.png", "--at", "1,0.25", "--slope", "1.3", "-o", "v.png", "--check")
        np.testing.assert_array_equal(self.read("v.png"), self.views[2, 1])

    def test_alpha_is_a_channel_or_left_out(self):
        rgba = np.random.default_rng(2).integers(0, 256, (1, 2, 5, 6, 4), np.uint8)
        save_png("rgba.png", np.concatenate([rgba[0, 0], rgba[0, 1]], axis=1))
        mean = refocused(rgba[:, :1], 0)
        for words, channels in (((), 4), (("--alpha", "drop"), 3)):
            self.passes("viewpoint", "rgba.png", "--tiles", "1x2", "--at", "0,0", "-o", "v.png", *words)
            self.passes("filter", "v.png", "--kernel", "1", "--alpha", "channel", "-o", "read.npy")
            np.testing.assert_array_equal(np.load("read.npy"), mean[..., :channels])
        self.fails(2, "--alpha of views is channel or drop", "refocus", "rgba.png", "--tiles", "1x2", "--alpha", "aside")

    def test_invalid_grids_are_reported(self):
        save_png("views/two_1_1.png", self.views[1, 1])
        self.fails(2, "are both the view of row 1, column 1", "refocus", "views/*_{row}_{col}.png")
        os.remove("views/two_1_1.png")
        os.remove("views/out_01_03.png")
        self.fails(2, "lacks 1 of 3 × 5 views; the first is that of row 1, column 3", "refocus", "views/*_{row}_{col}.png")
        save_png("views/out_01_03.png", self.views[1, 3][:5])
        self.fails(2, "out_01_03.png: is 5 × 22 × 3 of u8, but views/out_00_00.png is 14 × 22 × 3", "refocus", "views/*_{row}_{col}.png")
        self.fails(2, "is one picture; --tiles", "refocus", "tiles.png")
        self.fails(2, "are not 4x5 equal tiles", "refocus", "tiles.png", "--tiles", "4x5")
        self.fails(2, "--tiles is for one picture", "refocus", "views.npy", "--tiles", "3x5")
        self.fails(2, "{row} and {col} once each", "refocus", "views/{row}.png")
        self.fails(2, "means no file", "refocus", "none/{row}_{col}.png")
        self.fails(2, "--slope needs a finite number", "refocus", "views.npy", "--slope", "nan")
        self.fails(2, "are many files, none of which {name} could mean", "refocus", "views/*_{row}_{col}.png", "-o", "{name}.png")
        self.fails(2, "--radius 2 is only for --aperture weighted or disc", "refocus", "views.npy", "-o", "never.png", "--radius", "2")
        self.fails(2, "'1,,2' is neither a list of numbers nor a:b:n", "refocus", "views.npy", "-o", "never.png", "--slopes", "1,,2")
        np.save("flat.npy", self.views[0])
        self.fails(2, "views has 4 dimensions, not 5", "refocus", "flat.npy")


if __name__ == "__main__":
    unittest.main()
