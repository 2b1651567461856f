#!/bin/sh
# Runs the C tests of build-aarch64 under qemu. Programs of the build can start each other only where the kernel has a registration of
# the emulator: Debian's qemu-user-binfmt makes one. Tests that need it are left out where there is none, and the last lines count them.
set -u
cd "$(dirname "$0")/.." || exit 1
registration=/proc/sys/fs/binfmt_misc/qemu-aarch64

is_registered() { grep -qx enabled $registration 2>/dev/null; }

is_registered || tools/need.sh aarch64 /usr/libexec/qemu-binfmt/aarch64-binfmt-P:qemu-user-binfmt
if ! is_registered; then
    export LEFT_OUT=starts_programs
    export LEFT_OUT_REASON="their programs start others, for which the kernel needs qemu-user-binfmt: $registration is not enabled"
fi
exec tools/test.sh build-aarch64 ctest
