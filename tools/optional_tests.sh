#!/bin/sh
# Installs packages that the bootstrap leaves out into build/MODULE-tests, and runs the Python tests that need that module there.
# Usage: tools/optional_tests.sh MODULE "PACKAGES" [arguments of pytest]
set -eu
cd "$(dirname "$0")/.."
module=$1
packages=$2
shift 2
environment=build/$module-tests
[ -x "$environment/bin/python" ] || python3 -m venv "$environment"
# shellcheck disable=SC2086  # a list of packages
"$environment/bin/python" -c "import $module, numpy, pytest, hypothesis, ml_dtypes" 2>/dev/null ||
    "$environment/bin/pip" install --quiet --disable-pip-version-check numpy pytest hypothesis ml_dtypes $packages
export BACKPLANE_BUILD="$PWD/build"
# shellcheck disable=SC2046  # names of tests have no spaces
exec "$environment/bin/python" tests/inherited.py build -m pytest -q $(grep -l "importorskip(\"$module\"" tests/python/*.py) "$@"
