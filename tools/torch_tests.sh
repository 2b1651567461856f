#!/bin/sh
# Installs PyTorch into build/torch-tests, which takes some gigabytes, and runs the Python tests that need it.
# Usage: tools/torch_tests.sh [arguments of pytest]
set -eu
cd "$(dirname "$0")/.."
environment=build/torch-tests
[ -x "$environment/bin/python" ] || python3 -m venv "$environment"
"$environment/bin/python" -c 'import torch, numpy, pytest, hypothesis, ml_dtypes' 2>/dev/null ||
    "$environment/bin/pip" install --quiet torch numpy pytest hypothesis ml_dtypes expecttest scipy
export BACKPLANE_BUILD="$PWD/build"
# shellcheck disable=SC2046  # names of tests have no spaces
exec "$environment/bin/python" tests/inherited.py build -m pytest -q $(grep -l 'importorskip("torch"' tests/python/*.py) "$@"
