"""The package as it lies in the build folder, in a process without settings of the user's.

BACKPLANE_BUILD names the build folder (default: build). What tests set for the process is taken away after each.
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BACKPLANE_BUILD", ROOT / "build")).resolve()
PACKAGES = BUILD / "python"

# What would change the answers and is not part of a test.
FOREIGN = ("BACKPLANE_", "OPENBLAS_", "GOTO_", "BLIS_", "MKL_", "OMP_", "KMP_", "ATEN_", "TORCH_", "CUBLAS_", "XDG_CONFIG", "LD_LIBRARY_PATH")

for variable in [name for name in os.environ if name.startswith(FOREIGN)]:
    del os.environ[variable]
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):  # shells and nohup start programs with these ignored, and programs inherit that
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
scratch = tempfile.TemporaryDirectory()
os.environ["VIRTUAL_ENV"] = str(ROOT / ".venv")  # whoever starts the tests: its libraries are tested like the system's
os.environ["XDG_CONFIG_HOME"] = scratch.name
os.environ["BACKPLANE_CACHE_DIR"] = str(BUILD / "test-cache")
os.environ["PYTHONPATH"] = str(PACKAGES)
sys.path.insert(0, str(PACKAGES))
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import backplane  # noqa: E402


@pytest.fixture(autouse=True)
def process_layer():
    before = {name: backplane.setting(name).stored("process") for name in backplane.settings}
    yield
    for name, text in before.items():
        row = backplane.setting(name)
        if row.stored("process") != text:
            row.unset()


@pytest.fixture
def python():
    """Runs Python code, or a file, in a fresh process with the package in reach."""

    def run(*words, **env):
        return subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, timeout=300,
                              env={**os.environ, **env}, cwd=ROOT)

    return run
