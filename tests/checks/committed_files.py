"""Checks that no committed file is a compiled program or object, and that none is larger than 1 MiB. Both make every clone
larger for ever, and cannot be reviewed."""

import pathlib

import common

MOST_BYTES = 1 << 20
LARGER = set()  # names of committed files that may be larger
COMPILED = {b"\x7fELF": "an ELF file", b"!<arch>\n": "an archive of objects", b"BC\xc0\xde": "LLVM bitcode"}
SEEDS = ("tests/fuzz/corpus/elf/", "tests/fuzz/corpus/inspect/")  # inputs of the ELF reader, which are headers of ELF files


def fault(name, head, size, allowed):
    """Returns what is wrong with a file of a name, its first bytes and its size, or None."""
    for magic, what in COMPILED.items():
        if head.startswith(magic) and not name.startswith(SEEDS):
            return f"{name}: is {what}, which is built and not committed; remove it, or write it into the build folder"
    if size > MOST_BYTES and name not in allowed:
        return f"{name}: {size} bytes, at most {MOST_BYTES}; files that may be larger are named in {pathlib.Path(__file__).name}"
    return None


def faults_of_the_rule():
    """Returns where the rule itself fails: it must refuse each kind, and let the others pass."""
    refused = [("a", magic, 100, ()) for magic in COMPILED] + [("a", b"text", MOST_BYTES + 1, ())]
    passed = [("a", b"text", MOST_BYTES, ()), ("a", b"", 0, ()), ("a", b"text", MOST_BYTES + 1, {"a"}),
              (SEEDS[0] + "a", b"\x7fELF", 100, ())]
    return [f"refused: {case}" for case in passed if fault(*case)] + [f"passed: {case}" for case in refused if not fault(*case)]


def main():
    failures, checked = faults_of_the_rule(), 0
    names = [name for name in common.committed() if (common.ROOT / name).is_file()]
    for name in names:
        path = common.ROOT / name
        checked += 1
        with path.open("rb") as file:
            failures.append(fault(str(name), file.read(8), path.stat().st_size, LARGER))
    failures += [f"{name}: named as larger, but is not there" for name in LARGER - {str(name) for name in names}]
    common.finish([text for text in failures if text], checked)


main()
