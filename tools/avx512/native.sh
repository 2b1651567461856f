#!/bin/sh
# Runs the native provider's kernels for AVX-512 on an emulated processor, through the project's own tests, and fails when
# one of them does or when other kernels would run. See docs/avx512.md. Usage: tools/avx512/native.sh [PART...]
# Parts (all of them, unless some are named): explain bits special layouts ops accuracy
#   BUILD=build-avx512   folder to build in
#   EVERY=8              test_accuracy checks each 8th of its products; 1 for all of them
# and the variables of run.sh.
set -eu
cd "$(dirname "$0")/../.."
build=${BUILD:-build-avx512}
every=${EVERY:-8}
work=build/avx512
mkdir -p "$work"

cmake -S . -B "$build" > "$work/cmake.log"
cmake --build "$build" -j2 --target backplane_cli backplane_rooms native_wide test_ops_matmul test_ops_gemm \
    > "$work/make.log"

# That the object file has what its name says.
kernels=$build/CMakeFiles/provider_native.dir/src/providers/native/kernel_avx512.c.o
count=$(objdump -d "$kernels" | grep -cE 'vfn?m(add|sub)(132|213|231)p[sd] .*%zmm' || true)
echo "$kernels: $count multiply-adds of 64-byte registers"
[ "$count" -gt 0 ]

# A test of tests/native with what is given, as CMake builds it otherwise.
link() {
    output=$work/$1
    shift
    ${CC:-gcc} -std=c17 -D_GNU_SOURCE= -O2 -g1 -Wall -Wextra -Wconversion -Werror -Wno-psabi -Iinclude -Isrc -Itests/native \
        -o "$output" "$@" tests/native/support_*.c \
        "$build"/tests/CMakeFiles/native_wide.dir/native/wide/*.o "$build/libbackplane_rooms.a" \
        -lcmocka -ldl -lpthread -lm
}
for test in accuracy bits special; do
    link "only_$test" "tests/native/test_$test.c" tools/avx512/only.c -Wl,--wrap=runs_here,--wrap=check_product
done
link same_bits tools/avx512/same_bits.c

command_of() {
    case $1 in
    # The instruction set left to the library, which must take this one for every type.
    explain) echo "for type in f16 bf16 f32 f64 c64 c128; do" \
        "$build/backplane explain matmul \$type 200x200 200x200 > /tmp/text; cat /tmp/text;" \
        "grep -q 'packed avx512' /tmp/text || exit; done" ;;
    bits) echo "$work/same_bits" ;;
    special) echo "$work/only_special" ;;
    accuracy) echo "EVERY=$every $work/only_accuracy" ;;
    layouts) echo "TESTS=test_rows_and_layouts $work/only_bits" ;;
    ops) echo "$build/tests/test_ops_gemm && $build/tests/test_ops_matmul" ;;
    *) echo "tools/avx512/native.sh: no part is called $1" >&2; return 2 ;;
    esac
}
[ $# -gt 0 ] || set -- explain bits special layouts ops accuracy
parts=$*
set --
for part in $parts; do
    command=$(command_of "$part")
    set -- "$@" "$command"
done
exec tools/avx512/run.sh "$@"
