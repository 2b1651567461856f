"""Helpers of the source checks: iterate over source files, and exit with the codes that ctest expects."""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77  # SKIP_RETURN_CODE in tests/CMakeLists.txt

COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def sources(folder, pattern="*.[ch]"):
    """Returns the sorted paths below a folder of the project, relative to its root."""
    return sorted(path.relative_to(ROOT) for path in (ROOT / folder).rglob(pattern))


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def code_of(path):
    """Returns the text of a C file with comments and string literals replaced by blanks; line numbers stay the same."""
    return COMMENT_OR_TEXT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), read(path))


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def build_folder():
    return pathlib.Path(sys.argv[1]).resolve()


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIPPED)


def skip_under_sanitizer(reason):
    if os.environ.get("TESTED_SANITIZERS"):
        skip(reason)


def run(*command, **options):
    """Runs a command and returns its standard output. If it fails, prints its output and fails the check."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        print("$", *command, f"\n{done.stdout}{done.stderr}exit status {done.returncode}")
        sys.exit(1)
    return done.stdout


def finish(failures, checked):
    """Ends the check: prints the failures and the number of checked items. Fails also if nothing was checked."""
    for failure in failures:
        print(failure)
    if not checked:
        print("nothing was checked")
    print(f"{len(failures)} failures, {checked} checked")
    sys.exit(1 if failures or not checked else 0)
