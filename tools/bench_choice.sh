#!/bin/sh
# Scores the choice of a library on this machine, newly calibrated, on one thread and on all, untuned and tuned; then times
# NumPy, SciPy and PyTorch next to Backplane. Writes one text file into a folder (default: docs/benchmarks/data).
#
#     tools/bench_choice.sh [folder]
#
#   MACHINE        name of the machine in the file (default: its processor)
#   PROBLEMS       random problems of each family (200)
#   LIMIT          seconds after which the random problems of a family end (15)
#   PEERS_PYTHON   Python with the peers (default: .venv's, otherwise python3)
#
# It takes ten to fifteen minutes on two cores. Nothing else should run meanwhile.
set -eu
folder=${1:-docs/benchmarks/data}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cd "$(dirname "$0")/.."
processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
machine=${MACHINE:-${processor:-$(uname -m)}}
short=$(printf '%s' "$machine" | tr '[:upper:]' '[:lower:]' | tr -cs 'a-z0-9' '-' | sed 's/^-//; s/-$//')
file=$folder/choice-$short-$(date -u +%Y-%m-%d).txt
python=${PEERS_PYTHON:-.venv/bin/python}
command -v "$python" >/dev/null || python=python3
[ -d .venv ] && export VIRTUAL_ENV="$PWD/.venv"

# The choice must not depend on what was measured before, nor on the user's settings.
own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
trap 'exit 130' INT TERM
export BACKPLANE_CACHE_DIR="$own/cache" XDG_CONFIG_HOME="$own/config" PYTHONDONTWRITEBYTECODE=1
export KMP_BLOCKTIME=20 # as bench/choice sets it; another value would make the measured times invalid
mkdir -p "$BACKPLANE_CACHE_DIR" "$XDG_CONFIG_HOME"

failed=0
run() {
    echo "\$ $*"
    begin=$(date +%s)
    "$@" || { echo "exit code $?"; failed=1; }
    echo "($(($(date +%s) - begin)) s)"
    echo
}

{
    echo "machine: $machine"
    echo "processor: $processor, $(nproc) cores available, Linux $(uname -r | sed 's/-.*//')"
    echo "version: $(git describe --always --dirty 2>/dev/null || echo unknown), $(date -u '+%Y-%m-%d %H:%M UTC')"
    echo "load before: $(cut -d ' ' -f 1-3 /proc/loadavg)"
    echo
    for threads in 1 all; do
        [ "$threads" = all ] && [ "$(nproc)" = 1 ] && continue
        run build/bench/choice --threads "$threads" --random "${PROBLEMS:-200}" --seconds "${LIMIT:-15}" --tuned
    done
    if "$python" -c 'import numpy' 2>/dev/null; then
        run "$python" bench/peers.py build/python
    else
        echo "$python has no NumPy: peers are not measured"
    fi
    echo "load after: $(cut -d ' ' -f 1-3 /proc/loadavg)"
} >"$file" 2>&1
sed -n '/^### /,/^$/p; /^|/p; /^Tuned scores/,/^A warm/p; /exit code/p' "$file" | uniq
echo "$file"
exit "$failed"
