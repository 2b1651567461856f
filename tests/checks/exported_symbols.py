"""Checks that libbackplane.so exports exactly the names in symbols.txt, including all functions of the public headers.
`make symbols` rewrites the list."""

import re
import sys

import common

PINNED = common.ROOT / "tests/checks/symbols.txt"


def main():
    lines = common.run("nm", "-D", "--defined-only", "--format=posix", common.build_folder() / "libbackplane.so").splitlines()
    exported = {line.split()[0].split("@")[0] for line in lines if line.split()[1] != "A"}
    if "--write" in sys.argv:
        PINNED.write_text("".join(name + "\n" for name in sorted(exported)))
    pinned = set(PINNED.read_text().split())
    failures = [f"{name} is exported and not in symbols.txt" for name in sorted(exported - pinned)]
    failures += [f"{name} is in symbols.txt and not exported" for name in sorted(pinned - exported)]
    for header in sorted((common.ROOT / "include/backplane").glob("*.h")):
        for name in re.findall(r"^BP_API [^#(]*?\b(bp_[a-z0-9_]+)\(", header.read_text(), re.M):
            if name not in exported:
                failures.append(f"{name} is declared in {header.name} and not exported")
    common.finish(failures, len(pinned))


main()
