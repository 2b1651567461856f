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


@pytest.mark.parametrize("variable", ("VIRTUAL_ENV", "CONDA_PREFIX"))
def test_an_active_environment(environment, tmp_path, variable):
    """An environment that is active is searched too, and once if it is the running Python's."""
    def lines(root):
        return [line.rsplit("  ", 1)[0].strip() for line in run(environment, "-m", "backplane", "list", "--all", **{variable: str(root)})
                .stdout.splitlines()]

    pattern = "lib/python3*/site-packages/*.libs"
    other = lines(tmp_path / "other")
    assert f"{tmp_path}/other/{pattern}" in other and f"{environment}/{pattern}" in other
    assert lines(environment).count(f"{environment}/{pattern}") == 1


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


def test_conda(tmp_path):
    """A Python of conda is its own base, without pyvenv.cfg; libraries are in its `lib`."""
    root, version = tmp_path / "conda", f"python{sys.version_info[0]}.{sys.version_info[1]}"
    (root / "bin").mkdir(parents=True)
    (root / "lib").mkdir()
    (root / "bin/python").symlink_to(os.path.realpath(sys.executable))
    (root / "lib" / version).symlink_to(pathlib.Path(sys.base_prefix) / "lib" / version)
    library = next(pathlib.Path("/usr/lib").glob("*/blas/libblas.so.3"), None)
    if library is not None:
        shutil.copy(library, root / "lib/libblas-mine.so")
    home = {"PYTHONHOME": str(root)}
    assert run(root, "-c", PLACES, **home).stdout.strip().split(":")[0] == str(root)
    places = {place.strip(): outcome for place, outcome in searched(root, **home).items()}
    assert f"{root}/lib" in places and f"{root}/lib/python3*/site-packages/*.libs" in places
    if library is not None:
        found = run(root, "-c", "import backplane; print([one.path for one in backplane.libraries()])", **home).stdout
        assert str(root / "lib/libblas-mine.so") in found


def test_the_installed_command(environment):
    """What pip writes for the entry point, started by its path from anywhere."""
    command = environment / "bin/backplane"
    command.write_text(f"#!{environment}/bin/python\nfrom backplane.__main__ import main\nmain()\n")
    command.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "CONDA_PREFIX", "BACKPLANE_PYTHON_PATH")}
    done = subprocess.run([str(command), "list", "--all"], capture_output=True, text=True, env=kept, cwd="/", timeout=300)
    assert done.returncode == 0 and f"{environment}/lib/python3*/site-packages/*.libs" in done.stdout


@pytest.fixture
def python(monkeypatch, tmp_path):
    """Returns a function that tells what places() makes of a Python with these roots and folders of packages."""
    from backplane import _environment

    def places(prefix, exec_prefix, base, packages=(), purelib="", user=""):
        monkeypatch.setattr(sys, "prefix", str(prefix))
        monkeypatch.setattr(sys, "exec_prefix", str(exec_prefix))
        monkeypatch.setattr(sys, "base_prefix", str(base))
        monkeypatch.setattr(_environment.site, "getsitepackages", lambda: [str(one) for one in packages])
        monkeypatch.setattr(_environment.site, "ENABLE_USER_SITE", bool(user))
        monkeypatch.setattr(_environment.site, "getusersitepackages", lambda: str(user))
        monkeypatch.setattr(_environment.sysconfig, "get_path", lambda name: str(purelib) if name == "purelib" else None)
        return _environment.places()

    return places


def folders(root, *names):
    made = [root / name for name in names]
    for one in made:
        one.mkdir(parents=True)
    return made


def test_roots(python, tmp_path):
    """The environment comes first, then its other root and the Python below it, each once; the system's are left out."""
    one, two, three = folders(tmp_path, "one", "two", "three")
    assert python(one, two, three) == [str(one), str(two), str(three)]
    assert python(one, one, one) == [str(one)]
    assert python(one, one, "/usr") == [str(one)] and python("/usr", "/usr/local", "/") == []


def test_folders_outside_of_roots(python, tmp_path):
    """Packages within a root are found through it; those elsewhere are places of their own: Debian's, the user's, a prefix's."""
    root, inside, debian, pure, user = folders(tmp_path, "root", f"root/{SITE}", "x/dist-packages", "y/site-packages", "z/site-packages")
    other, = folders(tmp_path, "plain")
    assert python(root, root, root, [inside, debian, other], pure, user) == [str(one) for one in (root, debian, pure, user)]
    assert python("/usr", "/usr", "/usr", [debian, debian]) == [str(debian)]


def test_names_that_are_no_places(python, tmp_path, monkeypatch):
    """The list is separated by colons, and only folders that exist are of use."""
    colon, good = folders(tmp_path, "a:b/site-packages", "good/site-packages")
    monkeypatch.chdir(tmp_path)
    assert python("/usr", "/usr", "/usr", [colon, tmp_path / "absent/site-packages", "good/site-packages", good]) == [str(good)]


def test_the_system_is_no_environment():
    from backplane import _environment

    assert not set(_environment.places()) & {"/", "/usr", "/usr/local"}
    assert sysconfig.get_path("purelib").startswith(tuple(_environment.places()))
