"""Calls under valgrind (a hundred thousand with TESTED_ALL), and fewer under AddressSanitizer: no block that the extension or the library
allocated is lost.

Python frees through its own allocator and keeps things on purpose until the process ends, so that only blocks count whose
way goes through our files, and that were lost again and again.
"""

import os
import re
import shutil
import subprocess
import sys

import pytest

from conftest import PACKAGES, ROOT

CALLS = 100_000 if os.environ.get("TESTED_ALL") else 10_000
EACH = 200  # calls of each kind where the number of calls is not CALLS
SANITIZED = os.environ.get("TESTED_SANITIZERS", "")
# Matches a stack frame of Backplane by function or file; a tail call may hide the function. Excludes three file names that
# Python has too.
FILES = "|".join(sorted({path.stem for path in ROOT.glob("python/src/*.c")} - {"errors", "module", "warnings"}))
OURS = re.compile(rf"\b(core|bp)_\w+ [(/]|[(/]({FILES})\.c:")
OF_VALGRIND = re.compile(r"([\d,]+) (?:\([^)]*\) )?bytes in ([\d,]+) blocks are definitely lost.*?(?=\n==\d+== *\n)", re.S)
OF_SANITIZER = re.compile(r"Direct leak of (\d+) byte\(s\) in (\d+) object\(s\).*?(?=\n\n)", re.S)

SCRIPT = f"""
import sys
import test_leaks
jobs = test_leaks.JOBS
if sys.argv[1] == "leak":
    import ctypes, backplane
    ctypes.pythonapi.Py_IncRef.argtypes = [ctypes.py_object]
    jobs = {{"lost": lambda: ctypes.pythonapi.Py_IncRef(backplane.matmul(*test_leaks.PLAIN))}}
for job in jobs.values():
    test_leaks.repeat(job, int(sys.argv[2]) // len(jobs) or {EACH})
"""


def calls(tmp_path, *words, **changes):
    """What a process writes to standard error that makes the calls. `words` are a mode and a number of calls."""
    script = tmp_path / "calls.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONMALLOC": "malloc", "BACKPLANE_REGISTRY_SYSTEM": "false", "BACKPLANE_NUM_THREADS": "1",
                   "PYTHONPATH": f"{PACKAGES}:{os.path.dirname(__file__)}", "OPENBLAS_NUM_THREADS": "1", **changes}
    return subprocess.run([*words[:-2], sys.executable, str(script), *words[-2:]], capture_output=True, text=True, timeout=600, env=environment)


def lost(form, text):
    """Returns the records of blocks lost at least a hundred times that have a frame of Backplane."""
    records = [match for match in form.finditer(text) if int(match[2].replace(",", "")) >= EACH // 2]
    return [match[0] for match in records if OURS.search(match[0])]


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
@pytest.mark.skipif(bool(SANITIZED), reason=f"valgrind cannot run what a sanitizer ({SANITIZED}) has instrumented")
@pytest.mark.parametrize("mode", ["leak", "keep"])
def test_blocks_under_valgrind(tmp_path, mode):
    done = calls(tmp_path, "valgrind", "--leak-check=full", "--show-leak-kinds=definite", "--num-callers=30", mode, str(CALLS if mode == "keep" else 0))
    assert done.returncode == 0 and "LEAK SUMMARY" in done.stderr, done.stderr[-3000:]
    # The first run leaks references on purpose, to verify that the check detects leaks.
    records = lost(OF_VALGRIND, done.stderr)
    assert bool(records) == (mode == "leak"), records[:1]


@pytest.mark.skipif("address" not in SANITIZED, reason="this build has no AddressSanitizer")
@pytest.mark.parametrize("mode", ["leak", "keep"])
def test_blocks_under_address_sanitizer(tmp_path, mode):
    """Python itself leaks, so the exit code tells nothing. Its code has no frame pointers, without which stacks end in it. Every stack has
    frames of the interpreter, whose leaks the other tests suppress."""
    options = f"{os.environ['ASAN_OPTIONS']}:detect_leaks=1:fast_unwind_on_malloc=0"
    done = calls(tmp_path, mode, "0", ASAN_OPTIONS=options, LSAN_OPTIONS="")
    assert "ERROR: LeakSanitizer" in done.stderr, done.stderr[-3000:]
    records = lost(OF_SANITIZER, done.stderr)
    assert bool(records) == (mode == "leak"), records[:1]
