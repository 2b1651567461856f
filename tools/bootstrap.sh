#!/bin/sh
# Installs build tools and several BLAS libraries on Debian: with apt as root, with pip into .venv. If something cannot be
# installed, continues, and prints what is missing and the consequences. Returns quickly if nothing is missing.
# Usage: tools/bootstrap.sh [--again]
set -u
cd "$(dirname "$0")/.." || exit 1

tools="cmake:cmake ninja:ninja-build make:make cc:gcc c++:g++ pkg-config:pkg-config" # command:package
headers="opencl-c-headers libhwloc-dev libcmocka-dev libdlpack-dev python3-dev python3-venv valgrind gfortran"
libraries="libopenblas0-pthread libopenblas0-openmp libblis4-openmp libblis4-pthread libblas3 liblapack3
    pocl-opencl-icd ocl-icd-libopencl1 libclblast1
    libfftw3-double3 libfftw3-single3 libgomp1 libblas-test liblapack-test"
[ "$(uname -m)" = x86_64 ] && libraries="$libraries libxsmm-dev" # Debian has it for this processor only
log=build/bootstrap.log
gave_up=build/bootstrap.gave-up # lists what could not be installed, so that later calls do not try again
mkdir -p build
[ "${1-}" = --again ] && rm -f "$gave_up"

missing_packages() {
    command -v dpkg-query >/dev/null || return 0
    for package in "$@"; do
        case $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) in
        *" installed") ;;
        *) echo "$package" ;;
        esac
    done
    return 0
}

missing_tools() {
    for pair in "$@"; do
        command -v "${pair%:*}" >/dev/null || echo "${pair#*:}"
    done
}
missing_all() {
    missing_tools $tools
    missing_packages $headers $libraries
    wheels_missing && echo wheels
}

# A checksum of the lists of wheels.
wheels_wanted() { cat tools/requirements.txt tools/libraries.txt | cksum | tr -d ' '; }
wheels_missing() { [ "$(cat .venv/wheels 2>/dev/null)" != "$(wheels_wanted)" ]; }

install_packages() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    echo "installing: $(echo $*)"
    export DEBIAN_FRONTEND=noninteractive
    {
        apt-get -q -o Acquire::Retries=1 -o Acquire::http::Timeout=20 update
        # An unknown name must not prevent the installation of the others.
        apt-get -q -y --no-install-recommends install "$@" ||
            for package in "$@"; do apt-get -q -y --no-install-recommends install "$package"; done
    } >>"$log" 2>&1
}

install_wheels() {
    echo "installing Python packages into .venv"
    pip="-m pip --disable-pip-version-check -q --retries 1 --timeout 20 install"
    {
        { [ -x .venv/bin/python ] || python3 -m venv .venv; } || return 1
        .venv/bin/python $pip -r tools/requirements.txt || return 1
        .venv/bin/python $pip --no-deps -r tools/libraries.txt || return 1
    } >>"$log" 2>&1
    wheels_wanted >.venv/wheels
}

wanted=$(missing_all)
if [ -n "$wanted" ] && [ "$wanted" != "$(cat "$gave_up" 2>/dev/null)" ]; then
    : >"$log"
    packages=$(echo "$wanted" | grep -v '^wheels$')
    [ -n "$packages" ] && install_packages $packages
    wheels_missing && install_wheels
    wanted=$(missing_all)
    rm -f "$gave_up"
    [ -n "$wanted" ] && echo "$wanted" >"$gave_up"
fi

[ -d .venv/lib ] && command -v cc >/dev/null && tools/libxsmm.sh .venv/lib >>"$log" 2>&1

# Prints what is missing, and the consequences.
say() { echo "bootstrap: $*" >&2; }
reported=
if [ -e /usr/lib/libxsmm.a ] && ! ls .venv/lib/libxsmm.so.* >/dev/null 2>&1; then
    reported=1
    say "libxsmm could not be linked into .venv/lib: it is missing for small products"
fi
lacking=$(missing_packages $libraries)
[ -n "$lacking" ] && reported=1 && say "not installed: $(echo $lacking): fewer libraries are found; the built-in 'native' always works"
lacking=$(missing_packages libcmocka-dev)
[ -n "$lacking" ] && reported=1 && say "not installed: $lacking: the C tests are not built"
lacking=$(missing_packages libhwloc-dev)
[ -n "$lacking" ] && reported=1 && say "not installed: $lacking: the processor's layout is read from sysfs only"
lacking=$(missing_packages python3-dev)
[ -n "$lacking" ] && reported=1 && say "not installed: $lacking: the Python module is not built"
lacking=$(missing_tools c++:g++; missing_packages libdlpack-dev)
[ -n "$lacking" ] && reported=1 && say "not installed: $(echo $lacking): the header checks that need it are skipped"
if wheels_missing; then
    reported=1
    say "no complete .venv (python3-venv and network needed): MKL, oneDNN and NumPy's OpenBLAS are missing"
    .venv/bin/python -c 'import numpy, pytest, xdist' 2>/dev/null || say "no NumPy, pytest and pytest-xdist in .venv: the tests of the command are skipped"
fi
if [ -n "$reported" ]; then
    say "as root, with a network, 'make bootstrap' installs these; log of the last attempt: $log"
fi

for program in cmake cc; do
    command -v "$program" >/dev/null || {
        say "'$program' is not installed: nothing can be built (Debian: apt-get install cmake gcc ninja-build)"
        exit 1
    }
done
command -v ninja >/dev/null || command -v make >/dev/null || { say "neither ninja nor make is installed"; exit 1; }
exit 0
