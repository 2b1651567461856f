#!/bin/sh
# The main job of `make run`: lists the libraries of this machine, then multiplies the matrices of examples/data on each of
# them that can, and shows which one would be chosen and why. Then a factorization and a transform, each with all candidates.
set -eu
cd "$(dirname "$0")/.."
[ -d .venv ] && export VIRTUAL_ENV="$PWD/.venv"
backplane=build/backplane
data=examples/data

"$backplane" list
for product in "digits_t digits" "digits digits_t" "digits_f64 axes_f64"; do
    set -- $product
    echo
    echo "$1 @ $2"
    "$backplane" compare matmul "$data/$1.npy" "$data/$2.npy"
done
echo
echo "singular values of digits_f64, and the spectra of its rows"
"$backplane" eval svdvals "$data/digits_f64.npy" -o build/singular_values.npy --explain
echo
"$backplane" eval rfft "$data/digits_f64.npy" -o build/spectra.npy --explain
