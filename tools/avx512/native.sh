#!/bin/sh
# Runs the native provider's kernels for AVX-512 on an emulated processor, through the project's own tests, and fails when
# one of them does or when other kernels would run. See docs/avx512.md. Usage: tools/avx512/native.sh [PART...]
# Parts (all of them, unless some are named): explain bits special layouts ops accuracy fft fft_special linalg_bits
# linalg linalg_failures norm
#   BUILD=build-avx512   folder to build in
#   EVERY=8              the tests of accuracy make each 8th of their checks; 1 for all of them
# and the variables of run.sh.
set -eu
cd "$(dirname "$0")/../.."
build=${BUILD:-build-avx512}
every=${EVERY:-8}
work=build/avx512
mkdir -p "$work"

cmake -S . -B "$build" > "$work/cmake.log"
cmake --build "$build" -j2 --target backplane_cli backplane_internal native_wide native_linalg_wide test_ops_matmul \
    test_ops_gemm > "$work/make.log"

# That the object files have what their names say.
for kernels in native.dir/src/providers/native/kernel native_fft.dir/src/providers/native/fft/kernel \
    native_linalg.dir/src/providers/native/linalg/lanes \
    native_linalg.dir/src/providers/native/linalg/norm; do
    object=$build/CMakeFiles/provider_${kernels}_avx512.c.o
    count=$(objdump -d "$object" | grep -cE 'vfn?m(add|sub)(132|213|231)p[sd] .*%zmm' || true)
    echo "$object: $count multiply-adds of 64-byte registers"
    [ "$count" -gt 0 ]
done

# link OUTPUT AREA FILE...: a program of files with what the tests of an area share, as CMake builds those otherwise.
link() {
    output=$work/$1
    area=$2
    shift 2
    wide=$(find "$build/tests/CMakeFiles/${area}_wide.dir" -name '*.o' 2> /dev/null || true)
    # shellcheck disable=SC2086 # names without blanks
    ${CC:-gcc} -std=c17 -D_GNU_SOURCE= -O2 -g1 -Wall -Wextra -Wconversion -Werror -Wno-psabi -Iinclude -Isrc \
        "-Itests/$area" -o "$output" "$@" "tests/$area"/support_*.c \
        $wide "$build/libbackplane_rooms.a" -lcmocka -ldl -lpthread -lm
}
# only AREA TEST FUNCTION...: a test of an area on these kernels alone, with functions led through the area's file.
only() {
    output=only_$1_$2
    files="tests/$1/test_$2.c tools/avx512/only.c tools/avx512/only_$1.c"
    area=$1
    shift 2
    for function in "$@"; do
        files="$files -Wl,--wrap=$function"
    done
    # shellcheck disable=SC2086 # names without blanks
    link "$output" "$area" $files
}
for test in accuracy bits special; do
    only native "$test" runs_here check_product
done
for test in accuracy bits; do
    only native_fft "$test" fft_runs_here fft_make fft_execute fft_error
done
for test in accuracy failures norm; do
    only native_linalg "$test" runs_here run_task check_task
done
link same_bits native tools/avx512/same_bits.c
link same_bits_linalg native_linalg tools/avx512/same_bits_linalg.c

command_of() {
    case $1 in
    # The instruction set left to the library, which must take this one for every type.
    explain) echo "for type in f16 bf16 f32 f64 c64 c128; do" \
        "$build/backplane explain matmul \$type 200x200 200x200 > /tmp/text; cat /tmp/text;" \
        "grep -q 'packed avx512' /tmp/text || exit; done" ;;
    bits) echo "$work/same_bits" ;;
    special) echo "$work/only_native_special" ;;
    accuracy) echo "EVERY=$every $work/only_native_accuracy" ;;
    layouts) echo "TESTS=test_rows_and_layouts $work/only_native_bits" ;;
    # Plans take an emulator's time, even where their transforms are not compared.
    fft) echo "TESTS=test_every_small_length EVERY=$every $work/only_native_fft_accuracy &&" \
        "TESTS=test_awkward_lengths EVERY=$every $work/only_native_fft_accuracy" ;;
    fft_special) echo "TESTS=test_special_values $work/only_native_fft_bits" ;;
    linalg) echo "EVERY=$every $work/only_native_linalg_accuracy" ;;
    linalg_bits) echo "$work/same_bits_linalg" ;;
    linalg_failures) echo "$work/only_native_linalg_failures" ;;
    # Threads share long sums as on any processor, and the emulated machine has one: millions of numbers for nothing.
    norm) echo "SKIP=test_threads $work/only_native_linalg_norm" ;;
    ops) echo "$build/tests/test_ops_gemm && $build/tests/test_ops_matmul" ;;
    *) echo "tools/avx512/native.sh: no part is called $1" >&2; return 2 ;;
    esac
}
[ $# -gt 0 ] || set -- explain bits special layouts ops accuracy fft fft_special linalg_bits linalg \
    linalg_failures norm
parts=$*
set --
for part in $parts; do
    command=$(command_of "$part")
    set -- "$@" "$command"
done
exec tools/avx512/run.sh "$@"
