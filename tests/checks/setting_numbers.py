"""Checks that the numbers of settings, which are compiled into programs, match setting_numbers.txt: each number is used once,
and none is skipped, changed, removed or reused. `make symbols` adds new numbers to the list; it changes none."""

import sys

import common

TABLE = "include/backplane/settings_table.h"
PINNED = common.ROOT / "tests/checks/setting_numbers.txt"
FAMILIES = "include/backplane/operation.h"


def read_table(failures):
    """Returns the name of each number. Adds a failure for each entry that has a used number."""
    names = {}
    for _, number, name in common.settings():
        if number in names:
            failures.append(f"{TABLE}, or BP_FAMILY_MAP of {FAMILIES}: {name} has the number {number}, which {names[number]} has")
        else:
            names[number] = name
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
