"""Types for type checkers, names that `import *` takes, and settings without effect."""

import importlib
import importlib.util
import json
import pkgutil
import shutil
import subprocess
import sys
import types

import pytest
from conftest import BUILD, PACKAGES, ROOT

import backplane as bp

RIGHT = """
import backplane
from backplane.backends import cudnn
backplane.settings.num_threads = 2
backplane.settings.cudnn.deterministic = True
backplane.settings.dispatch.fallback = "strict"
backplane.settings.deterministic_algorithms__warn_only = True
backplane.settings["num_threads"] = 2
del backplane.settings.num_threads
cudnn.benchmark = True
cudnn.conv.fp32_precision = "ieee"
backplane.backends.cuda.matmul.allow_tf32 = False
count: int = backplane.settings.num_threads
backplane.linalg.inv([[1.0]], settings={"num_threads": 1})
backplane.linalg.vecdot([1.0], [1.0], settings={"num_threads": 1})
backplane.fft.dct([1.0], axis=0, settings=backplane.Options({"num_threads": 1}))
reason: str = backplane.setting("num_threads").why_not
effect: bool = backplane.setting("num_threads").has_effect
"""
WRONG = [
    ("backplane.settings.num_thread = 2", "num_thread"),
    ("backplane.settings.num_threads = 'two'", "int"),
    ("backplane.settings.dispatch.fallback = 'never'", "Literal"),
    ("backplane.settings.cudnn.determinist = True", "determinist"),
    ("backplane.backends.cudnn.conv.fp32 = 'ieee'", "fp32"),
    ("print(backplane.settings.nothing)", "nothing"),
    ("count: str = backplane.settings.num_threads", "str"),
]


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_type_checkers_find_wrong_settings(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text("import backplane\n" + "\n".join(line for line, _ in WRONG) + "\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(BUILD / "mypy-cache-snippets"), "right.py", "wrong.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env={"MYPYPATH": str(PACKAGES), "PATH": ""})
    lines = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert not [line for line in lines if line.startswith("right.py")], done.stdout
    for number, (_, word) in enumerate(WRONG, start=2):
        assert any(line.startswith(f"wrong.py:{number}: ") and word in line for line in lines), (number, done.stdout)


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright_finds_wrong_settings(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text("import backplane\n" + "\n".join(line for line, _ in WRONG) + "\n")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"include": ["*.py"], "extraPaths": [str(PACKAGES)]}))
    done = subprocess.run(["pyright", "--outputjson"], capture_output=True, text=True, cwd=tmp_path)
    found = [one for one in json.loads(done.stdout)["generalDiagnostics"] if one["severity"] == "error"]
    assert not [one for one in found if one["file"].endswith("right.py")], found
    for number, (_, word) in enumerate(WRONG, start=1):
        assert any(one["range"]["start"]["line"] == number and word in one["message"] for one in found), (number, found)


def test_the_stub_of_settings_is_current(tmp_path):
    """Run `make docs` after a change of the settings table."""
    done = subprocess.run([sys.executable, "-B", str(ROOT / "tools/settings_stub.py"), str(tmp_path / "tree.pyi")],
                          capture_output=True, text=True, env={"BACKPLANE_BUILD": str(BUILD), "PATH": ""})
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "tree.pyi").read_text() == (ROOT / "python/backplane/_settings_tree.pyi").read_text()


def modules():
    names = ["backplane"] + [one.name for one in pkgutil.walk_packages(bp.__path__, "backplane.")]
    inside = ("backplane.backends.xeon.",)  # parts of the launcher
    return [name for name in names if not any(part.startswith("_") for part in name.split(".")[1:])
            and (not name.startswith(inside) or name.endswith("run_cpu"))]


@pytest.mark.parametrize("name", modules())
def test_every_public_module_lists_its_names(name):
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
