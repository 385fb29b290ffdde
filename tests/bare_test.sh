#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs README's and every page's commands on a bare Debian 12, after `make demo` alone, and the packages of `make deb` on
# another. It needs root, debootstrap, the network and ten minutes, and is skipped without TESSERA_BARE=1.
#   bare_test.sh [PACKAGES]     PACKAGES: a folder of .deb files that `make deb` made; without it, packages are not tried
set -eu
[ "${TESSERA_BARE:-}" = 1 ] && [ "$(id -u)" = 0 ] && command -v debootstrap > /dev/null || { echo "skipped: TESSERA_BARE=1, root and debootstrap are needed"; exit 77; }
tree=$(cd "$(dirname "$0")/.." && pwd)
root=$(mktemp -d)
# Where /proc cannot be unmounted, nothing below it is touched.
trap 'umount "$root"/*/proc 2> /dev/null || true; rm -rf --one-file-system "$root"' EXIT
debootstrap --variant=minbase bookworm "$root/bare" > /dev/null
cp /etc/resolv.conf "$root/bare/etc/"
cp -a "$root/bare" "$root/installed"
inside() {
  of=$1 && shift
  chroot "$root/$of" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive sh -euc "$*"
}
for of in bare installed; do
  mount -t proc proc "$root/$of/proc"
  inside $of "apt-get update -qq"
done
inside bare "apt-get install -qq --no-install-recommends git make" > /dev/null
git clone -q "$tree" "$root/bare/tessera"
inside bare "cd /tessera && make demo"
/usr/bin/python3 "$tree/tests/docs_test.py" "$root/bare/tessera/build/tessera" "$root/bare"
# README's program in a project of its own.
awk '/^```cmake/ {inside = 1; next} /^```/ {inside = 0} inside' "$tree/README.md" > "$root/bare/root/CMakeLists.txt"
awk '/^```cpp/ {inside = 1; next} /^```/ {inside = 0} inside' "$tree/README.md" > "$root/bare/root/main.cpp"
inside bare "cd /tessera && cmake --install build --prefix /opt/tessera && cd && cmake -S . -B own -DCMAKE_PREFIX_PATH=/opt/tessera && cmake --build own && own/mine" | grep -q '^right$'
[ $# -gt 0 ] || { echo "skipped: the packages, as no folder of them is given"; exit 0; }
! command -v lintian > /dev/null || lintian --allow-root --fail-on error "$1"/*.deb
cp "$1"/*.deb "$tree/examples/homework.cu" "$root/installed/root/"
inside installed "apt-get install -qq --no-install-recommends /root/tessera_*.deb" > /dev/null
inside installed "tessera --version && tessera list matmul m=64 && tessera integrate 'x^2' 0 1 && ! command -v g++"
inside installed "apt-get install -qq --no-install-recommends g++" > /dev/null
inside installed "cd /root && tessera trace homework.cu || [ \$? = 4 ]" 2>&1 | grep "race in steps"
inside installed "apt-get install -qq --no-install-recommends /root/*.deb cmake make" > /dev/null
cp "$root/bare/root/CMakeLists.txt" "$root/bare/root/main.cpp" "$root/installed/root/"
inside installed "cd && cmake -S . -B own && cmake --build own && own/mine" | grep -q '^right$'
