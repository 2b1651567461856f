"""Programs written for NumPy: NumPy scalars as arguments, its LinAlgError, and explanations without memory for results."""

import numpy as np
import pytest

import backplane as bp

A = np.array([[2.0, 1.0], [1.0, 3.0]])
WHOLE = [np.int8, np.int32, np.int64, np.uint16]
REAL = [*WHOLE, np.float32, np.float64, np.float16]


@pytest.mark.parametrize("kind", REAL)
def test_numbers_of_numpy_are_numbers(kind):
    for order in (1, 2) if kind in (np.uint16,) else (1, 2, -1, -2):
        assert np.isclose(bp.linalg.matrix_norm(A, kind(order)), np.linalg.norm(A, order))
        assert np.isclose(bp.linalg.cond(A, kind(order)), np.linalg.cond(A, order))
    assert np.array_equal(bp.gemm(A, A, alpha=kind(3)), 3 * (A @ A))
    assert np.array_equal(bp.gemm(A, A, A.copy(), alpha=kind(3), beta=kind(2)), 3 * (A @ A) + 2 * A)
    assert np.allclose(bp.linalg.pinv(A, rtol=kind(0), atol=kind(0)), np.linalg.inv(A))
    assert np.array_equal(np.asarray(bp.fft.fftfreq(4, kind(2))), np.fft.fftfreq(4, 2))
    assert bp.einsum_path("ij,jk,kl->il", A, A, A, optimize="auto", seconds=kind(1))[0]


@pytest.mark.parametrize("kind", WHOLE)
def test_whole_numbers_of_numpy(kind):
    assert np.allclose(bp.fft.fft(A, kind(4), kind(1)), np.fft.fft(A, 4, 1))
    assert np.allclose(bp.fft.fftn(A, [kind(4)], (kind(0),)), np.fft.fftn(A, [4], (0,)))
    assert np.array_equal(np.asarray(bp.fft.fftfreq(kind(4))), np.fft.fftfreq(4))
    assert np.isclose(bp.linalg.matrix_norm(A, dim=(kind(0), kind(1))), np.linalg.norm(A))
    words = {"memory_limit": kind(100), "trials": kind(2), "seed": kind(3)}
    assert np.allclose(bp.einsum("ij,jk,kl->il", A, A, A, optimize="random-greedy", **words), A @ A @ A)
    assert bp.einsum_path("ij,jk,kl->il", A, A, A, optimize=("greedy", kind(100)))[0]
    assert np.array_equal(bp.einsum(A, [kind(0), kind(1)], A, [1, 2], [kind(0), 2]), A @ A)
    bp.settings.num_threads = kind(1)
    assert bp.settings.num_threads == 1
    bp.set_deterministic_debug_mode(kind(1))
    assert bp.get_deterministic_debug_mode() == 1
    with bp.backends.mkl.verbose(kind(0)):
        pass


def test_complex_factors_keep_both_parts():
    a = A * (1 + 1j)
    for kind in (np.complex64, np.complex128, complex):
        assert np.array_equal(bp.gemm(a, a, alpha=kind(1 + 2j)), (1 + 2j) * (a @ a))
    for wrong in ("1", "1+2j", [1], None):
        with pytest.raises(TypeError):
            bp.gemm(a, a, alpha=wrong)


@pytest.mark.parametrize("wrong", [True, np.bool_(True), 1j, np.complex128(1), [1], A])
def test_invalid_orders(wrong):
    with pytest.raises(TypeError, match="order must be a number"):
        bp.linalg.matrix_norm(A, wrong)


def test_linalg_error_is_numpys():
    for call in (lambda: bp.linalg.inv(np.zeros((2, 2))), lambda: bp.linalg.cholesky(-np.eye(2)),
                 lambda: bp.linalg.solve(np.full((2, 2), np.nan), np.eye(2))):
        with pytest.raises(np.linalg.LinAlgError) as caught:
            call()
        assert isinstance(caught.value, bp.linalg.LinAlgError) and isinstance(caught.value, bp.Error)
        assert caught.value.status in ("E_SINGULAR", "E_NOT_POSITIVE_DEFINITE", "E_NON_FINITE")
    kinds = set()
    for _ in range(2):
        with pytest.raises(ValueError) as caught:  # numpy.linalg.LinAlgError is a ValueError
            bp.linalg.inv(np.zeros((2, 2)))
        kinds.add(type(caught.value))
    assert len(kinds) == 1
    with pytest.raises(bp.BadValueError) as caught:
        bp.linalg.inv(np.zeros((2, 3)))  # a wrong argument, which is not a LinAlgError
    assert not isinstance(caught.value, np.linalg.LinAlgError)


def test_linalg_error_without_numpy(python):
    """The package does not import NumPy. After the program imports it, errors are also numpy.linalg.LinAlgError."""
    done = python("-c", """
import sys, types
import backplane as bp
singular = memoryview(bytes(32)).cast("d", (2, 2))
def kind():
    try:
        bp.linalg.inv(singular)
    except bp.linalg.LinAlgError as error:
        return type(error)
assert kind() is bp.linalg.LinAlgError and "numpy" not in sys.modules
sys.modules["numpy.linalg"] = types.ModuleType("numpy.linalg")  # not the real NumPy
assert kind() is bp.linalg.LinAlgError
sys.modules["numpy.linalg"].LinAlgError = 5
assert kind() is bp.linalg.LinAlgError
del sys.modules["numpy.linalg"]
import numpy.linalg
assert issubclass(kind(), numpy.linalg.LinAlgError) and issubclass(kind(), bp.linalg.LinAlgError)
""")
    assert done.returncode == 0, done.stderr


def test_explaining_takes_no_memory_for_results(python):
    """The inputs are views of one number; the results would exceed the memory limit of the process many times."""
    done = python("-c", """
import resource
import numpy as np
import backplane as bp
linalg = bp.linalg
n = 60_000
a = np.broadcast_to(np.float64(1), (n, n))
bp.explain(linalg.svd, np.eye(2)), bp.matmul(np.eye(2), np.eye(2)), bp.explain(bp.fft.fft, np.eye(2))
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 30),) * 2)
calls = [(linalg.svd, a), (linalg.inv, a), (linalg.lu, a), (linalg.eig, a), (linalg.eigh, a), (linalg.pinv, a), (linalg.qr, a),
         (linalg.qr, a, "r"), (linalg.lstsq, a, a), (linalg.solve, a, a), (bp.matmul, a, a), (bp.gemm, a, a), (bp.fft.fft2, a),
         (bp.einsum, "ij,jk->ik", a, a), (linalg.solve_ex, a, a)]
for function, *arguments in calls:
    text = str(bp.explain(function, *arguments))
    assert "60000x60000" in text, text
assert str(bp.explain(linalg.matrix_norm, np.ones((2, 3, 4, 5)), "fro", (1, 2), True)).startswith("problem")
""")
    assert done.returncode == 0, done.stderr
