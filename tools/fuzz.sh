#!/bin/sh
# Runs each fuzz target of build-fuzz for FUZZ_SECONDS (default 60) from its seeds, then FUZZ_CALLS (default 20000) random
# calls of each family from the seed FUZZ_SEED (default 1). Writes new inputs and findings to build-fuzz/corpus and
# build-fuzz/findings, never to the source tree. Fails if a target fails. The last line has the counts.
set -u
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-60}
calls=${FUZZ_CALLS:-20000}
failed=
ran=0
inputs=0
for target in build-fuzz/fuzz_*; do
    [ -x "$target" ] || continue
    name=${target##*/fuzz_}
    mkdir -p "build-fuzz/corpus/$name" "build-fuzz/findings/$name"
    echo "fuzz_$name: $seconds s"
    ran=$((ran + 1))
    "$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 \
        -artifact_prefix="build-fuzz/findings/$name/" "build-fuzz/corpus/$name" "tests/fuzz/corpus/$name" \
        >"build-fuzz/$name.log" 2>&1
    status=$?
    grep -E 'number_of_executed_units|ERROR|SUMMARY' "build-fuzz/$name.log" | sed 's/^/    /'
    executed=$(sed -n 's/^stat::number_of_executed_units: *\([0-9]*\)$/\1/p' "build-fuzz/$name.log")
    inputs=$((inputs + ${executed:-0}))
    [ $status = 0 ] || failed="$failed fuzz_$name"
done
for family in gemm linalg fft einsum conv pool batch_norm layer_norm attention rnn linear elementwise reduce random; do
    build-fuzz/fuzz_families $family "$calls" "${FUZZ_SEED:-1}" 2>"build-fuzz/$family.log" || failed="$failed $family"
    build-fuzz/fuzz_families $family $((calls / 10)) "${FUZZ_SEED:-1}" empty 2>"build-fuzz/$family-empty.log" ||
        failed="$failed $family-empty"
done
echo
if [ -n "$failed" ]; then
    echo "failed:$failed (inputs in build-fuzz/findings, logs build-fuzz/*.log)"
fi
echo "build-fuzz: $ran fuzz targets, $inputs inputs, $(echo $failed | wc -w | tr -d ' ') targets with findings"
[ -z "$failed" ] && [ $ran -gt 0 ]
