"""The environment of the running Python is searched for libraries, without activation: venv, conda, and folders of packages."""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

import pytest
from conftest import PACKAGES

SITE = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
PLACES = "import os, backplane; print(os.environ['BACKPLANE_PYTHON_PATH'])"


@pytest.fixture
def environment(tmp_path):
    """Returns a virtual environment with the folder of a wheel's libraries."""
    root = tmp_path / "env"
    (root / "bin").mkdir(parents=True)
    (root / "bin/python").symlink_to(os.path.realpath(sys.executable))
    (root / "pyvenv.cfg").write_text(f"home = {os.path.dirname(os.path.realpath(sys.executable))}\n")
    (root / SITE / "wheel.libs").mkdir(parents=True)
    return root


def run(root, *words, **changes):
    own = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    done = subprocess.run([str(root / "bin/python"), *words], capture_output=True, text=True, env={**own, **changes}, timeout=300)
    assert done.returncode == 0, done.stderr
    return done


def searched(root, **changes):
    """Returns the outcome of each place, from the installed command, which the Python starts."""
    lines = run(root, "-m", "backplane", "list", "--all", **changes).stdout.splitlines()
    return dict(line.rsplit("  ", 1) for line in lines if "  " in line and line.startswith("/"))


def test_the_command_searches_the_environment_of_its_python(environment):
    places = {place.strip(): outcome for place, outcome in searched(environment).items()}
    assert f"{environment}/lib/python3*/site-packages/*.libs" in places and f"{sys.base_prefix}/lib" in places


def test_the_library_searches_the_environment_of_the_running_python(environment):
    library = next(pathlib.Path("/usr/lib").glob("*/blas/libblas.so.3"), None)
    if library is None:
        pytest.skip("netlib's BLAS is not installed")
    mine = environment / SITE / "wheel.libs/libblas-mine.so"
    shutil.copy(library, mine)
    assert str(mine) in run(environment, "-c", "import backplane; print([one.path for one in backplane.libraries()])").stdout


def test_places(environment, tmp_path):
    first = run(environment, "-c", PLACES).stdout.strip().split(":")
    assert first[0] == str(environment) and sys.base_prefix in first
    user = tmp_path / f"user/{SITE}"
    user.mkdir(parents=True)
    (environment / "pyvenv.cfg").open("a").write("include-system-site-packages = true\n")
    assert str(user) in run(environment, "-c", PLACES, PYTHONUSERBASE=str(tmp_path / "user")).stdout.strip().split(":")
    outer = run(environment, "-c", PLACES, BACKPLANE_PYTHON_PATH="/of/another/python").stdout
    assert outer.strip().split(":") == first


def test_folders_of_packages_and_unknown_names(environment, tmp_path):
    """A folder named -packages is searched for wheels, and the variable is no unknown setting."""
    folder = tmp_path / "dist-packages"
    (folder / "wheel.libs").mkdir(parents=True)
    done = subprocess.run([str(PACKAGES / "backplane/bin/backplane"), "list", "--all"], capture_output=True, text=True,
                          env={**os.environ, "BACKPLANE_PYTHON_PATH": f"relative::{folder}"}, timeout=300)
    assert f"{folder}/*.libs" in done.stdout and f"{folder}/lib" not in done.stdout
    assert "BACKPLANE_PYTHON_PATH" not in done.stderr and "relative" not in done.stdout


def test_the_system_is_no_environment():
    from backplane import _environment

    assert not set(_environment.places()) & {"/", "/usr", "/usr/local"}
    assert sysconfig.get_path("purelib").startswith(tuple(_environment.places()))
