#!/bin/sh
# Runs the tests of linear algebra and Fourier transforms of the array API suite (github.com/data-apis/array-api-tests) on
# backplane.utils.array_namespace() of NumPy's arrays. Usage: tools/array_api.sh SUITE [arguments of pytest]; SUITE is a checkout with its
# submodule array-api. Tests of tools/array_api_skips.txt are skipped, for the reasons in it.
set -u
if [ ! -d "${1:-}/array_api_tests" ]; then
    echo "make array-api: SUITE is '${1:-}'; it must be a checkout of data-apis/array-api-tests, with its submodule array-api" >&2
    exit 2
fi
suite=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/.." || exit 2
root=$PWD
packages=$root/build/array-api
[ -d "$packages/array_api_compat" ] || .venv/bin/python -m pip --disable-pip-version-check -q install --no-deps --target "$packages" ndindex array-api-compat \
    pytest-json-report pytest-metadata || exit 2
cd "$suite" || exit 2
XDG_CONFIG_HOME=$root/build/array-api-config PYTHONPATH=$packages:$root/tools ARRAY_API_TESTS_MODULE=array_api_namespace \
    ARRAY_API_TESTS_VERSION=2025.12 "$root/.venv/bin/python" -B -m pytest -q -p no:cacheprovider --disable-warnings --skips-file "$root/tools/array_api_skips.txt" \
    array_api_tests/test_linalg.py array_api_tests/test_fft.py array_api_tests/test_signatures.py array_api_tests/test_has_names.py \
    -k "linalg or fft" --hypothesis-disable-deadline "$@"
