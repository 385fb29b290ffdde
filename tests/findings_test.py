#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `tessera trace` finds in small CUDA files, each with mistakes of one kind: all that they say they hold, on their
lines, and nothing else."""
import concurrent.futures
import json
import pathlib
import re
import unittest

from cli_case import Case, run

FILES = sorted((pathlib.Path(__file__).resolve().parent / "own_files" / "findings").glob("*.cu"))


def expected(file):
    out = set()
    for number, line in enumerate(file.read_text().splitlines(), 1):
        for said in re.findall(r"// finds: (.*)", line):
            out |= {(kind, number) for kind in said.split(", ")}
    return out


def found(file):
    record = pathlib.Path(file.stem + ".json").resolve()
    done = run("trace", str(file), "--json", str(record), TESSERA_SIMT_TIMEOUT="1")
    findings = json.loads(record.read_text())["findings"]
    return done.returncode, {(finding["what"], finding["line"]) for finding in findings}, findings


class Findings(Case):
    def test_each_kind_is_found_on_its_line_and_nothing_else(self):
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            told = list(threads.map(found, FILES))
        for file, (code, places, findings) in zip(FILES, told):
            with self.subTest(file.name):
                self.assertEqual(places, expected(file), findings)
                self.assertEqual(code == 4, any(finding["serious"] for finding in findings), findings)
                for finding in findings:
                    self.assertEqual(pathlib.Path(finding["file"]).name, file.name)

    def test_a_finding_names_thread_block_and_array(self):
        _, _, findings = found(next(file for file in FILES if file.stem == "out_of_bounds"))
        first = next(f for f in findings if f["array"] == "tile" and f["what"] == "out of bounds")
        self.assertEqual((first["kernel"], first["block"], first["thread"]), ("shift", [0, 0, 0], [31, 0, 0]))
        self.assertIn("writes 4 bytes at element 32 of tile, which has 32", first["text"])

    def test_the_first_index_of_a_shared_array_leaves_it_a_later_one_a_row(self):
        _, _, findings = found(next(file for file in FILES if file.stem == "next_shared"))
        self.assertEqual({f["array"]: f["serious"] for f in findings}, {"tile": True, "rows": False, "line": False})
        self.assertIn("uses index 160 of tile, which has 32", next(f for f in findings if f["serious"])["text"])
        self.assertIn("takes the address of element -1 of line", next(f for f in findings if f["array"] == "line")["text"])

    def test_constants_are_no_global_memory(self):
        done = run("trace", "-v", str(next(file for file in FILES if file.stem == "cleared")))
        self.assertIn("read constant", done.stderr)
        self.assertNotIn("__constant__", done.stderr.replace("__constant__ int weights", ""))


if __name__ == "__main__":
    unittest.main()
