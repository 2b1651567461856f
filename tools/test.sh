#!/bin/sh
# Runs every test of a build folder (default build): ctest, then pytest for the command and for the Python package. Runs all of
# them, and fails if one fails. The last lines are the counts, which are also written to FOLDER/test-counts.
# Usage: tools/test.sh [FOLDER [ctest]]; with ctest, pytest is skipped.
set -u
cd "$(dirname "$0")/.."
folder=${1:-build}
only=${2:-}
failed=0
counts=$folder/test-counts
: >"$counts"
# These variables limit num_threads and would change the results of tests.
unset OMP_NUM_THREADS OMP_THREAD_LIMIT OPENBLAS_NUM_THREADS GOTO_NUM_THREADS MKL_NUM_THREADS BLIS_NUM_THREADS

count() { echo "$folder: $1: $2" >>"$counts"; }

# Runs a command, shows its output, and uses its last line that matches as the count. Usage: run NAME PATTERN COMMAND...
run() {
    name=$1 pattern=$2
    shift 2
    { "$@" 2>&1; echo $? >"$folder/test-status"; } | tee "$folder/test-log"
    [ "$(cat "$folder/test-status")" = 0 ] || failed=1
    count "$name" "$(grep -E "$pattern" "$folder/test-log" | tail -n 1 | sed 's/^=* *//; s/ *=*$//')"
}

run ctest 'tests? passed' ctest --test-dir "$folder" --output-on-failure --no-tests=error -j2
if [ "$only" = ctest ]; then
    :
elif .venv/bin/python -c 'import numpy, pytest' 2>/dev/null; then
    export LSAN_OPTIONS="suppressions=$PWD/tests/lsan.supp:print_suppressions=0"
    export TSAN_OPTIONS="die_after_fork=0:ignore_noninstrumented_modules=1:suppressions=$PWD/tests/tsan.supp:print_suppressions=0"
    export BACKPLANE_BUILD="$PWD/$folder"
    run command ' in [0-9.]+s' .venv/bin/python -m pytest -q tests/cli
    if [ ! -e "$folder/python/backplane/_core.abi3.so" ]; then
        count Python "SKIPPED, because its extension was not built in $folder (see the output of cmake)"
    elif ! .venv/bin/python -c 'import hypothesis' 2>/dev/null; then
        count Python "SKIPPED, because .venv has no hypothesis (see make bootstrap)"
    else
        run Python ' in [0-9.]+s' .venv/bin/python -m pytest -q tests/python
    fi
else
    count command "SKIPPED, because .venv has no NumPy and pytest (see make bootstrap)"
fi
echo
cat "$counts"
exit $failed
