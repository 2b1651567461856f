"""Files stay short enough to be read in one sitting: at most 600 lines. (The width of lines is clang-format's.)"""

import common

MOST_LINES = 600
FOLDERS = ("src", "include", "python", "tests", "bench", "examples", "tools", "cmake")
KINDS = {".c", ".h", ".py", ".pyi", ".sh", ".cmake"}


def main():
    failures, checked = [], 0
    for folder in FOLDERS:
        for path in common.sources(folder, "*"):
            if path.suffix not in KINDS:
                continue
            checked += 1
            lines = len(common.read(path).splitlines())
            if lines > MOST_LINES:
                failures.append(f"{path}: {lines} lines, at most {MOST_LINES}")
    common.finish(failures, checked)


main()
