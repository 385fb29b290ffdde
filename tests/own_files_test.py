#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUDA files as they are: `tessera run` and `tessera trace` of small programs of our own."""
import html.parser
import json
import os
import pathlib
import re
import unittest
import xml.etree.ElementTree as xml

from cli_case import Case, run

FILES = pathlib.Path(__file__).resolve().parent / "own_files"


def own(name):
    return str(FILES / name)


RECT = "{http://www.w3.org/2000/svg}rect"
VOID = {"meta", "rect", "line", "path", "br"}


class Parts(html.parser.HTMLParser):
    """A page's elements with an identifier, each with its markup; it throws where tags do not close in their order."""

    def __init__(self, page):
        super().__init__()
        self.page, self.open, self.found = page, [], {}
        self.starts = [0]
        for line in page.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.feed(page)
        assert not self.open, self.open

    def at(self):
        line, column = self.getpos()
        return self.starts[line - 1] + column

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append((tag, dict(attributes).get("id"), self.at()))

    def handle_startendtag(self, tag, attributes):
        assert tag in VOID, tag

    def handle_endtag(self, tag):
        if tag in VOID:  # with a title in it
            return
        opened, identifier, start = self.open.pop()
        assert opened == tag, f"{opened} is closed by {tag}"
        if identifier:
            assert identifier not in self.found, f"two elements are called {identifier}"
            self.found[identifier] = self.page[start:self.at()]

    def of(self, identifier):
        """Its markup, and its text."""
        markup = self.found[identifier]
        return markup, " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup)).split())

    def text(self, identifier, tag):
        return html.unescape(re.search(rf"<{tag}>(.*?)</{tag}>", self.found[identifier], re.S)[1])

    def margin(self, identifier):
        return re.findall(r'<span class="(?:less)?">(.*?)<', self.found[identifier])

    def drawings(self, identifier):
        return [xml.fromstring(svg) for svg in re.findall(r'<svg [^>]*class="chart wide.*?</svg>', self.found[identifier], re.S)]


class OwnFiles(Case):
    def test_cudas_syntax_where_it_is_hard_to_find(self):
        for verb in "run", "trace":
            done = run(verb, own("syntax.cu"))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("all right 2\n", done.stdout)
            self.assertIn('0 text\nraw "threadIdx" <<<\n', done.stdout)

    def test_host_and_device_code_that_depend_on_the_architecture(self):
        done = run("run", own("architecture.cu"))
        self.assertEqual((done.returncode, done.stdout), (0, "1 1001\n"), done.stderr)

    def test_several_files_are_one_program(self):
        files = [own("several/main.cu"), own("several/fill.cu"), own("several/half.cpp")]
        done = run("run", *files, "-I", own("several/include"), "-DSCALE=5", "--", "7", "-I", "two words")
        self.assertEqual((done.returncode, done.stdout), (7, "20 7 -I two words\n"), done.stderr)
        done = run("run", *files, "-I", own("several/include"))
        self.assertEqual((done.returncode, done.stdout), (0, "4\n"), done.stderr)

    def test_a_race_is_found_on_its_line(self):
        done = run("trace", own("race.cu"), "--json", "race.json")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(done.stdout, "N = 64\n")
        found = json.loads(pathlib.Path("race.json").read_text())
        races = [finding for finding in found["findings"] if finding["what"] == "race"]
        self.assertTrue(races)
        self.assertEqual({10, 11}, {races[0]["line"], races[0]["other_line"]})
        self.assertEqual(found["exit_code"], 3)
        self.assertIn("race.cu:11", done.stderr)
        self.assertIn("part", done.stderr)

    def test_costs_are_named_with_line_and_remedy(self):
        done = run("trace", own("transpose.cu"), "--json", "costs.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        advice = json.loads(pathlib.Path("costs.json").read_text())["advice"]
        self.assertEqual([("uncoalesced", 9, "out", "naive"), ("bank_conflicts", 17, "tile", "tiled")],
                         [(a["what"], a["line"], a["array"], a["kernel"]) for a in advice])
        self.assertIn("transpose.cu:17: cost: bank conflicts in tiled", done.stderr)
        self.assertIn("pad the rows of tile", done.stderr)
        self.assertEqual(done.stderr, run("trace", own("transpose.cu")).stderr)
        why = run("trace", own("transpose.cu"), "--why", "naive", "tiled")
        self.assertIn("tiled against naive:\n", why.stderr)
        self.assertIn("- global writes, sectors per request: 32.00 → 4.000 (8.000 times fewer); most at transpose.cu:9, out", why.stderr)
        self.fails(2, "no launch of 'absent' was traced; traced were: naive, tiled", "trace", own("transpose.cu"), "--why", "naive", "absent")

    def test_a_page_shows_source_costs_and_lanes(self):
        done = run("trace", own("transpose.cu"), "--page", "transpose.html")
        self.assertEqual(done.returncode, 0, done.stderr)
        page = pathlib.Path("transpose.html").read_text()
        again = run("trace", own("transpose.cu"), "--page", "-", TESSERA_CUDA_THREADS="1")
        self.assertEqual(page, again.stdout)
        for url in re.findall(r"https?:[^\s\"'<]*", page):
            self.assertEqual(url, "http://www.w3.org/2000/svg", "the page asks the network for nothing")
        parts = Parts(page)
        source = pathlib.Path(own("transpose.cu")).read_text().splitlines()
        self.assertEqual(source, [parts.text(f"file-1-line-{i + 1}", "code") for i in range(len(source))])
        self.assertEqual(["256", "4.000", "3968", "32 KiB"], parts.margin("file-1-line-17"))
        # Of line 17 the page has the rows of the terminal's table.
        table = parts.of("file-1-line-17")[1]
        for row in ["out write global 128 4.000 100 % 4.000", "tile read shared 128"]:
            self.assertIn(row, table)
            self.assertIn(row.split()[0], done.stderr)
        self.assertIn("cost: bank conflicts in tiled", table)
        drawings = parts.drawings("file-1-line-9")
        self.assertEqual([4, 32], [sum(rect.get("class") == "sector" for rect in d.iter(RECT)) for d in drawings])
        waiting = parts.drawings("file-1-line-17")[-1]
        self.assertEqual(31, sum(rect.get("class").startswith("waits") for rect in waiting.iter(RECT)))
        self.fails(2, "is one of the files to be read", "trace", own("transpose.cu"), "--page", own("transpose.cu"))

    def test_a_page_takes_nothing_for_markup(self):
        done = run("trace", own("markup.cu"), "--page", "markup.html")
        self.assertEqual(done.returncode, 0, done.stderr)
        parts = Parts(pathlib.Path("markup.html").read_text())
        self.assertNotIn("markup</b>", parts.page)
        self.assertNotIn("halve<2>", parts.page)
        self.assertIn("halve<2> markup.cu:", parts.of("launches")[1])
        self.assertEqual("// Strides, and names that must not become <b>markup</b> & the like.", parts.text("file-1-line-2", "code"))
        read, write = parts.drawings("file-1-line-7")
        self.assertEqual(8, sum(rect.get("class") == "sector" for rect in read.iter(RECT)))
        self.assertIn("lane 31: pairs[62], bytes 248 to 251", "".join(read.itertext()))
        self.assertIn("launch 1, block (0, 0, 0), warp 0", "".join(read.itertext()))
        # Two launches of one line: sums, as of the terminal's tables.
        self.assertEqual("4", parts.margin("file-1-line-7")[0])

    def test_atomic_updates_are_counted_on_their_lines(self):
        done = run("trace", own("atomics.cu"), "--json", "atomics.json")
        self.assertEqual((done.returncode, done.stdout), (0, "64 32 16 32\n"), done.stderr)
        sites = json.loads(pathlib.Path("atomics.json").read_text())["launches"][0]["sites"]
        self.assertEqual([("atomics.cu", line, "atomic", 2) for line in (6, 9, 10, 11, 12)],
                         sorted((os.path.basename(s["file"]), s["line"], s["act"], s["requests"]) for s in sites))

    def test_a_window_is_a_picture_in_a_file(self):
        done = run("run", own("window.cu"))
        self.assertEqual((done.returncode, done.stdout), (5, "key 27\n"), done.stderr)
        self.assertIn("painted.ppm", done.stderr)
        picture = pathlib.Path("painted.ppm").read_bytes()
        self.assertTrue(picture.startswith(b"P6\n8 4\n255\n"))
        self.assertEqual(picture[-24:], bytes(b for x in range(8) for b in (255, 0, x)))
        self.assertEqual(picture[11:14], bytes((0, 0, 0)))

    def runs_and_is_clean(self, name, output):
        done = run("run", own(name))
        self.assertEqual((done.returncode, done.stdout), (0, output), done.stderr)
        traced = run("trace", own(name), "--json", "clean.json")
        self.assertEqual((traced.returncode, traced.stdout), (0, output), traced.stderr)
        return [found["what"] for found in json.loads(pathlib.Path("clean.json").read_text())["findings"]]

    def test_textures_and_surfaces(self):
        found = self.runs_and_is_clean("textures.cu", "36 9 -1 1 9 16.5 4.5 -0.5 \n100 149\n0 1 12\ncudaErrorInvalidValue\n0\n0 16\n")
        self.assertEqual(found, [])

    def test_a_buffer_that_opengl_draws(self):
        self.assertEqual(self.runs_and_is_clean("buffer.cu", "16\n"), [])
        self.assertEqual(pathlib.Path("buffered.ppm").read_bytes(), b"P6\n2 2\n255\n" + bytes((20, 1, 2, 30, 1, 2, 0, 1, 2, 10, 1, 2)))

    def test_graphs_are_done_when_they_are_launched(self):
        self.assertEqual(self.runs_and_is_clean("graph.cu", "cudaErrorStreamCaptureImplicit\n-1 3\n42\n"
                                                "cudaErrorStreamCaptureUnsupported cudaErrorStreamCaptureInvalidated\n12\n"), [])

    def test_vectors_of_thrust(self):
        self.assertEqual(self.runs_and_is_clean("vectors.cu", "15 20 6 3\n2 5 5\n"), [])

    def test_a_parameter_with_a_destructor_and_shared_memory_of_the_file(self):
        self.assertEqual(self.runs_and_is_clean("lock.cu", "1\n2176\n"), [])

    def test_openmp(self):
        self.assertEqual(self.runs_and_is_clean("openmp.cu", "4 10\n"), [])

    def test_the_programs_exit_code_passes_through(self):
        self.assertEqual(run("run", own("race.cu")).returncode, 3)
        done = run("run", own("crash.cu"))
        self.assertEqual(done.returncode, 128 + 6)
        self.assertIn("ended by signal 6", done.stderr)

    def test_a_constant_and_a_macro_are_replaced(self):
        done = run("run", own("race.cu"), "--set", "N=32")
        self.assertEqual((done.returncode, done.stdout), (3, "N = 32\n"), done.stderr)
        for _ in range(2):  # compiled, and from the cache
            self.fails(2, "no file defines a constant, variable or macro 'absent'", "run", own("race.cu"), "--set", "absent=3")
        self.fails(2, "--set needs NAME=VALUE", "run", own("race.cu"), "--set", "N")

    def test_what_is_not_taken_is_named_with_its_place(self):
        self.fails(2, "refused.cu:4:3: inline PTX (asm) is not supported\n4 |   asm(", "run", own("refused.cu"))

    def test_the_compiler_tells_the_line_and_column_of_the_file(self):
        done = self.fails(2, "misspelled.cu:4:60: error:", "run", own("misspelled.cu"))
        self.assertIn("nn", done.stderr)

    def test_a_program_is_compiled_once(self):
        run("run", own("crash.cu"))
        folder = pathlib.Path(os.environ["XDG_CACHE_HOME"]) / "tessera/programs"
        before = sorted(folder.iterdir())
        run("run", own("crash.cu"))
        self.assertEqual(before, sorted(folder.iterdir()))
        self.assertFalse([file for file in before if file.name.startswith(".")], "something temporary is left")

    def test_it_needs_no_cache(self):
        done = run("run", own("race.cu"), XDG_CACHE_HOME="", HOME="")
        self.assertEqual((done.returncode, done.stdout), (3, "N = 64\n"), done.stderr)

    def test_mistakes_on_the_command_line(self):
        self.fails(2, "which file?", "run")
        self.fails(2, "absent.cu: there is no such file", "run", "absent.cu")
        self.fails(2, "there is no such file", "trace", "absent.cu")


if __name__ == "__main__":
    unittest.main()
