#!/bin/sh
# Runs every test of a build folder (default build): ctest, then pytest over the command and over the Python package. All
# always run; fails when one did. Usage: tools/test.sh [FOLDER]
set -u
cd "$(dirname "$0")/.."
folder=${1:-build}
failed=0
# Limits of num_threads would change what the tests find.
unset OMP_NUM_THREADS OMP_THREAD_LIMIT OPENBLAS_NUM_THREADS GOTO_NUM_THREADS MKL_NUM_THREADS BLIS_NUM_THREADS
ctest --test-dir "$folder" --output-on-failure --no-tests=error -j2 || failed=1
if .venv/bin/python -c 'import numpy, pytest' 2>/dev/null; then
    export LSAN_OPTIONS="suppressions=$PWD/tests/lsan.supp:print_suppressions=0"
    export TSAN_OPTIONS="ignore_noninstrumented_modules=1:suppressions=$PWD/tests/tsan.supp:print_suppressions=0"
    export BACKPLANE_BUILD="$PWD/$folder"
    .venv/bin/python -m pytest -q tests/cli || failed=1
    if [ ! -e "$folder/python/backplane/_core.abi3.so" ]; then
        echo "the tests of the Python package were SKIPPED: its extension was not built into $folder (cmake says why)"
    elif ! .venv/bin/python -c 'import hypothesis' 2>/dev/null; then
        echo "the tests of the Python package were SKIPPED: .venv has no hypothesis (make bootstrap says why)"
    else
        .venv/bin/python -m pytest -q tests/python || failed=1
    fi
else
    echo "the tests of the command were SKIPPED: .venv has no NumPy and pytest (make bootstrap says why)"
fi
exit $failed
