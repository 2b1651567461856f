#!/bin/sh
# Installs the packages that a Makefile target needs in addition to tools/bootstrap.sh (apt, as root). Fails with the names of
# missing packages. Usage: tools/need.sh TARGET WHAT:PACKAGE ...
# WHAT is a command, or a path with a slash. If it is empty, dpkg is queried for the package.
set -u
cd "$(dirname "$0")/.." || exit 1
target=$1
shift
log=build/need.log

is_there() {
    case $1 in
    */*) [ -e "${1%:*}" ] ;;
    :*) ! command -v dpkg-query >/dev/null || dpkg-query -W -f='${Status}' "${1#:}" 2>/dev/null | grep -q ' installed$' ;;
    *) command -v "${1%:*}" >/dev/null ;;
    esac
}

missing() {
    for pair in "$@"; do
        is_there "$pair" || echo "${pair##*:}"
    done
}

packages=$(missing "$@")
if [ -n "$packages" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing: $(echo $packages)"
    mkdir -p build
    export DEBIAN_FRONTEND=noninteractive
    {
        apt-get -q -o Acquire::Retries=1 -o Acquire::http::Timeout=20 update
        apt-get -q -y --no-install-recommends install $packages
    } >"$log" 2>&1
    packages=$(missing "$@")
    [ -z "$packages" ] || echo "make $target: log: $log" >&2
fi
if [ -n "$packages" ]; then
    echo "make $target: not installed: $(echo $packages) (Debian packages; as root, with a network, make installs them)" >&2
    exit 1
fi
