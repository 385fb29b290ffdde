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
# README's program, as it stands there.
awk '/^```cpp/ {inside = 1; next} /^```/ {inside = 0} inside' "$here/../README.md" > "$work/readme.cpp"
cmake -S "$here/install" -B "$work/stranger" -DCMAKE_PREFIX_PATH="$work/prefix" -DREADME_PROGRAM="$work/readme.cpp" > "$work/log" || { cat "$work/log"; exit 1; }
cmake --build "$work/stranger" > "$work/log" || { cat "$work/log"; exit 1; }
"$work/stranger/stranger"
"$work/stranger/readme" | grep -q ': right$'
"$work/prefix/bin/tessera" list
