"""The logger "backplane" has the library's warnings and, at DEBUG, the choice for each new plan."""

import logging
import pathlib
import warnings

import numpy as np
import pytest

import backplane as bp

LOGGER = logging.getLogger("backplane")
HERE = pathlib.Path(__file__).name


class Kept(logging.Handler):
    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        record.getMessage()
        self.records.append(record)


@pytest.fixture
def kept():
    handler = Kept()
    LOGGER.addHandler(handler)
    before = LOGGER.level
    yield handler.records
    LOGGER.removeHandler(handler)
    LOGGER.setLevel(before)


rows = iter(range(300, 400))


def multiply(**settings):
    """Multiplies arrays of a shape that no other test has."""
    bp.matmul(np.ones((next(rows), 3)), np.ones((3, 2)), settings=settings)


def test_choices_are_logged_once_at_debug(kept):
    LOGGER.setLevel(logging.DEBUG)
    x, y = np.ones((211, 3)), np.ones((3, 2))
    for _ in range(3):
        bp.matmul(x, y, settings={"blas.preferred": "native"})
    record, = kept
    assert record.levelno == logging.DEBUG and record.filename == HERE and record.funcName == "test_choices_are_logged_once_at_debug"
    assert record.getMessage().startswith("gemm f64 211x3 @ 3x2 -> 211x2: native, ")
    assert "; preferred by blas.preferred=native" in record.getMessage()


def test_functions_of_the_package_are_no_callers(kept):
    LOGGER.setLevel(logging.DEBUG)
    bp.linalg.solve(np.eye(17), np.ones((17, 3)))
    assert kept and {record.filename for record in kept} == {HERE}


def test_other_levels_have_no_choices(kept):
    LOGGER.setLevel(logging.INFO)
    multiply()
    assert kept == []


def test_warnings_are_logged_and_warned(kept):
    LOGGER.setLevel(logging.WARNING)
    with pytest.warns(bp.Warning, match="no-such-library-1"):
        multiply(**{"blas.preferred": "no-such-library-1"})
    record, = kept
    assert record.levelno == logging.WARNING and "no-such-library-1" in record.getMessage() and record.filename == HERE


def test_a_warning_that_is_an_error_is_logged_too(kept):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(bp.Warning):
            multiply(**{"blas.preferred": "no-such-library-2"})
    assert ["no-such-library-2" in record.getMessage() for record in kept] == [True]


def test_a_text_is_no_format(kept):
    with pytest.warns(bp.Warning):
        multiply(**{"blas.preferred": "%d"})
    assert "%d" in kept[0].getMessage()


WITHOUT = """
%s
import backplane, array, sys
x = memoryview(array.array("d", [1, 2, 3, 4])).cast("B").cast("d", (2, 2))
backplane.matmul(x, x, settings={"blas.preferred": "no-such-library"})
assert ("logging" in sys.modules) == %s
"""


def test_nothing_is_printed_without_a_handler(python):
    for values in (("", False), ("import logging", True)):
        done = python("-c", WITHOUT % values)
        assert done.returncode == 0 and done.stderr.count("cannot run gemm") == 1, done.stderr


def test_a_logger_that_fails_does_not_fail_the_call(python):
    code = """
import logging, numpy as np, backplane
logging.basicConfig(level=logging.DEBUG)
logging.getLogger("backplane").addFilter(lambda record: 1 / 0)
print(backplane.matmul(np.eye(2), np.eye(2)).shape)
"""
    done = python("-c", code)
    assert done.stdout == "(2, 2)\n" and "ZeroDivisionError" in done.stderr
