"""A hundred thousand calls under valgrind: no block that the extension or the library allocated is lost.

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

CALLS = 100_000
# Matches a stack frame of Backplane by function or file; a tail call may hide the function. Excludes three file names that
# Python has too.
FILES = "|".join(sorted({path.stem for path in ROOT.glob("python/src/*.c")} - {"errors", "module", "warnings"}))
OURS = re.compile(rf"\b(core|bp)_\w+ \(|\(({FILES})\.c:")
RECORD = re.compile(r"([\d,]+) (?:\([^)]*\) )?bytes in ([\d,]+) blocks are definitely lost.*?(?=\n==\d+== *\n)", re.S)

SCRIPT = f"""
import sys
import test_leaks
jobs = test_leaks.JOBS
if sys.argv[1] == "leak":
    import ctypes, backplane
    ctypes.pythonapi.Py_IncRef.argtypes = [ctypes.py_object]
    jobs = {{"lost": lambda: ctypes.pythonapi.Py_IncRef(backplane.matmul(*test_leaks.PLAIN))}}
for job in jobs.values():
    test_leaks.repeat(job, {CALLS} // len(jobs) if sys.argv[1] == "keep" else 200)
"""


def lost(tmp_path, mode):
    """Returns the records of blocks lost at least a hundred times that have a frame of Backplane."""
    script = tmp_path / "calls.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONMALLOC": "malloc", "BACKPLANE_REGISTRY_SYSTEM": "false", "BACKPLANE_NUM_THREADS": "1",
                   "PYTHONPATH": f"{PACKAGES}:{os.path.dirname(__file__)}", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(["valgrind", "--leak-check=full", "--show-leak-kinds=definite", "--num-callers=30", sys.executable,
                           str(script), mode], capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0 and "LEAK SUMMARY" in done.stderr, done.stderr[-3000:]
    records = [match for match in RECORD.finditer(done.stderr) if int(match[2].replace(",", "")) >= 100]
    return [match[0] for match in records if OURS.search(match[0])]


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
@pytest.mark.parametrize("mode", ["leak", "keep"])
def test_blocks_under_valgrind(tmp_path, mode):
    records = lost(tmp_path, mode)
    # The first run leaks references on purpose, to verify that the check detects leaks.
    assert bool(records) == (mode == "leak"), records[:1]
