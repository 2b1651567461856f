#!/bin/sh
# Runs the demo of `make run`: lists the libraries of this machine, multiplies the matrices of examples/data on each library, and
# shows which one dispatch chooses and why. Then runs a factorization and a transform, each with all candidates, and a neural
# network. Skips the factorization if there is no LAPACK library, and the network if its weights cannot be downloaded. Usage: tools/run.sh [build folder]
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
backplane=$build/backplane
data=examples/data
no_candidate=4 # exit code of the command, see `backplane help`

"$backplane" list
for product in "digits_t digits" "digits digits_t" "digits_f64 axes_f64"; do
    set -- $product
    echo
    echo "$1 @ $2"
    "$backplane" compare matmul "$data/$1.npy" "$data/$2.npy"
done
echo
echo "singular values of digits_f64, and the spectra of its rows"
status=0
"$backplane" eval svdvals "$data/digits_f64.npy" -o "$build/singular_values.npy" --explain || status=$?
if [ "$status" -eq "$no_candidate" ]; then
    echo "This needs a LAPACK library, but no usable one was found. On Debian install libopenblas0 or liblapack3."
elif [ "$status" -ne 0 ]; then
    exit "$status"
fi
echo
"$backplane" eval rfft "$data/digits_f64.npy" -o "$build/spectra.npy" --explain

echo
echo "speech in examples/data/speech.wav, by the network silero-vad"
if ! .venv/bin/python examples/networks/fetch.py voice_activity "$build/models"; then
    echo "This needs the weights of the Python package silero-vad, which could not be downloaded from PyPI."
elif [ ! -x "$build/examples/voice_activity" ]; then
    echo "This needs the example programs, which were not built (-DBACKPLANE_EXAMPLES=OFF)."
else
    "$build/examples/voice_activity" --explain "$build/models/voice_activity.safetensors" "$data/speech.wav"
fi
