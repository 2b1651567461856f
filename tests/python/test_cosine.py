"""Cosine and sine transforms against sums of their definitions, and against scipy.fft if it is installed."""

import array
import concurrent.futures
import inspect
import json
import os
import pathlib
import pickle
import subprocess
import sys

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
            (lambda: function("text"), TypeError, "input: a str"),
            (lambda: function(["a", "b"]), TypeError, "input"),
            (lambda: function(2.0), ValueError, "0 dimensions"),
            (lambda: function(x, out=x.astype("f4")), TypeError, "out: must be f64 as the input, but is f32"),
            (lambda: function(x, out=np.empty((4, 5))), ValueError, "out: must have the shape of the input, with 6 elements"),
            (lambda: function(x, out=np.empty(4)), ValueError, "out: must have the shape"),
            (lambda: function(x, out=np.broadcast_to(x, x.shape)), ValueError, "out"),
        ):
            with pytest.raises(kind, match=words) as caught:
                call()
            assert isinstance(caught.value, bp.Error)
    for name in ("dct", "idct"):
        with pytest.raises(ValueError, match=r"data points \(1\); the transform needs at least 2"):
            getattr(bp.fft, name)(x[:, :1], type=1)


@pytest.mark.parametrize("name", ONE)
def test_out(name):
    function, several = getattr(bp.fft, name), getattr(bp.fft, name + "n")
    for type in (1, 2, 3, 4):
        for dtype in TOLERANCE:
            x = random(dtype, 5, 8)
            wanted, across = function(x, type), several(x, type)
            for out in (np.empty_like(x), np.empty((8, 5), dtype).T, np.empty((5, 16), dtype)[:, ::-2], np.empty_like(x, order="F")):
                assert function(x, type, out=out) is out and np.array_equal(out, wanted)
                assert function(x.T, type, dim=0, out=out.T).base is not None and np.array_equal(out, wanted)
                assert several(x, type, out=out) is out and np.array_equal(out, across)
            padded = np.empty((5, 11), dtype)
            assert np.array_equal(function(x, type, n=11, out=padded), function(x, type, n=11))
            for overlapping in (x.copy(), x.copy()[::-1], x.copy()[:, ::-1]):
                wanted = function(overlapping, type)
                assert np.array_equal(function(overlapping, type, out=overlapping), wanted)
            memory = random(dtype, 9000, 16)  # more lines than are transformed at once
            wanted = function(memory[:-1], type)
            assert np.array_equal(function(memory[:-1], type, out=memory[1:]), wanted)
    out = np.empty((5, 8))
    assert several(random("f8", 5, 8), axes=(), out=out) is out and np.array_equal(out, random("f8", 5, 8))


def test_explanations():
    native = {"fft.preferred": "native"}
    x = random("f4", 3, 8)
    why = bp.explain(bp.fft.dct, x, settings=native)
    assert why.chosen.library == "native" and why.problem == "c64 3 x 8 forward real to complex"
    assert bp.explain(bp.fft.dst, x, 1, axis=0).problem == "c64 8 x 8 forward real to complex"
    assert bp.explain(bp.fft.idct, x, n=6).problem == "c64 3 x 6 inverse complex to real"
    assert bp.explain(bp.fft.dct, [1, 2, 3, 4], 4, settings=native).chosen.library == "native"
    assert bp.explain(bp.fft.dct, np.empty((0, 8))).candidates
    why = bp.explain(bp.fft.dctn, x, s=(6, 10), settings=native)
    assert [part.problem for part in why.parts] == [
        "c64 8 x 6 forward real to complex", "c64 6 x 10 forward real to complex"]
    assert all(part.chosen.library == "native" for part in why.parts) and why.chosen is None
    assert why.problem == "dctn of shape (3, 8)" and "part 2: dimension -1" in str(why)
    assert [part["title"] for part in json.loads(why.json)["parts"]] == ["dimension -2", "dimension -1"]
    assert bp.explain(bp.fft.dctn, x, axes=()).parts == ()
    for call in (lambda: bp.explain(bp.fft.dct, x, dim=2), lambda: bp.explain(bp.fft.dct, 2.0), lambda: bp.explain(bp.fft.dctn, x, dim=5),
                 lambda: bp.explain(bp.fft.dct, x, n=0)):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError):
        bp.explain(bp.fft.dct, x, dim="1")


def test_lists_and_numbers():
    for function in (bp.fft.dct, bp.fft.dctn):
        close(function([1, 2, 4, 8]), reference("dct", np.array([1, 2, 4, 8]), 2), "f8")
        close(function((True, False, True)), reference("dct", np.array([1, 0, 1]), 2), "f8")
        close(function([np.float32(1), 2.5]), reference("dct", np.array([1, 2.5]), 2), "f8")


# ---- The tables of factors ----


def test_more_sizes_than_tables_in_several_threads():
    settings = {"fft.preferred": "native", "deterministic": "threads"}
    cases = [(n, dtype, type) for n in range(2, 50) for dtype in TOLERANCE for type in (2, 3, 4)]
    lines = {(n, dtype): random(dtype, 2, n) for n, dtype, _ in cases}

    def run(case):
        return bp.fft.dct(lines[case[:2]], case[2], settings=settings)

    wanted = [run(case) for case in cases]

    def check(seed):
        order = np.random.default_rng(seed).permutation(len(cases))
        return all(np.array_equal(run(cases[place]), wanted[place]) for place in order)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(check, range(8)))


def test_the_tables_are_bounded():
    """70 tables of 4 MB each: without a bound, 280 MB."""
    code = """if True:
        import backplane as bp, numpy as np
        def resident():
            return int(open("/proc/self/statm").read().split()[1]) * 4096
        x = np.ones(1 << 18)
        bp.settings.num_threads = 1
        bp.settings.fft.preferred = "native"
        bp.settings.fft.plan_cache.max_size = 0  # plans take memory too
        for less in range(80):
            bp.fft.dct(x[: len(x) - 2 * less], 4)
            start = resident() if less == 10 else start if less > 10 else 0
        print(resident() - start)"""
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(bp.__file__).parents[1])}
    grown = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout
    assert int(grown) < 140e6


def test_the_library_of_a_transform():
    bp.fft.dct(random("f4", 3, 8), settings={"fft.preferred": "native"})
    assert bp.last_plan().operation == "fft" and bp.last_plan().library == "native" and "c64" in bp.last_plan().problem


def test_signatures():
    for name in ONE:
        assert [*inspect.signature(getattr(bp.fft, name)).parameters] == ["input", "type", "n", "dim", "norm", "axis", "orthogonalize", "out", "settings"]
        assert [*inspect.signature(getattr(bp.fft, name + "n")).parameters] == ["input", "type", "s", "dim", "norm", "axes", "orthogonalize", "out", "settings"]
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
