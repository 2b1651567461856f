#!/bin/sh
# Runs the native provider's AVX-512 kernels on an emulated processor with the project's own tests. Fails if a test fails
# or if other kernels would run. See docs/explanation/avx512.md. Usage: tools/avx512/native.sh [PART...]
# Parts (default: all): explain bits special layouts ops accuracy fft fft_special linalg_bits
# linalg linalg_failures norm. The part integers also runs VPDPWSSD with CPU=corei7_icelake_u. One more part, bf16, needs an emulator with AVX512_BF16: Bochs 3, and CPU=sapphire_rapids.
#   BUILD=build-avx512   folder to build in
#   EVERY=8              the accuracy tests make every 8th check only; 1: all checks
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

# The object files must contain AVX-512 instructions.
count=$(objdump -d "$build/CMakeFiles/provider_native_gemm.dir/src/providers/native/gemm/kernel_avx512bf16.c.o" | grep -c vdpbf16ps)
echo "kernel_avx512bf16: $count products of bf16 pairs"
for kernels in avx512vnni avxvnni; do
    count=$(objdump -d "$build/CMakeFiles/provider_native_gemm.dir/src/providers/native/gemm/kernel_integer_$kernels.c.o" | grep -c vpdpwssd)
    echo "kernel_integer_$kernels: $count products of pairs of integers"
done
for kernels in native_gemm.dir/src/providers/native/gemm/kernel_avx512 native_fft_avx512.dir/src/providers/native/fft/kernel_set \
    native_linalg_avx512.dir/src/providers/native/linalg/interleaved_set \
    native_linalg_avx512.dir/src/providers/native/linalg/matrix_norm_set; do
    object=$build/CMakeFiles/provider_$kernels.c.o
    count=$(objdump -d "$object" | grep -cE 'vfn?m(add|sub)(132|213|231)p[sd] .*%zmm' || true)
    echo "$object: $count multiply-adds of 64-byte registers"
    [ "$count" -gt 0 ]
done

# link OUTPUT AREA FILE...: links a program from files and the shared code of an area's tests, as CMake does.
link() {
    output=$work/$1
    area=$2
    shift 2
    wide=$(find "$build/tests/CMakeFiles/${area}_wide.dir" -name '*.o' 2> /dev/null || true)
    # shellcheck disable=SC2086 # names without blanks
    ${CC:-gcc} -std=c17 -D_GNU_SOURCE= -O2 -g1 -Wall -Wextra -Wconversion -Werror -Wno-psabi -Iinclude -Isrc \
        -Itests "-Itests/$area" -o "$output" "$@" "tests/$area"/support_*.c tests/support/*.c \
        $wide "$build/libbackplane_internal.a" -lcmocka -ldl -lpthread -lm
}
# only AREA TEST FUNCTION...: links a test that runs only the AVX-512 kernels. The functions are wrapped by the area's file.
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
for test in accuracy reproducibility special; do
    only native "$test" runs_here check_product
done
only native bf16 runs_here check_product bp__native_bf16_set
link only_native_integer native tests/native/test_integer.c tools/avx512/only.c -Wl,--wrap=bp__native_integers \
    -Wl,--wrap=bp__native_vnni
for test in accuracy reproducibility; do
    only native_fft "$test" fft_runs_here fft_make fft_execute fft_error
done
for test in accuracy failures norm; do
    only native_linalg "$test" runs_here run_task check_task
done
link identical native tools/avx512/identical.c
link identical_linalg native_linalg tools/avx512/identical_linalg.c

command_of() {
    case $1 in
    # The library chooses the instruction set itself, and must choose AVX-512 for every type.
    explain) echo "for type in f16 bf16 f32 f64 c64 c128; do" \
        "$build/backplane explain matmul \$type 200x200 200x200 > /tmp/text; cat /tmp/text;" \
        "grep -q 'packed avx512' /tmp/text || exit; done" ;;
    bits) echo "$work/identical" ;;
    special) echo "$work/only_native_special" ;;
    accuracy) echo "EVERY=$every $work/only_native_accuracy" ;;
    bf16) echo "KERNELS=bf16 $work/only_native_bf16 &&" \
        "KERNELS=bf16 TESTS=test_instruction* $work/only_native_reproducibility &&" \
        "KERNELS=bf16 $work/only_native_special && KERNELS=bf16 EVERY=$every $work/only_native_accuracy" ;;
    layouts) echo "TESTS=test_rows_and_layouts $work/only_native_reproducibility" ;;
    # Plans are slow in the emulator, even if their transforms are not compared.
    fft) echo "TESTS=test_every_small_length EVERY=$every $work/only_native_fft_accuracy &&" \
        "TESTS=test_difficult_lengths EVERY=$every $work/only_native_fft_accuracy" ;;
    fft_special) echo "TESTS=test_special_values $work/only_native_fft_reproducibility" ;;
    linalg) echo "EVERY=$every $work/only_native_linalg_accuracy" ;;
    linalg_bits) echo "$work/identical_linalg" ;;
    linalg_failures) echo "$work/only_native_linalg_failures" ;;
    # The emulated machine has one processor. The thread test would add millions of numbers without testing anything.
    norm) echo "SKIP=test_threads $work/only_native_linalg_norm" ;;
    # Every size of one test; TESTS='*' takes an hour. The emulated processor's highest instruction set is one of those that the test compares.
    integers) echo "$build/backplane explain matmul u8 200x200 200x200 && TESTS=${TESTS:-odd_sizes} $work/only_native_integer" ;;
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
