#!/bin/sh
# clang-tidy over the sources that build/ compiles, two files at a time.
set -eu
cd "$(dirname "$0")/.."
git ls-files -- 'src/*.c' 'examples/*.c' 'bench/*.c' |
    while read -r file; do grep -q "/$file\"" build/compile_commands.json && echo "$file"; done |
    xargs -P2 -n4 clang-tidy -p build --quiet --warnings-as-errors='*'
echo "clang-tidy: clean"
