# SPDX-License-Identifier: Apache-2.0
"""What is measured on a GPU machine. A plan is a list of steps; a step is a command line of the program, as one would type it, or a
function. A file that a command writes is named without its folder: it goes to $OUT, and from there into results/MACHINE/SUBJECT/ as it is.
A line that begins with N? may also end with exit code N."""
import glob
import os
import pathlib
import shlex
import subprocess
import sys

import bundle
import calls
import counters
import integrals
import invariant
import products
import versions

CUBES = "(512,512,512),(1024,1024,1024),(2048,2048,2048),(4096,4096,4096),(8192,8192,8192)"
OTHERS = "(64,7168,2112),(128,4096,7168),(4096,7168,2048),(16,8192,8192),(8192,8192,512),(1024,1024,16384),(4095,4097,4093)"
SHAPES = f"'(m,n,k)={CUBES},{OTHERS}'"
GPU = "--device cuda --no-serial"
RUNGS = f"bench matmul m=4096 n=m k=m {GPU} --variant cublas,shared_tiles,vectorized,warp_tiles"
PI = "integrate 'sqrt(1-x^2)' 0 1 --strips 65536*256 --scale 4 --device cuda"
LARGE = "bench filter images=1 height=16384 width=16384"
SMALL = f"images=1 height={{side}} width={{side}} channels=1 --element u8 --kernel laplacian8 --abs {GPU} --variant global,packed --time 0.5"
FIELD = "rows=17 cols=17 height=800 width=1400 channels=3"
SEAMS = "bench seamcarve images=1 rows=2160 columns=3840 channels=3 width=3740 --no-serial --time 2 --reps 5"
BATCHES = "bench matmul_batch"


def out(name):
    return str(pathlib.Path(os.environ["OUT"]) / name)


def command(line):
    """The words of a step, with the program and with files in $OUT."""
    words = shlex.split(line)
    for at, word in enumerate(words[:-1]):
        if word in ("--json", "-o", "--timeline"):
            words[at + 1] = out(words[at + 1])
    return [bundle.program("tessera"), *(out(word.removeprefix("OUT/")) if word.startswith("OUT/") else word for word in words)]


def tessera(line, limit=600):
    allowed = {0}
    while line[:2] in ("3?", "5?", "7?"):
        allowed.add(int(line[0]))
        line = line[2:].strip()
    print("$ tessera", line, flush=True)
    return subprocess.run(command(line), timeout=limit, check=False).returncode in allowed


def test(name, *words, limit=280, tool=None, keep=None):
    """One of the packed test programs, alone or under a tool of compute-sanitizer. `keep`: a file of $OUT that its output is added to."""
    program = bundle.program(name)
    if program is None:
        print(name, "is not packed")
        return True
    under = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", "--kernel-name-exclude", "kernel_substring=cublas"] if tool else []
    done = subprocess.run([*under, program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit, check=False)
    print(done.stdout[-2000:], flush=True)
    if keep:
        with open(out(keep), "a", encoding="utf-8") as file:
            file.write(f"== {tool or 'none'}\n{done.stdout}")
    return done.returncode == 0


def sanitizer():
    """Small cases only: the tools slow kernels down a hundredfold."""
    return all([test("tessera", "verify", "matmul", "--device", "cuda", "--quick", tool=tool) for tool in ("memcheck", "racecheck")])


def each_kernel():
    """Each kernel of products at the smallest sizes that show it, under each of the sanitizer's tools; the slowest last."""
    tools = (None, "memcheck", "initcheck", "synccheck", "racecheck")
    return all([test("test_products", "--gtest_filter=EachKernel*:LongProducts.Without*", tool=tool, keep="products-sanitizer.txt") for tool in tools])


def small_shapes():
    """A hundred random small products a type, in all layouts, that end where their memory ends."""
    filters = "--gtest_filter=SmallShapesOn*"
    return all([test("test_cuda", filters, tool=tool, keep="matmul-small-shapes.txt") for tool in (None, "memcheck", "racecheck")])


def own_kernel():
    """A kernel that an installed package was compiled with."""
    own = bundle.program("libown.so")
    return own is None or tessera(f"--load {own} verify matmul --device cuda --variant own_tiles") and tessera(
        f"--load {own} bench matmul m=1024 n=m k=m {GPU} --time 2 --variant own_tiles,shared_tiles --json own.json")


def beside(plugin, line, rungs):
    """A bench with a library of a plug-in as the baseline, where it is packed."""
    file = bundle.program(plugin + ".so")
    return tessera((f"--load {file} " if file else "") + line + " --variant " + (plugin + "," if file else "") + rungs + (f" --vs {plugin}" if file else ""))


def seams():
    return beside("liblqr", SEAMS + " --device cpu:threads=1,cuda --no-verify --json seamcarve.json", "banded,rows,shared_tiles,trapezoids")


def families():
    """10⁵ integrals to 1e-9: an easy family, and one with a root at its end and up to eighty zeros."""
    easy = "bench integrate_batch 'exp(-k*x)*cos(x)' 0 2 n=100000 --relative 1e-9 --parameters k=0.5:20"
    hard = "bench integrate_batch 'sqrt(x)*cos(k*x)*exp(-x*x)' 0 5 n=100000 --relative 1e-9 --parameters k=0.5:50"
    rungs = "simd,thread_per_integral,warp_per_integral,compiled"
    return all([beside("gsl", f"{line} --device cpu,cuda --no-serial --time 6 --reps 5 --json integrate-batch-{name}.json", rungs)
                for name, line in (("easy", easy), ("hard", hard))])


def tuned_call():
    """A search that is interrupted and goes on, and a call that uses what it found."""
    os.environ["TESSERA_CACHE"] = out("tuning.jsonl")
    words = command("tune matmul m=1024,4096 n=m k=m --device cuda --time 1 --budget 40s --json matmul-tune.json")
    subprocess.run(["timeout", "--signal=INT", "12", *words], check=False)
    passed = subprocess.run(words, check=False).returncode == 0
    del os.environ["TESSERA_CACHE"]
    return passed


def gpus():
    return len(subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout.splitlines())


def random_matrices(*names, size=8192):
    """Square .npy files of random floats from 1 to 2."""
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({size}, {size}), }}".ljust(117) + "\n"
    step = 1 << 22
    fraction, one = (int.from_bytes(word.to_bytes(4, "little") * step, "little") for word in (0x7fffff, 0x3f800000))
    for name in names:
        with open(out(name), "wb") as file:
            file.write(b"\x93NUMPY\x01\x00\x76\x00" + head.encode())
            for left in range(size * size, 0, -step):
                block = int.from_bytes(os.urandom(4 * step), "little") & fraction | one
                file.write(block.to_bytes(4 * step, "little")[:4 * left])


def same(one, other):
    """Whether two files of $OUT hold the same bytes."""
    equal = pathlib.Path(out(one)).read_bytes() == pathlib.Path(out(other)).read_bytes()
    print(f"{other}: {'the bits' if equal else 'OTHER BITS than those'} of {one}", flush=True)
    return equal


def several_devices():
    """One product on all GPUs, or on the GPU and the processors, and on a GPU whose process is killed. `vectorized` splits no sum: any
    split has one GPU's bits."""
    random_matrices("A.npy", "B.npy")
    devices = f"cuda:0-{gpus() - 1}" if gpus() > 1 else "cuda:0,cuda:0"
    product = "matmul OUT/A.npy OUT/B.npy --variant gpu/vectorized"
    passed = [tessera(f"{product} -o D.npy --device cuda:0")]
    for split in ("auto", "dynamic"):
        passed.append(tessera(f"{product} -o C.npy --devices {devices} --split {split} --json devices-{split}.json") and same("D.npy", "C.npy"))
    passed.append(tessera(f"{product} -o C.npy --devices {devices} --protect --fault kill:0@2 --json devices-kill.json") and same("D.npy", "C.npy"))
    passed.append(tessera("matmul OUT/A.npy OUT/B.npy --devices cuda:0,cpu --check"))
    passed.append(tessera("matmul OUT/A.npy OUT/B.npy --devices cuda:0 --memory 256M --check"))
    shares = "32:3040,64:3008,256:2816,1024:2048,1600:1472,2048:1024,3040:32,auto,dynamic" if gpus() < 3 else ":".join("1" * gpus()) + ",auto,dynamic"
    passed.append(tessera(f"sweep matmul m=3072 n=m k=m --element i32 --devices {devices if gpus() > 1 else 'cuda:0,cpu'} --split {shares} "
                          "--json matmul-splits.json"))
    for file in glob.glob(out("?.npy")):
        os.remove(file)
    return all(passed)


def ranks():
    """One product on one rank, two, four, a GPU each; the bits do not tell how many."""
    random_matrices("A.npy", "B.npy", size=16384)
    passed, counts = [], [count for count in (1, 2, 4, 8) if count <= gpus()]
    for count in counts:
        words = command(f"matmul OUT/A.npy OUT/B.npy --device cuda --distributed --check -o D{count}.npy --json ranks-{count}.json")
        launched = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "--oversubscribe", "-n", str(count), *words]
        passed.append(subprocess.run(launched, timeout=120, check=False).returncode == 0 and same("D1.npy", f"D{count}.npy"))
    for file in glob.glob(out("*.npy")):
        os.remove(file)
    return all(passed)


PLANS = {
    "devices": ["devices --measure --json devices.json"],
    "conformance": ["verify matmul --device cuda --json matmul-verify.json", lambda: test("test_cuda", "--gtest_brief=1")],
    "sanitizer": [sanitizer],
    "small-shapes": [small_shapes],
    "ladder": [f"bench matmul m=1024:4096:x2 n=m k=m {GPU} --time 5 --json matmul.json",
               f"bench matmul m=4096,8192 n=m k=m --op-b transpose {GPU} --cold --element bf16 --pause 0.02 --time 1 --json matmul-tensor-steps.json "
               "--variant cublas,tensor_cores,wgmma,warp_specialized,persistent,cluster"],
    # The seeds' tables.
    "tables": ["bench matmul m=1024,2048 n=m k=m --device cuda --time 60 --json matmul-approaches.json "
               "--variant naive,one_block,per_element,cached_tiles,shared_tiles",
               "bench matmul m=4:32:x2 n=m k=m --device cuda --variant naive,one_block --json matmul-one-block.json",
               f"bench matmul m=32,64,128,320,1024,3072,5120 n=m k=m --element i32 {GPU} --variant per_element,shared_tiles --tuning tile=32 "
               "--json matmul-integers.json",
               "bench matmul m=512 n=512 k=512 --device cuda --variant coarsened --tunings all --json matmul-factorial.json"],
    # Bursts against what the device holds, and whether two runs say the same.
    "timing": [f"{RUNGS} --sustained 3 --time 5 --json matmul-sustained.json", f"{RUNGS} --sustained 3 --time 5 --json matmul-apart.json",
               "3? compare OUT/matmul-sustained.json OUT/matmul-apart.json", f"{RUNGS} --cold --time 2 --json matmul-cold.json"],
    "libraries": ["bench matmul m=512:4096:x2 n=m k=m --element f32,f64 --time 12 --device cpu:threads=1,cpu:threads=2 "
                  "--variant simd,openblas,onednn --tunings all --no-serial --json matmul-libraries.json"],
    "search": ["sweep matmul m=1024 n=m k=m --device cuda --variant per_element --over x=1:1024:x2 --over y=1:1024:x2 "
               "--where 'x*y<=2048' --table y,x --time 0.4 --json matmul-sweep.json", tuned_call],
    "own": [own_kernel],
    "agreement": [lambda: subprocess.run([sys.executable, str(bundle.ROOT / "tools" / "agreement"), "measure", str(bundle.FOLDER)], check=False).returncode == 0],

    # Products: every case, then speed beside cuBLASLt.
    "products": ["verify matmul --device cuda --element bf16,f16,e4m3,e5m2,i8,f32 --variant cluster --json matmul-tensor-verify.json",
                 "verify matmul --device cuda --element f64,f16,bf16 --variant tensor_cores --json matmul-tensor-verify-tensor_cores.json",
                 *(f"verify matmul --device cuda --element bf16,f16 --variant {rung} --json matmul-tensor-verify-{rung}.json"
                   for rung in ("wgmma", "warp_specialized", "persistent")),
                 "verify matmul --device cuda --element f32,f64,i32 --variant warp_tiles --json matmul-strict-verify.json",
                 "verify matmul_batch --device cuda --json matmul-batch-verify.json",
                 lambda: test("test_products", "--gtest_brief=1", "--gtest_filter=*Gpu"), each_kernel],
    "product_tables": [lambda: products.measure(bundle.program("tessera"), out(""))],
    # The public call beside cuBLASLt's first heuristic and its best.
    **{f"call-{group}-{name}": [lambda group=group, name=name: calls.measure(bundle.program("tessera"), out(""), group, name)]
       for group in calls.GROUPS for name in calls.TYPES},
    # The cost of --batch-invariant, and the test that a row's bits do not depend on the batch.
    **{f"invariant-{name}": [lambda name=name: invariant.measure(bundle.program("tessera"), out(""), name)] for name in invariant.TYPES},
    "invariant": [lambda: test("test_cuda", "--gtest_filter=BatchInvariant*", limit=590, keep="matmul-invariant.txt")],
    "versions": [lambda: versions.measure(out(""))],
    "counters": [lambda: counters.measure(bundle.program("tessera"), out("matmul-counters.csv"))],
    "strict": [f"bench matmul {SHAPES} {GPU} --variant cublas,warp_tiles --element f32 --pause 0.02 --time 0.4 --json matmul-strict-none.json"],
    "f64": [f"bench matmul {SHAPES} --op-b transpose {GPU} --variant cublas,tensor_cores --element f64 --tunings all --time 1 --json matmul-f64.json"],
    "tiles": [f"sweep matmul {SHAPES} --op-b transpose {GPU.split(' --')[0]} --variant cluster --element bf16 --over tile=1,2,3,4,6,7 --over splits=0,1,2,4 "
              "--no-verify --time 0.2 --json matmul-tiles.json"],
    "batched": [f"{BATCHES} '(batch,m,n,k)=(64,512,512,512),(1024,128,128,128),(4,4096,4096,4096),(512,100,100,100)' {GPU} --graph --time 0.4 "
                "--variant cublas,tiles,cluster --element bf16,f32 --json matmul-batch.json",
                f"{BATCHES} '(batch,m,n,k)=(64,512,512,512),(1024,128,128,128)' {GPU} --graph --time 0.4 --variant cublas,tiles,cluster "
                "--op-b transpose --b-for all --element bf16,e4m3,i8 --json matmul-batch-shared.json",
                lambda: test("test_matmul_batch", "--gtest_brief=1", "--gtest_also_run_disabled_tests", "--gtest_filter=Group*")],
    "calls": [lambda: test("test_matmul", "--gtest_brief=1", "--gtest_filter=Enqueue*"), lambda: test("calls_on_device")],

    # Integrals.
    "integrate": ["verify integrate --device cuda --json integrate-verify.json",
                  f"bench {PI} --element f64,f32 --no-serial --time 2 --json integrate.json "
                  "--variant cub,cub_circle,strips_per_thread,grid_stride,warp_sums,one_launch,compiled",
                  *(f"bench {PI} --element f64,f32 --variant cub_circle,compiled,fast_roots --no-serial --roots fast --sum {how} --graph --time 2 "
                    f"--json integrate-graph-{how}.json" for how in ("pairwise", "kahan")),
                  # One thread of one block takes seconds, so the smallest launches are left out.
                  f"sweep {PI} --variant strips_per_thread --over block=1:8192:x2 --over thread=1:1024:x2 --where 'block*thread>=64' "
                  "--table block,thread --time 2 --reps 3 --json integrate-sweep.json"],
    "vegas": [f"verify integrate --device cuda --variant {rung} --json integrate-{rung}-verify.json" for rung in ("vegas", "vegas_compiled")]
             + [lambda: integrals.vegas_bits(bundle.program("tessera"), out("integrate-vegas-bits.json"))],
    "cubature": ["verify integrate --device cuda --variant cubature",
                 lambda: integrals.cubature(bundle.program("tessera"), out("integrate-cubature.json"), seconds=3)],
    "batch": ["verify integrate_batch --device cuda --json integrate-batch-verify.json", families],

    # Images.
    "filter": ["verify filter --device cuda --json filter-verify.json",
               *(f"{LARGE} channels={channels} --element {element} --kernel laplacian4 --border replicate {GPU} --time 0.3 "
                 f"--variant npp,global,shared_tiles,vectorized,sliding,packed,streamed --json filter-laplacian-{element}{'' if channels == 1 else '-rgb'}.json"
                 for element in ("u8", "f32") for channels in (1, 3)),
               *(f"{LARGE} channels=1 --element {element} --kernel gaussian --size {size} --border replicate --no-verify {GPU} --time 0.3 "
                 f"--variant npp,separable,streamed_strips,matrices,shared_tiles --json filter-gaussian{size}-{element}.json"
                 for element in ("u8", "f32") for size in (9, 31)),
               "bench filter images=1 height=256 width=256 channels=1 --kernel laplacian8 --abs --device cpu,cuda "
               "--variant naive,global,shared_tiles,packed --tunings all --graph --time 0.2 --json filter-table9.json",
               # One pixel is little but the launch itself.
               *(f"bench filter {SMALL.format(side=side)} {graph} --json filter-{name}{'-graph' if graph else ''}.json"
                 for side, name in ((1, "pixel"), (256, "256")) for graph in ("", "--graph"))],
    "resize": ["verify resize --device cuda --json resize-verify.json",
               *(f"bench resize images=1 from_height=16384 from_width=16384 channels=3 --scale {scale} --element u8 --convention {how.split('-')[0]} "
                 f"--method {how.split('-')[1]} {GPU} --no-verify --time 0.2 --variant npp,fused,packed,halved,matrices --json resize-{how}-{scale}.json"
                 for how in ("opencv-linear", "opencv-area", "opencv-cubic", "opencv-lanczos4", "pillow-cubic", "pillow-lanczos3")
                 for scale in ("0.5", "0.47"))],
    "seamcarve": ["verify seamcarve --device cuda --json seamcarve-verify.json", seams],
    "lightfield": ["verify refocus viewpoint sharpest --device cuda --json lightfield-verify.json",
                   f"bench refocus {FIELD} --slope 1.37 --variant global,rows,packed {GPU} --time 0.5 --json lightfield-one.json",
                   f"bench refocus {FIELD} --slope 1.37 --variant packed --tunings all --no-verify {GPU} --time 0.5 --json lightfield-rows.json",
                   f"bench refocus {FIELD} --slopes -1.5:1.5:16 --variant packed,planes --tunings all --no-verify {GPU} --time 0.5 --json lightfield-sixteen.json",
                   *(f"bench viewpoint {FIELD} --at 0.3,0.7 --slope 1.37 --variant global,rows --no-verify {GPU} --time 0.5 {cold} "
                     f"--json lightfield-viewpoint{'-cold' if cold else ''}.json" for cold in ("", "--cold")),
                   # Views that no cache holds.
                   "bench viewpoint rows=2 cols=2 height=8192 width=8192 channels=3 --at 0.3,0.7 --slope 1.37 --variant global,rows "
                   f"--no-verify {GPU} --time 0.5 --json lightfield-viewpoint-large.json"],

    # Several GPUs, or a GPU and its host.
    "several": [several_devices],
    "ranks": [ranks],
}


def run(names):
    """Each plan in turn, whatever becomes of those before it. Returns those that failed."""
    failed = []
    for name in names:
        print(f"=== {name}", flush=True)
        try:
            passed = all([tessera(step) if isinstance(step, str) else step() not in (False, 1) for step in PLANS[name]])
        except (subprocess.SubprocessError, OSError) as error:
            print(error)
            passed = False
        if not passed:
            failed.append(name)
    return failed
