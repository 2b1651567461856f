"""Helpers of the source checks: iterate over source files, and exit with the codes that ctest expects."""

import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77  # SKIP_RETURN_CODE in tests/CMakeLists.txt

NOT_OURS = ("build", ".venv", ".git", ".cache")

COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def sources(folder, pattern="*.[ch]"):
    """Returns the sorted paths below a folder of the project, relative to its root."""
    return sorted(path.relative_to(ROOT) for path in (ROOT / folder).rglob(pattern))


def committed():
    """Returns the paths that git has, or would have after `git add`, relative to the root. In a folder that is no git checkout, such as a
    release's archive, all files outside the build folders."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return sorted(pathlib.Path(name) for name in set(listed.stdout.split("\0")) if name)
    return [path for path in sources(".", "*") if not path.parts[0].startswith(NOT_OURS)]


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def code_of(path):
    """Returns the text of a C file with comments and string literals replaced by blanks; line numbers stay the same."""
    return COMMENT_OR_TEXT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), read(path))


def settings():
    """Returns identifier, number and name of each setting, from the table as the compiler reads it."""
    text = run("cc", "-E", "-P", "-I", ROOT / "include", "-xc", "-", input='#include "backplane/settings_table.h"\nBP_SETTINGS_MAP(ROW)\n')
    rows = re.findall(r'\bROW\((\w+), (\w+), ((?:"[^"]*" ?)+),', text)
    return [(identifier, int(number, 0), name.replace('" "', "").strip('" ')) for identifier, number, name in rows]


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


def run_program(program, may_leak=False, **options):
    """As run(), for a program that the check has compiled and that loads objects of the build. It is not instrumented, so a sanitizer's
    run-time library is loaded before them. `may_leak`: it loads a library that never frees some of its memory, such as an MPI."""
    environment = {**os.environ, "LD_PRELOAD": os.environ.get("TESTED_PRELOAD", "")}
    if may_leak:
        environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    return run(program, env=environment, **options)


FUNCTION = re.compile(r"^([0-9a-f]+) <([^>]+)>:$")
# A function whose address is taken, such as one for qsort(), counts as called.
CALL = re.compile(r"\s(?:callq?|j[a-z]+|lea|bl?|adrp?)\s.*?(?:0x)?([0-9a-f]+) <([^>+]+)>")


class MachineCode:
    """The functions of a built library by address: names, the addresses of functions that each uses, and bytes of stack of
    x86-64 functions."""

    def __init__(self, library):
        self.library, self.names, self.calls, self.stack = library, {}, {}, {}
        current = None
        for line in run("objdump", "-d", "--no-show-raw-insn", library).splitlines():
            start = FUNCTION.match(line)
            if start:
                current = int(start.group(1), 16)
                self.names[current] = re.sub(r"@.*", "", start.group(2))
                self.calls[current], self.stack[current] = set(), 8
            elif current is not None:
                self._add(current, line)

    def _add(self, current, line):
        call = CALL.search(line)
        if call:
            self.calls[current].add(int(call.group(1), 16))
        taken = re.search(r"\ssub\s+\$0x([0-9a-f]+),%rsp", line)
        if taken and int(taken.group(1), 16) < 1 << 31:  # larger: it gives back
            self.stack[current] += int(taken.group(1), 16)
        elif re.search(r"\spush\s", line):
            self.stack[current] += 8

    def without_helper(self):
        """Leaves out what only backplane-probe runs, in a process of its own. The linker keeps the code of its objects together."""
        objects = list((build_folder() / "CMakeFiles/probe.dir/src/probe").glob("*.o"))
        own = {line.split()[0] for line in run("nm", "--defined-only", "--format=posix", *objects).splitlines() if " t " in line.lower()}
        often = collections.Counter(self.names.values())
        places = [at for at, name in self.names.items() if name in own and often[name] == 1 and ".cold" not in name]
        for at in [at for at in self.names if min(places) <= at <= max(places)]:
            name = self.names.pop(at)
            if re.sub(r"\..*", "", name) not in {re.sub(r"\..*", "", word) for word in own}:
                print(f"{name} is between the functions of the helper, and not one of them")
                sys.exit(1)
        return self

    def public(self):
        lines = (line.split() for line in run("nm", "-D", "--defined-only", self.library).splitlines())
        places = (int(words[0], 16) for words in lines if words[1] == "T" and words[2].startswith("bp_"))
        return sorted((at for at in places if at in self.names), key=self.names.get)


def machine_code(name):
    """Returns the machine code of a built library. Skips the check where it cannot be read."""
    skip_under_sanitizer("the sanitizer's functions are on the paths")
    if not shutil.which("objdump"):
        skip("objdump is missing")
    return MachineCode(build_folder() / name)


def finish(failures, checked):
    """Ends the check: prints the failures and the number of checked items. Fails also if nothing was checked."""
    for failure in failures:
        print(failure)
    if not checked:
        print("nothing was checked")
    print(f"{len(failures)} failures, {checked} checked")
    sys.exit(1 if failures or not checked else 0)
