"""Checks that files have at most 600 lines, and README.md at most 100. clang-format limits the width of lines. Stubs that a program writes
have one source, which is checked, and are not read by people."""

import common

MOST_LINES = 600
MOST_README_LINES = 100
FOLDERS = ("src", "include", "python", "tests", "bench", "examples", "tools", "cmake")
KINDS = {".c", ".h", ".cl", ".cpp", ".hpp", ".py", ".pyi", ".sh", ".cmake"}


def main():
    failures, checked = [], 0
    for folder in FOLDERS:
        for path in common.sources(folder, "*"):
            if path.suffix not in KINDS:
                continue
            text = common.read(path)
            if path.suffix == ".pyi" and "Written by tools/" in text.partition("\n")[0]:
                continue
            checked += 1
            lines = len(text.splitlines())
            if lines > MOST_LINES:
                failures.append(f"{path}: {lines} lines, at most {MOST_LINES}")
    readme = len(common.read("README.md").splitlines())
    if readme > MOST_README_LINES:
        failures.append(f"README.md: {readme} lines, at most {MOST_README_LINES}")
    common.finish(failures, checked + 1)


main()
