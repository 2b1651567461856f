"""The package: types, sessions of the documentation, help, the command, and an extension for CPython 3.9 and later."""

import doctest
import importlib.util
import inspect
import pydoc
import re
import shutil
import subprocess
import sys
from unittest import mock

import numpy as np
import pytest
from conftest import BUILD, PACKAGES, ROOT

import backplane as bp


PAGES = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if ">>> " in page.read_text()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_sessions_of_the_documentation(page):
    done = doctest.testfile(str(page), module_relative=False)
    assert done.attempted >= page.read_text().count(">>> ") // 2 and done.failed == 0


PROGRAM = re.compile(r"^```python\n((?!>>>).*?)^```", re.S | re.M)
PROGRAMS = {page: blocks for page in sorted((ROOT / "docs").rglob("*.md")) if (blocks := PROGRAM.findall(page.read_text()))}
RUN = """
import sys, pathlib
try:
    exec(compile(pathlib.Path(sys.argv[1]).read_text(), "page", "exec"), {"__name__": "__main__"})
except ModuleNotFoundError as error:
    sys.exit(f"missing: {error.name}")
"""


@pytest.mark.parametrize("page", PROGRAMS, ids=lambda page: page.stem)
def test_programs_of_the_documentation(page, tmp_path):
    """The blocks of a page continue each other. Pages make the files that they read."""
    program = tmp_path / "page.py"
    program.write_text("\n".join(PROGRAMS[page]))
    done = subprocess.run([sys.executable, "-c", RUN, program], capture_output=True, text=True, cwd=tmp_path, timeout=300)
    if done.stderr.startswith("missing: ") and not done.stderr.startswith("missing: backplane"):
        pytest.skip(f"{done.stderr.split()[1]} is not installed")
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_public_name_has_help():
    for name in bp.__all__:
        if name != "__version__":
            value = getattr(bp, name)
            # __doc__ of a Setting describes the setting, so the class has none.
            documented = [value] if name != "Setting" else [vars(value)[method] for method in ("get", "set", "unset", "origin", "stored")]
            assert all((inspect.getdoc(one) or "").strip() for one in documented), name
            if not isinstance(value, str):  # an element type is text; pydoc looks up its module
                pydoc.render_doc(value)
    assert "numpy.matmul" in bp.matmul.__doc__ and "BLAS" in bp.gemm.__doc__
    assert re.fullmatch(r"\d+\.\d+\.\d+", bp.__version__)


@pytest.mark.parametrize("name", ["matmul", "gemm", "einsum", "einsum_path", "explain", "last_plan", "flags"])
def test_examples_in_docstrings(name):
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder(recurse=False).find(getattr(bp, name), name, module=False, globs={**vars(bp), "np": np}):
        runner.run(test)
    assert runner.summarize().failed == 0 and runner.summarize().attempted > 0


def test_types_are_strict():
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    for command in (["mypy", "--config-file", "pyproject.toml", "--cache-dir", str(BUILD / "mypy-cache")],
                    ["mypy.stubtest", "--mypy-config-file", "pyproject.toml", "backplane._core", "backplane.elementwise",
                     "backplane.fft", "backplane.linalg", "backplane.nn.functional", "backplane.nn.grad", "backplane.reduce"]):
        done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["", ".nn", ".nn.attention", ".nn.attention.bias", ".utils", ".utils.deterministic", ".backends.xeon", ".backends"])
def test_modules_take_no_new_names(name):
    place = importlib.import_module(f"backplane{name}")
    for value in (True, print):
        with pytest.raises(AttributeError, match="has no 'misspelt'"):
            place.misspelt = value
    with pytest.raises(AttributeError):
        place.misspelt
    assert inspect.getdoc(place) and pydoc.render_doc(place) and doctest.DocTestFinder().find(place)


def test_existing_names_can_be_replaced():
    with mock.patch("backplane.matmul", return_value=3), mock.patch("backplane.settings", None):
        assert bp.matmul() == 3 and bp.settings is None
    assert bp.settings.num_threads == 0
    with mock.patch("backplane.nn.attention.sdpa_kernel"), mock.patch("backplane.utils.deterministic.__doc__", "x"):
        pass
    assert importlib.import_module("backplane.backends.xeon.run_cpu") is bp.backends.xeon.run_cpu


def test_annotated_settings_are_in_the_table():
    for name, module in vars(bp.backends).items():
        if inspect.ismodule(module) and module.__name__ == f"backplane.backends.{name}":
            for setting in set(getattr(module, "__annotations__", {})) - {"__all__"}:
                here = any(row.startswith(f"{name}.{setting}") for row in bp.settings)
                if not here and setting not in vars(type(module)):
                    pytest.skip(f"the table has no setting {name}.{setting}")


def test_the_command(python):
    done = python("-m", "backplane", "get", "num_threads", BACKPLANE_NUM_THREADS="3")
    assert (done.stdout, done.returncode) == ("3\n", 0)
    assert python("-m", "backplane", "no-such-command").returncode == 2


def test_needs_no_newer_python():
    """The extension uses only symbols that CPython 3.9 exports: the limited interface, and the functions that core.h declares."""
    if not shutil.which("nm"):
        pytest.skip("nm is not installed")
    named = subprocess.run(["nm", "-D", "--undefined-only", PACKAGES / "backplane/_core.abi3.so"], capture_output=True, text=True)
    symbols = {line.split()[-1] for line in named.stdout.splitlines() if " Py" in line or " _Py" in line}
    newer = {"PyModule_AddObjectRef", "PyModule_AddType", "PyUnicode_AsUTF8AndSize", "Py_NewRef", "Py_XNewRef", "Py_Is", "PyObject_CallNoArgs",
             "PyObject_Vectorcall", "PyType_GetModule", "PyType_GetName", "PyType_GetQualName", "PyErr_GetRaisedException",
             "PyErr_SetRaisedException", "PyMem_RawMalloc", "PyUnicode_AsUTF8", "_Py_IncRef", "_Py_DecRef"}
    assert len(symbols) > 20 and not symbols & newer
    text = (ROOT / "python/src/core.h").read_text()
    assert set(re.findall(r"PyAPI_FUNC\([^)]*\) (\w+)\(", text)) == {
        "PyType_FromModuleAndSpec", "PyType_GetModuleState", "PyObject_CheckBuffer", "PyObject_GetBuffer", "PyBuffer_Release"}


def test_numpy_is_not_needed(python):
    done = python("-c", """
import sys, array
sys.modules["numpy"] = None
import backplane
a = array.array("d", [1, 2, 3])
print(memoryview(backplane.matmul(a, a)).tolist())
""")
    assert done.stdout == "14.0\n", done.stderr


IN_ANOTHER = """
import sys
sys.path[:0] = PATHS
import array, backplane
a = array.array("d", [1, 2])
assert memoryview(backplane.matmul(a, a)).tolist() == 5.0
try:
    backplane.settings.num_threads = "x"
except TypeError as error:
    assert isinstance(error, backplane.Error)
with backplane.flags(num_threads=1):
    assert backplane.settings.num_threads == 1
"""
WITH_THE_SAME_LOCK = """
import sys, backplane
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
    one = interpreters.create("legacy")
else:
    import _xxsubinterpreters as interpreters
    one = interpreters.create(isolated=False)
failed = interpreters.run_string(one, CODE)
interpreters.destroy(one)
a = __import__("array").array("d", [1, 2])
print(failed, memoryview(backplane.matmul(a, a)).tolist(), backplane.settings.num_threads)
"""


def test_each_interpreter_has_its_own_module(python):
    code = IN_ANOTHER.replace("PATHS", repr([str(PACKAGES)]))
    done = python("-c", WITH_THE_SAME_LOCK.replace("CODE", repr(code)))
    assert done.stdout == "None 5.0 0\n", done.stdout + done.stderr
