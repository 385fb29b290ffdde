#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what was recorded, compares, and prints each difference.

  compare.py choices CHOICES      rungs, tunings and reasons; CHOICES is the program made from choices.cpp
  compare.py calls PROGRAM        exit codes, messages, JSON and files of the calls of calls.txt
  compare.py ... --record         writes recorded/ where there is nothing yet

Exit codes: 0 as recorded, 1 differences, 2 a mistake in the call, 77 nothing of it can be compared here.
A wanted difference stands in wanted.txt, with the sentence that says why."""
import concurrent.futures
import difflib
import fnmatch
import hashlib
import json
import lzma
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import inputs

HERE = pathlib.Path(__file__).resolve().parent
RECORDED = HERE / "recorded"
WORKERS = 2


class Mistake(Exception):
    pass


# Wanted differences.

def without_braces(pattern):
    before, brace, rest = pattern.partition("{")
    if not brace:
        return [pattern]
    words, _, after = rest.partition("}")
    return [before + word + after for word in words.split(",")]


class Wanted:
    """Rules that turn what was recorded into what is wanted. A rule is a paragraph of wanted.txt:
         where: choices matmul/f32 *      the part, then a pattern of keys, as fnmatch has it; a choice's key
                                          is followed by " of " and its problem; {1,2} stands for 1 or 2, and
                                          another pattern may follow " or "
         recorded: a regular expression of Python
         now: what re.sub puts in its place; there ≤N is any whole number that is no larger, and «PATTERN» what the
              pattern matches
         why: a sentence"""

    def __init__(self, text):
        self.rules = []
        for paragraph in re.split(r"\n\s*\n", re.sub(r"(?m)^#.*\n?", "", text)):
            if not paragraph.strip():
                continue
            rule = dict(line.split(": ", 1) if ": " in line else (line.rstrip(":"), "")
                        for line in paragraph.strip().splitlines())
            if set(rule) != {"where", "recorded", "now", "why"} or not rule["why"]:
                raise Mistake(f"wanted.txt: a rule needs where, recorded, now and why:\n{paragraph}")
            rule["used"] = 0
            rule["keys"] = [key for pattern in rule["where"].split(" or ") for key in without_braces(pattern)]
            rule["pattern"] = re.compile(rule["recorded"], re.MULTILINE)
            self.rules.append(rule)

    def applied(self, part, key, text):
        for rule in self.rules:
            if any(fnmatch.fnmatchcase(f"{part} {key}", pattern) for pattern in rule["keys"]):
                text, count = rule["pattern"].subn(rule["now"], text)
                rule["used"] += count
        return text

    def unused(self, part):
        return [rule for rule in self.rules if rule["where"].startswith(part) and not rule["used"]]


def fits(expected, observed):
    """Whether the texts are equal but for ≤N and «PATTERN»."""
    pattern, limits = "", []
    for piece in re.split("(≤[0-9]+|«[^»]*»)", expected):
        if piece.startswith("≤"):
            limits.append(int(piece[1:]))
            pattern += f"(?P<n{len(limits)}>[0-9]+)"
        else:
            pattern += f"(?:{piece[1:-1]})" if piece.startswith("«") else re.escape(piece)
    found = re.fullmatch(pattern, observed)
    return bool(found) and all(int(found[f"n{i + 1}"]) <= most for i, most in enumerate(limits))


def differences(part, recorded, observed, wanted, problem_of=lambda key: None):
    """Both map keys to texts. Keys that were not observed because this build cannot are left out before."""
    out = []
    for key in dict.fromkeys([*recorded, *observed]):
        if key not in recorded or key not in observed:
            out.append(f"{key}\n  {'is not recorded' if key not in recorded else 'is missing now'}")
            continue
        problem = problem_of(key)
        expected = wanted.applied(part, key if problem is None else f"{key} of {problem}", recorded[key])
        if expected == observed[key] or fits(expected, observed[key]):
            continue
        lines = list(difflib.unified_diff(expected.splitlines(), observed[key].splitlines(), lineterm="", n=1))[2:]
        out.append(f"{key}\n" + "\n".join(f"  {line}" for line in lines or ["differs in line ends"])
                   + "\n  (-: recorded, +: now)")
    return out


# Choices.

def sections_of(program):
    done = subprocess.run([program, "--sections"], capture_output=True, text=True, check=True)
    return dict(line.split() for line in done.stdout.splitlines())


def choices_of(program, sections):
    """Keys are "SECTION NUMBER DEVICE"; the problem of each "SECTION NUMBER" comes beside."""
    environment = {**os.environ, "TESSERA_CACHE": str(HERE / "data/findings.jsonl"), "TESSERA_NO_CACHE": "", "LC_ALL": "C"}
    environment = {name: value for name, value in environment.items() if not name.startswith("TESSERA_") or name == "TESSERA_CACHE"}
    processors = sorted(os.sched_getaffinity(0))

    def ask(at, section):
        done = subprocess.run([program, section], capture_output=True, text=True, env=environment,
                              preexec_fn=lambda: os.sched_setaffinity(0, {processors[at % len(processors)]}))
        if done.returncode != 0:
            raise Mistake(f"{program} {section} ended with {done.returncode}\n{done.stderr}")
        return done.stdout

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as workers:
        texts = list(workers.map(ask, range(len(sections)), sections))
    out, problems = {}, {}
    for section, text in zip(sections, texts):
        number = 0
        for line in text.splitlines():
            if line.startswith("P "):
                number += 1
                problems[f"{section} {number}"] = line[2:]
            elif not line.startswith("S "):
                device, outcome = line.split("\t", 1)
                out[f"{section} {number} {device}"] = outcome
    return out, problems


def digest(problems, section):
    text = "\n".join(problem for key, problem in problems.items() if key.split()[0] == section)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_choices(path, choices, problems):
    """A line for each outcome of a problem, with the devices that share it; problems themselves follow from the seed."""
    lines = []
    last = None
    for key in problems:
        section = key.split()[0]
        if section != last:
            lines.append(f"S {section} {digest(problems, section)}")
            last = section
        lines.append("P")
        by_outcome = {}
        for device in [*DEVICES, "all"]:
            if f"{key} {device}" in choices:
                by_outcome.setdefault(choices[f"{key} {device}"], []).append(device)
        lines += [f"{','.join(devices)}\t{outcome}" for outcome, devices in by_outcome.items()]
    path.write_bytes(lzma.compress(("\n".join(lines) + "\n").encode(), preset=9 | lzma.PRESET_EXTREME))


DEVICES = ["cpu", "simt", "cuda:0", "cuda:1", "cuda:2", "cuda:3", "cuda:4", "auto"]


def read_choices(path):
    out, digests = {}, {}
    section, number = None, 0
    for line in lzma.decompress(path.read_bytes()).decode().splitlines():
        if line.startswith("S "):
            _, section, digests[section] = line.split()
            number = 0
        elif line == "P":
            number += 1
        else:
            devices, outcome = line.split("\t", 1)
            for device in devices.split(","):
                out[f"{section} {number} {device}"] = outcome
    return out, digests


def compare_choices(program, wanted, sections=None, recorded=None):
    names = list(sections_of(program))
    observed, problems = choices_of(program, sections or names)
    recorded, digests = recorded or read_choices(RECORDED / "choices.xz")
    out = []
    if not sections and names != list(digests):
        out.append(f"sections are {names}, recorded were {list(digests)}")
    for section in dict.fromkeys(key.split()[0] for key in problems):
        if digests.get(section) != digest(problems, section):
            out.append(f"{section}\n  its problems are not those that were recorded: the generator of choices.cpp has changed")
    made = {key.split()[0] for key in problems}
    has_gpus = any(" cuda:" in key for key in observed)
    here = {key: text for key, text in recorded.items()
            if key.split()[0] in made and (has_gpus or key.split()[2] in ("cpu", "simt", "all"))}
    for difference in differences("choices", here, observed, wanted, lambda key: problems.get(" ".join(key.split()[:2]))):
        key = " ".join(difference.split("\n")[0].split()[:2])
        out.append(f"{difference}\n  of {problems.get(key)}")
    return out, f"{len(observed)} choices of {len(problems)} problems" + ("" if has_gpus else "; this build has no CUDA")


# Calls.

# What varies from run to run and from machine to machine: patterns of calls, and of what they print.
NUMBER = r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?"
MASKS = [
    ("*", r"tessera \d+\.\d+\.\d+ \([\w-]+\)", "tessera <version>"),
    ("*", r"\bTessera \d+\.\d+\.\d+\b", "Tessera <version>"),
    ("*", NUMBER + r" ?(?:ns|µs|us|ms|s|min|GB/s|MB/s|GFLOP/s|TFLOP/s)(?![\w/])", "<time>"),
    # The rate at the end of a row of times.
    ("*", r"(?m)^(.*<time>.*?) +" + NUMBER + r"$", r"\1  <rate>"),
    ("*", r"waited for " + NUMBER + " % of it", "waited for <share>"),
    # Told only where devices took more than a millisecond to start.
    ("*", r"(?m)^start-up before: .*\n", ""),
    # Baselines are other people's libraries, which this machine may lack.
    ("tessera list*", r"(?m)^.*(?:openblas|onednn|cublas|npp|\bcub\b|cub_circle|library).*\n", ""),
    ("tessera list*", r"\[\d+\]", "[n]"),
    ("tessera devices*", r"(?m)^(?:cpu|simt|cuda)\b.*$", "<device>"),
    # Other programs that run meanwhile, and too few samples.
    ("tessera bench*|tessera sweep*|tessera tune*", r"(?m)^warning: .*\n", ""),
    ("tessera bench*|tessera sweep*|tessera tune*", NUMBER + r"%?", "#"),
    ("tessera bench*|tessera sweep*|tessera tune*", r"\*#", "#"),
    # Who was faster, and what limits it.
    ("tessera bench*", r"(?m)^.*(?:times faster|times as fast|as fast as|the fastest|slower).*$", "<comparison>"),
    ("tessera bench*", r"# % of \w+", "# % of a ceiling"),
    ("tessera bench*", r"\bambiguous\b", "#"),  # instead of a ratio
    ("tessera sweep*", r"(?m)^gpu/.*on simt.*$", "<comparison>"),
    ("tessera tune*", r"(?m)^(?:simt \(exec|gpu/|kept in |not run: |what was chosen).*\n", ""),
    ("tessera run*|tessera trace*", r"(?m)^.*(?:g\+\+|compil|registers|nvcc).*\n", ""),
]
# Fields of JSON whose values vary, wherever they stand; of what they hold only the names and kinds are compared.
VARYING = {"date", "version", "git", "compiler", "flags", "processor", "system", "threads", "processors", "memory_bytes",
           "cache_bytes", "name", "device_name", "argv"}
# Times, and what follows from them; not of `compare`, whose files are given.
TIMES = {"seconds", "ceilings", "median", "q1", "q3", "minimum", "p90", "gflops", "gbps", "ratio_serial", "ratio_previous",
         "ratio_baseline", "roofline", "ceiling", "launches", "throttled", "fma_fraction", "fma_rate", "spread", "registers",
         "busy", "end", "check_seconds", "start_up", "round_trip"}
EXACT = {"tuning", "arguments", "dims", "values"}


def masked_text(call, text):
    hit = False
    if text.startswith("tessera: ") or call.startswith("tessera compare"):  # nothing varies in a message
        return text
    for patterns, pattern, instead in MASKS:
        if any(fnmatch.fnmatchcase(call, one) for one in patterns.split("|")):
            text, count = re.subn(pattern, instead, text)
            hit = hit or count > 0
    if hit:  # widths of columns follow what is in them
        text = re.sub(r"(?:─|-){3,}", "---", re.sub(r" {2,}", "  ", re.sub(r" +(?=\n|$)", "", text)))
    return text


def kind_of(value):
    """Of a varying value: a list is told by the kind of its first."""
    if isinstance(value, dict):
        return {name: kind_of(one) for name, one in value.items()}
    if isinstance(value, list):
        return [kind_of(value[0]), f"{len(value)} of them"] if value else []
    if value is None or isinstance(value, bool):
        return value
    return "<text>" if isinstance(value, str) else "<number>"


def masked_json(value, varying):
    if isinstance(value, list):
        return [masked_json(one, varying) for one in value]
    if not isinstance(value, dict):
        return value
    out = {}
    for name, one in value.items():
        if name == "other_load":  # null where nothing else ran
            out[name] = "<number or null>"
        elif name in EXACT:
            out[name] = one
        else:
            out[name] = kind_of(one) if name in varying else masked_json(one, varying)
    if out.get("place") == 0 and "runs" in out:  # a baseline's library may be missing here
        out["runs"] = "<of a library>"
    return out


def pretty(value, indent=""):
    """JSON with a line for what is short."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) <= 140 or not isinstance(value, (dict, list)):
        return line
    deeper = indent + " "
    if isinstance(value, dict):
        parts = [f"{deeper}{json.dumps(name)}: {pretty(one, deeper)}" for name, one in value.items()]
    else:
        parts = [deeper + pretty(one, deeper) for one in value]
    return "[{"[isinstance(value, dict)] + "\n" + ",\n".join(parts) + "\n" + indent + "]}"[isinstance(value, dict)]


def told(call, text):
    if text.startswith("{"):
        try:
            return pretty(masked_json(json.loads(text), VARYING if call.startswith("tessera compare") else VARYING | TIMES))
        except json.JSONDecodeError:
            pass
    return masked_text(call, text)


def calls():
    lines = (HERE / "calls.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def block(title, text):
    return "" if not text else f"{title}\n" + "".join(f"  {line}\n" for line in text.rstrip("\n").split("\n"))


def outcome_of(program, call, pattern, cache=None):
    """What a call prints and leaves behind, in a folder that holds a copy of `pattern`."""
    words = shlex.split(call)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TESSERA_", "OMPI_", "PMI"))}
    while "=" in words[0]:
        name, value = words.pop(0).split("=", 1)
        environment[name] = value
    name = " ".join(words)
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder) / "here"
        shutil.copytree(pattern, here)
        before = {path.relative_to(here): inputs.content(path) for path in here.rglob("*") if path.is_file()}
        environment |= {"TESSERA_CACHE": f"{folder}/tuning.jsonl", "XDG_CACHE_HOME": f"{folder}/cache", "COLUMNS": "180",
                        "LC_ALL": "C.UTF-8", "HOME": folder}
        if words[1:2] == ["bench"] and cache:  # ceilings are measured once
            environment["XDG_CACHE_HOME"] = cache
        done = subprocess.run([program, *words[1:]], cwd=here, env=environment, capture_output=True, text=True,
                              errors="backslashreplace", stdin=subprocess.DEVNULL, timeout=300)
        out, err = (text.replace(folder, "<folder>") for text in (done.stdout, done.stderr))
        files = ""
        for path in sorted(here.rglob("*")):
            if path.is_file() and before.get(path.relative_to(here)) != inputs.content(path):
                varies = path.suffix not in (".npy", ".png")
                files += f"{path.relative_to(here)}" + ("" if varies else f" {inputs.content(path)}") + "\n"
        return (f"exit {done.returncode}\n" + block("stdout", told(name, out)) + block("stderr", told(name, err))
                 + block("files", files))


def outcomes_of(program, which):
    program = os.path.abspath(program)
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/inputs")
        inputs.write(f"{folder}/inputs")
        # The first bench measures ceilings, which takes long and serves the others: it begins at once.
        first = next((call for call in which if call.startswith("tessera bench")), None)
        order = sorted(which, key=lambda call: call != first)
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as workers:
            made = dict(zip(order, workers.map(lambda call: outcome_of(program, call, f"{folder}/inputs", f"{folder}/cache"), order)))
        return {call: made[call] for call in which}


def read_calls(path):
    out, key = {}, None
    for line in path.read_text().splitlines(keepends=True):
        if line.startswith("$ "):
            key = line[2:].rstrip("\n")
            out[key] = ""
        elif key is not None and line != "\n":
            out[key] += line
    return out


def write_calls(path, outcomes):
    path.write_text("".join(f"$ {call}\n{outcome}\n" for call, outcome in outcomes.items()))


def cannot_compare_calls(program):
    listed = subprocess.run([program, "list", "matmul"], capture_output=True, text=True, check=True).stdout
    if "this build has no CUDA" not in listed:
        return "calls are recorded of a build without CUDA"
    traced = subprocess.run([program, "trace", "matmul", "m=8", "n=8", "k=8", "--variant", "per_element"], capture_output=True)
    return "calls are recorded of a build that traces" if traced.returncode == 5 else None


def compare_calls(program, wanted, which=None, recorded=None):
    observed = outcomes_of(program, which or calls())
    recorded = recorded or read_calls(RECORDED / "calls.txt")
    if which:
        recorded = {key: text for key, text in recorded.items() if key in which}
    return differences("calls", recorded, observed, wanted), f"{len(observed)} calls"


# The program.

def record(part, program):
    RECORDED.mkdir(exist_ok=True)
    path = RECORDED / {"choices": "choices.xz", "calls": "calls.txt"}[part]
    if path.exists():
        raise Mistake(f"{path} is recorded already, and is not made again: a wanted difference belongs into wanted.txt")
    if part == "choices":
        choices, problems = choices_of(program, list(sections_of(program)))
        if not any(" cuda:" in key for key in choices):
            raise Mistake("choices are recorded by a build with CUDA, which has all rungs")
        write_choices(path, choices, problems)
    else:
        if why := cannot_compare_calls(program):
            raise Mistake(why)
        write_calls(path, outcomes_of(program, calls()))
    print(f"{path}: {path.stat().st_size} bytes")


def main(words):
    recording = "--record" in words
    words = [word for word in words if word != "--record"]
    if len(words) != 2 or words[0] not in ("choices", "calls"):
        raise Mistake(__doc__)
    part, program = words
    if recording:
        record(part, program)
        return 0
    if part == "calls" and (why := cannot_compare_calls(program)):
        print(why)
        return 77
    wanted = Wanted((HERE / "wanted.txt").read_text())
    found, compared = (compare_choices if part == "choices" else compare_calls)(program, wanted)
    most = 60
    for difference in found[:most]:
        print(difference + "\n")
    for rule in wanted.unused(part):
        print(f"note: nothing here needs the wanted difference “{rule['why']}”")
    print(f"{compared}, {len(found)} differences" + (f", of which {most} are shown" if len(found) > most else ""))
    return 1 if found else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Mistake as mistake:
        print(mistake, file=sys.stderr)
        sys.exit(2)
