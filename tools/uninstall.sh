#!/bin/sh
# Removes what `make install` installs with the same PREFIX and DESTDIR, and the directories of Backplane that are then empty.
# Other files stay. Usage: tools/uninstall.sh BUILD PREFIX [DESTDIR]
set -eu
build=$PWD/$1 destination=${3:-}
case $2 in /*) prefix=$2 ;; *) prefix=$PWD/$2 ;; esac
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
find . -depth -type d \( -path '*[bB]ackplane*' -o -name .debug \) >"$work/folders"
removed=0
while read -r file; do
    path=$destination/${file#./}
    if [ -e "$path" ] || [ -L "$path" ]; then
        rm -f "$path"
        removed=$((removed + 1))
    fi
done <"$work/files"
while read -r folder; do
    rmdir "$destination/${folder#./}" 2>/dev/null || :
done <"$work/folders"
if [ "$removed" -gt 0 ]; then
    echo "$removed files removed from $destination$prefix"
else
    echo "no file of Backplane is in $destination$prefix"
fi
