#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the Python package together in BUILD/python: the extension, its modules and stubs, what the build installs, the libraries
that those need besides the system's own, and a wheel of all.
  package.py SOURCE BUILD EXTENSION"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE, BUILD, EXTENSION = map(pathlib.Path, sys.argv[1:])
OUT, PACKAGE = BUILD / "python", BUILD / "python/tessera"
NATIVE = PACKAGE / "_native"
# Libraries that every Linux of the wheel's age has.
OF_THE_SYSTEM = re.compile(r"(linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so)")


def install():
    subprocess.run(["cmake", "--install", BUILD, "--prefix", NATIVE, "--strip"], check=True, stdout=subprocess.DEVNULL)
    libraries = next(folder for folder in NATIVE.rglob("libtessera_c.so.1") if folder.exists()).parent
    if libraries != NATIVE / "lib":  # lib/x86_64-linux-gnu, or lib64
        raise SystemExit(f"package: the build installs its libraries to {libraries.relative_to(NATIVE)}; it needs -DCMAKE_INSTALL_LIBDIR=lib")
    shutil.rmtree(libraries / "cmake", ignore_errors=True)
    (libraries / "libtessera_mpi.so").unlink(missing_ok=True)  # needs the system's MPI
    # A wheel holds no links: a library gets the name by which it is loaded, and the linker reads a text of its own.
    links = [file for file in libraries.glob("*.so*") if file.is_symlink()]
    targets = {link: link.resolve() for link in links}
    for link in links:
        link.unlink()
    for link in sorted(links, key=lambda link: link.suffix == ".so"):
        if link.suffix != ".so":
            targets[link].rename(link)
        else:
            soname = next(other.name for other in links if other != link and targets[other] == targets[link])
            link.write_text(f"INPUT({soname})\n", encoding="utf-8")


def bundle():
    """Copies the libraries of other packages, and their licences."""
    needed = {}
    for file in [*(NATIVE / "bin").iterdir(), *(NATIVE / "lib").glob("*.so*")]:
        lines = subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout
        for name, path in re.findall(r"(\S+) => (/\S+)", lines):
            if not OF_THE_SYSTEM.match(name) and not name.startswith("libtessera"):
                needed[name] = os.path.realpath(path)
    licences = NATIVE / "licences"
    licences.mkdir()
    shutil.copy(SOURCE / "LICENSE", licences / "tessera")
    for name, path in sorted(needed.items()):
        shutil.copy(path, NATIVE / "lib" / name)
        owner = subprocess.run(["dpkg", "-S", path, path.replace("/usr/lib/", "/lib/")], capture_output=True, text=True, check=False).stdout
        package = owner.partition(":")[0]
        told = pathlib.Path("/usr/share/doc", package, "copyright")
        if package and told.is_file():
            shutil.copy(told, licences / package)


def wheel():
    version = subprocess.run([sys.executable, "-c", "import tessera; print(tessera.__version__)"], cwd=OUT, check=True, capture_output=True,
                             text=True).stdout.strip()
    glibc = subprocess.run(["getconf", "GNU_LIBC_VERSION"], check=True, capture_output=True, text=True).stdout.split()[1].replace(".", "_")
    for old in OUT.glob("*.whl"):
        old.unlink()
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        about = pathlib.Path(folder, f"tessera-{version}.dist-info")
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tessera\nVersion: {version}\nSummary: {SUMMARY}\nLicense: Apache-2.0\n"
                                        "Requires-Python: >=3.11\n", encoding="utf-8")
        (about / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: tessera\nRoot-Is-Purelib: false\nTag: cp311-abi3-manylinux_{glibc}_x86_64\n",
                                     encoding="utf-8")
        shutil.copy(SOURCE / "LICENSE", about)
        shutil.copytree(PACKAGE, pathlib.Path(folder, "tessera"), ignore=shutil.ignore_patterns("__pycache__"), copy_function=os.link)
        subprocess.run([sys.executable, "-m", "wheel", "pack", folder, "-d", OUT], check=True, stdout=subprocess.DEVNULL)


SUMMARY = "Matrix products, integrals and pictures on GPUs and CPUs, each a ladder of kernels"


def main():
    shutil.rmtree(PACKAGE, ignore_errors=True)
    shutil.copytree(SOURCE / "bindings/python/tessera", PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(EXTENSION, PACKAGE)
    install()
    bundle()
    stubs = subprocess.run([sys.executable, "-P", SOURCE / "bindings/python/stubs.py"], cwd=OUT, check=True, capture_output=True, text=True,
                           env={**os.environ, "PYTHONPATH": str(OUT)}).stdout
    (PACKAGE / "__init__.pyi").write_text(stubs, encoding="utf-8")
    wheel()


main()
