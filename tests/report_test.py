#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tessera report from outside, and its page in a headless browser.   report_test.py PROGRAM PICTURES [browser]"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

import browser
import report_samples

PROGRAM, PICTURES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = 77

VISIBLE = "svg => svg.getBoundingClientRect().width > 0"


def run(*words, code=0):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300)
    if done.returncode != code:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.here = pathlib.Path(cls.folder.name)
        cls.samples = []
        for name, make in report_samples.ALL.items():
            cls.samples.append(cls.here / f"{name}.json")
            cls.samples[-1].write_text(json.dumps(make()))
        cls.page = cls.here / "report.html"
        run("report", *cls.samples, "-o", cls.page)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()


class Files(Case):
    def test_every_chart_alone_is_well_formed(self):
        names = re.search(r"there is (?!no)(.*)", run("report", *self.samples, "--svg", "nothing", code=2).stderr)[1]
        names = names.split(", ")
        for needed in ("ladder", "roofline", "sizes", "tuning-swept", "split-shared-out", "sectors", "lines-tiled", "study"):
            self.assertIn(needed, names)
        for name in names:
            text = run("report", *self.samples, "--svg", name, "-o", "-").stdout
            root = xml.fromstring(text.encode())
            self.assertNotRegex(text, r'="[^"]*\b(nan|inf)\b')
            self.assertNotIn("var(--", text, "an exported chart has its own colours")
            self.assertGreater(len(list(root.iter("{http://www.w3.org/2000/svg}text"))), 2, name)

    def test_measured_here(self):
        made = self.here / "here.json"
        run("bench", "matmul", "m=16,32", "n=m", "k=m", "--device", "cpu,simt", "--reps", "3", "--variant",
            "naive,simd,shared_tiles,per_element", "--json", made)
        run("report", made, "-o", self.here / "here.html")
        text = (self.here / "here.html").read_text()
        self.assertIn("The ladder at m = n = k = 32", text)
        self.assertIn("says nothing of a GPU", text)

        self.assertRegex(run("report", made, "--svg", "roofline", "-o", "-").stdout, "<svg")

    def test_a_sweep_and_a_search_just_made(self):
        files = report_samples.measured(run, self.here)
        run("report", *files.values(), "-o", self.here / "made.html")
        text = (self.here / "made.html").read_text()

        def cells(figure):
            table = re.search(rf'<figure[^>]*id="{figure}".*?<tbody>(.*?)</tbody>', text, re.S)[1]
            return [re.findall(r"<t[hd]([^>]*)>(.*?)</t[hd]>", row, re.S) for row in table.split("</tr>")[:-1]]

        sweep = json.loads(files["sweep"].read_text())
        table = cells("tuning-per-element")
        self.assertEqual((len(table), len(table[0])), (4, 7), "x down and y across")
        self.assertEqual(sum(attributes == ' class="none"' for row in table for attributes, _ in row), 1, "64×32 threads")
        shown = sorted(float(v) for row in table for a, _ in row[1:] for v in re.findall(r'data-value="([^"]+)"', a))
        told = sorted(row["gflops"] for row in sweep["rows"] if row.get("gflops"))
        self.assertEqual(len(told), 23)
        for a, b in zip(shown, told, strict=True):
            self.assertAlmostEqual(a / b, 1, places=9)
        self.assertIn("needs 4096 threads in a block", text)
        self.assertIn("lines-shared-tiles", text)

    def test_the_repositorys_own_results(self):
        # Tables alone show lines of public programs, what a device can do at most, and what batch-invariant products cost.
        apart = ("own-files-lines.json", "devices.json", "matmul-invariant-bf16.json", "matmul-invariant-e4m3.json",
                 "matmul-invariant-f32.json")
        tracked = sorted(path for path in (ROOT / "results").glob("*/*/*.json") if path.name not in apart)
        self.assertTrue(tracked)
        run("report", *tracked, "-o", self.here / "all.html")
        apart = [ROOT / "results/nvidia-h200/matmul" / name for name in ("matmul-apart.json", "matmul-apart-2.json")]
        self.assertRegex(run("compare", *apart).stdout, r"(?m)^8 same$", "one program, two machines, an hour and a half apart")
        for measured in ROOT.glob("results/*/matmul/matmul.json"):
            self.assertRegex(run("report", measured, "--svg", "roofline", "-o", "-").stdout, "<svg", measured)

    def test_cold_caches_are_noted_beside_the_times(self):
        for caches in ("hot", "cold", "rotated"):
            made = self.here / f"{caches}.json"
            made.write_text(json.dumps({**report_samples.bench(), "caches": caches}))
            run("report", made, "-o", self.here / "caches.html")
            lede = re.search(r'<p class="lede">(.*?)</p>', (self.here / "caches.html").read_text(), re.S)[1]
            self.assertEqual("The caches were flushed before each sample." in lede, caches == "cold", lede)
            self.assertEqual("Each launch took the next of sets of inputs and outputs" in lede, caches == "rotated", lede)

    def test_a_study_is_drawn_with_its_remarks(self):
        made = self.here / "study_made.json"
        run("integrate", "sqrt(1-x^2)", "0", "1", "--strips", "65536*4", "--scale", "4", "--device", "cpu", "--study", "precision", "--json", made)
        run("report", made, "-o", self.here / "study.html")
        text = (self.here / "study.html").read_text()
        self.assertIn("h^1.5", text)
        self.assertIn("predicted error", text)
        drawing = run("report", made, "--svg", "study", "-o", "-").stdout
        columns = json.loads(made.read_text())["tables"][0]["shows"].count("error")
        self.assertEqual(drawing.count("<circle"), 3 * (columns - 1), "a point for each error but the predicted ones")
        colours = re.findall(r'class="series ([^"]*)"', drawing)
        self.assertEqual(len(set(colours)), columns - 1, "every series looks different")
        names = {}
        for x, y, kind, name in re.findall(r'<text x="([^"]*)" y="([^"]*)"[^>]*class="small ((?:s\d|mark-text))"[^>]*>([^<]*)<', drawing):
            names[name] = float(y)
        self.assertEqual(len(names), columns)
        places = sorted(names.values())
        self.assertGreater(places[0], 12, "no name is cut off at the top")
        self.assertTrue(all(b - a > 11 for a, b in zip(places, places[1:])), places)

    def test_no_page_has_a_picture_s_name(self):
        for kind in ("svg", "png"):
            to = self.here / f"chart.{kind}"
            self.assertIn(f"--{kind} NAME", run("report", self.samples[0], "-o", to, code=2).stderr)
            self.assertFalse(to.exists())
        self.assertIn("--png NAME", run("report", self.samples[0], "--svg", "ladder", "-o", self.here / "a.png", code=2).stderr)

    def test_a_single_run_is_no_report(self):
        made = self.here / "one_run.json"
        run("integrate", "sin(x)", "0", "pi", "--device", "cpu", "--json", made)
        self.assertIn("tessera bench integrate", run("report", made, "-o", self.here / "no.html", code=2).stderr)
        self.assertIn("--study", run("report", "--help").stdout)

    def test_damage_is_named(self):
        bad = self.here / "bad.json"
        for content, reason in (("", "parse error"), ("{", "parse error"), ("[1]", "not an object"), ("{}", "schema"),
                                ('{"schema": 2, "kind": "bench", "rows": []}', "its schema is 2"),
                                ('{"schema": 1, "kind": "poem", "rows": []}', "poem"),
                                ('{"schema": 1, "kind": "bench"}', "rows are missing"),
                                ('{"schema": 1, "kind": "bench", "rows": [{"variant": "a", "median": "x"}]}', "rows[0].median"),
                                ('{"schema": 1, "kind": "bench", "rows": [{"variant": "a", "median": -1}]}', "rows[0].median"),
                                ('{"schema": 1, "kind": "bench", "rows": [7]}', "rows[0]"),
                                ('{"schema": 1, "kind": "study", "tables": [{"title": "t", "columns": ["a"], "shows": []}]}', "tables[0].shows"),
                                ('{"schema": 1, "kind": "study", "tables": [{"title": "t", "columns": ["a"], "shows": ["error"], "rows": [[1, 2]]}]}', "tables[0].rows")):
            bad.write_text(content)
            message = run("report", bad, "-o", self.here / "no.html", code=2).stderr
            self.assertIn("bad.json", message)
            self.assertIn(reason, message)
        self.assertFalse((self.here / "no.html").exists())
        self.assertIn("missing.json", run("report", self.here / "missing.json", code=2).stderr)
        self.assertIn("cannot read", run("report", self.here, code=2).stderr)

    def test_a_gap_is_not_zero(self):
        self.assertRegex(self.page.read_text(), r'<td class="none">n/a</td>')

    def test_colours_can_be_read(self):
        def lightness(colour):
            parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
            parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
            return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
        themes = re.findall(r":root\{([^}]*--page[^}]*)\}", self.page.read_text())
        self.assertEqual(len(themes), 2)
        for theme in themes:
            colours = dict(re.findall(r"--(\w+):(#\w{6})", theme))
            pairs = [(t, b) for t in ("ink", "muted", "accent", "mark", "bad") for b in ("page", "paper")]
            pairs += [(f"ink{i}", f"heat{i}") for i in range(7)]
            for text, back in pairs:
                a, b = sorted((lightness(colours[text]), lightness(colours[back])))
                self.assertGreaterEqual((b + 0.05) / (a + 0.05), 4.5, f"{text} on {back}")
            heats = [lightness(colours[f"heat{i}"]) for i in range(7)]
            self.assertIn(heats, (sorted(heats), sorted(heats, reverse=True)), "the steps are told apart by lightness")


class Page(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = browser.Browser(browser.find())
        os.makedirs(PICTURES, exist_ok=True)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        super().tearDownClass()

    def opened(self, width=1280, height=900, dark=False):
        self.browser.view(width, height, dark)
        self.browser.open(self.page)
        return self.browser

    def test_drawn_at_every_width_and_in_every_colour(self):
        for name, width, dark in (("light", 1280, False), ("dark", 1280, True), ("phone", 390, False), ("phone-dark", 390, True)):
            page = self.opened(width, 844, dark)
            drawn = page.run(f"""[...document.querySelectorAll('figure')].map(figure => {{
                const seen = [...figure.querySelectorAll('svg')].filter({VISIBLE});
                const boxes = seen.flatMap(svg => [...svg.querySelectorAll('.mark, text')].map(e => e.getBoundingClientRect()));
                return [figure.id, seen.length, seen.length && seen[0].getBoundingClientRect().height,
                        seen.flatMap(svg => [...svg.querySelectorAll('.mark')]).length,
                        figure.querySelectorAll('tbody tr').length,
                        boxes.filter(b => !(b.width > 0 && b.height > 0)).length];
            }})""")
            self.assertGreater(len(drawn), 10)
            for figure, seen, height, marks, rows, empty in drawn:
                self.assertEqual((seen, empty), (1, 0), f"{figure} at {width}")
                self.assertGreater(height, 50, figure)
                # A line of source that touches no memory has no bar.
                needed = 2 if figure.startswith("lines-") else max(rows, 1)
                self.assertGreaterEqual(marks, needed, f"each row of the table of {figure} has its mark")
            self.assertLessEqual(page.run("document.documentElement.scrollWidth"), width, "the page scrolls sideways")
            self.assertEqual(page.complaints(), [])
            page.screenshot(os.path.join(PICTURES, name + ".png"))

    def test_new_measurements_are_drawn(self):
        page, made = self.here / "made.html", report_samples.measured(run, self.here)
        run("report", *made.values(), "-o", page)
        self.browser.view(1280, 900, False)
        self.browser.open(page)
        drawn = self.browser.run(f"""[...document.querySelectorAll('figure')].map(figure => [figure.id,
            [...figure.querySelectorAll('svg')].filter({VISIBLE}).length, figure.querySelectorAll('svg .mark').length])""")
        self.assertEqual(self.browser.complaints(), [])
        self.assertIn("tuning-coarsened", [figure for figure, _, _ in drawn])
        for figure, seen, marks in drawn:
            self.assertEqual(seen, 1, figure)
            self.assertGreater(marks, 1, figure)

    def test_text_stays_legible_and_inside(self):
        for width in (390, 800, 820, 1280):
            page = self.opened(width, 844)
            found = page.run(f"""[...document.querySelectorAll('svg')].filter({VISIBLE}).flatMap(svg => {{
                const outer = svg.getBoundingClientRect(), scale = outer.width / svg.viewBox.baseVal.width;
                return [...svg.querySelectorAll('text')].filter(text => {{
                    const box = text.getBoundingClientRect();
                    return scale * parseFloat(getComputedStyle(text).fontSize) < 9 || box.left < outer.left - 1 ||
                           box.right > outer.right + 1 || box.bottom > outer.bottom + 1 || box.top < outer.top - 1;
                }}).map(text => svg.parentNode.parentNode.id + ': ' + text.textContent);
            }})""")
            self.assertEqual(found, [], f"at {width} pixels")

    def test_the_ladders_table_fits_or_shows_that_it_scrolls(self):
        table, shown = "document.querySelector('#ladder table').parentNode", self.here / "measured.html"
        run("report", ROOT / "results/nvidia-h200/matmul/matmul.json", "-o", shown)

        def at(width):
            self.browser.view(width, 844, False)
            self.browser.open(shown)
            return self.browser
        page = at(1200)
        self.assertLessEqual(page.run(table + ".scrollWidth - " + table + ".clientWidth"), 0, "the last column is cut off")
        page = at(375)
        edge = page.run(table + ".getBoundingClientRect().right")
        seen = page.run("[...document.querySelector('#ladder table').tHead.rows[0].cells].filter(c => "
                        f"c.getBoundingClientRect().right <= {edge}).length")
        self.assertGreaterEqual(seen, 3, "columns before one must scroll")
        self.assertIn("linear-gradient", page.run(f"getComputedStyle({table}).backgroundImage"), "more to the right shows")

    def test_nothing_from_a_file_becomes_markup(self):
        page = self.opened()
        self.assertIsNone(page.run("window.broken === undefined ? null : window.broken"))
        self.assertEqual(page.run("document.querySelectorAll('script').length"), 1)
        self.assertEqual(page.run("document.querySelectorAll('img').length"), 0)
        self.assertIn("onerror", page.run("document.body.textContent"))

    def test_sorting(self):
        page = self.opened()
        head = "document.querySelector('#ladder table').tHead.rows[0].cells[1]"
        values = ("[...document.querySelector('#ladder table').tBodies[0].rows].map(r => r.cells[1])"
                  ".map(c => c.classList.contains('none') ? null : Number(c.dataset.value))")
        page.run(head + ".scrollIntoView({block: 'center', behavior: 'instant'})")
        for direction in ("ascending", "descending"):
            box = page.run(f"(b => [b.left + b.width / 2, b.top + b.height / 2])({head}.querySelector('button').getBoundingClientRect())")
            page.click(*box)
            self.assertEqual(page.run(head + ".getAttribute('aria-sort')"), direction)
            got = page.run(values)
            numbers = [v for v in got if v is not None]
            self.assertEqual(numbers, sorted(numbers, reverse=direction == "descending"))
            self.assertGreater(len(numbers), 3)
            self.assertIsNone(got[-1], "what is missing comes last")
        self.assertEqual(page.complaints(), [])

    def test_hovering(self):
        page = self.opened()
        for chart in ("ladder", "roofline", "sizes"):
            box = page.run(f"""(m => {{
                m.scrollIntoView({{block: 'center', behavior: 'instant'}});
                const b = m.getBoundingClientRect();
                return [b.left + b.width / 2, b.top + b.height / 2];
            }})(document.querySelector('#{chart} svg.wide .mark'))""")
            page.move(1, 1)
            self.assertTrue(page.run("document.getElementById('tip').hidden"))
            page.move(*box)
            self.assertFalse(page.run("document.getElementById('tip').hidden"), chart)
            self.assertRegex(page.run("document.getElementById('tip').textContent"), r"^\d\d \w+\n", chart)
        self.assertEqual(page.complaints(), [])

    def test_screen_readers_and_paper(self):
        page = self.opened()
        self.assertEqual(page.run("""[...document.querySelectorAll('svg')].filter(svg => svg.getAttribute('role') !== 'img' ||
            !svg.getAttribute('aria-labelledby').split(' ').every(id => document.getElementById(id)?.textContent)).length"""), 0)
        self.assertEqual(page.run("""[...document.querySelectorAll('figure')].filter(f => !f.querySelector('table caption') ||
            f.querySelectorAll('tbody tr').length === 0).length"""), 0, "each chart has its table")
        self.assertEqual(page.run("(ids => ids.length - new Set(ids).size)([...document.querySelectorAll('[id]')].map(e => e.id))"), 0)
        self.assertTrue(page.pdf().startswith(b"%PDF"))
        page.view(700, 900, media="print")
        self.assertEqual(page.run(f"""[...document.querySelectorAll('figure')].filter(f =>
            [...f.querySelectorAll('svg')].filter({VISIBLE}).length !== 1).length"""), 0)

    def test_a_picture_of_one_chart(self):
        picture = self.here / "ladder.png"
        run("report", *self.samples, "--png", "ladder", "-o", picture)
        data = picture.read_bytes()
        self.assertTrue(data.startswith(b"\x89PNG"))
        self.assertGreater(int.from_bytes(data[16:20], "big"), 1600, "two pixels a unit")


class WithoutBrowser(Case):
    def test_a_png_without_a_browser_is_an_error(self):
        done = subprocess.run([PROGRAM, "report", *map(str, self.samples), "--png", "ladder", "-o", str(self.here / "no.png")],
                              capture_output=True, text=True, timeout=60, env={"PATH": "/nonexistent"})
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--svg needs none", done.stderr)


if __name__ == "__main__":
    chosen = [Page] if sys.argv[3:] == ["browser"] else [Files, WithoutBrowser]
    if Page in chosen and browser.find() is None:
        print("skipped: no Chromium here (Debian: apt-get install chromium-headless-shell)")
        sys.exit(SKIPPED)
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(case) for case in chosen)
    sys.exit(0 if unittest.TextTestRunner(verbosity=1).run(suite).wasSuccessful() else 1)
