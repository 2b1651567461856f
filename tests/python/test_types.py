"""Types for type checkers, names that `import *` takes, and settings without effect."""

import ast
import importlib
import importlib.util
import json
import pathlib
import pkgutil
import re
import shutil
import subprocess
import sys
import types

import inherited
import pytest
from conftest import BUILD, PACKAGES, ROOT

import backplane as bp

USES = ROOT / "tests/python/types"
TOOLS = {"BACKPLANE_BUILD": str(BUILD), "PATH": "", **inherited.sanitizer(BUILD), "LD_PRELOAD": inherited.preload(BUILD)}  # environment of the tools
STUBS = ("elementwise", "fft", "linalg", "nn/functional", "nn/grad", "reduce")


def expected():
    """Returns the numbers of the lines of wrong.py that are errors, with a word of each message."""
    lines = (USES / "wrong.py").read_text().splitlines()
    return {number: line.partition("# error: ")[2] for number, line in enumerate(lines, start=1) if "# error: " in line}


def check(found, text):
    """Checks (file, line, message) of all errors against what is expected."""
    assert not [one for one in found if one[0] != "wrong.py"], text
    assert {line for _, line, _ in found} == set(expected()), text
    for number, word in expected().items():
        assert any(line == number and word.lower() in message.lower() for _, line, message in found), (number, word, text)


def mypy(folder, *words):
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(BUILD / "mypy-cache-snippets"), *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env={"MYPYPATH": str(PACKAGES), "PATH": ""}).stdout


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_finds_wrong_uses_alone():
    text = mypy(USES, "right.py", "wrong.py")
    errors = [line.split(":", 3) for line in text.splitlines() if ": error: " in line]
    check([(name, int(line), message) for name, line, _, message in (one if len(one) == 4 else (*one, "") for one in errors)], text)


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright_finds_wrong_uses_alone(tmp_path):
    for name in ("right.py", "wrong.py"):
        shutil.copy(USES / name, tmp_path)
    shutil.copytree(PACKAGES / "backplane", tmp_path / "backplane", ignore=shutil.ignore_patterns("*.so", "lib", "bin"))
    places = [path for path in sys.path if path.endswith("site-packages")]
    options = {"include": ["*.py", "backplane/**/*.pyi"], "exclude": ["backplane/**/*.py"], "extraPaths": places, "typeCheckingMode": "strict"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(options))
    done = subprocess.run(["pyright", "--outputjson"], capture_output=True, text=True, cwd=tmp_path)
    found = [one for one in json.loads(done.stdout)["generalDiagnostics"] if one["severity"] == "error"]
    check([(pathlib.Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["message"]) for one in found], done.stdout)


def results(text):
    """Returns (name, result) of each function of a stub."""
    return [(one.name, ast.unparse(one.returns)) for one in ast.walk(ast.parse(text)) if isinstance(one, ast.FunctionDef)]


@pytest.mark.parametrize("name", [*STUBS, "_typed"])
def test_no_result_is_unknown(name):
    """Any is in the types of NumPy's arrays alone, whose element type it is."""
    found = results((ROOT / f"python/backplane/{name}.pyi").read_text())
    assert found
    wrong = [one for one in found if re.search(r"\b(Any|object|Kind|Out)\b", one[1].replace("NDArray[Any]", ""))]
    assert not wrong


def test_the_stubs_of_functions_are_current(tmp_path):
    """Run `make docs` after a change of a signature."""
    done = subprocess.run([sys.executable, "-B", str(ROOT / "tools/function_stubs.py"), str(tmp_path)],
                          capture_output=True, text=True, env=TOOLS)
    assert done.returncode == 0, done.stderr
    for name in (*STUBS, "_typed"):
        assert (tmp_path / f"{name}.pyi").read_text() == (ROOT / f"python/backplane/{name}.pyi").read_text(), name


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_modules_below_stubs_are_strict(tmp_path):
    """A checker that reads the stub of a module does not read the module."""
    shutil.copytree(ROOT / "python/backplane", tmp_path / "python/backplane", ignore=shutil.ignore_patterns("__pycache__"))
    for name in STUBS:
        (tmp_path / f"python/backplane/{name}.pyi").unlink()
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    text = mypy(tmp_path, "--config-file", "pyproject.toml")
    assert text.startswith("Success"), text


def test_the_stub_of_settings_is_current(tmp_path):
    """Run `make docs` after a change of the settings table."""
    done = subprocess.run([sys.executable, "-B", str(ROOT / "tools/settings_stub.py"), str(tmp_path / "tree.pyi")],
                          capture_output=True, text=True, env=TOOLS)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "tree.pyi").read_text() == (ROOT / "python/backplane/_settings_tree.pyi").read_text()


def modules():
    names = ["backplane"] + [one.name for one in pkgutil.walk_packages(bp.__path__, "backplane.")]
    inside = ("backplane.backends.xeon.",)  # parts of the launcher
    return [name for name in names if not any(part.startswith("_") for part in name.split(".")[1:])
            and (not name.startswith(inside) or name.endswith("run_cpu"))]


@pytest.mark.parametrize("name", modules())
def test_every_public_module_lists_its_names(name):
    if name in ("backplane.torch", "backplane.torch_backend"):
        pytest.importorskip("torch", reason="torch is not installed: make torch-tests installs it")
    if name == "backplane.utils.threadpoolctl":
        pytest.importorskip("threadpoolctl", reason="threadpoolctl is not installed")
    module = importlib.import_module(name)
    assert isinstance(module.__all__, list) and module.__all__ == sorted(set(module.__all__))
    assert all(hasattr(module, one) for one in module.__all__)
    own = {one for one, value in vars(module).items()
           if isinstance(value, types.FunctionType) and value.__module__ == name and not one.startswith("_")}
    assert name.endswith("run_cpu") or own <= set(module.__all__)


def test_settings_without_effect():
    threads = bp.setting("num_threads")
    assert threads.has_effect is True and threads.why_not == ""
    without = [bp.setting(name) for name in bp.settings if not bp.setting(name).has_effect]
    assert all(row.why_not for row in without)
    assert all(bp.setting(name).why_not == "" for name in bp.settings if bp.setting(name).has_effect)
