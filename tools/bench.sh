#!/bin/sh
# Runs all benchmarks that were built, with the libraries of .venv included. If .venv has NumPy and bench/NAME.py exists, runs
# that, which also times NumPy and PyTorch.
set -eu
cd "$(dirname "$0")/.."
[ -d .venv ] && export VIRTUAL_ENV="$PWD/.venv"
for program in build/bench/*; do
    [ -x "$program" ] && [ -f "$program" ] || continue
    name=${program##*/}
    echo "== $name"
    if [ -f "bench/$name.py" ] && .venv/bin/python -c 'import numpy' 2>/dev/null; then
        .venv/bin/python "bench/$name.py" "$program"
    else
        "$program"
    fi
done
