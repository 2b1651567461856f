"""vander, matrix_exp, householder_product, matrix_sqrth and polar, compared with references of NumPy in long double."""

import math

import numpy as np
import pytest

import backplane as bp

L = bp.linalg
TYPES = ("float32", "float64", "complex64", "complex128")


def random(shape, kind, seed=0):
    rng = np.random.default_rng(seed)
    made = rng.standard_normal(shape)
    return (made + 1j * rng.standard_normal(shape) if np.dtype(kind).kind == "c" else made).astype(kind)


def wide(array):
    return array.astype(np.clongdouble if np.iscomplexobj(array) else np.longdouble)


def epsilon(kind):
    return np.finfo(kind).eps


# ---- vander ----


@pytest.mark.parametrize("kind", [*TYPES, "float16", "int8", "uint8", "int64"])
def test_vander(kind):
    for shape in ((0,), (1,), (4,), (2, 3), (2, 0), (0, 3)):
        x = (random(shape, "float64") * 3).astype(kind)
        for N in (None, 0, 1, 2, 5):
            got = L.vander(x, N=N)
            columns = shape[-1] if N is None else N
            assert got.dtype == x.dtype and got.shape == (*shape, columns)
            with np.errstate(all="ignore"):
                for power in range(columns):
                    expected = np.prod(np.stack([x] * power, -1), -1, dtype=x.dtype) if power else np.ones_like(x)
                    assert np.allclose(got[..., power], expected, rtol=8 * float(epsilon(kind)) if x.dtype.kind in "fc" else 0, atol=0)


def test_vander_of_other_arrays():
    assert (L.vander(np.arange(12)[::-3], N=3) == np.vander(np.arange(12)[::-3], 3, True)).all()
    assert L.vander([True, False]).tolist() == [[1, 1], [1, 0]]
    assert type(L.vander(bp.full((2,), 3.0))) is bp.Tensor
    for wrong, kind in (((3.0,), ValueError), (([1, 2], -1), ValueError), (([1, 2], 1.5), TypeError), (([1, 2], True), TypeError)):
        with pytest.raises(kind, match="vander"):
            L.vander(wrong[0], **({"N": wrong[1]} if len(wrong) > 1 else {}))


# ---- matrix_exp ----


def by_taylor(matrix):
    """The exponential by Taylor's series in long double, another method than the one tested."""
    matrix = wide(matrix)
    steps = max(int(np.ceil(np.log2(float(abs(matrix).sum(-2).max() or 1)))) + 5, 0)
    matrix = matrix / 2**steps
    term = total = np.eye(len(matrix), dtype=matrix.dtype)
    for k in range(1, 25):
        term = term @ matrix / k
        total = total + term
    for _ in range(steps):
        total = total @ total
    return total


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("size", [1e-30, 1e-3, 0.1, 0.5, 1, 5, 20])
def test_matrix_exp(kind, size):
    for n in (1, 2, 3, 7, 20):
        a = random((n, n), kind, n)
        a = (a * (size / abs(a).sum(0).max())).astype(kind)
        got, expected = L.matrix_exp(a), by_taylor(a)
        assert got.dtype == a.dtype
        # The condition number of the exponential is at least the norm, and the error of f32 comes from rounding once.
        bound = epsilon(kind) * (1 if kind in ("float32", "complex64") else 4 * n * (1 + size))
        assert abs(got - expected).sum(0).max() <= bound * abs(expected).sum(0).max()


def test_matrix_exp_without_cancellation():
    # A norm far above the norm of the powers: scaling by the norm loses 6 digits here.
    for a, b, d in ((1.0, 1e6, -1.0), (1.0, 1e200, -1.0), (0.5, -1e12, 0.25)):
        got = L.matrix_exp([[a, b], [0, d]])
        expected = [[math.exp(a), b * math.exp(d) * math.expm1(a - d) / (a - d)], [0, math.exp(d)]]
        assert np.allclose(got, expected, rtol=1e-13, atol=0)
    assert np.allclose(L.matrix_exp(np.diag(np.arange(5) - 3.0)), np.diag(np.exp(np.arange(5) - 3.0)), rtol=1e-14, atol=0)
    assert L.matrix_exp(np.full((1, 1), 0.25))[0, 0] == pytest.approx(math.exp(0.25), rel=4e-16)


def test_matrix_exp_of_matrices_far_from_normal():
    # The powers of such a matrix are small, and its scaling must not follow them alone. The error is at most 10 n times what a
    # change of A by epsilon times its largest element makes.
    rng = np.random.default_rng(1)
    for n, size in ((2, 100), (3, 30), (3, 100), (5, 10), (5, 20), (5, 50)):
        turn = np.linalg.qr(rng.standard_normal((n, n)))[0]
        a = turn @ np.triu(np.full((n, n), size), 1) @ turn.T
        expected = by_taylor(a)
        moved = (by_taylor(wide(a) + abs(a).max() * epsilon("f8") * rng.uniform(-1, 1, (n, n))) for _ in range(10))
        assert abs(L.matrix_exp(a) - expected).max() <= 10 * n * max(abs(one - expected).max() for one in moved)


def test_matrix_exp_of_extremes():
    largest = np.finfo(float).max
    assert L.matrix_exp([[1000.0]])[0, 0] == np.inf and L.matrix_exp([[-largest]])[0, 0] == 0
    assert (L.matrix_exp([[0, largest], [0, 0]]) == [[1, largest], [0, 1]]).all()
    assert (L.matrix_exp([[0, 5e-324], [0, 0]]) == np.eye(2) + [[0, 5e-324], [0, 0]]).all()
    assert L.matrix_exp(np.full((1, 1), 100, "f4"))[0, 0] == np.inf
    large = np.full((300, 300), -(2.0**29))  # the bound of its power 27 is beyond the range
    assert np.allclose(L.matrix_exp(large), np.eye(300) - 1 / 300, atol=1e-3)
    assert (L.matrix_exp(np.full((2, 2), [[-largest, largest], [0, 0]]))[1] == [0, 1]).all()  # its norm overflows
    for shape in ((0, 0), (2, 0, 0), (0, 3, 3), (2, 0, 3, 3)):
        assert L.matrix_exp(np.ones(shape)).shape == shape


def test_matrix_exp_of_a_batch_is_that_of_its_items():
    batch = random((2, 3, 4, 4), "float64") * np.array([1e-4, 1, 50])[:, None, None]
    got = L.matrix_exp(batch)
    for place in np.ndindex(2, 3):
        assert (got[place] == L.matrix_exp(batch[place])).all()
    strided = batch[:, ::-1].swapaxes(-1, -2)
    assert np.array_equal(L.matrix_exp(strided), L.matrix_exp(strided.copy()))
    assert np.array_equal(L.matrix_exp(np.broadcast_to(batch[0, 1], (2, 4, 4)))[1], got[0, 1])


# ---- householder_product ----


def by_reflections(a, tau):
    rows, columns = a.shape
    product = np.eye(rows, dtype=wide(a).dtype)
    for i, factor in enumerate(wide(tau)):
        v = np.concatenate([np.zeros(i), [1], wide(a)[i + 1 :, i]])
        product = product - factor * np.outer(product @ v, v.conj())
    return product[:, :columns]


@pytest.mark.parametrize("kind", TYPES)
def test_householder_product(kind):
    for rows, columns, count in ((1, 1, 1), (3, 3, 3), (5, 3, 3), (5, 3, 2), (5, 3, 0), (7, 1, 1), (30, 20, 20)):
        raw, tau = np.linalg.qr(random((rows, columns), kind, rows), "raw")
        a = raw.T.astype(kind)
        got = L.householder_product(a, tau[:count].astype(kind))
        assert got.dtype == kind and got.shape == (rows, columns)
        assert abs(got - by_reflections(a, tau[:count])).max() <= 8 * rows * epsilon(kind)
    tau = random(3, kind)  # not factors of reflections; a factor of 0 is the identity
    tau[1] = 0
    a = random((5, 3), kind)
    expected = by_reflections(a, tau)
    assert abs(L.householder_product(a, tau) - expected).max() <= 200 * epsilon(kind) * abs(expected).max()


def test_householder_product_of_batches():
    a, tau = random((2, 3, 6, 4), "float64"), random((2, 3, 4), "float64", 1) / 4
    got, out = L.householder_product(a, tau), np.empty((2, 3, 6, 4))
    for place in np.ndindex(2, 3):
        assert np.allclose(got[place], by_reflections(a[place], tau[place]).astype(float), rtol=1e-12, atol=1e-13)
    assert L.householder_product(a, tau, out=out) is out and (out == got).all()
    assert np.allclose(L.householder_product(np.asfortranarray(a)[:, ::-1], tau[:, ::-1]), got[:, ::-1], rtol=1e-13)
    assert L.householder_product(np.ones((0, 4, 2)), np.ones((0, 2))).shape == (0, 4, 2)
    assert (L.householder_product(np.ones((4, 0)), np.ones(0))).shape == (4, 0)


# ---- matrix_sqrth and polar ----


@pytest.mark.parametrize("kind", TYPES)
def test_matrix_sqrth(kind):
    for shape in ((1, 1), (4, 4), (2, 3, 5, 5), (20, 20)):
        factor = random(shape, kind)
        a = factor @ factor.swapaxes(-1, -2).conj()
        got = L.matrix_sqrth(np.tril(a))  # the upper triangle is not read
        assert got.dtype == kind and (got == got.swapaxes(-1, -2).conj()).all()
        assert (np.linalg.eigvalsh(got) > -1e-3).all()
        assert abs(wide(got) @ wide(got) - a).max() <= 8 * shape[-1] * epsilon(kind) * abs(a).max() * shape[-1]
    singular = np.ones((5, 5), kind)  # eigenvalues of 0, some of them below 0 by rounding
    assert abs(L.matrix_sqrth(singular) - singular / 5**0.5).max() <= 8 * float(epsilon(kind)) ** 0.5
    assert L.matrix_sqrth(np.ones((3, 0, 0), kind)).shape == (3, 0, 0)
    with pytest.raises(L.LinAlgError, match="negative eigenvalue, -1"):
        L.matrix_sqrth(np.array([[[1, 0], [0, 2]], [[1, 0], [0, -1]]], kind))


@pytest.mark.parametrize("kind", TYPES)
def test_polar(kind):
    for shape in ((1, 1), (4, 4), (5, 2), (2, 3, 6, 4), (20, 20)):
        a = random(shape, kind)
        U, H = L.polar(a)
        n, limit = shape[-1], 8 * shape[-2] * epsilon(kind)
        assert U.dtype == H.dtype == kind and U.shape == shape
        assert abs(wide(U).swapaxes(-1, -2).conj() @ U - np.eye(n)).max() <= limit
        assert abs(wide(U) @ H - a).max() <= limit * abs(a).max() * n
        assert (H == H.swapaxes(-1, -2).conj()).all() and (np.linalg.eigvalsh(H) > 0).all()
    out = np.empty((4, 2), kind), np.empty((2, 2), kind)
    found = L.polar(a[:4, :2], out=out)
    assert found.U is out[0] and found.H is out[1] and np.allclose(out[0] @ out[1], a[:4, :2], atol=1e-5)
    assert L.polar(np.ones((3, 0), kind)).H.shape == (0, 0)


def test_what_is_refused():
    for call in (L.matrix_exp, L.matrix_sqrth, L.polar, lambda a: L.householder_product(a, np.ones(2))):
        with pytest.raises(L.LinAlgError, match="NaN or infinity"):
            call(np.array([[1.0, 2], [np.nan, 1]]))
        with pytest.raises(TypeError, match="float16"):
            call(np.ones((2, 2), "float16"))
        with pytest.raises(ValueError, match="dimensions"):
            call(np.ones(3))
    for call in (L.matrix_exp, L.matrix_sqrth):
        with pytest.raises(ValueError, match="square"):
            call(np.ones((2, 3)))
    for call in (L.polar, lambda a: L.householder_product(a, np.ones(2))):
        with pytest.raises(ValueError, match="more columns than rows"):
            call(np.ones((2, 3)))
    for tau in (np.ones(4), np.ones((2, 3)), np.float64(1)):
        with pytest.raises(ValueError, match="tau has shape"):
            L.householder_product(np.ones((4, 3)), tau)
    with pytest.raises(bp.Error, match="no single operation"):
        bp.explain(L.matrix_exp, np.eye(2))


def test_types_of_results():
    for call in (L.matrix_exp, L.matrix_sqrth):
        assert type(call(bp.ones(1, 1))) is bp.Tensor and call([[1]]).dtype == float
        assert call(np.eye(2), settings={"blas.preferred": "native"}).shape == (2, 2)
