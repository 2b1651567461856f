#!/bin/sh
# The demonstration of `make run`: lists the libraries of this machine, then multiplies the matrices of examples/data on every
# candidate, and shows which one is chosen and why. Then a factorization and a transform, each with all candidates. Without a
# LAPACK library the factorization is left out. An argument names another build folder than build/.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
backplane=$build/backplane
data=examples/data
no_library=4 # an exit code of the command: `backplane help` lists them

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
if [ "$status" -eq "$no_library" ]; then
    echo "This needs a LAPACK library, and no usable one was found. Debian has one in libopenblas0 and in liblapack3."
elif [ "$status" -ne 0 ]; then
    exit "$status"
fi
echo
"$backplane" eval rfft "$data/digits_f64.npy" -o "$build/spectra.npy" --explain
