#!/bin/sh
# Installs the requirements of `make aarch64`: cross compilers, qemu, and for arm64 cmocka and OpenBLAS. Debian has no cross packages
# of the last two. So their arm64 packages are downloaded with a private apt folder, which verifies signatures as usual, and
# unpacked into build-aarch64/sysroot. The machine's apt configuration is not changed. Fails if something cannot be installed.
set -u
cd "$(dirname "$0")/.." || exit 1
sysroot=build-aarch64/sysroot
apt=$PWD/build-aarch64/apt
log=$PWD/build-aarch64/apt.log
tools/need.sh aarch64 aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu \
    aarch64-linux-gnu-g++:g++-aarch64-linux-gnu \
    /usr/aarch64-linux-gnu/include/stdio.h:libc6-dev-arm64-cross qemu-aarch64:qemu-user || exit 1
[ -e $sysroot/complete ] && exit 0

private_apt() {
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User= -o Dir::State="$apt" \
        -o Dir::State::status=/dev/null -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache" "$@" >>"$log" 2>&1
}

get_packages() {
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
    echo "downloading: cmocka and OpenBLAS for arm64"
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" $sysroot
    : >"$log"
    private_apt update # also fails if one of several sources has nothing for arm64
    (cd "$apt" && private_apt download libcmocka0 libcmocka-dev libopenblas0-pthread libgfortran5) || return 1
    for package in "$apt"/*.deb; do
        dpkg-deb -x "$package" $sysroot || return 1
    done
    rm -rf "$apt"
    : >$sysroot/complete
}
if ! get_packages; then
    rm -rf $sysroot
    echo "make aarch64: the packages for arm64 could not be downloaded; apt and a network are needed (log: $log)" >&2
    exit 1
fi
