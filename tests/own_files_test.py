#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUDA files as they are: `tessera run` and `tessera trace` of small programs of our own."""
import html.parser
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import unittest
import xml.etree.ElementTree as xml

from cli_case import PROGRAM, Case, load, run, save

FILES = pathlib.Path(__file__).resolve().parent / "own_files"
SOLVE = str(FILES.parent.parent / "examples/solve.cu")


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
    def test_unusual_places_of_cuda_syntax(self):
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
        self.assertEqual((found["exit_code"], found["program_exit_code"]), (4, 3))
        self.assertIn("race.cu:10", done.stderr)
        self.assertIn("part", done.stderr)

    def test_an_index_from_beside_an_array_is_traced_to_its_read(self):
        pathlib.Path("gather.cu").write_text("""__global__ void gather(const int *index, const float *x, float *y) {
  int i = threadIdx.x;
  y[i] = x[index[i]];
}
int main() {
  int *index;
  float *x, *y;
  cudaMalloc(&index, 400);
  cudaMalloc(&x, 400);
  cudaMalloc(&y, 400);
  cudaMemset(index, 0, 400);
  cudaMemset(x, 0, 400);
  gather<<<1, 128>>>(index, x, y);
  cudaDeviceSynchronize();
}
""")
        done = run("trace", "gather.cu")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("gather.cu:3: error: out of bounds in gather: thread (100, 0, 0) of block (0, 0, 0) reads 4 bytes at element 100 of index", done.stderr)

    def test_all_blocks_of_later_launches(self):
        done = self.passes("trace", own("later.cu"))
        self.assertIn("all in 1 of 4", done.stderr)
        done = run("trace", own("later.cu"), "--blocks", "all")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("later.cu:5: error: race in add", done.stderr)

    def test_some_blocks_of_each_launch(self):
        done = self.passes("trace", own("later.cu"), "--blocks", "3", "--json", "some.json")
        self.assertIn("3 of 1000", done.stderr)
        launches = json.loads(pathlib.Path("some.json").read_text())["launches"]
        self.assertEqual([(launch["traced"], launch["blocks_traced"]) for launch in launches], 4 * [("sampled", 3)])
        self.fails(2, "--blocks 0 is not within 1", "trace", own("later.cu"), "--blocks", "0")

    def test_an_endless_kernel_ends_after_the_limit(self):
        for verb, code, words in (("run", 1, []), ("trace", 4, []), ("run", 1, ["--", "1"]), ("trace", 4, ["--", "1"])):
            done = run(verb, own("endless.cu"), *words, TESSERA_SIMT_TIMEOUT="1")
            self.assertEqual((done.returncode, done.stdout), (code, "cudaErrorLaunchTimeout\n"), done.stderr)
            self.assertRegex(done.stderr, rf"endless.cu:{14 if words else 9}: error: stopped in .*it ran for 1 s")
            self.assertNotIn("cost:", done.stderr)

    def test_an_interrupted_trace_tells_what_it_has_found(self):
        for number in signal.SIGINT, signal.SIGTERM:
            with subprocess.Popen([PROGRAM, "trace", own("endless.cu")], stderr=subprocess.PIPE, text=True) as traced:
                told = traced.stderr.readline()  # after two seconds
                traced.send_signal(number)
                told += traced.communicate(timeout=60)[1]
            self.assertEqual(traced.returncode, 128 + number, told)
            self.assertIn("endless.cu:8: error: race in wait", told)
            self.assertRegex(told, r"wait \(.*endless.cu:21\) was interrupted after \d+ s: 0 of 1 blocks were done")

    def test_a_warp_prints_call_by_call(self):
        letters = "a0 a1 a2 a3 \nb0 b1 b2 b3 \n1.0 2.0 3.0 2.1 3.1 3.2 even even odd odd \n"
        for verb in "run", "trace":
            done = self.passes(verb, own("printing.cu"))
            self.assertEqual(done.stdout, letters + 2 * "c0 c32 d0 d32 \n")

    def test_a_grid_that_fills_the_device(self):
        for verb in "run", "trace":
            done = self.passes(verb, own("grid.cu"))
            self.assertEqual(done.stdout, "0\n")
            self.assertIn("it sees 12 of the 132 multiprocessors", done.stderr)
        done = run("run", own("grid.cu"), "--", "40")
        self.assertIn("NVIDIA H200 runs them, the executor at most 24576 at once", done.stderr)
        self.assertIn("remedy: a limit of the executor, not of the program", done.stderr)

    def test_standard_output_holds_json_alone(self):
        done = run("trace", own("race.cu"), "--json", "-")
        self.assertEqual(json.loads(done.stdout)["program_exit_code"], 3)
        self.assertIn("N = 64\n", done.stderr)

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

    def test_a_drawing_shows_the_costliest_request(self):
        done = run("trace", str(FILES.parent.parent / "examples/homework.cu"), "--svg", "homework.svg")
        self.assertEqual(pathlib.Path("homework.svg").read_text(), (FILES.parent.parent / "docs/images/homework.svg").read_text())
        for words, title in (((own("transpose.cu"),), "32 sectors in one request"),
                             (("matmul", "m=64", "--variant", "uncoalesced", "--tuning", "x=32,y=32"), "load of A: 32 sectors in one request")):
            done = run("trace", *words, "--svg", "-")
            self.assertEqual(done.returncode, 0, done.stderr)
            drawing = done.stdout[done.stdout.index("<?xml"):]
            xml.fromstring(drawing)
            self.assertIn(title, drawing)

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

    def test_pictures_of_other_formats(self):
        self.passes("run", own("floats.cu"), "-D", "TYPE=GL_FLOAT", "-D", "T=int", "-D", "a=1", "-D", "value")
        self.assertEqual(pathlib.Path("floats.ppm").read_bytes(), b"P6\n2 1\n255\n" + bytes((255, 0, 0, 128, 255, 0)))
        self.fails(1, "glDrawPixels draws bytes and floats", "run", own("floats.cu"), "-D", "TYPE=0")
        self.fails(2, "is no part of OpenGL that is supported", "run", own("floats.cu"), "-D", "TYPE=GL_SHORT")

    def test_windows_text_and_names_beyond_ascii(self):
        folder = pathlib.Path("Ein Ordner ü")
        folder.mkdir()
        (folder / "unicode.cu").write_bytes(b"\xef\xbb\xbf" + pathlib.Path(own("unicode.cu")).read_bytes().replace(b"\n", b"\r\n"))
        (folder / "<ü & b>.cu").write_bytes((folder / "unicode.cu").read_bytes())
        for words in [], ["--set", "N=64"], ["--set", "K=4"]:
            plain = run("trace", own("unicode.cu"), *words)
            self.assertEqual(plain.returncode, 4, plain.stderr)
            self.assertRegex(plain.stderr, r"unicode.cu:\d+: error: race in größe")
            done = run("trace", str(folder / "unicode.cu"), *words, LC_ALL="de_DE.UTF-8")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (plain.returncode, plain.stdout, plain.stderr))
        run("trace", str(folder / "<ü & b>.cu"), "--page", "unicode.html")
        page = pathlib.Path("unicode.html").read_text()
        Parts(page)
        self.assertIn("&lt;ü &amp; b&gt;.cu", page)
        self.assertNotIn("<ü", page)

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

    def test_names_of_built_ins(self):
        rest = "200 54 99 %d 7 17 3 2"
        self.assertEqual(self.runs_and_is_clean("names.cu", f"200: {rest % 7} {rest % 8}\n"), [])

    def test_launch_bounds_hold(self):
        done = run("run", own("bounds.cu"))
        self.assertEqual((done.returncode, done.stdout), (0, "cudaErrorInvalidConfiguration 128 64 0 64\n"), done.stderr)

    def test_lanes_exchange_wide_values(self):
        self.assertEqual(self.runs_and_is_clean("wide_exchange.cu", "1 130 204 305 1\n"), [])

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
            self.fails(2, "no file gives a constant, variable or macro 'absent' a first value", "run", own("race.cu"), "--set", "absent=3")
        self.fails(2, "variable or macro 'width'", "run", own("race.cu"), "--set", "width=3")  # of our headers
        self.fails(2, "--set needs NAME=VALUE", "run", own("race.cu"), "--set", "N")

    def test_unsupported_constructs_are_named_with_their_position(self):
        self.fails(2, "refused.cu:4:3: inline PTX (asm) is not supported\n4 |   asm(", "run", own("refused.cu"))

    def test_a_library_that_is_missing_is_named_with_its_line(self):
        pathlib.Path("sgemm.cu").write_text("#include <cstdio>\n#include <cublas_v2.h>\nint main() {}\n")
        done = self.fails(2, "sgemm.cu:2:10: error: cuBLAS is not supported: there is no cublas_v2.h\n", "run", "sgemm.cu")
        self.assertNotIn("No such file", done.stderr)

    def test_an_intrinsic_that_is_missing_is_named_with_its_line(self):
        pathlib.Path("old.cu").write_text("__global__ void k(int* p) {\n  *p = __shfl_down(*p, 1);\n}\nint main() {}\n")
        self.fails(2, "old.cu:2:8: error: ‘__shfl_down’ is no function of CUDA that is supported", "run", "old.cu")

    def test_the_heap_of_kernels_has_the_requested_size(self):
        done = self.passes("run", own("heap_full.cu"))
        self.assertEqual(done.stdout, f"8 MiB\ncudaSuccess\n{20000 * 19999 // 2} {20 * (32 + 1600)}\ncudaErrorInvalidValue\n", done.stderr)

    def test_run_names_the_first_element_beside_an_array(self):
        for cast, words in ("", "at element 100, and it has 100"), ("(void **)", "at byte 400 of 400"):
            pathlib.Path("beside.cu").write_text(
                "__global__ void k(const float *x, float *z) { z[threadIdx.x] = 2 * x[threadIdx.x]; }\nint main() {\n"
                f"  float *x, *z;\n  cudaMalloc({cast}&x, 400);\n  cudaMalloc({cast}&z, 400);\n"
                "  cudaMemset(x, 0, 400);\n  k<<<1, 128>>>(x, z);\n  cudaFree(x);\n  cudaFree(z);\n}\n")
            self.assertIn("beside.cu:7: error: out of bounds in k: k writes beside z: " + words, run("run", "beside.cu").stderr)

    def test_a_program_that_gives_up_leaks_nothing(self):
        for code, times in (1, 0), (0, 1):
            pathlib.Path("ends.cu").write_text("#include <cstdlib>\nint main() {\n  float *a;\n  cudaMalloc(&a, 4);\n"
                                               f"  exit({code});\n}}\n")
            self.assertEqual(run("trace", "ends.cu").stderr.count("leak"), times)

    def test_stores_of_two_branches_stay_on_their_lines(self):
        pathlib.Path("branches.cu").write_text(
            "__global__ void k(int *out, int n) {\n  __shared__ int part[32];\n  int i = threadIdx.x;\n  if (i < n)\n"
            "    part[i] = n;\n  else\n    part[i] = 0;\n  __syncthreads();\n  out[i] = part[31 - i];\n}\nint main() {\n"
            "  int *a, h[32];\n  cudaMalloc(&a, 128);\n  k<<<1, 32>>>(a, 20);\n  cudaMemcpy(h, a, 128, cudaMemcpyDeviceToHost);\n"
            "  cudaFree(a);\n}\n")
        lines = re.findall(r"^branches\.cu:(\d+) +part +write", run("trace", "branches.cu").stderr, re.MULTILINE)
        self.assertEqual(lines, ["5", "7"])

    def test_a_failed_launch_is_reported_once(self):
        pathlib.Path("failing.cu").write_text("__global__ void k() {}\nint main() {\n  for (int i = 0; i < 3; ++i) k<<<1, 2048>>>();\n}\n")
        done = run("run", "failing.cu")
        self.assertEqual(done.stderr.count("launch error"), 1, done.stderr)
        self.assertIn("never calls cudaGetLastError", done.stderr)

    def test_a_checked_failed_launch_is_reported_if_the_program_fails(self):
        for code, times in (0, 0), (3, 1):
            pathlib.Path("asks.cu").write_text("__global__ void k() {}\nint main() {\n  k<<<1, 2048>>>();\n"
                                               f"  return cudaGetLastError() == cudaSuccess ? 1 : {code};\n}}\n")
            done = run("run", "asks.cu")
            self.assertEqual((done.returncode, done.stderr.count("launch error")), (code, times), done.stderr)

    def test_compiler_errors_have_the_line_and_column_of_the_file(self):
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


def save_as(path, descr, code, values):
    save(path, None, 0, None)
    text = pathlib.Path(path).read_bytes().replace(b"<f4", descr.encode()).replace(b"(0,)", b"(%d,)" % len(values))
    text = text[:8] + struct.pack("<H", len(text) - 10) + text[10:]
    pathlib.Path(path).write_bytes(text + struct.pack("<%d%s" % (len(values), code), *values))


class Calls(Case):
    """`--call`: functions and kernels of files without main()."""
    solve = ("--call", "solve(A, B, C, N)")

    def setUp(self):
        save("a.npy", None, 100, lambda i, j: j)
        save("b.npy", None, 100, lambda i, j: j / 2)
        save("sum.npy", 10, 10, lambda i, j: 1.5 * (10 * i + j))
        save("wrong.npy", 10, 10, lambda i, j: {(3, 7): 0, (5, 0): float("nan")}.get((i, j), 1.5 * (10 * i + j)))
        save("not.npy", None, 100, lambda i, j: float("nan"))

    def test_a_right_result(self):
        done = self.passes("run", SOLVE, *self.solve, "N=100", "--in", "A=a.npy", "--in", "B=b.npy", "--expect", "C=sum.npy",
                           "--save", "C=saved.npy")
        self.assertEqual(done.stdout, "C: equals sum.npy\n")
        self.assertEqual(load("saved.npy"), [1.5 * i for i in range(100)])

    def test_a_wrong_result(self):
        arguments = (SOLVE, *self.solve, "N=100", "--in", "A=a.npy", "--in", "B=b.npy", "--expect")
        for verb in "run", "trace":
            done = run(verb, *arguments, "C=wrong.npy", "--json", "wrong.json")
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertEqual(done.stdout, "C: wrong: C[3][7] is 55.5, but wrong.npy has 0 (2 of 100 elements differ)\n")
            arrays = json.loads(pathlib.Path("wrong.json").read_text())["arrays"]
            self.assertEqual([("C", [10, 10], 2)], [(a["name"], a["shape"], a["wrong"]) for a in arrays])
        # What is no number equals nothing.
        done = run("run", SOLVE, *self.solve, "N=100", "--in", "A=not.npy", "--in", "B=b.npy", "--expect", "C=not.npy")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("100 of 100 elements differ", done.stdout)

    def test_small_differences_are_accepted(self):
        for factor, code in (1 + 5e-5, 0), (1 + 2e-4, 1):
            save("near.npy", None, 100, lambda i, j, by=factor: 1.5 * j * by)
            done = run("run", SOLVE, *self.solve, "N=100", "--in", "A=a.npy", "--in", "B=b.npy", "--expect", "C=near.npy")
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertIn("C: equals near.npy within the tolerance" if code == 0 else "C: wrong", done.stdout)

    def test_made_up_arrays_are_the_same_each_time(self):
        words = ("run", SOLVE, *self.solve, "N=12", "--in", "A=Nx5", "--in", "B=12x5", "--out", "C=Nx5")
        done = self.passes(*words, "--verbose")
        self.assertRegex(done.stdout, r"^C \(12 × 5\):( -?[0-9.e-]+){8} …\n$")
        self.assertIn("solve(A, B, C, N);", done.stderr)
        self.assertEqual(done.stdout, self.passes(*words).stdout)
        numbers = [float(word) for word in done.stdout.split()[4:-1]]
        self.assertGreater(len(set(numbers)), 6)
        self.assertTrue(all(-2 <= number < 2 for number in numbers))

    def test_a_kernel_is_launched(self):
        words = ("--in", "A=a.npy", "--in", "B=b.npy", "--expect", "C=sum.npy")
        done = self.passes("trace", SOLVE, "N=100", "--call", "add<<<(N + 31) / 32, 32>>>(A, B, C, N)", *words, "--json", "add.json")
        launch = json.loads(pathlib.Path("add.json").read_text())["launches"][0]
        self.assertEqual((launch["kernel"], launch["grid"], launch["block"]), ("add", [4, 1, 1], [32, 1, 1]))
        self.assertIn("equals", done.stdout)
        done = run("run", SOLVE, "N=100", "--call", "add<<<1, 2048>>>(A, B, C, N)", *words)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("a block of (2048, 1, 1) threads", done.stderr)
        # The array is too small for all threads.
        done = run("trace", SOLVE, "N=128", "--call", "add<<<4, 32>>>(A, B, C, N)", *words)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("out of bounds", done.stderr)

    def test_a_race_is_found(self):
        done = run("trace", own("call/race.cu"), "n=64", "--call", "solve(a, n)", "--in", "a=n")
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertIn("race.cu:4: error: race in reverse", done.stderr)

    def test_types_macros_and_constants(self):
        save_as("u.npy", "<u4", "I", [4294967290, 7])
        save_as("more.npy", "<u4", "I", [4294967291, 8])
        save_as("l.npy", "<i8", "q", [1 << 20, -1])
        save_as("h.npy", "<f2", "e", [0.5, -2])
        save_as("bytes.npy", "|u1", "B", [200, 3])
        save_as("sums.npy", "<f8", "d", [(1 << 20) + 0.5 + 100, -1.5])
        words = ("--in", "u=u.npy", "--in", "l=l.npy", "--in", "h=h.npy", "--in", "b=bytes.npy")
        done = self.passes("run", own("call/kinds.cu"), "weight=0.5", "--call", "solve(u, l, h, b, sums, factor, weight, OFFSET);", *words,
                           "--expect", "u=more.npy", "--expect", "sums=sums.npy")
        self.assertEqual(done.stdout, "u: equals more.npy\nsums: equals sums.npy\n")
        done = self.passes("run", own("call/kinds.cu"), "n=4", "--call", "solve(u, l, h, b, sums, n, 0.5f, 2 * OFFSET)", "--in", "u=n",
                           "--in", "l=n", "--in", "h=n", "--in", "b=n", "--out", "sums=n")
        self.assertRegex(done.stdout, r"^u \(4\):( \d+){4}\nsums \(4\):( -?[0-9.]+){4}\n$")

    def test_a_file_without_main_says_how(self):
        self.fails(2, "no file defines main(): --call 'NAME(ARGUMENTS)' calls a function", "run", SOLVE)

    def test_mistakes(self):
        given = ("--in", "A=N", "--in", "B=N", "--out", "C=N")
        for message, call, *words in (
                ("'solve' takes 4 arguments (", "solve(A, B, C)", *given),
                ("argument 4 of 'solve' is int N: 'M' has no value; give M=VALUE", "solve(A, B, C, M)", *given),
                ("argument 4 of 'solve' is int N: 'A' is an array", "solve(A, B, C, A)", *given),
                ("argument 3 of 'solve' is float* C: 'N' is a number", "solve(A, B, N, N)", *given),
                ("argument 3 of 'solve' is float* C: 'C + 1' is no array", "solve(A, B, C + 1, N)", *given),
                ("nothing is known of the array 'D': give --in D=FILE.npy", "solve(A, B, D, N)", *given),
                ("--out: 'D' is no array of --call", "solve(A, B, C, N)", *given, "--out", "D=N"),
                ("'M=3' is given, but neither", "solve(A, B, C, N)", *given, "M=3"),
                ("--in A=Nxy: 'y' is no size: give y=VALUE", "solve(A, B, C, N)", "--in", "A=Nxy", *given[2:]),
                ("cannot write 'A', which is const float*", "solve(A, B, C, N)", "--out", "A=N", *given[2:]),
                ("'C' is given by --in and by --out", "solve(A, B, C, N)", *given, "--in", "C=N"),
                ("--in is given twice for 'A'", "solve(A, B, C, N)", *given, "--in", "A=N"),
                ("long.npy: holds int64, but 'A' of 'solve' is const float*; convert with a.astype('float32')", "solve(A, B, C, N)",
                 "--in", "A=long.npy", *given[2:]),
                ("sum.npy: holds 10 × 10 elements, but 'C' has 8", "solve(A, B, C, N)", *given, "--expect", "C=sum.npy"),
                ("'add' is a kernel (", "add(A, B, C, N)", *given),
                ("'solve' is no kernel (", "solve<<<1, 1>>>(A, B, C, N)", *given),
                ("no file defines a function 'sole'", "sole(A, B, C, N)", *given),
                ("--call needs 'NAME(ARGUMENTS)'", "solve(A, B, C, N", *given),
                ("--call needs 'NAME(ARGUMENTS)'", "solve", *given)):
            save_as("long.npy", "<i8", "q", [1])
            with self.subTest(message):
                self.fails(2, message, "run", SOLVE, "N=8", "--call", call, *words)
        self.fails(2, "N=0.5: '0.5' is no int", "run", SOLVE, *self.solve, "N=0.5", "--in", "A=8", "--in", "B=8", "--out", "C=8")
        self.fails(2, "only --call takes numbers", "run", SOLVE, "N=8")
        self.fails(2, "--expect needs --call", "run", SOLVE, "--expect", "C=sum.npy")
        self.fails(2, "takes no arguments behind --", "run", SOLVE, *self.solve, "N=8", *given, "--", "7")
        self.fails(2, "there is a main(): --call makes another one", "run", own("race.cu"), "--call", "part(a)", "--in", "a=8")

    def test_unsupported_functions(self):
        for name, message in {"twice": "kinds.cu:28:6: there are several functions 'twice'",
                              "rows": "kinds.cu:29:11: a pointer to pointers is not supported by --call",
                              "vectors": "kinds.cu:30:14: a parameter of type 'float4' is not supported by --call",
                              "of_types": "kinds.cu:31:1: a template is not supported by --call",
                              "inner": "'inner' is __device__"}.items():
            with self.subTest(name):
                self.fails(2, message, "run", own("call/kinds.cu"), "--call", name + "(a)", "--in", "a=8")


if __name__ == "__main__":
    unittest.main()
