#!/bin/sh
# Runs each benchmark that was built, one after the other, with .venv's libraries among those found.
set -eu
cd "$(dirname "$0")/.."
[ -d .venv ] && export VIRTUAL_ENV="$PWD/.venv"
for program in build/bench/*; do
    [ -x "$program" ] && [ -f "$program" ] || continue
    echo "== ${program##*/}"
    "$program"
done
