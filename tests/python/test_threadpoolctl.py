"""threadpoolctl lists and limits Backplane, and the workers of joblib keep to their share of the processors."""

import pathlib

import numpy as np
import pytest

import backplane as bp

threadpoolctl = pytest.importorskip("threadpoolctl", reason="threadpoolctl is not installed")
import backplane.utils.threadpoolctl  # noqa: E402, F401

X = np.ones((400, 400))
SET = bp.setting("num_threads")


def rows():
    return [row for row in threadpoolctl.threadpool_info() if row["internal_api"] == "backplane"]


def threads_of_a_call():
    bp.matmul(X, X, settings={"blas.preferred": "native"})
    return bp.last_plan().threads


def test_it_is_listed():
    row, = rows()
    assert (row["user_api"], row["prefix"], row["version"]) == ("blas", "libbackplane.so", bp.__version__)
    assert pathlib.Path(row["filepath"]).name.startswith("libbackplane.so") and pathlib.Path(row["filepath"]).exists()
    assert row["num_threads"] == bp.get_num_threads()
    with bp.flags(num_threads=3):
        assert rows()[0]["num_threads"] == 3


@pytest.mark.parametrize("limits", [1, {"backplane": 1}, {"libbackplane.so": 1}], ids=str)
def test_it_is_limited(limits):
    before = bp.get_num_threads()
    names = {"user_api": "blas"} if limits == 1 else {}
    limits = {"blas": 1} if limits == {"backplane": 1} else limits
    with threadpoolctl.threadpool_limits(limits, **names):
        assert bp.settings.num_threads == 1 and threads_of_a_call() == 1
    assert (SET.stored("process"), bp.get_num_threads()) == (None, before)


@pytest.mark.parametrize("stored", [None, 0, 1, 2, 5])
@pytest.mark.parametrize("inner", [1, 2, 3])
def test_what_was_set_is_restored(stored, inner):
    if stored is not None:
        SET.set(stored)
    before = SET.stored("process")
    with threadpoolctl.threadpool_limits(2):
        with threadpoolctl.threadpool_limits(inner):
            assert bp.get_num_threads() == inner
            with threadpoolctl.threadpool_limits(2):
                assert bp.get_num_threads() == 2
            assert bp.get_num_threads() == inner
        assert bp.get_num_threads() == 2
    assert SET.stored("process") == before


def test_numbers_that_are_not_accepted_change_nothing():
    with pytest.raises(ValueError, match="num_threads"):
        threadpoolctl.threadpool_limits({"libbackplane.so": -1})
    assert SET.stored("process") is None
    with threadpoolctl.threadpool_limits(1):
        pass
    assert SET.stored("process") is None


def test_it_registers_itself_after_threadpoolctl(python):
    code = "import {}, {}, threadpoolctl; print([row['internal_api'] for row in threadpoolctl.threadpool_info()].count('backplane'))"
    assert python("-c", code.format("threadpoolctl", "backplane")).stdout == "1\n"
    assert python("-c", code.format("backplane.utils.threadpoolctl", "sys")).stdout == "1\n"
    done = python("-c", "import backplane, sys; print('threadpoolctl' in sys.modules)")
    assert done.stdout == "False\n", done.stderr


JOBLIB = """
import joblib

def number_of_threads():
    import backplane
    return backplane.get_num_threads()

if __name__ == "__main__":
    for most in (1, 3):
        with joblib.parallel_config(backend="loky", inner_max_num_threads=most):
            print(joblib.Parallel(n_jobs=2)(joblib.delayed(number_of_threads)() for _ in range(2)))
"""


def test_workers_of_joblib(python, tmp_path):
    pytest.importorskip("joblib", reason="joblib is not installed")
    (tmp_path / "program.py").write_text(JOBLIB)
    done = python(tmp_path / "program.py")
    assert done.stdout == "[1, 1]\n[3, 3]\n", done.stderr
