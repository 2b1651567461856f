"""Runs the command as a user does. NumPy is the independent reference.

BACKPLANE_BUILD names the build folder (default: build). Every test has its own configuration folder. The tests of a session share a probe cache, so that libraries are probed once.
"""

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BACKPLANE_BUILD", ROOT / "build")).resolve()
COMMAND = BUILD / "backplane"
HOOKS_BUILT = (BUILD / "backplane-launch/libbackplane-hooks.so").exists()
needs_hooks = pytest.mark.skipif(not HOOKS_BUILT, reason="this build has no hooks library (see the output of cmake)")

sys.path.insert(0, str(ROOT / "tests"))
import inherited  # noqa: E402

inherited.reset()
inherited.choose_kernels(BUILD, "command")  # every session has a cache directory of its own
os.environ.update(inherited.sanitizer(BUILD))
SANITIZED = os.environ.get("TESTED_SANITIZERS", "")
HANGS = 600 if SANITIZED else 120  # seconds after which a program counts as one that does not end

# The leak checker of gcc 12 crashes on the threads of BLIS's OpenMP build.
NO_LEAK_CHECK = {"ASAN_OPTIONS": ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"]))}


def preload(*files):
    """The value of LD_PRELOAD for a program that is not instrumented and that loads these or other objects of the build folder."""
    return inherited.preload(BUILD, *files)


def loading(env):
    """The same variables with the LD_PRELOAD of such a program."""
    return {**env, "LD_PRELOAD": preload(*env.get("LD_PRELOAD", "").split(":"))}


class Done:
    """Exit code and output of a run of the command."""

    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout.decode(errors="replace")
        self.bytes = process.stdout
        self.err = process.stderr.decode(errors="replace")

    @property
    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return f"exit {self.code}\n{self.out}\n{self.err}"


@pytest.fixture(scope="session")
def probe_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("probes")


@pytest.fixture
def environment(tmp_path, probe_cache):
    kept = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config"), "BACKPLANE_CACHE_DIR": str(probe_cache), "BACKPLANE_CALIBRATION": "off", "BACKPLANE_THREADS_ADAPT": "off"}
    kept["VIRTUAL_ENV"] = str(ROOT / ".venv")  # its libraries are tested like the system's
    return kept


@pytest.fixture
def backplane(tmp_path, environment):
    def run(*words, env=None, data=None, cwd=tmp_path, command=COMMAND):
        words = [str(command), *map(str, words)]
        changed = {**environment, **(env or {})}
        return Done(subprocess.run(words, capture_output=True, input=data or b"", cwd=cwd, env=changed, timeout=HANGS))

    return run


@pytest.fixture
def launch(backplane, tmp_path):
    """Runs a program with --trace; returns the result and the lines of the trace."""

    def run(options, *words, env=None):
        done = backplane("launch", "--trace", "trace.json", *options, "--", *words, env=env)
        trace = tmp_path / "trace.json"
        rows = [json.loads(line) for line in trace.read_text().splitlines()] if trace.exists() else []
        return done, rows

    return run
