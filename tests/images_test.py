#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The pictures that the pages show are those that the commands beside them make.   images_test.py PROGRAM"""
import os
import pathlib
import re
import subprocess
import sys
import unittest

import numpy as np

import cli_case

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHOWN = ROOT / "docs/images"
MOST_BYTES = 60000
OPERATIONS = ("filter", "resize", "seamcarve", "refocus", "viewpoint")


def commands():
    """Of the pages that show pictures: (page, words), for every command that makes one of docs/images by its name."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        shown = set(re.findall(r"images/([a-z_]+\.png)\)", text))
        for line in text.splitlines():
            words = line.split("#")[0].split()
            if words[:1] == ["build/tessera"] and "-o" in words and words[words.index("-o") + 1] in shown:
                yield page.name, words


class Images(cli_case.Case):
    def pixels(self, path):
        self.passes("filter", str(path), "--kernel", "1", "--alpha", "channel", "-o", "pixels.npy")
        return np.load("pixels.npy")

    def test_the_scene_is_drawn_again(self):
        subprocess.run([sys.executable, ROOT / "examples/make_scene.py", "scene.ppm"], check=True)
        np.testing.assert_array_equal(self.pixels("scene.ppm"), self.pixels(ROOT / "examples/scene.png"))

    def test_every_shown_picture_is_made_again(self):
        made = set()
        operations = set()
        for page, words in commands():
            at = words.index("-o") + 1
            name = words[at]
            words[at] = "made.png"
            self.passes(*[str(ROOT / w) if w.startswith("examples/") else w for w in words[1:]])
            np.testing.assert_array_equal(self.pixels("made.png"), self.pixels(SHOWN / name), f"{page}: {' '.join(words)}")
            made.add(name)
            operations.add(words[1])
        # The ladder is drawn from measurements of a GPU, and what is traced by other tests.
        self.assertEqual(made | {"ladder.svg", "homework.svg", "learn"}, set(os.listdir(SHOWN)))
        self.assertEqual(operations, set(OPERATIONS))

    def test_they_are_small(self):
        for path in SHOWN.iterdir():
            self.assertLess(path.stat().st_size, MOST_BYTES, path.name)


if __name__ == "__main__":
    unittest.main()
