#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in a call on several devices, from outside: faults, checks, checkpoints, interrupts.   devices_failures_test.py PROGRAM"""
import json
import os
import resource
import signal
import subprocess
import time
import unittest

import numpy as np

import cli_case
import devices_case
from devices_case import UNLIKE
from png_files import save_png


class Failures(devices_case.Case):
    def test_what_goes_wrong_loses_nothing(self):
        _, alone = self.product("--device", "simt", "--variant", "shared_tiles")
        # The other device is slow, or each has its share, lest a device that begins late gets no part to fail at.
        for fault, words, said in (("kill:1@2,delay:0@1:2", (), "(device 1) was given up, and its parts were done by the others: its process was ended by a signal: Killed"),
                                   ("fail:0@1", ("--split", "3:1"), "(device 0) was given up, and its parts were done by the others: a failure that was asked for"),
                                   ("hang:0@2", ("--limit", "4", "--split", "1:1"), "(device 0) was given up, and its parts were done by the others: it did not answer within 4 s"),
                                   ("flip:0@1,flip:1@2:20", ("--protect", "--split", "1:1"), "did not fit, and was corrected"),
                                   ("strew:0@1:3,swap:1@1", ("--protect", "--split", "1:1"), "2 columns did not fit, the part was computed again"),
                                   ("delay:1@1:0.2", ("--split", "auto"), "read by all processes from the files")):
            told, together = self.product("--devices", UNLIKE, "--variant", "shared_tiles", "--fault", fault, "--check", *words)
            self.assertEqual(alone, together, fault)
            self.assertIn(said, told)
            self.assertIn("verified", told)
        # Unchecked parts come as they are: the check of the whole finds the bit.
        done = cli_case.run("matmul", "left.npy", "right.npy", "--devices", UNLIKE, "--split", "1:1", "--fault", "flip:0@1", "--check")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("not promised to be those of one device", done.stdout)
        # Below what checksums see, nobody knows.
        told, _ = self.product("--devices", UNLIKE, "--split", "1:1", "--protect", "--fault", "flip:0@1:0")
        self.assertIn("not promised to be those of one device", told)
        self.fails(5, "ended by a signal", "matmul", "left.npy", "right.npy", "--devices", UNLIKE, "--fault", "kill:0@1,kill:1@1")
        self.fails(2, "numbered from 0 to 1", "matmul", "left.npy", "right.npy", "--devices", UNLIKE, "--fault", "kill:2@1")
        self.fails(2, "it takes a GPU", "matmul", "left.npy", "right.npy", "--devices", UNLIKE, "--fault", "poison:1@1")
        self.fails(2, "f32 has no bit 32", "matmul", "left.npy", "right.npy", "--devices", UNLIKE, "--fault", "flip:0@1:32")
        for word in ("kill", "kill:1", "kill:1@0", "kill:1@2:3", "delay:1@2", "sink:0@1", "kill:x@1", "flip:0@1:x", "strew:0@1", "strew:0@1:0", "swap:0@1:2"):
            self.fails(2, "is none; write kill", "matmul", "left.npy", "right.npy", "--devices", UNLIKE, "--fault", word)

    def test_a_limit_is_told_as_it_was_asked_for(self):
        for limit in ("0.04", "2.5e-2"):
            done = cli_case.run("matmul", "left.npy", "right.npy", "--devices", "simt:threads=1", "--split", "1", "--variant", "shared_tiles",
                                "--fault", "hang:0@1", "--limit", limit)
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertIn("within %g s" % float(limit), done.stderr)

    def test_faults_of_repeated_calls_count_the_parts_of_each(self):
        told = self.passes("matmul", "left.npy", "right.npy", "--devices", "cpu:threads=1,cpu:threads=1", "--split", "1:1", "--repeat", "3",
                           "--fault", "fail:0@1,fail:1@99").stderr
        self.assertRegex(told, r"fail:1@99 did not happen in any run: device 1 had at most \d+ parts? in one")
        self.assertNotIn("fail:0@1", told)

    def test_processes_read_files_as_they_lie(self):
        np.save("columns.npy", np.asfortranarray(self.b))
        np.save("swapped.npy", self.b.astype(">f4"))
        for right, copied in (("right.npy", 0), ("columns.npy", 0), ("swapped.npy", self.b.nbytes)):
            done = self.passes("matmul", "left.npy", right, "-o", "out.npy", "--devices", "cpu:threads=1,cpu:threads=1", "--protect", "--fault", "kill:0@1",
                               "--split", "1:1", "--check", "--json", "run.json")
            with open("run.json", encoding="utf-8") as file:
                run = json.load(file)
            self.assertEqual(run["copied_bytes"], copied, right)
            self.assertEqual(run["mapped_bytes"], self.a.nbytes + self.b.nbytes - copied, right)
            self.assertIn("read by all processes from the files", done.stdout)
            np.testing.assert_allclose(np.load("out.npy"), self.a @ self.b, rtol=1e-4, atol=1e-4)

    def test_json_tells_what_checksums_found_and_what_they_took(self):
        self.product("--devices", "cpu:threads=1,cpu:threads=1", "--split", "1:1", "--protect", "--fault", "flip:1@1", "--json", "run.json")
        with open("run.json", encoding="utf-8") as file:
            run = json.load(file)
        self.assertEqual(run["protect"]["parts_by_checksums"], sum(part["parts"] for part in run["parts"]))
        self.assertEqual(run["protect"]["parts_by_host"], 0)
        self.assertTrue(run["protect"]["check_seconds"] > 0 and run["protect"]["product_seconds"] > 0)
        found, = run["protect"]["found"]
        self.assertEqual((found["device"], found["rows"], found["cols"], found["computed_again"]), (1, 1, 1, "element"))
        row, column = found["element"]
        self.assertTrue(0 <= row < 300 and 0 <= column < 200)
        self.product("--devices", "cpu:threads=1,cpu:threads=1", "--json", "run.json")
        with open("run.json", encoding="utf-8") as file:
            self.assertIsNone(json.load(file)["protect"])
        # What no checksums serve is checked by the processors.
        self.assertIn("checked by this machine's processors", self.product("--devices", "cpu:threads=1", "--protect", "--activation", "relu")[0])

    def test_each_product_of_a_batch_has_its_checksums(self):
        random = np.random.default_rng(9)
        for element, more, least in ((np.float32, ("--beta", "-0.5", "--c", "bc.npy"), 1e-4), (np.float64, (), 1e-12)):
            for name, shape in (("ba", (40, 30, 70)), ("bb", (70, 50)), ("bc", (40, 30, 50))):
                np.save(name + ".npy", random.normal(size=shape).astype(element))
            call = ("matmul_batch", "ba.npy", "bb.npy", "--b-for", "all", *more, "-o", "batch.npy")
            self.passes(*call, "--device", "cpu")
            alone = np.load("batch.npy")
            for fault in ("flip:0@1", "strew:1@2:3", "swap:1@1"):
                done = self.passes(*call, "--devices", "cpu:threads=1,simt:threads=1", "--split", "1:1", "--protect", "--fault", fault, "--check", "--json", "batch.json")
                self.assertEqual(done.stdout.count("did not fit, the part was computed again"), 1, done.stdout)
                with open("batch.json", encoding="utf-8") as file:
                    told = json.load(file)["protect"]
                self.assertEqual((told["parts_by_host"], len(told["found"])), (0, 1))
                self.assertEqual((told["found"][0]["rows"] >= 1, told["found"][0]["cols"]), (True, 0))
                np.testing.assert_allclose(np.load("batch.npy"), alone, rtol=0, atol=least)
        told = self.passes("matmul_batch", "ba.npy", "bb.npy", "--b-for", "all", "--activation", "relu", "--devices", "cpu:threads=1,cpu:threads=1", "--protect").stdout
        self.assertIn("checked by this machine's processors", told)
        self.assertNotIn("checksums of", told)

    def test_a_call_that_failed_goes_on_from_its_checkpoint(self):
        _, alone = self.product("--device", "simt", "--variant", "shared_tiles")
        words = ("--devices", "simt:threads=1", "--variant", "shared_tiles", "--checkpoint", "parts")
        self.fails(5, "asked for", "matmul", "left.npy", "right.npy", "-o", "out.npy", *words, "--fault", "fail:0@4")
        np.save("other.npy", self.b + 1)
        self.fails(2, "of other inputs", "matmul", "left.npy", "other.npy", *words)
        self.fails(2, "of another call", "matmul", "left.npy", "right.npy", "--alpha", "2", *words)
        told, resumed = self.product(*words)
        self.assertIn("3 parts were there already", told)
        self.assertEqual(alone, resumed)
        self.assertFalse(os.path.exists("parts"))
        with open("parts", "w", encoding="utf-8") as file:
            file.write("something else\n")
        self.fails(2, "no checkpoint", "matmul", "left.npy", "right.npy", *words)
        os.remove("parts")

    def test_parts_that_the_disk_has_lost_are_computed_again(self):
        _, alone = self.product("--device", "simt", "--variant", "shared_tiles")
        words = ("--devices", "simt:threads=1", "--variant", "shared_tiles", "--checkpoint", "damaged")
        self.fails(5, "asked for", "matmul", "left.npy", "right.npy", "-o", "out.npy", *words, "--fault", "fail:0@4")
        with open("damaged", "r+b") as file:  # the first part's first number
            count = len(json.loads(file.readline())["tiles"])
            file.seek(8 * count, os.SEEK_CUR)
            number = bytearray(file.read(4))
            file.seek(-4, os.SEEK_CUR)
            number[2] ^= 0x40
            file.write(number)
        told, resumed = self.product(*words)
        self.assertIn("2 parts were there already", told)
        self.assertEqual(alone, resumed)

    def test_a_checkpoint_that_lost_its_end_gives_what_is_left(self):
        _, alone = self.product("--device", "simt", "--variant", "shared_tiles")
        words = ("--devices", "simt:threads=1", "--variant", "shared_tiles", "--checkpoint", "torn")
        self.fails(5, "the same call goes on with --checkpoint torn", "matmul", "left.npy", "right.npy", "-o", "out.npy", *words, "--fault", "fail:0@4")
        with open("torn", "rb") as file:
            kept = file.read()
        head = kept.index(b"\n") + 1
        marks = 8 * len(json.loads(kept[:head])["tiles"])
        for rest, restored, said in ((kept[:-1], 2, "not kept 1 part"), (kept[:head + marks + 4], 0, "not kept 3 parts"), (kept[:head + 8], 0, "not kept its end, and 1 part of"),
                                     (kept[:head], 0, "not kept its end"), (kept[:head - 1], 0, "a piece of its head"), (kept[:100], 0, "a piece of its head"),
                                     (kept[:60] + bytes(100), 0, "a piece of its head"), (kept[:3], 0, "a piece of its head"), (b"", 0, "")):
            with open("torn", "wb") as file:
                file.write(rest)
            told, resumed = self.product(*words)
            self.assertIn(said, told)
            self.assertEqual(f"{restored} parts were there already" in told, restored > 0, told)
            self.assertEqual("the disk has not kept" in told, said != "", told)
            self.assertEqual(alone, resumed)
        for rest, why in ((b"\0" * 64, "it is no checkpoint"), (b"notes of mine", "it is no checkpoint"), (kept[:100].replace(b"matmul", b"resize"), "of another call")):
            with open("torn", "wb") as file:
                file.write(rest)
            self.fails(2, why, "matmul", "left.npy", "right.npy", *words)
            self.assertEqual(self.bytes_of("torn"), rest)
        os.remove("torn")

    def test_two_calls_at_once_do_not_share_a_checkpoint(self):
        words = ("matmul", "left.npy", "right.npy", "-o", "first.npy", "--devices", "cpu:threads=1", "--checkpoint", "ours")
        with subprocess.Popen([cli_case.PROGRAM, *words, "--fault", "delay:0@2:60"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as running:
            cli_case.wait_until(lambda: self.parts_kept("ours") > 0)
            self.fails(2, "--checkpoint ours: another call is at work on it", *words)
            running.send_signal(signal.SIGINT)
            self.assertIn("stopped; the same call goes on", running.communicate(timeout=60)[1])
        self.assertIn("were there already", self.passes(*words).stdout)

    def test_each_device_that_failed_is_named(self):
        call = ("matmul", "left.npy", "right.npy", "--devices", "cpu:threads=1,simt:threads=1", "--split", "1:1", "--fault", "fail:0@1,kill:1@1")
        said = self.fails(5, "no device is left", *call).stderr
        self.assertIn("(device 0): a failure that was asked for", said)
        self.assertIn("(device 1): its process was ended by a signal: Killed", said)
        self.assertNotIn("--checkpoint", said)

    def test_delays_that_nobody_can_wait_for_are_refused(self):
        for seconds in ("1e19", "1.1e9", "inf", "nan", "-1"):
            self.fails(2, "up to 1e9", "matmul", "left.npy", "right.npy", "--devices", "cpu:threads=1", "--fault", "delay:0@1:" + seconds)

    def test_what_is_wrong_beside_large_addends_is_seen(self):
        c0 = np.random.default_rng(4).normal(size=(300, 200)).astype(np.float32)
        c0[:, ::3] *= 1e9
        np.save("added.npy", c0)
        call = ("--c", "added.npy", "--beta", "1", "--devices", "cpu:threads=1,cpu:threads=1", "--split", "1:1")
        _, right = self.product(*call)
        for fault in ("swap:0@1", "flip:0@1:30", "flip:0@1:24"):
            told, mended = self.product(*call, "--protect", "--fault", fault)
            self.assertIn("did not fit", told, fault)
            self.assertEqual(right, mended, fault)

    def test_a_checkpoint_that_is_none_is_told(self):
        words = ("matmul", "left.npy", "right.npy", "--devices", "cpu:threads=1", "--checkpoint")
        self.fails(2, "no file that keeps", *words, "/dev/full")
        os.mkfifo("pipe")
        self.fails(2, "no file that keeps", *words, "pipe")
        self.fails(5, "asked for", *words, "named", "--fault", "fail:0@2")
        with open("named", "rb") as file:
            head, rest = file.read().split(b"\n", 1)
        for change in (lambda tiles: tiles[:-1], lambda tiles: tiles + tiles[:1], lambda tiles: [[0, 5000, 0, 5000]], lambda tiles: [[1]], lambda tiles: [["a", 1, 2, 3]]):
            about = json.loads(head)
            about["tiles"] = change(about["tiles"])
            with open("named", "wb") as file:
                file.write(json.dumps(about).encode() + b"\n" + rest)
            self.fails(2, "--checkpoint named", *words, "named")

    def test_a_checkpoint_copies_no_input(self):
        # 128 MiB of zeros, which take no room on the disk.
        np.lib.format.open_memmap("wide.npy", "w+", np.float32, (64, 1 << 19)).flush()
        np.save("column.npy", np.zeros((1 << 19, 1), np.float32))

        def bound():  # with the file, which is mapped, but not with a copy of it
            resource.setrlimit(resource.RLIMIT_DATA, (224 << 20, 224 << 20))
        done = subprocess.run([cli_case.PROGRAM, "matmul", "wide.npy", "column.npy", "--devices", "cpu:threads=1", "--checkpoint", "small"],
                              preexec_fn=bound, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_checkpoint_tells_orders_of_the_same_bytes_apart(self):
        square = np.arange(900, dtype=np.float32).reshape(30, 30)
        np.save("square.npy", square)
        words = ("--devices", "cpu:threads=1", "--checkpoint", "order")
        self.fails(5, "asked for", "matmul", "square.npy", "square.npy", *words, "--fault", "fail:0@1")
        np.save("turned.npy", square.T)  # the same bytes, the other order
        self.fails(2, "of other inputs", "matmul", "turned.npy", "square.npy", *words)
        os.remove("order")

    def test_files_that_tell_of_a_call_take_none_of_its_own(self):
        before = self.bytes_of("left.npy")
        call = ("matmul", "left.npy", "right.npy", "-o", "kept.npy")
        os.symlink("left.npy", "link.npy")
        for devices in (("--devices", "cpu:threads=1"), ("--device", "cpu:threads=1")):
            self.fails(2, "--json left.npy is one of the files to be read", *call, *devices, "--json", "left.npy")
            self.fails(2, "--json ./kept.npy is what -o names", *call, *devices, "--json", "./kept.npy")
        devices = ("--devices", "cpu:threads=1")
        for flag in ("--timeline", "--checkpoint"):
            self.fails(2, f"{flag} link.npy is one of the files to be read", *call, *devices, flag, "link.npy")
            self.fails(2, f"{flag} kept.npy is what -o names", *call, *devices, flag, "kept.npy")
        self.fails(2, "--timeline same is what --json names", *call, *devices, "--json", "same", "--timeline", "same")
        self.fails(2, "--json bias.npy is one of the files", *call, "--bias", "bias.npy", "--json", "bias.npy")
        self.assertFalse(os.path.exists("kept.npy"))
        self.assertEqual(self.bytes_of("left.npy"), before)
        save_png("told.png", np.zeros((8, 8, 3), np.uint8))
        for words in (("told.png", "-o", "apart.png"), ("tol*.png", "-o", "{name}_apart.png")):
            self.fails(2, "--timeline told.png is one of the files", "filter", *words, "--kernel", "box", *devices, "--timeline", "told.png")
        self.fails(2, "--json told_apart.png is what -o names", "filter", "tol*.png", "-o", "{name}_apart.png", "--kernel", "box", "--devices", "cpu:threads=1,cpu:threads=1",
                   "--json", "told_apart.png")
        self.passes(*call, *devices, "--json", "/dev/null", "--timeline", "/dev/null")
        self.passes(*call, "--devices", "cpu:threads=1,cpu:threads=1", "--json", "read.json")
        before = self.bytes_of("read.json")
        self.fails(2, "-o read.json is one of the files to be read", "report", "read.json", "-o", "read.json")
        self.fails(2, "--junit read.json is one of the files to be read", "compare", "read.json", "other.json", "--junit", "read.json")
        self.fails(2, "--json read.json is one of the files to be read", "code", "read.json", "--json", "read.json")
        self.assertEqual(self.bytes_of("read.json"), before)

    def test_a_fault_that_did_not_happen_is_told(self):
        call = ("matmul", "left.npy", "right.npy", "--devices", "cpu:threads=1,cpu:threads=1", "--split", "1:1", "--json", "parts.json")
        done = self.passes(*call, "--fault", "kill:1@99,delay:0@1:0.01")
        with open("parts.json", encoding="utf-8") as file:
            parts = json.load(file)["parts"][1]["parts"]
        self.assertEqual(done.stderr, f"warning: fault kill:1@99 did not happen: device 1 had {parts} parts\n")
        os.makedirs("one", exist_ok=True)
        save_png("one/0.png", np.zeros((8, 8, 3), np.uint8))
        save_png("one/1.png", np.zeros((8, 8, 3), np.uint8))
        done = self.passes("filter", "one/*.png", "--kernel", "box", "--devices", "cpu:threads=1,cpu:threads=1", "--split", "1:1", "--fault", "kill:0@2",
                           "-o", "one_{name}.png")
        self.assertIn("warning: fault kill:0@2 did not happen: device 0 had 1 part\n", done.stderr)

    @staticmethod
    def parts_kept(checkpoint):
        """How many a checkpoint has: behind its first line lies a mark of 8 bytes for each, not 0 where it is done."""
        try:
            with open(checkpoint, "rb") as file:
                line = file.readline()
                marks = file.read(8 * len(json.loads(line)["tiles"])) if line.endswith(b"\n") else b""
        except FileNotFoundError:
            return 0
        return sum(any(marks[i:i + 8]) for i in range(0, len(marks), 8))

    def test_an_interrupted_call_does_not_wait_for_a_worker_that_hangs(self):
        words = ("matmul", "left.npy", "right.npy", "-o", "hung.npy", "--devices", "cpu:threads=1,cpu:threads=1", "--split", "1:1", "--protect", "--checkpoint", "hung")
        for fault in ("hang:0@1", "delay:0@1:20"):
            with subprocess.Popen([cli_case.PROGRAM, *words, "--fault", fault], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as running:
                cli_case.wait_until(lambda: self.parts_kept("hung") > 0)
                begun = time.monotonic()
                running.send_signal(signal.SIGINT)
                self.assertIn("stopped; the same call goes on", running.communicate(timeout=60)[1], fault)
            self.assertEqual(running.returncode, 130, fault)
            self.assertLess(time.monotonic() - begun, 10, fault)
            self.assertFalse(os.path.exists("hung.npy"))
            self.assertIn("were there already", self.passes(*words).stdout)
            os.remove("hung.npy")

    def interrupted(self, begun, *words):
        """What a call says that is interrupted half a second after it has begun; it must end within 3 s."""
        with subprocess.Popen([cli_case.PROGRAM, *words, "-o", "half.npy"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as running:
            cli_case.wait_until(begun)
            time.sleep(0.5)
            self.assertIsNone(running.poll(), words)
            at = time.monotonic()
            running.send_signal(signal.SIGINT)
            said = running.communicate(timeout=120)[1]
        self.assertLess(time.monotonic() - at, 3, words)
        self.assertEqual(running.returncode, 130, said)
        self.assertEqual([name for name in os.listdir(".") if "half" in name], [])
        return said

    def test_an_interrupt_does_not_wait_for_parts_that_take_long(self):
        # Zeros, which take no room on the disk: parts of several seconds, the executor's in one block of the kernel.
        for name, shape in (("square.npy", (4096, 4096)), ("flat.npy", (64, 1 << 18)), ("tall.npy", (1 << 18, 64))):
            np.lib.format.open_memmap(name, "w+", np.float32, shape).flush()
        for words in (("square.npy", "square.npy", "--devices", "cpu:threads=1,cpu:threads=1", "--variant", "naive"),
                      ("flat.npy", "tall.npy", "--devices", "simt:threads=1", "--variant", "vectorized")):
            def reads(first=words[0]):
                return cli_case.processes_that_map(first) == 1
            self.assertIn("stopped; the same call goes on", self.interrupted(reads, "matmul", *words, "--checkpoint", "long"))
            os.remove("long")
            self.assertEqual(self.interrupted(reads, "matmul", *words), "")

    def test_an_interrupt_does_not_wait_for_pictures(self):
        # Parts of whole pictures, of many seconds each; zeros take no room on the disk.
        np.lib.format.open_memmap("views.npy", "w+", np.uint8, (16, 2400, 2400, 1)).flush()

        def reads():
            return cli_case.processes_that_map("views.npy") == 1
        self.assertIn("stopped; the same call goes on",
                      self.interrupted(reads, "filter", "views.npy", "--kernel", "gaussian", "--size", "31", "--devices",
                                       "cpu:threads=1,cpu:threads=1", "--variant", "naive", "--checkpoint", "long"))
        os.remove("long")

    def test_an_interrupted_call_stops_between_parts_and_goes_on(self):
        _, alone = self.product("--device", "simt", "--variant", "shared_tiles")
        words = (cli_case.PROGRAM, "matmul", "left.npy", "right.npy", "-o", "late.npy", "--devices", "simt:threads=1", "--variant", "shared_tiles",
                 "--checkpoint", "later")
        with subprocess.Popen([*words, "--fault", "delay:0@2:2"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as running:
            cli_case.wait_until(lambda: self.parts_kept("later") > 0)
            running.send_signal(signal.SIGINT)
            self.assertIn("stopped; the same call goes on", running.communicate(timeout=60)[1])
        self.assertEqual(running.returncode, 130)
        self.assertFalse(os.path.exists("late.npy"))
        self.assertIn("were there already", self.passes(*words[1:]).stdout)
        with open("late.npy", "rb") as file:
            self.assertEqual(alone, file.read())


if __name__ == "__main__":
    unittest.main(verbosity=1)
