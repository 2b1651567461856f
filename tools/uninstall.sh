#!/bin/sh
# Removes what `make install` installs with the same PREFIX and DESTDIR, and the folders that are then empty, if they are Backplane's or
# `make install` made them. Other files stay. Usage: tools/uninstall.sh BUILD PREFIX [DESTDIR]
set -eu
build=$PWD/$1 destination=${3:-}
case $2 in /*) prefix=$2 ;; *) prefix=$PWD/$2 ;; esac
case $destination in '' | /*) ;; *) destination=$PWD/$destination ;; esac
made=$build/installed-folders # by tools/install.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The list of files comes from an installation into an empty directory, because the manifest of CMake may be of another prefix.
if ! DESTDIR=$work/tree cmake --install "$build" --prefix "$prefix" >"$work/log" 2>&1; then
    cat "$work/log" >&2
    exit 1
fi
DESTDIR=$work/tree cmake --install "$build" --prefix "$prefix" --component debug >"$work/log" 2>&1 # empty if nothing is stripped
cd "$work/tree"
find . ! -type d >"$work/files"
find . -mindepth 1 -depth -type d >"$work/folders"
removed=0
while read -r file; do
    path=$destination/${file#./}
    if [ -e "$path" ] || [ -L "$path" ]; then
        rm -f "$path"
        removed=$((removed + 1))
    fi
done <"$work/files"
while read -r folder; do
    path=$destination/${folder#./}
    case $folder in
    *[bB]ackplane* | */.debug) ;;
    *) grep -q -x -F -e "$path" "$made" 2>/dev/null || continue ;;
    esac
    rmdir "$path" 2>/dev/null || :
done <"$work/folders"
if [ -e "$made" ]; then
    while read -r path; do
        [ ! -d "$path" ] || echo "$path"
    done <"$made" >"$work/kept"
    cp "$work/kept" "$made"
fi
if [ "$removed" -gt 0 ]; then
    echo "$removed files removed from $destination$prefix"
else
    echo "no file of Backplane is in $destination$prefix"
fi
