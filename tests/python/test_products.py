"""Products, explanations, exceptions and warnings, and other threads running during a call."""

import collections
import copy
import functools
import inspect
import json
import pickle
import sys
import threading
import time
import types
import warnings

import numpy as np
import pytest

import backplane as bp


def test_gemm_with_everything():
    a = np.array([[1 + 1j, 2], [3, 4 - 1j], [0, 1]])
    b = np.array([[1, 2j], [3, 4]])
    c = np.full((2, 2), 1 + 0j)
    square = np.array([[1, 2j], [3 - 1j, 4]])
    expected = 2 * square.conj().T @ b.T + 1j * c
    assert bp.gemm(square, b, c, alpha=2, beta=1j, transform_a="conjugate_transpose", transform_b="transpose") is c
    assert np.allclose(c, expected)
    assert np.allclose(bp.gemm(a, b), a @ b) and np.allclose(bp.gemm(a, b, transform_a="conjugate"), a.conj() @ b)
    assert np.allclose(bp.gemm(a, a, transform_a="transpose", alpha=-1), -a.T @ a)


def test_gemm_refuses():
    a = np.eye(2)
    for wrong in ({"transform_a": "T"}, {"beta": 1.0}, {"alpha": 1j}):
        with pytest.raises(ValueError):
            bp.gemm(a, a, **wrong)
    with pytest.raises(ValueError, match="dimensions"):
        bp.gemm(a, np.ones(2))
    with pytest.raises(TypeError):
        bp.gemm(a, a, alpha="2")
    with pytest.raises(TypeError):
        bp.gemm(a, a, a, a)


def test_last_plan_is_the_threads_own():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(bp.last_plan()))
    bp.matmul(np.eye(3), np.eye(3), settings={"blas.preferred": "native"})
    thread.start()
    thread.join()
    plan = bp.last_plan()
    assert seen == [None] and plan.library == "native" and plan.operation == "gemm" and "3x3" in plan.problem


def test_no_plan_after_a_result_without_elements():
    for call in (
        lambda: bp.matmul(np.ones((0, 4)), np.ones((4, 5))),
        lambda: bp.fft.fft(np.ones((0, 8))),
        lambda: bp.linalg.inv(np.ones((0, 3, 3))),
    ):
        bp.matmul(np.eye(3), np.eye(3))
        assert bp.last_plan() is not None
        assert call().size == 0 and bp.last_plan() is None


def test_gemm_in_place_of_gemv():
    """A preference may include the algorithm. Each algorithm has its own plan, which is found again in its scope."""
    names = [row.id for row in bp.libraries() if "blas" in row.offers and row.state == "ok"]
    if not names:
        pytest.skip("no library offers the BLAS")
    rng = np.random.default_rng(3)
    row, matrix = rng.standard_normal((1, 40)), rng.standard_normal((40, 30))
    for name in names:
        for left, right in ((row, matrix), (matrix.T, row.T), (row, row.T)):
            for _ in range(2):
                for named, algorithm in ((name, "gemv"), (f"{name}:gemm", "gemm")):
                    settings = {"blas.preferred": named, "dispatch.fallback": "strict"}
                    assert np.allclose(bp.matmul(left, right, settings=settings), left @ right)
                    assert bp.last_plan().library == name and bp.last_plan().algorithm == algorithm
                    assert bp.explain(bp.matmul, left, right, settings=settings).chosen.algorithm == algorithm


def test_explain_agrees_with_the_call():
    a = np.ones((40, 30), "f4")
    why = bp.explain(bp.matmul, a, a.T)
    bp.matmul(a, a.T)
    assert why.chosen.library == bp.last_plan().library and "40x30" in why.problem
    assert str(why).startswith("problem") and json.loads(why.json) and why.decision and "40x30" in repr(why)
    refused = bp.explain(bp.gemm, a, a.T, settings={"dispatch.exclude": "native"})
    assert [row.reason for row in refused.candidates if row.library == "native"] == ["EXCLUDED"]
    for no_function in (np.matmul, [], {}, a, (bp.matmul, []), None, "matmul"):
        with pytest.raises(bp.BadTypeError, match="matmul or backplane.gemm"):
            bp.explain(no_function, a, a.T)


def exclude_all():
    return ",".join(row.library for row in bp.explain(bp.matmul, np.eye(2), np.eye(2)).candidates)


def test_failures_have_status_and_reasons():
    with pytest.raises(bp.Error) as caught:
        bp.matmul(np.eye(2), np.eye(2), settings={"dispatch.exclude": exclude_all()})
    error = caught.value
    assert error.status == "E_NO_CANDIDATE" and isinstance(error, RuntimeError)
    assert ("native", "EXCLUDED") in [(library, reason) for library, reason, _ in error.reasons]
    assert bp.Error("text").status == "" and bp.Error("text").reasons == ()


def test_shape_and_type_failures():
    for a, b, kind, status in ((np.ones((2, 3)), np.ones((2, 3)), ValueError, "E_SHAPE"),
                               (np.ones((2, 2), "i4"), memoryview(np.ones((2, 2))), TypeError, "E_DTYPE"),
                               (np.ones((2, 2), "f4"), memoryview(np.ones((2, 2))), TypeError, "E_DTYPE")):
        with pytest.raises(kind) as caught:
            bp.gemm(a, b)
        assert isinstance(caught.value, bp.Error) and caught.value.status == status and caught.value.reasons == ()


def test_a_fallback_is_a_warning_or_an_error(python):
    code = """
import warnings, numpy as np, backplane as bp
a = np.ones((4, 4), "f2")
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    with bp.flags({"blas.preferred": "netlib-that-is-not-there"}):
        bp.matmul(a, a)
assert [issubclass(one.category, bp.Warning) for one in seen] == [True], seen
assert "netlib-that-is-not-there" in str(seen[0].message)
warnings.simplefilter("error", bp.Warning)
with bp.flags({"blas.preferred": "also-not-there"}):
    try:
        bp.matmul(a, a)
    except bp.Warning as error:
        print("raised", "also-not-there" in str(error))
"""
    done = python("-c", code)
    assert done.stdout == "raised True\n", done.stderr


WARNING = """
import warnings, numpy as np, backplane as bp
from backplane._quick import SLOW
a = np.ones((4, 4))

def run(call):
    call()  # line 7

with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for call in (lambda: bp.matmul(a, a),  # line 11
                 lambda: bp.elementwise.add(a, a),  # line 12
                 lambda: SLOW[bp.elementwise.divide](a, a),  # line 13
                 lambda: bp.nn.functional.softmax(a, 1)):  # line 14
        with bp.flags({name + ".preferred": f"no-library-{len(seen)}" for name in ("blas", "elementwise", "reduce")}):
            run(call)
print(*((one.filename, one.lineno) for one in seen))
"""


def test_a_warning_names_the_line_of_the_program(python):
    """Builtin functions of the extension, functions of Python in front of them, and the frequent form of these."""
    done = python("-c", WARNING)
    assert done.stdout == "('<string>', 11) ('<string>', 12) ('<string>', 13) ('<string>', 14)\n", done.stdout + done.stderr


FAILING = """
import warnings, numpy as np, backplane as bp
a = np.ones((4, 4), "f4")
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter(MODE)
    try:
        bp.matmul(a, a, settings={"blas.preferred": "not-there", "dispatch.fallback": "strict"})
    except bp.Error as error:
        print(len(seen), "not-there" in str(error), isinstance(error.__context__, bp.Warning))
    bp.matmul(a, a)
    print(len(seen))
"""


@pytest.mark.parametrize("mode, expected", [("always", "1 True False\n1\n"), ("error", "0 True True\n0\n")])
def test_warnings_of_a_call_that_fails_come_with_it(python, tmp_path, mode, expected):
    no_folder = tmp_path / "file"  # the probe cache cannot be written, which causes a warning in the first call
    no_folder.write_text("")
    done = python("-c", FAILING.replace("MODE", repr(mode)), BACKPLANE_CACHE_DIR=str(no_folder / "cache"))
    assert done.stdout == expected, done.stdout + done.stderr


def test_memory_errors_have_the_librarys_message():
    huge = np.broadcast_to(np.ones((1, 1)), (1 << 26, 1 << 10))
    with pytest.raises(MemoryError, match=r"\w"):
        bp.matmul(huge, np.broadcast_to(np.ones((1, 1)), (1 << 10, 1 << 26)))
    one = np.ones((1, 1))
    for call in (lambda a, b: bp.matmul(a, b), lambda a, b: bp.einsum("ij,jk", a, b), lambda a, b: bp.gemm(a, b)):
        with pytest.raises(bp.Error, match="more elements than memory can hold"):
            call(np.broadcast_to(one, (1 << 40, 1)), np.broadcast_to(one, (1, 1 << 40)))
        with pytest.raises(MemoryError) as caught:
            call(np.broadcast_to(one, (1 << 26, 1)), np.broadcast_to(one, (1, 1 << 26)))
        assert caught.type is MemoryError  # not NumPy's own


def test_settings_of_a_call_are_a_mapping():
    a = np.ones((2, 2))
    for good in ({}, types.MappingProxyType({"num_threads": 1}), collections.ChainMap({"num_threads": 1}), collections.UserDict()):
        assert (bp.matmul(a, a, settings=good) == 2).all() and bp.explain(bp.matmul, a, a, settings=good).chosen
    for wrong in (dict, [], "num_threads", sys, types.SimpleNamespace(keys=3), a):
        with pytest.raises(bp.BadTypeError, match="settings: expects a dict or backplane.Options"):
            bp.matmul(a, a, settings=wrong)


def test_names_of_arguments_that_are_not_interned():
    a, out = np.ones((2, 2)), np.zeros((2, 2))
    assert bp.matmul(a, a, **{"".join(["o", "ut"]): out, "".join(["set", "tings"]): None}) is out and (out == 2).all()
    with pytest.raises(TypeError, match="missing required argument 'other'"):
        bp.matmul(a, out=out)
    with pytest.raises(TypeError, match="at most 2 positional"):
        bp.matmul(a, a, out)
    with pytest.raises(TypeError, match="nonsense"):
        bp.matmul(a, a, nonsense=out)


def test_matmul_as_an_object():
    assert pickle.loads(pickle.dumps(bp.matmul)) is bp.matmul and copy.deepcopy(bp.matmul) is bp.matmul
    assert str(inspect.signature(bp.matmul)) == "(input, other, *, out=None, settings=None)"
    assert functools.wraps(bp.matmul)(lambda *arrays: None).__name__ == "matmul"


@pytest.mark.parametrize("call", [lambda a, **names: bp.matmul(a, a, **names), lambda a, **names: bp.einsum("ij,jk", a, a, **names)],
                         ids=["matmul", "einsum"])
def test_another_thread_runs_during_a_product(call):
    a = np.ones((700, 700))
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        begin = time.process_time()
        while time.process_time() - begin < 5:  # until one call takes long enough
            start = time.perf_counter()
            call(a, settings={"blas.preferred": "native", "num_threads": 1})
            end = time.perf_counter()
            inside = [t for t in ticks if start + (end - start) * 0.2 < t < end - (end - start) * 0.2]
            if len(inside) >= 2:
                break
    finally:
        stop.set()
        thread.join()
    assert len(inside) >= 2, (end - start, len(ticks))


def test_libraries_and_configuration(capsys):
    names = [library.id for library in bp.libraries()]
    assert "native" in names and len(set(names)) == len(names) == len(bp.libraries(refresh=True))
    native = bp.libraries()[names.index("native")]
    assert native.offers == ("builtin",) and native.state == "ok"
    bp.settings.num_threads = 2
    assert bp.show_config() is None
    page = capsys.readouterr().out
    assert "native" in page and "num_threads = 2 (process)" in page and "backends:" in page
    found = bp.show_config(mode="dicts")
    assert found["version"] == bp.__version__ and json.dumps(found)
    with pytest.raises(bp.BadValueError, match="mode"):
        bp.show_config(mode="yaml")


def test_no_warning_comes_twice():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(3):
            bp.matmul(np.eye(2), np.eye(2), settings={"blas.preferred": "nothing-of-that-name"})
    assert len(seen) <= 1
