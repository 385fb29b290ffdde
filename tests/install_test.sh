#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the build to a folder of its own, and lets a stranger's project find, build and run it.
#   install_test.sh BUILD_FOLDER
set -eu
build=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" > "$work/log" || { cat "$work/log"; exit 1; }
if grep -rl "$(dirname "$here")/" "$work/prefix/lib"*/cmake; then
  echo "the installed package names the folder it was built in" >&2
  exit 1
fi
if find "$work/prefix/include" -name '*.hpp' -exec grep -L '^#include\|^namespace' {} + | grep .; then
  echo "these headers are empty" >&2
  exit 1
fi
# The programs of README and of docs/integrate.md, as they stand there.
program_of() { awk '/^```cpp/ {inside = 1; next} /^```/ {inside = 0} inside' "$1"; }
program_of "$here/../README.md" > "$work/readme.cpp"
program_of "$here/../docs/integrate.md" > "$work/integrals.cpp"
cmake -S "$here/install" -B "$work/stranger" -DCMAKE_PREFIX_PATH="$work/prefix" -DREADME_PROGRAM="$work/readme.cpp" -DINTEGRALS_PROGRAM="$work/integrals.cpp" -DCLIENT_PROGRAM="$here/../bindings/tests/client.c" > "$work/log" || { cat "$work/log"; exit 1; }
cmake --build "$work/stranger" > "$work/log" || { cat "$work/log"; exit 1; }
# The project of docs/calls.md, under a stranger's warnings.
warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror"
cmake -S "$here/../examples/calls" -B "$work/calls" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_FLAGS="$warnings" -DCMAKE_NO_SYSTEM_FROM_IMPORTED=ON > "$work/log" || { cat "$work/log"; exit 1; }
cmake --build "$work/calls" > "$work/log" || { cat "$work/log"; exit 1; }
"$work/stranger/stranger"
"$work/stranger/readme" | grep -q '^right$'
[ ! -e "$work/prefix/include/tessera/tessera.h" ] || "$work/stranger/client" | grep -q '^right$'
"$work/calls/host" > "$work/products"
for told in '0.839844 by .*: right' '240 120 60: right'; do
  grep -q "$told" "$work/products" || { cat "$work/products"; exit 1; }
done
"$work/calls/picture" | grep -q '^1.* instead of 200 by .*: right$'
"$work/stranger/integrals" > "$work/integrals"
for told in '0.785398163397448.. ± .*, converged' 3.1415927 0.290000000 0.3333333 0.7853; do
  grep -q "$told" "$work/integrals" || { cat "$work/integrals"; exit 1; }
done
# What nvcc compiled, where there is one.
if [ -x "$work/stranger/sums" ]; then
  "$work/stranger/sums" | grep -q '^3.14159'
else
  echo "no nvcc: a stranger's .cu file was not compiled"
fi
# A program that calls the library does not carry it.
for program in stranger/stranger stranger/readme stranger/integrals calls/host calls/picture; do
  bytes=$(stat -L -c %s "$work/$program")
  [ "$bytes" -le 1048576 ] || { echo "$program has $bytes bytes, more than 1 MB" >&2; exit 1; }
done
# A CUDA file, by the headers and libraries that are installed.
[ -f "$work/prefix/share/tessera/cuda/tessera_cuda.h" ] || { echo "the headers for CUDA files are not installed" >&2; exit 1; }
XDG_CACHE_HOME="$work/cache"
export XDG_CACHE_HOME
cp "$here/../examples/homework.cu" "$work"
"$work/prefix/bin/tessera" run "$work/homework.cu" | grep -q '^0 of 999 steps are wrong$'
"$work/prefix/bin/tessera" trace "$work/homework.cu" 2> "$work/log" && status=0 || status=$?
[ "$status" -eq 4 ] && grep -q '^homework.cu:17: error: race in steps' "$work/log" || { cat "$work/log"; exit 1; }
"$work/prefix/bin/tessera" list
