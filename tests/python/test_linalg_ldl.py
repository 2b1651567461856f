"""ldl_factor, ldl_factor_ex and ldl_solve, compared with the matrix that LAPACK's conventions make of the factors."""

import numpy as np
import pytest

import backplane as bp

L = bp.linalg
TYPES = ("float32", "float64", "complex64", "complex128")


def random(*shape, kind="float64", seed=0):
    rng = np.random.default_rng(seed)
    made = rng.standard_normal(shape)
    return (made + 1j * rng.standard_normal(shape) if np.dtype(kind).kind == "c" else made).astype(kind)


def turned(matrix, hermitian):
    other = np.swapaxes(matrix, -1, -2)
    return other.conj() if hermitian else other


def indefinite(*shape, kind, hermitian, seed=0):
    """Matrices whose every second diagonal element is 0, so that D has blocks of both sizes."""
    a = random(*shape, kind=kind, seed=seed)
    a = a + turned(a, hermitian)
    a[..., range(0, shape[-1], 2), range(0, shape[-1], 2)] = 0
    return a


def product_of(LD, pivots, hermitian):
    """A = P1 L1 P2 L2 ... D ... L2' P2' L1' P1', block by block, as the manual page of LAPACK's routine sytrf defines it."""
    n = len(pivots)
    wide = LD.astype(np.clongdouble if np.iscomplexobj(LD) else np.longdouble)
    whole, D, at = np.eye(n, dtype=wide.dtype), np.zeros_like(wide), 0
    while at < n:
        size = 1 if pivots[at] > 0 else 2
        assert size == 1 or pivots[at] == pivots[at + 1]
        last, other = at + size - 1, abs(pivots[at]) - 1
        assert last <= other < n
        order = np.arange(n)
        order[[last, other]] = other, last
        whole = whole[:, order]
        whole[:, at : at + size] += whole[:, at + size :] @ wide[at + size :, at : at + size]
        block = np.tril(wide[at : at + size, at : at + size])
        D[at : at + size, at : at + size] = block + turned(np.tril(block, -1), hermitian)
        at += size
    return whole @ D @ turned(whole, hermitian)


def near(got, want, kind, factor=100):
    size = max(float(abs(want).max()), 1e-30) if want.size else 1
    assert got.shape == want.shape and abs(got - want).max(initial=0) <= factor * np.finfo(kind).eps * size


def solves(A, X, B, kind):
    """The residual of a backward stable solution, in relation to the norms."""
    got, size = A.astype(np.clongdouble) @ X, np.linalg.norm(A) * np.linalg.norm(X) + np.linalg.norm(B)
    assert np.linalg.norm((got - B).astype(complex)) <= 50 * A.shape[-1] * np.finfo(kind).eps * size


@pytest.fixture(autouse=True)
def needs_lapack():
    if bp.explain(L.ldl_factor, np.eye(3)).chosen is None:
        pytest.skip("no library offers LAPACK")


@pytest.mark.parametrize("hermitian", (False, True))
@pytest.mark.parametrize("kind", TYPES)
def test_product_and_solution(kind, hermitian):
    blocks = set()
    for n in (1, 2, 3, 7, 40, 100):
        A = indefinite(n, n, kind=kind, hermitian=hermitian, seed=n)
        A[0, 0] += 1 if n == 1 else 0
        LD, pivots = L.ldl_factor(A, hermitian=hermitian)
        assert LD.dtype == A.dtype and pivots.dtype == np.int32 and not np.triu(LD, 1).any()
        near(product_of(LD, pivots, hermitian), A, kind, 20 * n)
        blocks |= set((pivots > 0).tolist())
        for sides in (0, 1, 3):
            B = random(n, sides, kind=kind)
            X = L.ldl_solve(LD, pivots, B, hermitian=hermitian)
            assert X.shape == B.shape and X.dtype == A.dtype
            solves(A, X, B, kind)
    assert blocks == {True, False}  # both sizes of blocks were tried


@pytest.mark.parametrize("kind", TYPES)
def test_hermitian_is_not_symmetric(kind):
    A = indefinite(5, 5, kind=kind, hermitian=True)
    same = np.array_equal(L.ldl_factor(A, hermitian=True).LD, L.ldl_factor(A).LD)
    assert same == (np.dtype(kind).kind == "f")


def test_lower_triangle_and_real_diagonal():
    A = indefinite(6, 6, kind="complex128", hermitian=True)
    other = np.tril(A) + np.triu(np.full((6, 6), np.nan), 1)
    other[range(6), range(6)] += 7j  # of a Hermitian matrix, imaginary parts of the diagonal do not count
    for got, want in zip(L.ldl_factor(other, hermitian=True), L.ldl_factor(A, hermitian=True)):
        assert np.array_equal(got, want)
    with pytest.raises(L.LinAlgError, match="NaN or infinity"):
        L.ldl_factor(np.array([[1.0, 0.0], [np.nan, 1.0]]))
    found = L.ldl_factor_ex(np.array([[[1.0, 0.0], [np.inf, 1.0]], [[2.0, 0.0], [0.0, 2.0]]]))
    assert found.info.tolist() == [-1, 0] and np.isnan(found.LD[0]).all() and found.pivots.tolist() == [[0, 0], [1, 2]]


@pytest.mark.parametrize("hermitian", (False, True))
def test_batches_and_strides(hermitian):
    kind = "complex128"
    A = indefinite(2, 3, 5, 5, kind=kind, hermitian=hermitian)
    LD, pivots = L.ldl_factor(A, hermitian=hermitian)
    assert LD.shape == A.shape and pivots.shape == (2, 3, 5)
    for at in np.ndindex(2, 3):
        near(product_of(LD[at], pivots[at], hermitian), A[at], kind)
    wide = np.zeros((2, 3, 10, 15), kind)
    wide[..., ::-2, ::3] = A
    for given in (wide[..., ::-2, ::3], np.asfortranarray(A), np.moveaxis(np.ascontiguousarray(np.moveaxis(A, 0, -1)), -1, 0)):
        again = L.ldl_factor(given, hermitian=hermitian)
        assert np.array_equal(again.LD, LD) and np.array_equal(again.pivots, pivots)
    repeated = L.ldl_factor(np.broadcast_to(A[0, 0], (4, 5, 5)), hermitian=hermitian)
    assert all(np.array_equal(repeated.LD[i], LD[0, 0]) for i in range(4))
    B = random(3, 5, 2, kind=kind)
    X = L.ldl_solve(LD, pivots, B, hermitian=hermitian)
    assert X.shape == (2, 3, 5, 2)
    for at in np.ndindex(2, 3):
        solves(A[at], X[at], B[at[1]], kind)
    one = L.ldl_solve(LD[0, 0], pivots[0, 0], np.asfortranarray(B), hermitian=hermitian)
    for i in range(3):
        solves(A[0, 0], one[i], B[i], kind)
    spread = np.zeros((2, 3, 10), np.int32)
    spread[..., ::2] = pivots
    assert np.array_equal(L.ldl_solve(LD[..., ::-1, ::-1][..., ::-1, ::-1], spread[..., ::2], B, hermitian=hermitian), X)
    into = np.zeros((2, 3, 2, 5), kind).swapaxes(-1, -2)
    assert L.ldl_solve(LD, pivots, B, hermitian=hermitian, out=into) is into and np.array_equal(into, X)


def test_empty_and_single():
    for shape in ((0, 0), (3, 0, 0), (0, 4, 4)):
        LD, pivots, info = L.ldl_factor_ex(np.zeros(shape))
        assert LD.shape == shape and pivots.shape == shape[:-1] and info.shape == shape[:-2] and not info.any()
        assert L.ldl_solve(LD, pivots, np.zeros((*shape[:-1], 2))).shape == (*shape[:-1], 2)
    LD, pivots = L.ldl_factor([[4]])
    assert LD.tolist() == [[4.0]] and pivots.tolist() == [1] and L.ldl_solve(LD, pivots, [[2]]).tolist() == [[0.5]]


def test_singular():
    A = np.array([[[1.0, 0.0], [0.0, 2.0]], [[1.0, 1.0], [1.0, 1.0]]])
    found = L.ldl_factor_ex(A)
    assert found._fields == ("LD", "pivots", "info") and found.info.tolist() == [0, 2]
    near(product_of(found.LD[1], found.pivots[1], False), A[1], "float64")
    for call in (lambda: L.ldl_factor(A), lambda: L.ldl_factor_ex(A, check_errors=True)):
        with pytest.raises(L.LinAlgError, match=r"ldl_factor: \(Batch element 1\): the block of D at \[2,2\] is zero") as caught:
            call()
        assert caught.value.status == "E_SINGULAR"
    with np.errstate(all="ignore"):
        assert not np.isfinite(L.ldl_solve(found.LD[1], found.pivots[1], np.ones((2, 1)))).all()


def test_extreme_numbers():
    for kind, power in (("float64", 1000), ("complex128", 1000), ("float32", 120), ("complex64", 120)):
        for scale in (2.0**power, 2.0**-power):
            A = indefinite(6, 6, kind=kind, hermitian=False)
            LD, pivots = L.ldl_factor(A * np.asarray(scale, LD_type(kind)))
            near(product_of(LD, pivots, False) / np.longdouble(scale), A, kind)


def LD_type(kind):
    return {"complex64": "float32", "complex128": "float64"}.get(kind, kind)


def test_refusals():
    LD, pivots = L.ldl_factor(indefinite(4, 4, kind="float64", hermitian=False))
    B = np.ones((4, 1))
    # A library would exchange rows outside of the matrix, or read a block behind its end.
    for wrong in ([1, 2, 3, 5], [0, 2, 3, 4], [1, 2, 3, -4], [-2, -3, 3, 4], [-5, -5, 3, 4], [1, -3, -3, -4], [1, 2, 3, -(2**31)]):
        with pytest.raises(ValueError, match="ldl_solve: pivots: element . of batch element 0 is"):
            L.ldl_solve(LD, np.array(wrong, np.int32), B)
    for call, kind, text in (
        (lambda: L.ldl_factor(np.ones((2, 3))), ValueError, "A must be square"),
        (lambda: L.ldl_factor(np.ones(3)), ValueError, "at least 2 dimensions"),
        (lambda: L.ldl_factor(np.ones((2, 2), "f2")), TypeError, "f16"),
        (lambda: L.ldl_solve(LD, pivots.astype("i8"), B), TypeError, "pivots is i64; it must be i32"),
        (lambda: L.ldl_solve(LD, pivots[:3], B), ValueError, "pivots has shape"),
        (lambda: L.ldl_solve(LD, pivots, B[:3]), ValueError, "B has shape"),
        (lambda: L.ldl_solve(LD, pivots, B[:, 0]), ValueError, "B must have at least 2 dimensions"),
        (lambda: L.ldl_solve(LD, pivots, B.astype("f4"), out=np.empty((4, 1), "f4")), TypeError, "f32|f64"),
        (lambda: L.ldl_factor(LD, out=(LD, pivots)), ValueError, "overlaps"),
        (lambda: L.ldl_factor(LD, upper=True), TypeError, "upper"),
    ):
        with pytest.raises(kind, match=text):
            call()


def test_tensors_and_explanation():
    A = bp.full((2, 2), 1.0)
    assert type(L.ldl_factor_ex(A).LD) is bp.Tensor
    found = bp.explain(L.ldl_factor, np.eye(3, dtype="c16"), hermitian=True)
    assert found.chosen.provider == "lapack" and found.chosen.algorithm == "hetrf"
    assert bp.explain(L.ldl_factor, np.eye(3, dtype="c16")).chosen.algorithm == "sytrf"
