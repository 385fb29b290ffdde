#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures on devices that fail: every operation's, in files that are dispatched, and one whole.   devices_pictures_test.py PROGRAM"""
import os
import unittest

import numpy as np

import cli_case
import devices_case
from png_files import save_png

PAIR = ("--devices", "cpu:threads=1,cpu:threads=1", "--split", "1:1")


class Pictures(devices_case.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = np.random.default_rng(8)
        for folder in ("pictures", "masks", "views"):
            os.makedirs(folder)
        for i in range(4):
            save_png(f"pictures/{i}.png", random.integers(0, 256, (24, 31, 3), np.uint8))
            save_png(f"masks/{i}.png", 255 * (np.arange(24 * 31).reshape(24, 31, 1) % 31 < 3).astype(np.uint8))
            save_png(f"views/{i // 2}_{i % 2}.png", random.integers(0, 256, (20, 22, 3), np.uint8))

    def test_indivisible_calls_can_be_protected_and_killed(self):
        call = ("seamcarve", "pictures/*.png", "--width", "25", "--protect", "masks/{name}.png")
        self.passes(*call, "--device", "cpu", "-o", "{name}_alone.png")
        for fault, said in (("kill:1@1", "(device 1) failed, and others did its parts: its process was ended by a signal: Killed"),
                            ("kill:0@2", "(device 0) failed, and others did its parts: its process was ended by a signal: Killed")):
            told = self.passes(*call, *PAIR, "--protect-run", "--limit", "3", "--fault", fault, "--check", "-o", "{name}_out.png").stdout
            self.assertIn("4 of 4 files done", told)
            self.assertIn(said, told)
            for i in range(4):
                self.assertEqual(self.bytes_of(f"{i}_out.png"), self.bytes_of(f"{i}_alone.png"), fault)
                os.remove(f"{i}_out.png")
        self.assertIn("--protect-run", self.passes("seamcarve", "--help").stdout)
        self.assertNotIn("--protect-run", self.passes("filter", "--help").stdout)

    def test_one_picture_that_cannot_be_cut_on_one_device(self):
        for name, words, protect in (("seamcarve", ("pictures/0.png", "--width", "25"), "--protect-run"),
                                     ("viewpoint", ("views/{row}_{col}.png", "--at", "0.3,0.7", "--slope", "0.9"), "--protect")):
            self.passes(name, *words, "--device", "cpu", "-o", "alone.png")
            told = self.passes(name, *words, "--device", "cpu", protect, "-o", "out.png").stdout
            self.assertIn("checked by this machine's processors: 1 part", told)
            self.assertEqual(self.bytes_of("alone.png"), self.bytes_of("out.png"))
            os.remove("out.png")
            self.fails(5, "no device is left: cpu (device 0): its process was ended by a signal: Killed", name, *words, "--device", "cpu",
                       "--fault", "kill:0@1", "-o", "out.png")
            self.fails(2, f"{name} runs on one", name, *words, "--devices", "cpu,simt", "-o", "out.png")
            self.assertFalse(os.path.exists("out.png"))

    def test_all_failed_devices_are_named(self):
        call = ("filter", "pictures/*.png", "--kernel", "box", "-o", "lost_{name}.png", *PAIR)
        said = self.fails(5, "0 of 4 files done", *call, "--protect", "--fault", "kill:0@1,kill:1@1").stderr
        self.assertIn("tessera: no device is left: cpu (device 0): its process was ended by a signal: Killed; cpu (device 1): its process was ended by a signal: Killed\n", said)
        self.assertEqual(said.count("no device is left"), 1)
        self.fails(5, "tessera: no device is left: cpu (device 0): its process was ended by a signal: Killed\n", "matmul", "left.npy", "right.npy",
                   "--device", "cpu", "--fault", "kill:0@1")

    def test_an_unreadable_file_is_not_counted(self):
        os.makedirs("mixed", exist_ok=True)
        for i in range(4):
            save_png(f"mixed/{i}.png", np.full((8, 8, 3), i, np.uint8))
        with open("mixed/3.png", "wb") as file:
            file.write(b"no picture")
        call = ("filter", "mixed/*.png", "--kernel", "box", "-o", "mixed_{name}.png", "--devices", "cpu:threads=1,cpu:threads=1")
        # The second device's only file is the one that cannot be read; then it is the first of two.
        done = cli_case.run(*call, "--split", "3:1", "--protect", "--fault", "kill:1@1")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("warning: fault kill:1@1 did not happen: device 1 had 0 parts\n", done.stderr)
        self.assertIn("3 of 4 files done", done.stdout)
        os.rename("mixed/3.png", "mixed/2a.png")
        os.rename("mixed/2.png", "mixed/3.png")
        done = cli_case.run(*call, "--split", "1:1", "--protect", "--fault", "kill:1@1")
        self.assertNotIn("did not happen", done.stderr)
        self.assertIn("(device 1) failed", done.stdout)
        self.assertIn("3 of 4 files done", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=1)
