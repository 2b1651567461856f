"""The namespace of the array API with Backplane's functions: results as the library's own, of its type."""

import doctest
import sys

import numpy as np
import pytest

import backplane as bp
from backplane.utils import _array_api

RNG = np.random.default_rng(5)
LIBRARIES = ["numpy", "array_api_strict", "torch"]
A, B = RNG.standard_normal((3, 4, 4)), RNG.standard_normal((3, 4, 2))
SPD = A @ A.transpose(0, 2, 1) + 4 * np.eye(4)
Z = RNG.standard_normal((3, 6)) + 1j * RNG.standard_normal((3, 6))
# Name, arrays, arguments. Results that are not unique are compared by what they satisfy.
CALLS = [
    ("matmul", (A, B), {}), ("tensordot", (A, B), {"axes": ((0, 1), (0, 1))}), ("vecdot", (A, A), {"axis": 1}),
    ("linalg.cholesky", (SPD,), {}), ("linalg.cholesky", (SPD,), {"upper": True}), ("linalg.det", (A,), {}), ("linalg.eigvalsh", (SPD,), {}),
    ("linalg.inv", (A,), {}), ("linalg.matmul", (A, B), {}), ("linalg.matrix_norm", (A,), {}),
    ("linalg.matrix_norm", (A,), {"ord": 2, "keepdims": True}), ("linalg.matrix_norm", (A,), {"ord": "nuc"}), ("linalg.matrix_power", (A, 3), {}),
    ("linalg.matrix_power", (A, -2), {}), ("linalg.matrix_rank", (A[:, :2],), {}), ("linalg.matrix_rank", (A,), {"rtol": 0.5}),
    ("linalg.outer", (A[0, 0], B[0, :, 0]), {}), ("linalg.pinv", (B,), {}), ("linalg.pinv", (B,), {"rtol": 0.1}), ("linalg.solve", (A, B), {}),
    ("linalg.solve", (A, B[0, :, 0]), {}), ("linalg.solve", (A[:2, :2, :2], B[0, :2]), {}), ("linalg.solve", (A, A[0]), {}),
    ("linalg.solve", (A[0], B), {}), ("linalg.svdvals", (B,), {}), ("linalg.tensordot", (A, B), {"axes": 0}), ("linalg.vecdot", (A, A), {}),
    ("linalg.vector_norm", (A,), {}), ("linalg.vector_norm", (A,), {"axis": (0, 2), "ord": 3, "keepdims": True}),
    ("linalg.vector_norm", (A,), {"axis": 1, "ord": float("inf")}), ("linalg.slogdet", (A,), {}),
    *((f"fft.{name}", (Z,), {}) for name in ("fft", "ifft", "fftn", "ifftn", "irfft", "hfft", "irfftn")),
    *((f"fft.{name}", (A,), {}) for name in ("rfft", "rfftn", "ihfft")), ("fft.fft", (Z,), {"n": 4, "axis": 0, "norm": "ortho"}),
    ("fft.rfftn", (A,), {"s": (3, 5), "axes": (0, 1), "norm": "forward"}), ("fft.irfft", (Z,), {"n": 7}),
]  # fmt: skip
# Name, and the arrays from which the results make the input again.
AGAIN = {
    "eig": lambda xp, r: r[1] @ (r[0][..., None] * xp.linalg.inv(r[1])),
    "eigh": lambda xp, r: (r[1] * r[0][..., None, :]) @ xp.matrix_transpose(r[1]),
    "qr": lambda xp, r: r[0] @ r[1],
    "svd": lambda xp, r: (r[0] * r[1][..., None, :]) @ r[2],
}


@pytest.fixture(params=LIBRARIES)
def library(request):
    return pytest.importorskip(request.param, reason=f"{request.param} is not installed")


def plain(x):
    return np.from_dlpack(x) if hasattr(x, "__dlpack__") else np.asarray(x)


def function(xp, name):
    for part in name.split("."):
        xp = getattr(xp, part)
    return xp


def both(library, name, arrays, names):
    """Returns the namespace's results and NumPy's, and checks the type."""
    pytest.importorskip("array_api_compat") if library.__name__ == "torch" else None
    given = [library.asarray(x) if isinstance(x, np.ndarray) else x for x in arrays]
    called = function(bp.utils.array_namespace(given[0]), name)
    assert called.__module__.startswith("backplane.")
    got = called(*given, **names)
    wanted = function(np, name)(*arrays, **names)
    got, wanted = ([*x] if isinstance(x, tuple) else [x] for x in (got, wanted))
    assert {type(x) for x in got} == {type(given[0])}
    return [plain(x) for x in got], [np.asarray(x) for x in wanted]


@pytest.mark.parametrize("name, arrays, names", CALLS, ids=lambda value: value if isinstance(value, str) else "")
def test_results(library, name, arrays, names):
    got, wanted = both(library, name, arrays, names)
    for x, y in zip(got, wanted):
        assert x.shape == y.shape and x.dtype.kind == y.dtype.kind and np.allclose(x, y, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", AGAIN)
def test_factorizations(library, name):
    pytest.importorskip("array_api_compat") if library.__name__ == "torch" else None
    x = library.asarray(SPD)
    xp = bp.utils.array_namespace(x)
    found = getattr(xp.linalg, name)(x, **({"full_matrices": False} if name == "svd" else {}))
    assert {type(one) for one in found} == {type(x)}
    assert np.allclose(AGAIN[name](np, [plain(one) for one in found]), SPD)


@pytest.mark.parametrize("name", ["matmul", "tensordot", "vecdot", "linalg.outer", "linalg.matrix_power"])
def test_integers_stay_integers(library, name):
    x = (10 * RNG.standard_normal((4, 4))).astype("i4")
    arrays = (x[0], x[1]) if name == "linalg.outer" else (x, 3) if name == "linalg.matrix_power" else (x, x)
    got, wanted = both(library, name, arrays, {})
    assert got[0].dtype == wanted[0].dtype and np.array_equal(got[0], wanted[0])


def test_it_computes_on_backplane():
    xp = bp.utils.array_namespace(A)
    xp.linalg.solve(xp.eye(5), xp.ones(5))
    assert bp.last_plan().operation == "solve"
    xp.fft.fft(xp.ones(12))
    assert bp.last_plan().operation == "fft"


def test_other_names_are_the_library_s():
    xp = bp.utils.array_namespace(A, B)
    assert xp is bp.utils.array_namespace(B) and {"sum", "linalg", "fft", "matmul"} <= set(dir(xp)) and "_base" not in dir(xp)
    assert float(xp.sum(xp.asarray([1.0, 2.0]))) == 3 and xp.linalg.trace(np.eye(3)) == 3 and len(xp.fft.fftfreq(4)) == 4
    assert xp.__array_api_version__ == xp._base.__array_api_version__
    assert {*_array_api._LINALG, "solve"} <= {*dir(np.linalg)} and {*_array_api._FFT} <= {*dir(np.fft)}
    with pytest.raises(AttributeError):
        xp.no_such_name


def test_what_has_no_namespace(monkeypatch):
    with pytest.raises(TypeError, match="no operators"):
        bp.utils.array_namespace(bp.ones(2))
    with pytest.raises(TypeError):
        bp.utils.array_namespace([1.0])
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    assert bp.utils.array_namespace(A).linalg.inv is bp.linalg.inv
    strict = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    for arrays in ((), ([1.0],), (A, strict.asarray(A))):
        with pytest.raises(TypeError, match="arrays of one library"):
            bp.utils.array_namespace(*arrays)


def test_a_tensor_does_not_claim_the_array_api():
    assert not hasattr(bp.ones(2), "__array_namespace__")
    compat = pytest.importorskip("array_api_compat", reason="array_api_compat is not installed")
    assert not compat.is_array_api_obj(bp.ones(2))


def test_example():
    test = doctest.DocTestFinder(recurse=False).find(bp.utils.array_namespace, "x", module=False, globs={"np": np, "utils": bp.utils})[0]
    assert test.examples and doctest.DocTestRunner().run(test).failed == 0
