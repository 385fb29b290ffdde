# SPDX-License-Identifier: Apache-2.0
"""The program with the libraries that it needs, as one file that a GPU machine can run."""
import glob
import os
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "build" / "bundle"
PROGRAMS = ("tessera", "tessera-worker", "tests/test_cuda", "tests/test_held_back", "tests/test_matmul", "tests/test_matmul_batch", "tests/test_products",
            "tests/calls_on_device", "tests/calibration", "tests/calibration_counts", "baselines/gsl.so", "baselines/liblqr.so",
            "tests/libown.so")
AS_BUILT = ("libtessera_mpi.so", "libtessera_traced.so")
EVERYWHERE = re.compile(r"/(libc|libm|libstdc\+\+|libgcc_s|libdl|libpthread|librt)\.so")
# The baselines of the processors' ladder, which are loaded when they are asked for.
BASELINES = re.compile(r"lib(openblas|dnnl|gfortran|quadmath|gomp|OpenCL|lqr-1|glib-2\.0|pcre2-8)\.so")


def libraries_of(program):
    told = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return [path for path in re.findall(r"=> (/\S+)", told) if not EVERYWHERE.search(path)]


def soname(library):
    told = subprocess.run(["objdump", "-p", library], capture_output=True, text=True, check=True).stdout
    return re.search(r"SONAME +(\S+)", told)[1]


def pack(build, earlier=None):
    """Writes build/bundle/bundle.txz. `earlier`: a build whose program is packed beside it."""
    build = pathlib.Path(build)
    for folder in filter(None, (build, earlier)):
        if not (pathlib.Path(folder) / "tessera").exists():
            raise SystemExit(f"there is no program in {folder}")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    for program in (build / name for name in PROGRAMS):
        if program.exists():
            subprocess.run(["strip", "-o", FOLDER / program.name, program], check=True)
    needed = {str(path) for name in AS_BUILT for path in build.glob(f"**/{name}")}
    for program in (build / name for name in PROGRAMS):
        needed.update(libraries_of(program) if program.exists() else [])
    if earlier:
        (FOLDER / "earlier").mkdir()
        for name in ("tessera", *(path.name for path in pathlib.Path(earlier).glob("libtessera.so*") if not path.is_symlink())):
            subprocess.run(["strip", "-o", FOLDER / "earlier" / name, pathlib.Path(earlier) / name], check=True)
        library = next((FOLDER / "earlier").glob("libtessera.so*"))
        (FOLDER / "earlier" / soname(library)).symlink_to(library.name)
    cache = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    needed.update(line.split()[-1] for line in cache.splitlines() if BASELINES.search(line) and line.split()[-1].startswith("/"))
    for library in needed:
        shutil.copy(library, FOLDER / pathlib.Path(library).name)
    whole = FOLDER.with_suffix(".txz")
    # Programs resemble each other: a large dictionary stores their common parts once.
    with open(whole, "wb") as out, subprocess.Popen(["tar", "-C", FOLDER, "-cf", "-", "."], stdout=subprocess.PIPE) as tar:
        subprocess.run(["xz", "-T1", "--lzma2=preset=1,dict=512MiB"], stdin=tar.stdout, stdout=out, check=True)
    shutil.rmtree(FOLDER)
    FOLDER.mkdir()
    whole.rename(FOLDER / "bundle.txz")
    print(f"{FOLDER / 'bundle.txz'}: {(FOLDER / 'bundle.txz').stat().st_size / 2 ** 20:.0f} MiB")


def unpack():
    """Makes the programs of build/bundle ready to run."""
    packed = FOLDER / "bundle.txz"
    if packed.exists():
        subprocess.run(["tar", "-C", FOLDER, "-xJf", packed], check=True)
        packed.unlink()
    paths = [str(FOLDER), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    # NCCL that Python has brought along is not in the loader's cache.
    paths += glob.glob("/usr/lib/python3*/site-packages/nvidia/nccl/lib") + glob.glob("/usr/local/lib/python3*/*-packages/nvidia/nccl/lib")
    os.environ["LD_LIBRARY_PATH"] = ":".join(paths)


def program(name):
    path = FOLDER / name
    return str(path) if path.exists() else None
