"""backplane.fft as a backend of scipy.fft: results as SciPy's, and what SciPy runs itself."""

import copy

import numpy as np
import pytest

import backplane as bp

scipy_fft = pytest.importorskip("scipy.fft", reason="SciPy is not installed")
COMPLEX = ["fft", "ifft", "irfft", "hfft"]
REAL = ["rfft", "ihfft"]
COSINES = ["dct", "idct", "dst", "idst"]
TOLERANCE = {"f4": 1e-5, "c8": 1e-5, "f8": 1e-13, "c16": 1e-13}


def random(dtype, *shape):
    rng = np.random.default_rng(11)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def both(name, x, *arguments, **names):
    """Returns the results of Backplane and of SciPy, and whether Backplane ran the call."""
    wanted = getattr(scipy_fft, name)(copy.copy(x), *arguments, **names)  # SciPy may overwrite its input
    bp.matmul(np.eye(2), np.eye(2))
    with scipy_fft.set_backend(bp.fft):
        got = getattr(scipy_fft, name)(x, *arguments, **names)
    return got, wanted, bp.last_plan().operation == "fft"


def agrees(name, *arguments, ours=True, **names):
    got, wanted, ran = both(name, *arguments, **names)
    assert ran == ours and type(got) is type(wanted) and got.dtype == wanted.dtype and got.shape == wanted.shape
    assert np.abs(got - wanted).max() <= TOLERANCE.get(wanted.dtype.str[1:], 1e-13) * np.abs(wanted).max()


@pytest.mark.parametrize("name", [*COMPLEX, *REAL])
def test_transforms(name):
    for dtype in ["f4", "f8"] + ["c8", "c16"] * (name in COMPLEX):
        x = random(dtype, 4, 6, 5)
        agrees(name, x)
        agrees(name, x, 7, 1, "ortho")
        agrees(name, x, n=4, axis=0, norm="forward", overwrite_x=True)
        for form in "2n":
            agrees(name + form, x)
            agrees(name + form, x, (4, 8), (0, -1), "ortho", True, 1)
            agrees(name + form, x, axes=(2, 0), norm="backward", workers=-1)
        agrees(name + "n", x, s=(3, 4))
        agrees(name + "n", x, s=3, axes=0)


@pytest.mark.parametrize("name", COSINES)
def test_cosine_transforms(name):
    for dtype in ("f4", "f8", "i4"):
        x = (9 * random("f8", 4, 6, 5)).astype(dtype)
        for type in (1, 2, 3, 4):
            agrees(name, x, type)
            agrees(name, x, type, 7, 1, "ortho", False, 1)
            agrees(name, x, type=type, n=4, axis=0, norm="ortho", orthogonalize=False)
            agrees(name + "n", x, type)
            agrees(name + "n", x, type, (4, 8), (0, -1), "ortho")
            agrees(name + "n", x, type, axes=(1,), norm="forward", orthogonalize=True)
    for dtype in ("c8", "c16"):
        agrees(name, random(dtype, 3, 5), norm="ortho")


def test_input_is_converted_as_in_scipy():
    agrees("fft", [1, 2, 4])
    agrees("rfft", [[1.5, 2, 4]], axis=0)
    agrees("fft", np.arange(5, dtype="u1"))
    agrees("rfft", random("f2", 6))
    agrees("ifft", random("c16", 6).astype(">c16"))
    agrees("fft", np.array([True, False]))
    agrees("fft", random("f8", 3, 9)[:, ::-2])


def test_scipy_runs_what_backplane_does_not_have():
    agrees("fft", np.arange(4, dtype="g"), ours=False)
    agrees("fft2", random("f8", 2, 3, 4), axes=None, ours=False)
    agrees("fht", random("f8", 8), 0.1, 0.5)  # SciPy's function, which calls rfft and irfft
    for error, call in ((ValueError, lambda: scipy_fft.fft([1.0], workers=0)), (ValueError, lambda: scipy_fft.fft([1.0], 0)),
                        (TypeError, lambda: scipy_fft.rfft([1j])), (ValueError, lambda: scipy_fft.fft([1.0], norm="other"))):
        with scipy_fft.set_backend(bp.fft), pytest.raises(error):
            call()


def test_other_arrays():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with scipy_fft.set_backend(bp.fft):
        assert isinstance(scipy_fft.rfft(torch.arange(6.0)), torch.Tensor)


def test_threads():
    with scipy_fft.set_backend(bp.fft):
        scipy_fft.fft2(random("c16", 256, 256), workers=1)
        assert bp.last_plan().threads == 1


def test_a_function_of_scipy_uses_the_backend():
    signal = pytest.importorskip("scipy.signal")
    x, y = random("f8", 500), random("f8", 70)
    wanted = signal.fftconvolve(x, y)
    bp.matmul(np.eye(2), np.eye(2))
    with scipy_fft.set_backend(bp.fft, only=True):
        got = signal.fftconvolve(x, y)
    assert np.allclose(got, wanted) and bp.last_plan().operation == "fft"
