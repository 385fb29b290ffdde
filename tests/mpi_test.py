#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One product by several ranks: the bits of one process, NumPy's and ScaLAPACK's values, one message for what fails.
mpi_test.py PROGRAM MPIRUN SCALAPACK_CHECK, of which the last two may be empty"""
import json
import os
import signal
import subprocess
import sys
import time
import unittest

import numpy as np

LAUNCHER, CHECKER = [sys.argv.pop(2) for _ in range(2)] if len(sys.argv) > 3 else ("mpirun", "")
CHECKER = CHECKER and os.path.abspath(CHECKER)

import cli_case  # noqa: E402  which takes the program from the arguments
import mpi_case  # noqa: E402
from mpi_case import MPI, STRAY, bytes_of, said  # noqa: E402


def ranks(count, *words, **more):
    return mpi_case.ranks(LAUNCHER, count, *words, **more)


ROUNDING = 1e-2  # microseconds: a span's end is the sum of two numbers in the file


def spans_of(path):
    """The rows of a timeline, and its spans: row, name, first and last microsecond."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    return ([event["args"]["name"] for event in events if event["name"] == "process_name"],
            [(event["pid"], event["name"], event["ts"], event["ts"] + event["dur"]) for event in events if event["ph"] == "X"])


@unittest.skipUnless(LAUNCHER, "there is no MPI")
class Ranks(cli_case.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = np.random.default_rng(1)
        cls.random = random
        for name, shape in (("a", (61, 1203)), ("b", (1203, 57)), ("c", (61, 57))):
            np.save(name + "64.npy", random.normal(size=shape))
            np.save(name + "32.npy", random.normal(size=shape).astype(np.float32))
            np.save(name + "i.npy", random.integers(-2**31, 2**31 - 1, shape, np.int32))
        np.save("at.npy", np.load("a64.npy").T.copy())
        np.save("bf.npy", np.asfortranarray(np.load("b64.npy")))
        np.save("big.npy", np.load("a64.npy").astype(">f8"))

    def shared(self, count, *words, **environment):
        done = ranks(count, *words, **environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def same_bits(self, counts, *words, **environment):
        self.passes(*words, "-o", "one.npy", "--check", "--device", "cpu")
        for count in counts:
            self.shared(count, *words, "-o", "shared.npy", "--check", **environment)
            self.assertEqual(bytes_of("shared.npy"), bytes_of("one.npy"), f"{count} ranks: {words}")
            os.remove("shared.npy")

    def test_ranks_that_mpi_does_not_see_write_nothing(self):
        for variables in STRAY:
            said = self.fails(5, "which sees", "matmul", "a64.npy", "b64.npy", "-o", "D.npy", **MPI, **variables).stderr
            self.assertIn("TESSERA_MPI=none each computes alone", said)
            self.assertFalse(os.path.exists("D.npy"), variables)
            self.passes("matmul", "a64.npy", "b64.npy", "-o", "D.npy", TESSERA_MPI="none", **variables)
            os.remove("D.npy")
        # Of a launcher that may have started only this, the first rank may be alone.
        self.passes("matmul", "a64.npy", "b64.npy", **MPI, PMIX_RANK="0")

    def test_the_bits_of_one_process(self):
        self.same_bits((1, 3, 4), "matmul", "a64.npy", "b64.npy", "--distributed")
        product = np.load("a64.npy") @ np.load("b64.npy")
        np.testing.assert_allclose(np.load("one.npy"), product, rtol=0, atol=1e-11)

    def test_every_type_and_epilogue(self):
        self.same_bits((4,), "matmul", "a32.npy", "b32.npy", "--alpha", "-1.7", "--beta", "0.3", "--c", "c32.npy")
        self.same_bits((3,), "matmul", "ai.npy", "bi.npy", "--alpha", "3", "--beta", "-2", "--c", "ci.npy")
        self.same_bits((4,), "matmul", "at.npy", "bf.npy", "--op-a", "transpose", "--activation", "silu")
        self.same_bits((3,), "matmul", "big.npy", "b64.npy", "--alpha", "0")
        np.save("bias32.npy", self.random.normal(size=np.load("a32.npy").shape[0]).astype(np.float32))
        self.same_bits((4,), "matmul", "a32.npy", "b32.npy", "--bias", "bias32.npy", "--bias-along", "rows", "--activation", "gelu")
        half = self.random.normal(size=(37, 700)).astype(np.float16)
        np.save("h.npy", half)
        np.save("ht.npy", half.T.copy())
        np.save("rows.npy", self.random.normal(size=37).astype(np.float32))
        np.save("cols.npy", self.random.normal(size=37).astype(np.float32))
        np.save("bias.npy", self.random.normal(size=37).astype(np.float16))
        self.same_bits((4,), "matmul", "h.npy", "ht.npy", "--scale-a", "rows.npy", "--scale-b", "cols.npy", "--bias",
                       "bias.npy", "--bias-along", "rows", "--activation", "gelu")
        few = (self.random.integers(0, 100, (37, 700))).astype(np.uint8).view("V1")
        np.save("f8.npy", few)
        np.save("f8t.npy", few.T.copy())
        self.same_bits((4,), "matmul", "f8.npy", "f8t.npy", "--element", "e4m3", "--element-b", "e5m2", "--output-element", "f32")

    def test_kernels_add_panel_after_panel(self):
        for name, shape in (("s", (19, 4200)), ("r", (4200, 23)), ("z", (19, 23))):
            np.save(name + ".npy", self.random.normal(size=shape).astype(np.float32))
        # A rung that each rank takes, whatever rows and columns fall to it.
        words = ["matmul", "s.npy", "r.npy", "--c", "z.npy", "--beta", "0.5", "--alpha", "-2", "--device", "simt", "--variant",
                 "vectorized", "--check"]
        self.shared(1, *words, "-o", "one.npy", "--distributed")
        self.assertIn("2 panels of 4096", self.shared(3, *words, "-o", "shared.npy").stdout)
        self.assertEqual(bytes_of("shared.npy"), bytes_of("one.npy"))
        # What is not added to from panel to panel is one.
        self.assertIn("1 panel of 4200", self.shared(2, *words, "-o", "shared.npy", "--activation", "relu").stdout)
        self.fails_once(2, "each rank takes the GPU of its place", ranks(2, "matmul", "s.npy", "r.npy", "--device", "cuda:0"))

    def test_panels_travel_while_others_are_added(self):
        left, right = self.random.normal(size=(256, 6000)), self.random.normal(size=(6000, 256))
        np.save("la.npy", left)
        np.save("lb.npy", right)
        self.shared(4, "matmul", "la.npy", "lb.npy", "-o", "ld.npy", "--timeline", "trace.json", "--json", "line.json")
        np.testing.assert_allclose(np.load("ld.npy"), left @ right, rtol=0, atol=1e-10)
        with open("line.json", encoding="utf-8") as file:
            panels = json.load(file)["distributed"]["panels"]
        self.assertGreater(panels, 8)
        _, events = spans_of("trace.json")
        for rank in range(4):
            spans = {(name.split()[0], int(name.split()[1])): (first, last) for place, name, first, last in events if place == rank}
            self.assertEqual(len(spans), 2 * panels)
            for panel in range(1, panels):
                way, before = spans["message", panel], spans["compute", panel - 1]
                # It sets out before the one before it is added, and has come before it is added itself.
                self.assertLessEqual(way[0], before[0] + ROUNDING)
                self.assertLessEqual(way[1], spans["compute", panel][0] + ROUNDING)
        self.assertEqual(len(events), 4 * 2 * panels)

    def several(self, count, *words, **environment):
        return self.shared(count, "matmul", *words, "-o", "several.npy", "--check", "--json", "several.json", **environment).stdout

    def test_each_rank_may_have_several_devices(self):
        for depth, device, panels in ((4200, "cpu:threads=1", "2 panels of 4096"), (40, "simt:threads=1", "1 panel of 4096")):
            left, right = self.random.normal(size=(99, depth)).astype(np.float32), self.random.normal(size=(depth, 16)).astype(np.float32)
            first = self.random.normal(size=(99, 16)).astype(np.float32)
            for name, array in (("da", left), ("db", right), ("dc", first)):
                np.save(name + ".npy", array)
            words = ["da.npy", "db.npy", "--c", "dc.npy", "--beta", "0.5", "--alpha", "-2"]
            exact = -2 * (left.astype(np.float64) @ right) + 0.5 * first
            told = self.several(2, *words, "--devices", "cpu:threads=1," + device, "--split", "2:1")
            self.assertIn(panels, told)
            self.assertIn("several devices each", told)
            np.testing.assert_allclose(np.load("several.npy"), exact, rtol=0, atol=2e-3)
            with open("several.json", encoding="utf-8") as file:
                for rank in json.load(file)["distributed"]["ranks"]:
                    self.assertRegex(rank["device"], rf"^cpu [1-9]\d* % \+ {device.split(':')[0]} [1-9]\d* %$")
        alone = self.several(2, *words, "--devices", "all")  # of this machine's kinds; without a GPU that is the processors
        self.assertRegex(alone, r"\b(cpu|cuda)\b")
        self.assertNotIn("simt", alone)

    def test_products_without_accumulation_are_one_panel(self):
        half = self.random.normal(size=(37, 5000)).astype(np.float16)
        np.save("dh.npy", half)
        np.save("dt.npy", half.T.copy())
        np.save("dbias.npy", self.random.normal(size=37).astype(np.float16))
        words = ["dh.npy", "dt.npy", "--bias", "dbias.npy", "--activation", "gelu", "--devices", "cpu:threads=1,cpu:threads=1"]
        self.passes("matmul", *words, "-o", "one.npy")
        self.assertIn("1 panel of 5000", self.several(2, *words))
        self.assertEqual(bytes_of("several.npy"), bytes_of("one.npy"))

    def test_a_rank_that_loses_a_device_goes_on(self):
        # By shares that are given: from a queue one device could have taken every part before the other's first.
        words = ["a64.npy", "b64.npy", "--devices", "cpu:threads=1,cpu:threads=1", "--split", "1:1"]
        told = self.several(2, *words, "--fault", "kill:1@1")
        for rank in (0, 1):
            self.assertEqual(told.count(f"rank {rank}: cpu (device 1) failed"), 1, told)
        self.assertIn("(device 0) failed", self.several(2, *words, "--protect", "--fault", "kill:0@1"))
        failed = ranks(2, "matmul", *words, "--fault", "kill:0@1,kill:1@1")
        self.fails_once(5, "no device is left: cpu (device 0): its process was ended by a signal: Killed", failed)
        self.assertIn("rank 1: fault kill:1@999 did not happen: device 1 had ", self.several(2, *words, "--fault", "kill:1@999"))

    def test_processes_of_devices_stay_from_panel_to_panel(self):
        left, right = self.random.normal(size=(70, 9000)).astype(np.float32), self.random.normal(size=(9000, 48)).astype(np.float32)
        np.save("pa.npy", left)
        np.save("pb.npy", right)
        with open("worker", "w", encoding="utf-8") as file:  # which counts how often it is started
            file.write(f"#!/bin/sh\necho started >> {os.getcwd()}/starts\nexec {os.path.dirname(cli_case.PROGRAM)}/tessera-worker\n")
        os.chmod("worker", 0o755)
        words = ["pa.npy", "pb.npy", "--devices", "cpu:threads=1,cpu:threads=1", "--split", "1:1"]
        self.assertIn("3 panels of 4096", self.several(2, *words))
        wanted = bytes_of("several.npy")
        # Each of two ranks has two, also where one dies in a later panel.
        for more, starts in ((("--protect",), 4), (("--protect", "--fault", "kill:1@3"), 4)):
            told = self.several(2, *words, *more, TESSERA_WORKER=os.path.abspath("worker"))
            self.assertIn("3 panels of 4096", told)
            self.assertEqual(bytes_of("several.npy"), wanted, more)
            self.assertNotIn("did not happen", told)
            self.assertEqual(told.count("cpu (device 1) failed"), 2 if "kill:1@3" in more else 0, told)
            with open("starts", encoding="utf-8") as file:
                self.assertEqual(len(file.readlines()), starts, more)
            os.remove("starts")

    def test_fewer_rows_than_ranks_and_empty_sums(self):
        np.save("thin.npy", self.random.normal(size=(2, 300)))
        np.save("wide.npy", self.random.normal(size=(300, 1)))
        np.save("none.npy", np.zeros((5, 0)))
        np.save("none2.npy", np.zeros((0, 7)))
        np.save("norows.npy", np.zeros((0, 5)))
        self.same_bits((4,), "matmul", "thin.npy", "wide.npy")
        self.same_bits((3,), "matmul", "none.npy", "none2.npy")
        self.same_bits((2,), "matmul", "norows.npy", "none.npy")

    def test_messages_are_printed_once(self):
        done = self.shared(4, "matmul", "a64.npy", "b64.npy", "-o", "told.npy", "--check", "--json", "told.json")
        self.assertEqual(done.stdout.count("written to told.npy"), 1)
        self.assertIn("on 4 ranks as 2 × 2", done.stdout)
        with open("told.json", encoding="utf-8") as file:
            told = json.load(file)
        self.assertTrue(told["check"]["passed"])
        shared = told["distributed"]
        self.assertEqual(shared["grid"], [2, 2])
        self.assertEqual(len(shared["ranks"]), 4)
        # Every element of A reaches one other rank, every element of B likewise.
        self.assertEqual(sum(rank["received_bytes"] for rank in shared["ranks"]), 1203 * (61 + 57) * 8)
        self.assertEqual(shared["predicted_bytes"], 1203 * (61 + 57) * 8)
        for rank in shared["ranks"]:
            took = rank["seconds"]
            self.assertGreater(took["compute"], 0)
            # Of a panel's way here, what nothing was computed beside; waiting for the others' word is no communication.
            self.assertLessEqual(took["wait"], took["communication"])
            self.assertGreater(took["agree"], 0)
        self.assertRegex(done.stdout, r"communication +wait +agree +received")

    def fails_once(self, code, message, done):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(len(said(done)), 1, done.stderr)
        self.assertIn(message, said(done)[0])
        self.assertEqual(done.stdout, "")

    def test_a_common_mistake_is_printed_once(self):
        self.fails_once(2, "B has k = 61", ranks(3, "matmul", "a64.npy", "c64.npy"))
        self.fails_once(2, "missing.npy", ranks(3, "matmul", "missing.npy", "b64.npy"))
        self.fails_once(2, "tessera list runs in one process", ranks(2, "list"))
        self.fails_once(2, "runs in one process", ranks(2, "integrate", "x", "0", "1"))
        before = bytes_of("a64.npy")
        self.fails_once(2, "--json a64.npy is one of the files to be read", ranks(2, "matmul", "a64.npy", "b64.npy", "--json", "a64.npy"))
        self.assertEqual(bytes_of("a64.npy"), before)
        self.fails_once(2, "2 shares for 1 device", ranks(2, "matmul", "a64.npy", "b64.npy", "--split", "1:2"))
        self.fails_once(2, "--nonsense", ranks(2, "matmul", "a64.npy", "b64.npy", "--nonsense"))

    def some(self, *groups):
        """Ranks with words of their own."""
        words = []
        for count, *given in groups:
            words += [":"] * bool(words) + ["-n", str(count), cli_case.PROGRAM, *given]
        return subprocess.run([LAUNCHER, *words], capture_output=True, text=True, timeout=120, env={**os.environ, **MPI})

    def test_one_ranks_mistake_ends_all(self):
        with open("kept.npy", "w", encoding="utf-8") as file:
            file.write("old")
        good = ["matmul", "a64.npy", "b64.npy", "-o", "kept.npy"]
        self.fails_once(2, "rank 2 on ", self.some((2, *good), (1, "matmul", "missing.npy", "b64.npy", "-o", "kept.npy")))
        self.fails_once(2, "unlike things", self.some((2, *good), (1, *good, "--alpha", "2")))
        self.fails_once(2, "rank 1 on ", self.some((1, *good), (1, *good, "--nonsense")))
        self.assertEqual(bytes_of("kept.npy"), b"old")
        self.assertEqual([name for name in os.listdir(".") if name.endswith(".tmp")], [])

    def test_a_file_that_cannot_be_written(self):
        self.fails_once(2, "cannot be written", ranks(2, "matmul", "a64.npy", "b64.npy", "-o", "nowhere/D.npy"))

    def test_an_interrupt_leaves_nothing_behind(self):
        np.lib.format.open_memmap("zeros.npy", "w+", np.float32, (6144, 6144)).flush()
        for words in ((), ("--devices", "cpu:threads=1,cpu:threads=1", "--protect")):
            with subprocess.Popen([LAUNCHER, "-n", "2", cli_case.PROGRAM, "matmul", "zeros.npy", "zeros.npy", "-o", "half.npy", *words],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, **MPI}) as running:
                cli_case.wait_until(lambda: cli_case.processes_that_map("zeros.npy") == 2)
                time.sleep(0.5)
                at = time.monotonic()
                running.send_signal(signal.SIGINT)
                self.assertEqual(running.communicate(timeout=60)[0], b"")
            self.assertNotEqual(running.returncode, 0)
            self.assertLess(time.monotonic() - at, 10)
            self.assertEqual([name for name in os.listdir(".") if "half" in name], [])

    def test_help_is_printed_once(self):
        self.assertEqual(self.shared(3, "matmul", "--help").stdout.count("--distributed"), 1)
        self.assertEqual(len(self.shared(3, "--version").stdout.splitlines()), 1)

    @unittest.skipUnless(CHECKER, "there is no ScaLAPACK")
    def test_scalapacks_product(self):
        for m, n, k in ((61, 57, 1203), (1, 65, 40)):
            np.save("sa.npy", self.random.normal(size=(m, k)))
            np.save("sb.npy", self.random.normal(size=(k, n)))
            self.shared(4, "matmul", "sa.npy", "sb.npy", "-o", "sd.npy")
            done = ranks(4, "sa.npy", "sb.npy", "sd.npy", program=CHECKER)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("largest difference", done.stdout)
        wrong = np.load("sd.npy")
        wrong[0, 7] += 1e-9
        np.save("sd.npy", wrong)
        self.assertEqual(ranks(4, "sa.npy", "sb.npy", "sd.npy", program=CHECKER).returncode, 1)


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], verbosity=1, exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    for test, reason in result.skipped:
        print(f"SKIPPED: {test}: {reason}")
    sys.exit(77 if result.skipped else 0)
