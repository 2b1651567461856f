"""Padding, flips and rolls against NumPy; amounts in torch's order."""

import numpy as np
import pytest

import backplane as bp
from backplane import elementwise
from backplane.nn import functional as F

NAMES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("mode", NAMES)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i1", "i4", "i8", "u1", "?"])
def test_pad(mode, dtype):
    x = (np.random.default_rng(1).standard_normal((3, 5, 7)) * 10).astype(dtype).transpose(2, 0, 1)[::-1, ::2]
    got = F.pad(x, (2, 1, 1, 0, 3, 6), mode)
    np.testing.assert_array_equal(got, np.pad(x, ((3, 6), (1, 0), (2, 1)), NAMES[mode]))
    assert type(got) is np.ndarray and got.dtype == x.dtype
    np.testing.assert_array_equal(F.pad(x, [1, 0], mode), np.pad(x, ((0, 0), (0, 0), (1, 0)), NAMES[mode]))
    np.testing.assert_array_equal(F.pad(x, (), mode), x)


def test_values_and_crops():
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(F.pad(x, (1, -1, 0, 1), value=7), [[7, 0, 1], [7, 3, 4], [7, 7, 7]])
    np.testing.assert_array_equal(F.pad([1, 2], (1, 0), value=5), [5, 1, 2])
    assert F.pad(np.zeros((2, 0)), (1, 2)).tolist() == [[0, 0, 0]] * 2
    assert np.isneginf(F.pad(x, (1, 0), value=float("-inf"))[:, 0]).all()
    out = np.zeros((2, 4))
    assert F.pad(x, (0, 1), out=out) is out
    assert bp.explain(F.pad, x, (1, 1), mode="circular").problem == "f64 circular padding of 6 to 10 elements"


@pytest.mark.parametrize(
    "pad, mode, words",
    [((3, 0), "reflect", "takes amounts below the size"), ((0, 4), "circular", "takes amounts up to the size"),
     ((-2, -2), "constant", "remove more"), ((1,), "constant", "two for each"), ((1, 1) * 3, "constant", "two for each"),
     ((1, 1), "edge", "mode: is 'edge'")],
)
def test_refused_padding(pad, mode, words):
    with pytest.raises(ValueError, match=words):
        F.pad(np.zeros((2, 3)), pad, mode)


def test_refused_values():
    with pytest.raises(ValueError, match="whole number in the range of i8"):
        F.pad(np.zeros(3, "i1"), (1, 1), value=200)
    with pytest.raises(ValueError, match="only mode constant takes one"):
        F.pad(np.zeros(3), (1, 1), "reflect", 2)
    with pytest.raises(TypeError, match="pad: expects whole numbers"):
        F.pad(np.zeros(3), (1.5, 1))


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), ()])
def test_flip(axis):
    x = np.arange(24).reshape(2, 3, 4)
    np.testing.assert_array_equal(elementwise.flip(x, axis=axis), np.flip(x, axis))


@pytest.mark.parametrize("shift, axis", [(1, 0), (-5, -1), ((1, 2), (0, 1)), (3, (0, 2)), ((1, 2), 1), ((1, 1), (0, 0)), (5, None), (0, 1)])
def test_roll(shift, axis):
    x = np.arange(24, dtype="f4").reshape(2, 3, 4).transpose(1, 0, 2)
    np.testing.assert_array_equal(elementwise.roll(x, shift, axis=axis), np.roll(x, shift, axis))


def test_refused_rolls():
    with pytest.raises(ValueError, match="shift: has 2 numbers, and axis 3"):
        elementwise.roll(np.zeros((2, 3, 4)), (1, 2), axis=(0, 1, 2))
    with pytest.raises(ValueError, match="axis 3 is not a dimension"):
        elementwise.roll(np.zeros(3), 1, axis=3)
    with pytest.raises(ValueError, match="twice"):
        elementwise.flip(np.zeros((2, 2)), axis=(0, -2))
