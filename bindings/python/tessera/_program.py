# SPDX-License-Identifier: Apache-2.0
"""Traces of CUDA files, and measurements: the program `tessera` makes them in a process of its own."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from ._functions import word_of
from ._tables import Page, Table

NATIVE = pathlib.Path(__file__).parent / "_native"


def run_program(*words, accepts=(0,)):
    """Runs the program; in a notebook its seconds are shown meanwhile."""
    shows, start, told = "ipykernel" in sys.modules, time.monotonic(), ""
    with subprocess.Popen([NATIVE / "bin/tessera", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                          errors="replace") as process:
        while True:
            try:
                out, err = process.communicate(timeout=1 if shows else None)
                break
            except subprocess.TimeoutExpired:
                told = f"\r{words[0]}: {time.monotonic() - start:.0f} s"
                print(told, end="", file=sys.stderr, flush=True)
            except BaseException:
                process.kill()
                raise
    print(end="\r" + " " * len(told) + "\r" if told else "", file=sys.stderr, flush=True)
    done = subprocess.CompletedProcess(words, process.returncode, out, err)
    if done.returncode not in accepts:
        raise (ValueError if done.returncode == 2 else RuntimeError)(done.stderr.strip() or f"tessera ended with {done.returncode}")
    return done


class Trace:
    """The trace of a CUDA file: findings and launches as dicts, the program's output, the tables as text, and the page."""

    def __init__(self, record, done, page):
        self.record, self.findings, self.launches = record, record["findings"], record["launches"]
        self.advice, self.output, self.text, self.page = record["advice"], done.stdout, done.stderr, page

    @property
    def errors(self):
        return [finding for finding in self.findings if finding["serious"]]

    def __repr__(self):
        return self.text.strip()

    def _repr_html_(self):
        return self.page._repr_html_()


def trace(file, *files, arguments=(), **flags):
    """Runs CUDA files without a GPU and tells, line by line, what races and what is slow. Needs g++.

    trace("homework.cu")
    trace("kernels.cu", call="scale<<<4, 64>>>(x, n)", set="n=100", gpu="h200", define="N=64")

    arguments: those of the file's own program; other keywords are the flags of `tessera trace FILE.cu --help`.
    Returns a Trace with findings, launches, errors, advice, output and page; in a notebook it is the page."""
    with tempfile.TemporaryDirectory() as folder:
        record, page = os.path.join(folder, "trace.json"), os.path.join(folder, "page.html")
        arguments = arguments.split() if isinstance(arguments, str) else arguments
        words = [file, *files, *flag_words(flags), "--json", record, "--page", page, *(["--", *arguments] if arguments else [])]
        done = run_program("trace", *words, accepts=range(256))
        try:
            with open(record, encoding="utf-8") as from_file:
                text = json.load(from_file)
            with open(page, encoding="utf-8") as from_file:
                return Trace(text, done, Page(from_file.read()))
        except FileNotFoundError:
            raise (ValueError if done.returncode == 2 else RuntimeError)(done.stderr.strip()) from None


def flag_words(flags):
    for name, value in flags.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not False and one is not None:
                yield "--" + name.replace("_", "-")
                if one is not True:
                    yield str(one)


class Bench(Table):
    """Measurements: a row for each rung and size, and `record`, all that was measured."""

    def __init__(self, record, caption):
        rows = [{"sizes": " ".join(f"{name}={size}" for name, size in row["dims"].items()), "element": row["element"], "device": row["device"],
                 "rung": f"{row['place']:02} {row['variant']}", "seconds": row["median"], "GFLOP/s": row["gflops"],
                 "× previous": row["ratio_previous"], "× baseline": row["ratio_baseline"], "verified": row["verified"]}
                for row in record["rows"] if row.get("median") is not None]
        super().__init__(rows[0] if rows else [], rows, caption)
        self.record = record

    def report(self):
        """Returns a page with charts."""
        with tempfile.TemporaryDirectory() as folder:
            results, page = pathlib.Path(folder, "results.json"), pathlib.Path(folder, "page.html")
            results.write_text(json.dumps(self.record), encoding="utf-8")
            run_program("report", results, "-o", page)
            return Page(page.read_text(encoding="utf-8"))


BENCH_FLAGS = {"device", "element", "time", "reps", "cold", "no_verify", "seed", "variant", "vs", "tuning", "tunings", "pause", "sustained",
               "rotate", "graph", "call", "no_serial"}


def bench(operation, *words, **keywords):
    """Times the rungs of an operation in turn on random data, and verifies what they computed.

    bench("matmul", m=[512, 1024], element="f32", variant=["simd", "blocked"])

    Keywords are sizes, options of the operation, and flags of `tessera bench --help`; lists mean each of their values.
    Returns a table with rows as dicts; .report() is a page with charts."""
    from . import operations
    operation = getattr(operation, "__name__", operation)
    if operation not in operations:
        raise ValueError(f"no operation is called '{operation}'; there are {', '.join(operations)}")
    options = {p["name"].replace("-", "_") for p in operations[operation].parameters if p["kind"] not in ("input", "output", "value")}
    listed = {name: value if isinstance(value, bool) else word_of(value) for name, value in keywords.items() if value is not None}
    sizes = [f"{name}={value}" for name, value in listed.items() if name not in BENCH_FLAGS | options]
    flags = {name: value for name, value in listed.items() if name in BENCH_FLAGS | options}
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "results.json")
        done = run_program("bench", operation, *words, *sizes, *flag_words(flags), "--json", results)
        with open(results, encoding="utf-8") as from_file:
            return Bench(json.load(from_file), (done.stdout.strip().splitlines() or [""])[-1])
