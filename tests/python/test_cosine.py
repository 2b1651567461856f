"""Cosine and sine transforms against sums of their definitions, and against scipy.fft if it is installed."""

import array
import inspect
import pickle

import numpy as np
import pytest

import backplane as bp

ONE = ["dct", "idct", "dst", "idst"]
LENGTHS = [1, 2, 3, 4, 5, 8, 9, 16, 30, 31]
TOLERANCE = {"f4": 2e-6, "f8": 1e-14}
INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def random(dtype, *shape):
    return np.random.default_rng(7).standard_normal(shape).astype(dtype)


def matrix(sine, type, n):
    """Returns the matrix of the transform, and its period."""
    k, j = np.arange(n, dtype="f8")[:, None], np.arange(n, dtype="f8")[None]
    if sine:
        terms = {1: 2 * np.sin(np.pi * (k + 1) * (j + 1) / (n + 1)), 2: 2 * np.sin(np.pi * (k + 1) * (2 * j + 1) / (2 * n)),
                 3: 2 * np.sin(np.pi * (2 * k + 1) * (j + 1) / (2 * n)), 4: 2 * np.sin(np.pi * (2 * k + 1) * (2 * j + 1) / (4 * n))}[type]
        half = {3: [n - 1]}.get(type, [])
        period = 2 * (n + 1) if type == 1 else 2 * n
    else:
        terms = {1: 2 * np.cos(np.pi * k * j / max(n - 1, 1)), 2: 2 * np.cos(np.pi * k * (2 * j + 1) / (2 * n)),
                 3: 2 * np.cos(np.pi * (2 * k + 1) * j / (2 * n)), 4: 2 * np.cos(np.pi * (2 * k + 1) * (2 * j + 1) / (4 * n))}[type]
        half = {1: [0, n - 1], 3: [0]}.get(type, [])
        period = 2 * (n - 1) if type == 1 else 2 * n
    terms[:, half] /= 2
    return terms, period


def reference(name, x, type, norm=None, orthogonalize=None):
    """Returns the transform of the last dimension in double precision."""
    inverse, sine = name[0] == "i", "s" in name
    type = INVERSE[type] if inverse else type
    terms, period = matrix(sine, type, x.shape[-1])
    if norm == "ortho" if orthogonalize is None else orthogonalize:
        ends = {(False, 1): [0, -1], (False, 2): [0], (False, 3): [0], (True, 2): [-1], (True, 3): [-1]}.get((sine, type), [])
        for end in ends:
            if type in (1, 3):
                terms[:, end] *= np.sqrt(2)
            if type in (1, 2):
                terms[end] /= np.sqrt(2)
    whole = {None: inverse, "backward": inverse, "forward": not inverse, "ortho": False}[norm]
    return x.astype("f8") @ terms.T * (1 / period if whole else period**-0.5 if norm == "ortho" else 1)


def close(got, wanted, dtype):
    assert isinstance(got, np.ndarray) and got.dtype == dtype and got.shape == wanted.shape
    assert np.abs(got - wanted).max() <= TOLERANCE[dtype] * max(1, np.abs(wanted).max())


@pytest.mark.parametrize("type", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ONE)
def test_against_the_definition(name, type):
    function = getattr(bp.fft, name)
    for n in LENGTHS:
        if n == 1 and type == 1 and "c" in name:
            continue
        for dtype in TOLERANCE:
            x = random(dtype, 2, 3, n)
            for norm in (None, "backward", "ortho", "forward"):
                for orthogonalize in (None, True, False):
                    wanted = reference(name, x, type, norm, orthogonalize)
                    close(function(x, type, norm=norm, orthogonalize=orthogonalize), wanted, dtype)
            wanted = reference(name, x, type)
            close(function(x[::-1, :, ::-1][::-1, :, ::-1], type), wanted, dtype)
            close(function(np.moveaxis(x, -1, 0), type, axis=0), np.moveaxis(wanted, -1, 0), dtype)
            close(function(np.moveaxis(x, -1, 1), type, dim=-2), np.moveaxis(wanted, -1, 1), dtype)


@pytest.mark.parametrize("type", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["dct", "dst"])
def test_inverses(kind, type):
    x = random("f8", 4, 12)
    for norm in (None, "ortho", "forward"):
        for suffix in ("", "n"):
            there, back = getattr(bp.fft, kind + suffix), getattr(bp.fft, "i" + kind + suffix)
            close(back(there(x, type, norm=norm), type, norm=norm), x, "f8")


@pytest.mark.parametrize("name", ONE)
def test_lengths(name):
    function, x = getattr(bp.fft, name), random("f8", 3, 7)
    close(function(x, n=4), reference(name, x[:, :4], 2), "f8")
    close(function(x, 2, 12), reference(name, np.pad(x, ((0, 0), (0, 5))), 2), "f8")
    close(function(x.T, n=np.int64(9), axis=0), reference(name, np.pad(x, ((0, 0), (0, 2))), 2).T, "f8")
    assert function(np.empty((0, 4)), n=3).shape == (0, 3)


@pytest.mark.parametrize("name", ONE)
def test_more_dimensions(name):
    function, x = getattr(bp.fft, name + "n"), random("f4", 3, 4, 5)

    def along(x, axis):
        return np.moveaxis(reference(name, np.moveaxis(x, axis, -1), 2), -1, axis)

    close(function(x), along(along(along(x, 0), 1), 2), "f4")
    close(function(x, axes=(0, 2)), along(along(x, 0), 2), "f4")
    close(function(x, s=(6, 2)), along(along(np.pad(x, ((0, 0), (0, 2), (0, 0)))[..., :2], 1), 2), "f4")
    close(function(x, dim=1), along(x, 1), "f4")
    assert np.array_equal(function(x, axes=()), x) and not np.shares_memory(function(x, axes=()), x)
    for names, words in (({"dim": (0, 0)}, "unique"), ({"dim": (0, -3)}, "unique"), ({"s": (2,), "axes": (0, 1)}, "s: has 1"), ({"axes": 3}, "out of range")):
        with pytest.raises(ValueError, match=words):
            function(x, **names)


def test_many_lines():
    x = random("f4", 2, 2500, 31)
    for name in ONE:
        for type in (1, 2, 3, 4):
            close(getattr(bp.fft, name)(x, type), reference(name, x, type), "f4")


def test_arrays():
    x = array.array("d", [1, 2, 4, 8, 0.5])
    for function in (bp.fft.dct, bp.fft.dctn):
        got = function(x)
        assert isinstance(got, bp.Tensor)
        np.testing.assert_allclose(got.tolist(), reference("dct", np.array(x), 2))
        assert isinstance(function(got), bp.Tensor)
    close(bp.fft.dst(np.arange(5)), reference("dst", np.arange(5), 2), "f8")
    torch = pytest.importorskip("torch", reason="torch is not installed")
    got = bp.fft.dct(torch.arange(4))
    assert isinstance(got, torch.Tensor) and got.dtype == torch.float32


def test_wrong_arguments():
    x = random("f8", 4, 6)
    for name in ONE:
        function = getattr(bp.fft, name)
        for call, kind, words in (
            (lambda: function(x, 5), ValueError, "type: expects 1, 2, 3 or 4, but got 5"),
            (lambda: function(x, n=0), ValueError, r"invalid number of data points \(0\)"),
            (lambda: function(x, n=-1), ValueError, r"invalid number of data points \(-1\)"),
            (lambda: function(x, n=2**62), ValueError, "invalid number"),
            (lambda: function(x, n="8"), TypeError, "n: expects a whole number"),
            (lambda: function(x, dim=2), ValueError, "dim: 2 is out of range; the input has 2 dimensions"),
            (lambda: function(x, dim=None), TypeError, "dim: expects a whole number"),
            (lambda: function(x, dim=0, axis=0), TypeError, "dim and axis are two names"),
            (lambda: function(x, norm="orthogonal"), ValueError, "norm: expects None, 'backward'"),
            (lambda: function(x + 1j), TypeError, "f32 and f64, but got c128"),
            (lambda: function(x.astype("f2")), TypeError, "f16"),
            (lambda: function(np.array(3.0)), ValueError, "0 dimensions"),
            (lambda: function([1.0, 2.0]), TypeError, "input: a list"),
        ):
            with pytest.raises(kind, match=words) as caught:
                call()
            assert isinstance(caught.value, bp.Error)
    for name in ("dct", "idct"):
        with pytest.raises(ValueError, match=r"data points \(1\); the transform needs at least 2"):
            getattr(bp.fft, name)(x[:, :1], type=1)


def test_the_library_of_a_transform():
    bp.fft.dct(random("f4", 3, 8), settings={"fft.preferred": "native"})
    assert bp.last_plan().operation == "fft" and bp.last_plan().library == "native" and "c64" in bp.last_plan().problem


def test_signatures():
    for name in ONE:
        assert [*inspect.signature(getattr(bp.fft, name)).parameters] == ["input", "type", "n", "dim", "norm", "axis", "orthogonalize", "settings"]
        assert [*inspect.signature(getattr(bp.fft, name + "n")).parameters] == ["input", "type", "s", "dim", "norm", "axes", "orthogonalize", "settings"]
        for function in (getattr(bp.fft, name), getattr(bp.fft, name + "n")):
            assert function.__doc__ and pickle.loads(pickle.dumps(function)) is function


def test_against_scipy():
    fft = pytest.importorskip("scipy.fft", reason="SciPy is not installed")
    x = random("f8", 3, 10, 4)
    for name in ONE:
        for type in (1, 2, 3, 4):
            for names in ({}, {"norm": "ortho"}, {"norm": "ortho", "orthogonalize": False}, {"norm": "forward", "n": 7}, {"orthogonalize": True}):
                close(getattr(bp.fft, name)(x, type, axis=1, **names), getattr(fft, name)(x, type, axis=1, **names), "f8")
            for names in ({}, {"s": (4, 9)}, {"axes": (0, 1), "norm": "ortho"}, {"axes": ()}):
                close(getattr(bp.fft, name + "n")(x, type, **names), getattr(fft, name + "n")(x, type, **names), "f8")
