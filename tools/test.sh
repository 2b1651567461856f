#!/bin/sh
# Runs every test of a build folder (default build): ctest, then pytest for the command and for the Python package, both at once. Runs all
# of them, and fails if one fails. The last lines are the counts, which are also written to FOLDER/test-counts.
# Usage: tools/test.sh [FOLDER [ctest]]; with ctest, pytest is skipped. With TESTED_ALL=1 tests leave nothing out (`make test-all`).
# LEFT_OUT is a label of ctest whose tests are left out, and LEFT_OUT_REASON says why; the last lines count them.
set -u
cd "$(dirname "$0")/.."
folder=${1:-build}
only=${2:-}
failed=0
counts=$folder/test-counts
: >"$counts"
# These variables would change the results of tests. The tests themselves reset the rest of what they inherit. The two that name OpenBLAS's
# kernels stay: a machine sets them if the kernels that an older OpenBLAS chooses there are wrong.
for variable in $(env | sed -n 's/^\(\(BACKPLANE\|OMP\|OPENBLAS\|GOTO\|MKL\|BLIS\|KMP\)_[A-Z0-9_]*\)=.*/\1/p' |
    grep -v -x -e OPENBLAS_CORETYPE -e OPENBLAS_L2_SIZE); do
    unset "$variable"
done

count() { echo "$folder: $1: $2" >>"$counts"; }

# Runs a command, and keeps its output and exit status. Usage: keep NAME COMMAND...
keep() {
    log=$folder/test-log-$1
    shift
    { "$@" 2>&1; echo $? >"$log.status"; } | tee "$log"
}

# Uses the last line of a command's output that matches as its count. Usage: finish NAME PATTERN
finish() {
    [ "$(cat "$folder/test-log-$1.status")" = 0 ] || failed=1
    count "$1" "$(grep -E "$2" "$folder/test-log-$1" | tail -n 1 | sed 's/^=* *//; s/ *=*$//')"
}

left_out=long
[ -z "${TESTED_ALL:-}" ] || left_out=
[ -z "${LEFT_OUT:-}" ] || left_out=${left_out:+$left_out|}$LEFT_OUT
# One more at once than the smallest machine has processors, because some tests wait.
keep ctest ctest --test-dir "$folder" --output-on-failure --no-tests=error -j3 ${left_out:+--label-exclude "^($left_out)\$"}
finish ctest 'tests? passed'
skipped=$(grep -c 'Test *#.*\*\*\*Skipped' "$folder/test-log-ctest")
cases=$(awk '/ SKIPPED TEST\(S\)$/ { cases += $1 } END { print cases + 0 }' "$folder/Testing/Temporary/LastTest.log")
[ "$skipped$cases" = 00 ] || count ctest "skipped, for lack of what they need: $skipped of these tests, and $cases cases in others"
if [ -n "${LEFT_OUT:-}" ]; then
    number=$(ctest --test-dir "$folder" -N -L "^$LEFT_OUT\$" | sed -n 's/^Total Tests: //p')
    count ctest "$number more tests were left out, because $LEFT_OUT_REASON"
fi
if [ "$only" = ctest ]; then
    :
elif .venv/bin/python -c 'import numpy, pytest, xdist' 2>/dev/null; then
    export BACKPLANE_BUILD="$PWD/$folder"
    package=
    if [ ! -e "$folder/python/backplane/_core.abi3.so" ]; then
        count Python "SKIPPED, because its extension was not built in $folder (see the output of cmake)"
    elif ! .venv/bin/python -c 'import hypothesis' 2>/dev/null; then
        count Python "SKIPPED, because .venv has no hypothesis (see make bootstrap)"
    else
        keep Python .venv/bin/python tests/inherited.py "$folder" -m pytest -q -n 2 --dist loadfile tests/python >/dev/null &
        package=$!
        trap 'kill $package; exit 130' INT TERM
    fi
    # Two at once, as of the package: many of these tests wait.
    keep command .venv/bin/python -m pytest -q -n 2 --dist loadfile tests/cli
    finish command ' in [0-9.]+s'
    if [ -n "$package" ]; then
        wait "$package"
        cat "$folder/test-log-Python"
        finish Python ' in [0-9.]+s'
    fi
else
    count command "SKIPPED, because .venv has no NumPy, pytest and pytest-xdist (see make bootstrap)"
fi
echo
cat "$counts"
exit $failed
