#!/bin/sh
# Installs a build folder into PREFIX, below DESTDIR if it is given, and notes the folders that it makes in BUILD/installed-folders, so that
# tools/uninstall.sh leaves none of them empty. Usage: tools/install.sh BUILD PREFIX [DESTDIR]
set -eu
build=$PWD/$1 destination=${3:-}
case $2 in /*) prefix=$2 ;; *) prefix=$PWD/$2 ;; esac
case $destination in '' | /*) ;; *) destination=$PWD/$destination ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! DESTDIR=$work/tree cmake --install "$build" --prefix "$prefix" >"$work/log" 2>&1; then
    cat "$work/log" >&2
    exit 1
fi
(cd "$work/tree" && find . -mindepth 1 -type d) | while read -r folder; do
    [ -d "$destination/${folder#./}" ] || echo "$destination/${folder#./}"
done >"$work/made"
cat "$work/made" >>"$build/installed-folders"
DESTDIR=$destination cmake --install "$build" --prefix "$prefix"
