#!/bin/sh
# Runs clang-tidy on the sources that build/ compiles, two files at a time. Each file is checked once, in a process of its own:
# in the second compilation of one process, clang 14 reports every va_list as uninitialised.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/lint
python3 - <<'END'
import json
with open("build/compile_commands.json") as commands:
    first_of_file = {command["file"]: command for command in reversed(json.load(commands))}
with open("build/lint/compile_commands.json", "w") as commands:
    json.dump(list(first_of_file.values()), commands)
END
git ls-files -- 'src/*.c' 'python/src/*.c' 'examples/*.c' 'bench/*.c' |
    while read -r file; do grep -q "/$file\"" build/lint/compile_commands.json && echo "$file"; done |
    xargs -P2 -n1 clang-tidy -p build/lint --quiet --warnings-as-errors='*'
echo "clang-tidy: clean"
