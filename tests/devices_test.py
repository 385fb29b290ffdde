#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One call on several devices, from outside: NumPy's products, the same bits, tables, traces, mistakes.   devices_test.py PROGRAM"""
import json
import os
import statistics
import unittest

import numpy as np

import cli_case
import devices_case
from devices_case import UNLIKE
from png_files import save_png


class Devices(devices_case.Case):
    def test_any_split_has_the_bits_of_one_device(self):
        _, alone = self.product("--device", "simt", "--variant", "shared_tiles")
        for split in ("2:1", "auto", "dynamic"):
            told, together = self.product("--devices", UNLIKE, "--variant", "shared_tiles", "--split", split, "--check")
            self.assertEqual(alone, together, split)
            for part in ("verified", "those of one such device alone", "simt:threads=1", "waited"):
                self.assertIn(part, told)
        np.testing.assert_allclose(np.load("out.npy"), self.a.astype(np.float64) @ self.b, rtol=0, atol=1e-4)

    def test_unlike_devices_and_all_of_them(self):
        for devices in ("cpu:threads=1,simt:threads=1", "all"):
            told, _ = self.product("--devices", devices, "--check")
            self.assertIn("verified", told)
            np.testing.assert_allclose(np.load("out.npy"), self.a.astype(np.float64) @ self.b, rtol=0, atol=1e-4)
        self.assertNotIn("simt", told)
        done = self.passes("matmul", "left.npy", "right.npy", "-o", "out.npy", "--devices", "cpu,cpu", "-v")
        self.assertIn("no time is predicted", done.stderr)

    def test_json_and_timeline_list_each_device(self):
        self.product("--devices", "cpu:threads=1,cpu:threads=1", "--split", "1:1", "--json", "run.json", "--timeline", "trace.json", "--check")
        with open("run.json", encoding="utf-8") as file:
            run = json.load(file)
        self.assertEqual([part["device"]["label"] for part in run["parts"]], ["cpu:threads=1"] * 2)
        self.assertAlmostEqual(sum(part["share"] for part in run["parts"]), 1)
        self.assertTrue(run["same_bits"])
        self.assertTrue(run["check"]["passed"])
        with open("trace.json", encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        computed = [event for event in events if event["ph"] == "X"]
        self.assertEqual(len(computed), sum(part["parts"] for part in run["parts"]))
        self.assertTrue(all(event["dur"] > 0 and event["name"].startswith("compute") for event in computed))
        self.assertEqual({event["args"]["name"] for event in events if event["name"] == "process_name"}, {"cpu:threads=1"})

    def test_a_call_can_be_repeated(self):
        told, _ = self.product("--devices", "cpu:threads=1,cpu:threads=1", "--split", "auto", "--repeat", "3", "--json", "runs.json", "--check")
        self.assertIn("the median of 3 runs", told)
        with open("runs.json", encoding="utf-8") as file:
            run = json.load(file)
        self.assertEqual(len(run["seconds"]["runs"]), 3)
        self.assertEqual(sorted(run["seconds"]["runs"])[1], run["seconds"]["round_trip"])
        self.product("--devices", "cpu:threads=1,cpu:threads=1", "--repeat", "4", "--json", "runs.json")
        with open("runs.json", encoding="utf-8") as file:
            seconds = json.load(file)["seconds"]
        self.assertAlmostEqual(statistics.median(seconds["runs"]), seconds["round_trip"], places=12)
        self.fails(2, "--repeat 0 is not within 1", "matmul", "left.npy", "right.npy", "--devices", "cpu,cpu", "--repeat", "0")
        self.passes("sweep", "matmul", "m=64", "n=m", "k=8", "--devices", "cpu:threads=1", "--split", "auto", "--memory", "1G", "--reps", "2")
        self.fails(2, "name them with --devices", "sweep", "matmul", "m=64", "n=m", "k=8", "--devices", "cpu:threads=1", "--split", "1:1")

    def test_a_sweep_of_splits_is_one_table(self):
        told = self.passes("sweep", "matmul", "m=96", "n=m", "k=16", "--element", "i32", "--devices", UNLIKE, "--variant", "shared_tiles",
                           "--split", "32:64,1:1,auto,dynamic", "--table", "--reps", "1", "--json", "sweep.json").stdout
        lines = [line.split() for line in told.splitlines() if line.endswith(" ok")]
        self.assertEqual([line[:3] for line in lines[:2]], [["32:64", "32", "64"], ["1:1", "48", "48"]])
        self.assertEqual([line[0] for line in lines[2:]], ["auto", "dynamic"])
        self.assertIn("ratio", told)
        self.assertRegex(told, r"the fastest: (32:64|1:1|auto|dynamic)")
        self.passes("report", "sweep.json", "-o", "sweep.html")
        with open("sweep.json", encoding="utf-8") as file:
            rows = json.load(file)["rows"]
        self.assertEqual([len(row["split"]) for row in rows], [2] * 4)
        self.assertTrue(all(row["verified"] == "ok" for row in rows))

    def test_a_large_picture_in_tiles(self):
        np.save("large.npy", np.random.default_rng(4).integers(0, 256, (500, 90, 3), np.uint8))
        for operation, words in (("filter", ("--kernel", "gaussian", "--size", "9", "--border", "wrap")), ("resize", ("--scale", "0.47"))):
            self.passes(operation, "large.npy", *words, "--device", "cpu", "-o", "alone.npy")
            told = self.passes(operation, "large.npy", *words, "--devices", "cpu:threads=1,simt:threads=1", "--split", "2:1", "-o", "out.npy", "--check").stdout
            self.assertIn("those of one such device alone", told)
            self.assertIn("verified", told)
            killed = self.passes(operation, "large.npy", *words, "--devices", "cpu:threads=1,cpu:threads=1", "--split", "1:1", "--fault", "kill:1@1",
                                 "-o", "killed.npy").stdout
            self.assertIn("(device 1) failed", killed)
            self.assertEqual(self.bytes_of("alone.npy"), self.bytes_of("out.npy"))
            self.assertEqual(self.bytes_of("alone.npy"), self.bytes_of("killed.npy"))

    def test_pictures_are_dispatched_to_devices(self):
        random = np.random.default_rng(5)
        os.makedirs("pictures", exist_ok=True)
        for i in range(6):
            save_png(f"pictures/{i}.png", random.integers(0, 256, (20 + i, 31, 3), np.uint8))
        pair = ("--devices", "cpu:threads=1,simt:threads=1")
        for operation, words in (("filter", ("--kernel", "laplacian8")), ("resize", ("--scale", "0.5")), ("seamcarve", ("--width", "25"))):
            self.passes(operation, "pictures/*.png", *words, "--device", "cpu", "-o", operation + "_{name}_alone.png")
            told = self.passes(operation, "pictures/*.png", *words, *pair, "--split", "1:1", "--check", "-o", operation + "_{name}.png",
                               "--timeline", "files.json").stdout
            self.assertRegex(told, r"cpu:threads=1 .* 3 ")
            for i in range(6):
                self.assertEqual(self.bytes_of(f"{operation}_{i}.png"), self.bytes_of(f"{operation}_{i}_alone.png"), operation)
            with open("files.json", encoding="utf-8") as file:
                self.assertEqual(sum(event["ph"] == "X" for event in json.load(file)["traceEvents"]), 6)

    def test_a_killed_device_or_a_damaged_file_leaves_the_other_pictures(self):
        random = np.random.default_rng(6)
        os.makedirs("some", exist_ok=True)
        for i in range(4):
            save_png(f"some/{i}.png", random.integers(0, 256, (24, 31, 3), np.uint8))
        pair = ("filter", "some/*.png", "--devices", "cpu:threads=1,cpu:threads=1", "-o", "some_{name}.png")
        done = self.passes(*pair, "--split", "1:1", "--fault", "kill:1@1")
        self.assertIn("(device 1) failed, and others did its parts: its process was ended by a signal", done.stdout)
        self.assertIn("4 of 4 files done", done.stdout)
        alone = cli_case.run("filter", "some/*.png", "--device", "cpu", "-o", "alone_{name}.png")
        self.assertEqual(alone.returncode, 0)
        for i in range(4):
            self.assertEqual(self.bytes_of(f"some_{i}.png"), self.bytes_of(f"alone_{i}.png"))
        self.fails(5, "ended by a signal", *pair, "--split", "1:1", "--fault", "kill:0@1,kill:1@1")
        with open("some/2.png", "wb") as file:
            file.write(b"no picture")
        done = cli_case.run(*pair, "--protect")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("some/2.png: ", done.stderr)
        self.assertIn("3 of 4 files done", done.stdout)

    def test_mistakes(self):
        pair = ("matmul", "left.npy", "right.npy", "--devices", UNLIKE)
        self.fails(2, "3 shares for 2 devices", *pair, "--split", "1:2:3")
        self.fails(2, "there is auto, dynamic, shares as in 2:1", *pair, "--split", "half")
        self.fails(2, "a share that is not 0", *pair, "--split", "0:0")
        self.fails(2, "500M or 8G", *pair, "--memory", "8X")
        self.fails(2, "runs on cpu, not on", *pair, "--variant", "cpu/naive")
        self.fails(5, "cuda:99", "matmul", "left.npy", "right.npy", "--devices", "cpu,cuda:99")
        self.fails(2, "runs on one", "seamcarve", "left.npy", "--width", "5", "--devices", "cpu,simt")
        self.fails(2, "among several devices", "sweep", "matmul", "m=8", "n=8", "k=8", "--device", "cpu", "--split", "1:1")


if __name__ == "__main__":
    unittest.main(verbosity=1)
