#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows the advice of `tessera trace` literally. Each file of own_files/remedies has a mistake, and ends with a
comment that says what is found and how the remedy is applied:

  /* remedies_test
  finds 12 error: put __syncwarp() between     the line, the kind, and words of the remedy; one line per finding
  fix 12: float x = part[t + 16];              the line's new text; nothing behind the colon deletes the line
  fix 12+ __syncwarp();                        a line to insert behind it
  prints 3 5 7                                 the standard output of the program after that
  */

The findings must be exactly these. After the fixes nothing is found, the exit code is 0 and the output is right."""
import concurrent.futures
import pathlib
import re
import unittest

from cli_case import Case, run

FILES = sorted((pathlib.Path(__file__).resolve().parent / "own_files" / "remedies").glob("*.cu"))
FINDING = re.compile(r"^[^\s:]+:(\d+): (error|warning|cost): (.*(?:\n    .*)*)", re.MULTILINE)


def findings_of(file):
    done = run("trace", str(file), TESSERA_SIMT_TIMEOUT="1")
    return done, [(int(line), kind, text) for line, kind, text in FINDING.findall(done.stderr)]


def fixed(text, fixes):
    lines = [[line] for line in text.split("/* remedies_test")[0].splitlines()]
    for number, sign, new in fixes:
        at = lines[int(number) - 1]
        if sign == "+":
            at.append(new)
        else:
            at[0] = new
    return "\n".join(line for group in lines for line in group) + "\n"


def followed(file):
    """Returns what is wrong, in words."""
    text = file.read_text()
    rules = text.split("/* remedies_test\n")[1]
    wanted = re.findall(r"^finds (\d+) (\w+): (.*)$", rules, re.MULTILINE)
    done, found = findings_of(file)
    out = []
    for line, kind, remedy in wanted:
        told = [f for f in found if f[:2] == (int(line), kind) and remedy in f[2]]
        if len(told) != 1:
            out.append(f"{len(told)} findings are: line {line}, {kind}, {remedy}")
    if len(found) != len(wanted):
        out.append(f"{len(found)} findings, not {len(wanted)}")
    if out:
        return out + [done.stderr]
    new = pathlib.Path(file.name)
    new.write_text(fixed(text, re.findall(r"^fix (\d+)([:+]) ?(.*)$", rules, re.MULTILINE)))
    done, found = findings_of(new)
    prints = re.findall(r"^prints (.*)$", rules, re.MULTILINE)
    if [f for f in found if f[1] != "cost"] or done.returncode != 0:
        out.append(f"after the fix, exit code {done.returncode}:\n{done.stderr}")
    if done.stdout.split() != " ".join(prints).split():
        out.append(f"after the fix it prints {done.stdout}")
    return out


class Remedies(Case):
    def test_each_remedy_mends_its_mistake(self):
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            wrong = list(threads.map(followed, FILES))
        for file, what in zip(FILES, wrong):
            with self.subTest(file.name):
                self.assertFalse(what, "\n".join(what))


if __name__ == "__main__":
    unittest.main()
