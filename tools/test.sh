#!/bin/sh
# Runs every test of a build folder (default build): ctest, then pytest over the command and over the Python package. All
# always run; fails when one did. The last lines are the counts, kept in FOLDER/test-counts.
# Usage: tools/test.sh [FOLDER [ctest]], where ctest leaves pytest out.
set -u
cd "$(dirname "$0")/.."
folder=${1:-build}
only=${2:-}
failed=0
counts=$folder/test-counts
: >"$counts"
# Limits of num_threads would change what the tests find.
unset OMP_NUM_THREADS OMP_THREAD_LIMIT OPENBLAS_NUM_THREADS GOTO_NUM_THREADS MKL_NUM_THREADS BLIS_NUM_THREADS

count() { echo "$folder: $1: $2" >>"$counts"; }

# Runs a command, shows what it says, and counts by the last line of it that matches. Usage: run NAME PATTERN COMMAND...
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
        count Python "SKIPPED, because its extension was not built into $folder (cmake says why)"
    elif ! .venv/bin/python -c 'import hypothesis' 2>/dev/null; then
        count Python "SKIPPED, because .venv has no hypothesis (make bootstrap says why)"
    else
        run Python ' in [0-9.]+s' .venv/bin/python -m pytest -q tests/python
    fi
else
    count command "SKIPPED, because .venv has no NumPy and pytest (make bootstrap says why)"
fi
echo
cat "$counts"
exit $failed
