"""Checks that no pointer is used after its memory was freed, not even compared. gcc 12 and later warn of that in code that
they do not optimise; in optimised code the comparison may already be removed."""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sysconfig

import common

PYTHON = sysconfig.get_path("include")
FOLDERS = ["src", "examples", "bench"]
FREEING = re.compile("free|realloc|release|destroy|delete|close")
WARNING = "-Wuse-after-free=3"
COMMAND = ["gcc", "-std=c17", "-D_GNU_SOURCE=", "-O0", "-c", "-o", "/dev/null", "-Iinclude", "-Isrc", WARNING,
           "-Werror"]


def compiled(path):
    more = ["-Ipython/src", "-DPy_LIMITED_API=0x03090000", f"-I{PYTHON}"] if path.parts[0] == "python" else []
    done = subprocess.run([*COMMAND, *more, str(path)], capture_output=True, text=True, check=False, cwd=common.ROOT)
    return path, done


def main():
    if not shutil.which("gcc") or subprocess.run(["gcc", WARNING, "-xc", "-fsyntax-only", "-"], input="", text=True,
                                                 capture_output=True, check=False).returncode:
        common.skip(f"there is no gcc with {WARNING}")
    folders = [*FOLDERS, "python/src"] if os.path.exists(f"{PYTHON}/Python.h") else FOLDERS
    if folders is FOLDERS:
        print("python/src was not checked: this Python has no headers")
    # Compiling all files takes a minute. A file without a word of freeing frees nothing.
    files = [path for folder in folders for path in common.sources(folder, "*.c") if FREEING.search(common.read(path))]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        results = list(pool.map(compiled, files))
    common.finish([done.stderr for _, done in results if done.returncode], len(results))


main()
