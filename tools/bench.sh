#!/bin/sh
# Runs each benchmark that was built, one after the other, with .venv's libraries among those found. One with a Python
# driver of its name (bench/NAME.py) is run by that, beside NumPy's and PyTorch's times, where .venv has NumPy.
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
