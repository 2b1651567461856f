"""Checks that the numbers of settings, which are compiled into programs, match setting_numbers.txt: each number is used once,
and none is skipped, changed, removed or reused. `make symbols` adds new numbers to the list; it changes none."""

import re
import sys

import common

TABLE = "include/backplane/settings_table.h"
PINNED = common.ROOT / "tests/checks/setting_numbers.txt"
ROW = re.compile(r'^ +X\(\w+, (0|[1-9][0-9]*), "([a-z0-9_.]+)",', re.M)


def read_table(failures):
    """Returns the name of each number. Adds a failure for each entry that is malformed or has a used number."""
    text, names = common.read(TABLE), {}
    for start in re.finditer(r"^ +X\(", text, re.M):
        row = ROW.match(text, start.start())
        where = f"{TABLE}:{common.line_of(text, start.start())}"
        if not row:
            failures.append(f"{where}: an entry must start with X(identifier, number, \"name\",")
        elif int(row[1]) in names:
            failures.append(f"{where}: {row[2]} has the number {row[1]}, which {names[int(row[1])]} has")
        else:
            names[int(row[1])] = row[2]
    return names


def read_pinned(failures):
    names = {}
    for line in PINNED.read_text().splitlines() if PINNED.exists() else []:
        number, name = line.split()
        if int(number) in names or name in names.values():
            failures.append(f"{PINNED.name}: '{line}' pins a number or a name again")
        names[int(number)] = name
    return names


def main():
    failures = []
    names, pinned = read_table(failures), read_pinned(failures)
    for number, name in sorted(pinned.items()):
        if names.get(number) != name:
            failures.append(f"{number} is pinned as {name}, and in the table it is {names.get(number, 'no setting')}")
    failures += [f"the number {number} is skipped" for number in range(len(names)) if number not in names]
    if "--write" in sys.argv and not failures:
        pinned = names
        PINNED.write_text("".join(f"{number} {name}\n" for number, name in sorted(pinned.items())))
    failures += [f"{number} {names[number]} is not pinned: make symbols" for number in sorted(names.keys() - pinned.keys())]
    common.finish(failures, len(pinned))


main()
