#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the Python package together in BUILD/python: the extension, its modules and stubs, what the build installs, the libraries
that those need besides the system's own, and a wheel of all.
  package.py SOURCE BUILD EXTENSION"""
import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

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
    for folder in (NATIVE / "bundled", licences):
        folder.mkdir(parents=True)
    shutil.copy(SOURCE / "LICENSE", licences / "tessera")
    for name, path in sorted(needed.items()):
        shutil.copy(path, NATIVE / "bundled" / name)
        owner = subprocess.run(["dpkg", "-S", path, path.replace("/usr/lib/", "/lib/")], capture_output=True, text=True, check=False).stdout
        package = owner.partition(":")[0]
        told = pathlib.Path("/usr/share/doc", package, "copyright")
        if package and told.is_file():
            shutil.copy(told, licences / package)


def wheel():
    """Writes the wheel: a zip archive with the list of what it holds."""
    version = re.search(r'__version__ = "(.*)"', subprocess.run(
        [sys.executable, "-c", "import tessera; print(f'__version__ = \"{tessera.__version__}\"')"], cwd=OUT, check=True, capture_output=True,
        text=True).stdout)[1]
    glibc = subprocess.run(["getconf", "GNU_LIBC_VERSION"], check=True, capture_output=True, text=True).stdout.split()[1].replace(".", "_")
    tag = f"cp311-abi3-manylinux_{glibc}_x86_64"
    about = f"tessera-{version}.dist-info"
    described = f"Metadata-Version: 2.1\nName: tessera\nVersion: {version}\nSummary: {SUMMARY}\nLicense: Apache-2.0\nRequires-Python: >=3.11\n"
    built = f"Wheel-Version: 1.0\nGenerator: tessera\nRoot-Is-Purelib: false\nTag: {tag}\n"
    written = {f"{about}/METADATA": described.encode(), f"{about}/WHEEL": built.encode(), f"{about}/LICENSE": (SOURCE / "LICENSE").read_bytes()}
    for old in OUT.glob("*.whl"):
        old.unlink()
    record = []
    with zipfile.ZipFile(OUT / f"tessera-{version}-{tag}.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        def add(name, content, executable=False):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(content)}")
        for file in sorted(PACKAGE.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                add(str(file.relative_to(OUT)), file.read_bytes(), os.access(file, os.X_OK))
        for name, content in written.items():
            add(name, content)
        archive.writestr(f"{about}/RECORD", "\n".join([*record, f"{about}/RECORD,,", ""]))


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
