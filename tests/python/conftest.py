"""Imports the package from the build folder, without the user's settings.

BACKPLANE_BUILD is the build folder (default: build). After each test the process layer of settings is restored.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BACKPLANE_BUILD", ROOT / "build")).resolve()
PACKAGES = BUILD / "python"

sys.path.insert(0, str(ROOT / "tests"))
import inherited  # noqa: E402

inherited.reset()
os.environ.update(inherited.sanitizer(BUILD))
if inherited.preload(BUILD) not in os.environ.get("LD_PRELOAD", ""):
    pytest.exit(f"{BUILD} has a sanitizer. Its tests are started by: python tests/inherited.py {BUILD} -m pytest tests/python", returncode=1)
scratch = tempfile.TemporaryDirectory()
os.environ["VIRTUAL_ENV"] = str(ROOT / ".venv")  # the libraries of .venv are tested like the system's
os.environ["XDG_CONFIG_HOME"] = scratch.name
os.environ["BACKPLANE_CACHE_DIR"] = str(inherited.choose_kernels(BUILD, "python"))
os.environ["BACKPLANE_CALIBRATION"] = "off"  # choices must not depend on measurements
os.environ["BACKPLANE_THREADS_ADAPT"] = "off"  # nor on other processes
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
    """Returns a function that runs Python code or a file in a new process that can import the package."""

    def run(*words, **env):
        return subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, timeout=300,
                              env={**os.environ, **env}, cwd=ROOT)

    return run
