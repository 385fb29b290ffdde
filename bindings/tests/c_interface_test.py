#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The C interface: what it exports, that clients of its first version keep running, and a client by ctypes.
  c_interface_test.py LIBRARY COMPILER"""
import ctypes
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import ctypes_client as client
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY, COMPILER = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
CURRENT, RECORDED = HERE.parent.parent / "include/tessera/tessera.h", HERE / "tessera_1_0.h"


def functions_of(header):
    return set(re.findall(r"\b(tessera_\w+)\(", re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)))


def structs_of(header):
    """Returns {struct: its members}, and the enumerators, as the header has them."""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
    structs = {name: re.findall(r"(\w+);", body) for body, name in re.findall(r"typedef struct \{(.*?)\} (\w+);", text, re.S)}
    return structs, re.findall(r"\b(TESSERA_\w+|kDL\w+) = \d+", text)


class Layouts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def build(self, source, *flags):
        out = os.path.join(self.folder.name, "client")
        subprocess.run([COMPILER, "-x", "c", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", source, "-o", out, *flags], check=True)
        return out

    def layout(self, header):
        structs, constants = structs_of(RECORDED)  # what was recorded, as the other header has it
        lines = [f'  printf("{name}.{member} %zu %zu\\n", offsetof({name}, {member}), sizeof(one_{name}.{member}));'
                 for name, members in structs.items() for member in members]
        lines += [f'  printf("{name} %d\\n", (int){name});' for name in constants]
        source = os.path.join(self.folder.name, "layout.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(f'#include <stdio.h>\n#include "{header}"\nint main(void) {{\n')
            file.write("".join(f"  {name} one_{name};\n" for name in structs) + "\n".join(lines) + "\n  return 0;\n}\n")
        return subprocess.run([self.build(source, "-Wno-uninitialized")], check=True, capture_output=True, text=True).stdout.splitlines()

    def test_the_library_exports_the_headers_functions_and_nothing_else(self):
        lines = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], check=True, capture_output=True, text=True).stdout.splitlines()
        self.assertEqual({line.split()[-1] for line in lines}, functions_of(CURRENT))

    def test_what_was_recorded_is_there_and_lies_where_it_did(self):
        self.assertEqual(functions_of(RECORDED) - functions_of(CURRENT), set())
        recorded = self.layout(RECORDED)
        self.assertGreater(len(recorded), 30)
        self.assertEqual(recorded, self.layout(CURRENT))

    def test_a_client_runs_that_was_compiled_with_the_recorded_header(self):
        for header in (RECORDED, CURRENT):
            program = self.build(HERE / "client.c", f'-DTESSERA_HEADER="{header}"', "-x", "none", LIBRARY, "-lm", f"-Wl,-rpath,{LIBRARY.parent}")
            done = subprocess.run([program], capture_output=True, text=True, check=False)
            self.assertEqual((done.stdout, done.returncode), ("right\n", 0))


class Ctypes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tessera = client.Tessera(str(LIBRARY))

    def call(self, operation):
        call = client.Call(self.tessera, operation)
        self.addCleanup(call.__exit__)
        return call

    def test_descriptions_name_every_operation_and_parameter(self):
        operations = self.tessera.operations()
        self.assertIn("matmul", operations)
        self.assertEqual([p["name"] for p in operations["matmul"]["parameters"] if p["kind"] == "output"], ["C"])
        self.assertEqual(set(operations), {path.name for path in (HERE.parent.parent / "ops").iterdir() if path.is_dir()} - {"imaging"})

    def test_a_product_of_views(self):
        a, b = np.arange(24, dtype="f8").reshape(4, 6)[::-1, ::2], np.arange(15, dtype="f8").reshape(5, 3).T
        c = np.zeros((4, 10))
        call = self.call("matmul").array("A", a).array("B", b).array("C", c[:, ::2])
        outcome = call.run()
        np.testing.assert_array_equal(c[:, ::2], a @ b)
        self.assertEqual((outcome.device, outcome.checked), (b"cpu", -1))
        self.assertTrue(any(rung["taken"] for rung in call.json("explain")["rungs"]))

    def test_an_integral_of_a_callable(self):
        call = self.call("integrate").option("LIMITS", "x=[0,1] y=[0,2]").callable(lambda x, y: x * y)
        call.run()
        self.assertAlmostEqual(call.json("outcome")["values"]["integral"], 1)
        with self.assertRaisesRegex(ValueError, "takes no callable"):
            self.call("filter").callable(math.exp).run()

    def test_progress_leaves_a_run(self):
        a = np.ones((1000, 1000), dtype="f4")
        seen = []
        call = self.call("matmul").array("A", a).array("B", a).request("device", "simt").request("variant", "row_per_thread")
        call.progress(lambda seconds: seen.append(seconds) or len(seen) == 2)
        with self.assertRaisesRegex(ValueError, "a callback has ended the run"):
            call.run()
        with self.assertRaisesRegex(ValueError, "only tessera_call_destroy may follow"):
            call.run()

    def test_mistakes_are_told(self):
        for message, mistake in (("no array is called 'D'", lambda c: c.array("D", np.ones((2, 2)))),
                                 ("no argument is called 'bta'", lambda c: c.option("bta", 1).run()),
                                 ("device", lambda c: c.request("device", "abacus").run()),
                                 ("no request is called", lambda c: c.request("colour", "red")),
                                 ("is not planned", lambda c: c.run_again(None))):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                mistake(self.call("matmul").array("A", np.ones((2, 2))).array("B", np.ones((2, 2))))

    def test_threads_run_one_planned_call(self):
        a, b = np.random.rand(40, 50), np.random.rand(50, 30)
        results = [np.zeros((40, 30)) for _ in range(8)]
        call = self.call("matmul").array("A", a).array("B", b).array("C", results[0])
        call.run()

        def repeat(c):
            for _ in range(50):
                call.run_again(a.ctypes.data, b.ctypes.data, None, None, None, None, c.ctypes.data)
        threads = [threading.Thread(target=repeat, args=(c,)) for c in results]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for c in results:
            np.testing.assert_allclose(c, a @ b, rtol=1e-13)

    def test_a_child_process_uses_the_library(self):
        a = np.random.rand(300, 300)
        call = self.call("matmul").array("A", a).array("B", a).array("C", np.zeros((300, 300)))
        call.run()
        child = os.fork()
        if child == 0:
            call.run()
            os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
