"""Functions of numpy.linalg and of the array API standard: equal to NumPy, also for awkward input."""

import array
import doctest
import inspect

import numpy as np
import pytest

import backplane as bp

linalg = bp.linalg
ORDERS = [2, 1, 0, 3, 0.5, -1, -2, -0.5, np.inf, -np.inf]
FLOATS = [np.float32, np.float64, np.complex64, np.complex128]
rng = np.random.default_rng(7)


def random(*shape, kind=np.float64):
    values = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if np.dtype(kind).kind == "c" else 0)
    return values.astype(kind)


def near(found, wanted, factor=1.0):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    epsilon = np.finfo(wanted.dtype).eps if wanted.dtype.kind in "fc" else 0
    np.testing.assert_allclose(found, wanted, rtol=50 * factor * epsilon, atol=50 * factor * epsilon)


@pytest.mark.parametrize("name", [name for name in linalg.__all__ if name != "LinAlgError"])
def test_every_function_has_an_example_that_runs(name):
    function = getattr(linalg, name)
    test, = doctest.DocTestFinder(recurse=False).find(function, name, globs={"np": np, "backplane": bp})
    assert test.examples and doctest.DocTestRunner().run(test).failed == 0
    assert inspect.signature(function)


def test_names_at_the_top():
    assert bp.cholesky_solve is linalg.cholesky_solve and bp.cholesky_inverse is linalg.cholesky_inverse


# ---- Vector norms ----


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (2, 0), (-1, 1, 0)])
def test_vector_norm(kind, order, axis):
    a = random(3, 4, 5, kind=kind)
    for keepdims in (False, True):
        wanted = np.linalg.vector_norm(a, ord=order, axis=axis, keepdims=keepdims)
        near(linalg.vector_norm(a, order, axis, keepdims), wanted)
        near(linalg.vector_norm(a.transpose(2, 0, 1)[::-1], ord=order, keepdims=keepdims),
             np.linalg.vector_norm(a.transpose(2, 0, 1)[::-1], ord=order, keepdims=keepdims))
    near(linalg.vector_norm(a, ord=order, axis=axis), linalg.vector_norm(a, order, dim=axis))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", [np.longdouble, np.clongdouble])
def test_vector_norms_of_long_doubles(order, kind):
    a = random(3, 4, kind=kind)
    for axis in (None, 0, (0, 1)):
        near(linalg.vector_norm(a, order, axis, True), np.linalg.vector_norm(a, ord=order, axis=axis, keepdims=True))
    near(linalg.norm(a, order, axis=1), np.linalg.norm(a, order, axis=1))
    out = np.empty(4, np.longdouble)
    assert linalg.vector_norm(a, order, 0, out=out) is out and np.array_equal(out, linalg.vector_norm(a, order, 0))


@pytest.mark.parametrize("order", ORDERS)
def test_vector_norms_of_special_values(order):
    for values in ([np.nan, 1.0], [np.inf, 1.0], [-np.inf, np.inf], [0.0, 0.0], [0.0, -0.0, 3.0], [np.inf, np.nan], [5.0]):
        with np.errstate(all="ignore"):
            near(linalg.vector_norm(np.array(values), order), np.linalg.vector_norm(np.array(values), ord=order))
    for size in (1e300, 1e-300, 1e-320):
        found = linalg.vector_norm(np.array([3.0, 4.0]) * size, order)
        with np.errstate(all="ignore"):
            wanted = np.linalg.vector_norm(np.array([3.0, 4.0]), ord=order)
        np.testing.assert_allclose(found, wanted if order == 0 else wanted * size, rtol=1e-12 if size > 1e-310 else 1e-3)
    assert float(linalg.vector_norm(np.full(7, 1e38, np.float32))) == pytest.approx(7 ** 0.5 * 1e38, rel=1e-6)
    assert float(linalg.vector_norm(np.array([3e300 + 4e300j]))) == pytest.approx(5e300)


def test_vector_norms_without_elements():
    for shape, axis in (((0,), None), ((3, 0), 1), ((3, 0), -1), ((0, 3), (0, 1))):
        empty = np.empty(shape)
        kept = np.linalg.vector_norm(empty, axis=axis)
        for order in (2, 1, 0, 3, np.inf):
            near(linalg.vector_norm(empty, order, axis), kept)
        assert np.all(np.isinf(linalg.vector_norm(empty, -1, axis)))
        with pytest.raises(ValueError, match="order -inf has no value for a vector without elements"):
            linalg.vector_norm(empty, -np.inf, axis)
    near(linalg.vector_norm(np.empty((0, 3)), axis=1), np.empty(0))
    near(linalg.vector_norm(np.empty((3, 0)), axis=0), np.empty(0))


def test_vector_norms_of_other_input():
    assert float(linalg.vector_norm(-3)) == 3 and float(linalg.vector_norm(np.float64(-3), 0)) == 1
    near(linalg.vector_norm([1, 2, 2]), np.float64(3))
    near(linalg.vector_norm(np.float32(-3)), np.float32(3))
    near(linalg.vector_norm(np.array([3, 4], np.int8)), np.float64(5))
    near(linalg.vector_norm(np.array([True, True]), 1), np.float64(2))
    near(linalg.vector_norm(np.array([300, 400], np.float16)), np.float16(500))
    assert float(np.asarray(linalg.vector_norm(array.array("d", [3, 4])))) == 5
    assert isinstance(linalg.vector_norm(array.array("d", [3, 4])), bp.Tensor)
    out = np.empty(2)
    assert linalg.vector_norm(np.eye(2), axis=0, out=out) is out and out.tolist() == [1, 1]
    for call in (lambda: linalg.vector_norm(["a"]), lambda: linalg.vector_norm([1.0], "fro"), lambda: linalg.vector_norm([1.0], True),
                 lambda: linalg.vector_norm([1.0], 2, 0.5), lambda: linalg.vector_norm([1.0], 2, 0, axis=0),
                 lambda: linalg.vector_norm(np.ma.masked_array([1.0], [True]))):
        with pytest.raises(TypeError):
            call()
    for call in (lambda: linalg.vector_norm([1.0], 2, 1), lambda: linalg.vector_norm(np.eye(2), 2, (0, -2)),
                 lambda: linalg.vector_norm(np.eye(2), out=np.empty(3))):
        with pytest.raises(ValueError):
            call()


# ---- norm and matrix_norm ----


@pytest.mark.parametrize("kind", FLOATS)
def test_norm(kind):
    a = random(4, 5, 6, kind=kind)
    near(linalg.norm(a), np.linalg.norm(a))
    for order in (None, 2, 1, -1, 0, np.inf, -np.inf, 3):
        near(linalg.norm(a[0, 0], order), np.linalg.norm(a[0, 0], order))
        for axis in (0, -1):
            near(linalg.norm(a, order, axis=axis, keepdims=True), np.linalg.norm(a, order, axis, True))
    for order in (None, "fro", "nuc", 2, -2, 1, -1, np.inf, -np.inf):
        near(linalg.norm(a[0], order), np.linalg.norm(a[0], order), 10)
        for axis in ((0, 1), (2, 0), (-1, -3)):
            for keepdims in (False, True):
                near(linalg.norm(a, order, axis, keepdims), np.linalg.norm(a, order, axis, keepdims), 10)
                if order is not None:
                    near(linalg.matrix_norm(a, order, axis=axis, keepdims=keepdims), np.linalg.norm(a, order, axis, keepdims), 10)


def test_norm_of_other_input():
    near(linalg.norm([[1, 2], [3, 4]], 1), np.float64(6))
    near(linalg.norm([3, 4]), np.float64(5))
    near(linalg.matrix_norm([[3, 0], [0, 4]]), np.float64(5))
    assert float(linalg.norm(5)) == 5
    with pytest.raises(ValueError, match="1 or 2"):
        linalg.norm(np.ones((2, 2, 2)), 1)
    with pytest.raises(ValueError, match="order 'fro' is one of matrices"):
        linalg.norm(np.ones(2), "fro")
    with pytest.raises(ValueError, match="takes 1 or 2"):
        linalg.norm(np.ones((2, 2, 2)), 2, (0, 1, 2))
    with pytest.raises(ValueError):
        linalg.norm(np.ones((2, 2)), 3)


# ---- Products ----


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint8, np.bool_, np.longdouble, object])
def test_products_of_integers_are_numpys(kind):
    a, b = np.arange(6).reshape(2, 3).astype(kind), np.arange(12).reshape(3, 4).astype(kind)
    for found, wanted in ((linalg.matmul(a, b), a @ b), (linalg.outer(a[0], b[0]), np.linalg.outer(a[0], b[0])),
                          (linalg.tensordot(a, b, 1), np.tensordot(a, b, 1)), (linalg.multi_dot([a, b, b.T]), a @ b @ b.T),
                          (linalg.vecdot(a, a), np.sum(a * a, -1) if kind is not np.bool_ else np.any(a, -1)),
                          (linalg.matrix_power(a[:, :2], 3), np.linalg.matrix_power(a[:, :2], 3))):
        if kind is not object and found.dtype != wanted.dtype:
            wanted = wanted.astype(found.dtype)
            assert found.dtype == kind
        assert found.shape == wanted.shape and np.array_equal(found, wanted)


def test_matmul_of_mixed_types():
    a, b = random(2, 3, kind=np.float32), random(3, 4)
    near(linalg.matmul(a, b), a @ b)
    near(linalg.matmul(a, np.arange(3)), a @ np.arange(3.0))
    near(linalg.matmul([[1.5, 2]], [[1], [2]]), np.array([[5.5]]))
    near(linalg.matmul(b, random(4, 2, kind=np.complex64)).dtype.type(0), np.complex128(0))
    out = np.empty((1, 1), int)
    assert linalg.matmul([[2]], [[3]], out=out) is out and out[0, 0] == 6
    with pytest.raises(ValueError):
        linalg.matmul(b, b)
    assert bp.explain(linalg.matmul, b, b.T).chosen
    with pytest.raises(bp.Error, match="no single operation"):
        bp.explain(linalg.norm, b)


@pytest.mark.parametrize("kind", FLOATS)
def test_vecdot(kind):
    a, b = random(3, 1, 4, kind=kind), random(5, 4, kind=kind)
    near(linalg.vecdot(a, b), np.linalg.vecdot(a, b))
    near(linalg.vecdot(a, b, axis=-1), np.linalg.vecdot(a, b))
    near(linalg.vecdot(b, b, dim=0), np.sum(b.conj() * b, 0))
    near(linalg.vecdot(b, b, axis=-2), np.sum(b.conj() * b, 0))
    near(linalg.vecdot(b[:, :0], b[:, :0]), np.zeros(5, kind))
    near(linalg.vecdot(b[0], b[1]), np.vdot(b[0], b[1]))
    near(linalg.vecdot(a, b, dim=2), np.linalg.vecdot(a, b))
    out = np.empty(5, kind)
    assert linalg.vecdot(b, b, out=out) is out
    for axis in (2, -3):
        with pytest.raises(ValueError, match="out of range"):
            linalg.vecdot(b, b, axis=axis)
    with pytest.raises(ValueError, match="same size in both"):
        linalg.vecdot(b, b[:, :1])


@pytest.mark.parametrize("kind", FLOATS)
def test_matrix_power(kind):
    a = random(2, 3, 3, kind=kind) / 2
    for n in (0, 1, 2, 3, 5, 10, np.int8(3), -1, -3):
        near(linalg.matrix_power(a, n), np.linalg.matrix_power(a, int(n)), 1e4)
    assert linalg.matrix_power(a, 1) is not a and not np.shares_memory(linalg.matrix_power(a, 1), a)
    near(linalg.matrix_power(np.empty((0, 0), kind), 0), np.empty((0, 0), kind))
    near(linalg.matrix_power([[2, 0], [0, 4]], -1), np.diag([0.5, 0.25]))
    with pytest.raises(TypeError, match="whole number"):
        linalg.matrix_power(a, 1.5)
    with pytest.raises(ValueError, match="square"):
        linalg.matrix_power(a[:, :2], 2)
    with pytest.raises(np.linalg.LinAlgError):
        linalg.matrix_power(np.zeros((2, 2)), -1)


@pytest.mark.parametrize("kind", FLOATS)
def test_multi_dot(kind):
    chain = [random(*shape, kind=kind) for shape in ((3, 8), (8, 2), (2, 9), (9, 4))]
    near(linalg.multi_dot(chain), np.linalg.multi_dot(chain), 10)
    near(linalg.multi_dot([chain[0][0], *chain[1:]]), np.linalg.multi_dot([chain[0][0], *chain[1:]]), 10)
    near(linalg.multi_dot([*chain[:3], chain[3][:, 0]]), np.linalg.multi_dot([*chain[:3], chain[3][:, 0]]), 10)
    near(linalg.multi_dot([chain[0][0], chain[1][:, 0]]), chain[0][0] @ chain[1][:, 0], 10)
    near(linalg.multi_dot([chain[0][0], chain[1], chain[2][:, 0]]), chain[0][0] @ chain[1] @ chain[2][:, 0], 10)
    out = np.empty((3, 4), kind)
    assert linalg.multi_dot(chain, out=out) is out
    for wrong, text in (([chain[0]], "at least 2"), ([chain[0], chain[0]], "8 columns"), ([chain[0], chain[1][0], chain[2]], "dimensions")):
        with pytest.raises(ValueError, match=text):
            linalg.multi_dot(wrong)
    with pytest.raises(ValueError):
        linalg.multi_dot([np.ones((2, 1)), np.ones((3, 2))])  # 1 does not broadcast


def test_products_are_calls_of_the_library():
    a, b, c = random(4, 5), random(5, 6), random(6, 4)
    native = {"blas.preferred": "native"}
    linalg.vecdot(a, a, settings=native)
    assert bp.last_plan().operation == "gemm" and bp.last_plan().library == "native"
    why = bp.explain(linalg.vecdot, a, a, dim=0, settings=native)
    assert why.chosen.library == "native" and why.problem == "f64 5 x 1x4^T ld 5 @ 4x1 ld 5 -> 1x1"
    linalg.multi_dot([a, b, c], settings=native)
    assert bp.last_plan().operation == "einsum"
    assert len(bp.explain(linalg.multi_dot, [a, b, c]).parts) == 2
    square = random(3, 3)
    why = bp.explain(linalg.matrix_power, square, -5, settings=native)
    assert why.problem == "f64 (3, 3) to the power -5" and len(why.parts) == 4
    assert bp.explain(linalg.matrix_power, [[2, 0], [0, 4]], -1).parts[0].chosen
    with pytest.raises(TypeError):
        bp.explain(linalg.vecdot, [1, 2], [3, 4])  # NumPy computes it
    with pytest.raises(ValueError, match="64 bits"):
        bp.explain(linalg.matrix_power, square, 2**63)
    with pytest.raises(ValueError, match="square"):
        bp.explain(linalg.matrix_power, a, 2)


def test_awkward_arguments_of_products():
    a = random(3, 3)
    buffer = memoryview(array.array("d", a.ravel())).cast("B").cast("d", (3, 3))
    for made, wanted in ((linalg.vecdot(buffer, buffer), np.sum(a * a, 1)), (linalg.multi_dot([buffer] * 4), np.linalg.multi_dot([a] * 4)),
                         (linalg.matrix_power(buffer, 3), a @ a @ a)):
        assert isinstance(made, bp.Tensor)
        near(made, wanted, 10)
    swap = np.eye(2)[::-1]
    for number in (2**63 - 1, 2**63, 2**64 + 1, -(2**63), -(2**63) - 1, 2**200 + 1, -(2**200) + 1):
        for kind in (np.float32, np.int64) if number > 0 else (np.float64,):
            near(linalg.matrix_power(swap.astype(kind), number), (swap if number % 2 else np.eye(2)).astype(kind))
    for dim in (2**31, -(2**31) - 1, 2**32, 2**32 - 1, 2**63, 2**200):
        with pytest.raises(ValueError, match="out of range"):
            linalg.vecdot(a, a, dim=dim)
    with pytest.raises(ValueError, match="out of range"):
        linalg.vecdot([1, 2], [3, 4], dim=1)
    for call in (lambda out: linalg.vecdot(a, a, out=out), lambda out: linalg.multi_dot([a, a], out=out),
                 lambda out: linalg.matrix_power(a, 2, out=out)):
        with pytest.raises(ValueError):
            call(np.empty((3, 4)))
        with pytest.raises(TypeError):
            call(np.empty((3, 3) if call(None).ndim == 2 else 3, int))
    with pytest.raises(ValueError, match="overlap"):
        linalg.matrix_power(a, 2, out=a)
    with pytest.raises(ValueError, match="at least 2"):
        linalg.multi_dot([])
    near(linalg.vecdot(np.array([3, 4], object), np.array([1, 2], object)).astype(float), np.array(11.0))
    near(linalg.matrix_power(np.array([[2, 0], [0, 4]]), -2), np.diag([0.25, 0.0625]))
    near(linalg.vecdot(np.array([1, 2]), np.array([0.5, 1.0], np.float32)), np.array(2.5))
    near(linalg.matrix_power(a.astype(np.float16), 0), np.eye(3, dtype=np.float16))


@pytest.mark.parametrize("kind", FLOATS)
def test_tensordot_and_outer(kind):
    a, b = random(2, 3, 4, kind=kind), random(4, 3, 5, kind=kind)
    for axes in (0, 1, ([1, 2], [1, 0]), ([-1], [0]), (2, 0), ([], [])):
        near(linalg.tensordot(a, b, axes), np.tensordot(a, b, axes), 10)
    near(linalg.tensordot(a, b, dims=1), np.tensordot(a, b, 1), 10)
    near(linalg.tensordot(a, a.transpose(1, 2, 0)), np.tensordot(a, a.transpose(1, 2, 0)), 10)
    near(linalg.outer(a[0, 0], b[0, 0]), np.outer(a[0, 0], b[0, 0]))
    near(linalg.outer(a[0, 0], [1, 2]), np.outer(a[0, 0], np.array([1, 2])))
    for axes in (4, -1, ([0], [0]), ([0, 0], [0, 0]), ([0], [0, 1]), ([3], [0])):
        with pytest.raises(ValueError):
            linalg.tensordot(a, b, axes)
    with pytest.raises(ValueError):
        linalg.tensordot(np.ones((2, 1)), np.ones((3, 2)), 1)  # 1 does not broadcast
    with pytest.raises(TypeError):
        linalg.tensordot(a, b, "1")
    with pytest.raises(ValueError, match="vector"):
        linalg.outer(a, b)


def test_cross():
    a, b = random(4, 3), random(3)
    near(linalg.cross(a, b), np.linalg.cross(a, b))
    near(linalg.cross(a.T, a[::-1].T, axis=0), np.linalg.cross(a.T, a[::-1].T, axis=0))
    near(linalg.cross(a.T, a.T, dim=0), np.zeros((3, 4)))
    assert linalg.cross([1, 0, 0], [0, 1, 0]).tolist() == [0, 0, 1]
    with pytest.raises(ValueError, match="must have 3"):
        linalg.cross(a[:, :2], b[:2])


def test_diagonal_trace_and_transpose():
    a = random(2, 3, 4)
    for offset in (0, 1, -2, 7):
        assert np.array_equal(linalg.diagonal(a, offset=offset), np.linalg.diagonal(a, offset=offset))
        near(linalg.trace(a, offset=offset), np.linalg.trace(a, offset=offset))
    assert np.shares_memory(linalg.diagonal(a), a) and np.shares_memory(linalg.matrix_transpose(a), a)
    assert linalg.matrix_transpose(a).shape == (2, 4, 3) and linalg.matrix_transpose([[1, 2]]).tolist() == [[1], [2]]
    assert linalg.trace(np.eye(2, dtype=np.int8), dtype=np.int16).dtype == np.int16
    for function in (linalg.diagonal, linalg.trace, linalg.matrix_transpose):
        with pytest.raises(ValueError, match="at least 2"):
            function(np.ones(3))


def test_tensorsolve_and_tensorinv():
    a = random(2, 3, 6)
    near(linalg.tensorsolve(a, np.ones((2, 3))), np.linalg.tensorsolve(a, np.ones((2, 3))), 1e4)
    moved = random(6, 2, 3)
    near(linalg.tensorsolve(moved, np.ones((2, 3)), axes=(0,)), np.linalg.tensorsolve(moved, np.ones((2, 3)), axes=(0,)), 1e4)
    near(linalg.tensorsolve(moved, np.ones((2, 3)), (0,)), np.linalg.tensorsolve(moved, np.ones((2, 3)), (0,)), 1e4)
    near(linalg.tensorinv(a), np.linalg.tensorinv(a), 1e4)
    near(linalg.tensorinv(moved, ind=1), np.linalg.tensorinv(moved, ind=1), 1e4)
    for call in (lambda: linalg.tensorsolve(a, np.ones((3, 2))), lambda: linalg.tensorinv(a, 1), lambda: linalg.tensorinv(a, 0)):
        with pytest.raises(ValueError):
            call()


# ---- Promotion ----


def test_conversion_as_in_numpy():
    near(linalg.solve(np.eye(2, dtype=np.float32), np.ones(2)), np.ones(2))
    near(linalg.solve(np.eye(2, dtype=np.float32), np.ones(2, np.int8)), np.ones(2))
    near(linalg.solve(np.eye(2, dtype=np.complex64), np.ones(2)), np.ones(2, np.complex128))
    near(linalg.inv([[2, 0], [0, 4]]), np.diag([0.5, 0.25]))
    near(linalg.inv(np.diag([2, 4])), np.diag([0.5, 0.25]))
    near(linalg.det([[2.0, 0], [0, 4]]), np.float64(8))
    near(linalg.svdvals(np.array([[True, False], [False, True]])), np.ones(2))
    near(linalg.lstsq([[1], [1]], [[1], [3]]).solution, np.array([[2.0]]))
    near(linalg.lu_solve(*linalg.lu_factor([[2, 0], [0, 4]]), [[2], [4]]), np.ones((2, 1)))
    assert linalg.eigh([[2, 0], [0, 1]]).eigenvalues.tolist() == [1, 2]
    assert str(bp.explain(linalg.solve, [[2]], [1.0])).startswith("problem")
    out = np.empty((2, 2))
    assert linalg.inv([[2, 0], [0, 4]], out=out) is out and out[0, 0] == 0.5
    a = np.eye(2, dtype=int)
    assert linalg.inv(a) is not a and a.dtype == int
    for wrong in ([["a"]], np.array([[None]]), np.eye(2, dtype=np.float16), np.ma.masked_array(np.eye(2, dtype=int)), {}, None):
        with pytest.raises(TypeError):
            linalg.inv(wrong)
    with pytest.raises(ValueError):
        linalg.inv([[1, 2], [3]])


def test_tolerances_may_be_arrays():
    a = random(2, 3, 4, 3)
    a[0, 0, :, 0] = a[0, 0, :, 1] * (1 + 1e-9)
    for rtol in (np.array([[1e-12, 1e-3, 0.5], [1e-12, 0.9, 2]]), [1e-6, 0.1, 0.5], [[1e-12], [1.0]], np.array(1e-6), np.array([1e-6])):
        near(linalg.matrix_rank(a, rtol=rtol), np.linalg.matrix_rank(a, rtol=rtol))
        near(linalg.pinv(a, rtol=rtol), np.linalg.pinv(a, rtol=np.asarray(rtol)), 1e11)
    near(linalg.matrix_rank(a, tol=[0.1, 1, 10]), np.linalg.matrix_rank(a, tol=np.array([0.1, 1, 10])))
    near(linalg.matrix_rank(a[0, 1], rtol=[1e-9, 2.0]), np.array([3, 0]))
    near(linalg.matrix_rank(np.empty((2, 0, 3)), rtol=[0.1, 0.2]), np.zeros(2, int))
    near(linalg.pinv(np.empty((2, 0, 3)), rtol=[0.1, 0.2]), np.empty((2, 3, 0)))
    near(linalg.pinv(np.diag([1, 1e-5]), 1e-3), np.linalg.pinv(np.diag([1, 1e-5]), 1e-3))
    near(linalg.pinv([[2, 0], [0, 4]], rtol=[0.1]), np.diag([0.5, 0.25])[None])
    with pytest.raises(ValueError, match="same tolerance"):
        linalg.pinv(a, 1e-3, rtol=1e-3)
    assert str(bp.explain(linalg.pinv, a, rtol=[0.1, 0.2, 0.3])).startswith("problem")


@pytest.mark.parametrize("call, text", [
    (lambda: linalg.inv(np.eye(2), axis=0), "last two dimensions"),
    (lambda: linalg.solve(np.eye(2), np.eye(2), axes=(0, 1)), "last two dimensions"),
    (lambda: linalg.svd(np.eye(2), compute_uv=False), "svdvals"),
    (lambda: linalg.svd(np.eye(2), hermitian=True), "eigh"),
    (lambda: linalg.pinv(np.eye(2), tol=1), "atol"),
    (lambda: linalg.matrix_rank(np.eye(2), rcond=1), "rtol"),
    (lambda: linalg.det(np.eye(2), keepdims=True), "no dimensions to keep"),
])
def test_keywords_of_numpy_that_do_not_apply(call, text):
    with pytest.raises(TypeError, match=text):
        call()


def test_functions_of_numpy_read_tensors():
    """backplane.Tensor has no __array_function__; NumPy converts it without a copy."""
    tensor = bp.matmul(memoryview(np.eye(2)), memoryview(np.eye(2)))
    assert isinstance(tensor, bp.Tensor) and not hasattr(tensor, "__array_function__") and not hasattr(tensor, "__array_ufunc__")
    for found in (np.linalg.inv(tensor), np.sum(tensor, axis=0), np.add(tensor, 1), np.concatenate([tensor, np.eye(2)])):
        assert type(found) is np.ndarray
    assert np.shares_memory(np.asarray(tensor), np.asarray(tensor))


def test_vector_norms_are_operations_of_the_library():
    explained = bp.explain(linalg.vector_norm, np.ones((3, 4)), 3, 1)
    assert explained.chosen.library == "native" and explained.problem.endswith("p=3")
    linalg.norm(np.ones((3, 4)), axis=0)
    assert bp.last_plan().operation == "vector_norm"
    with pytest.raises(AttributeError, match="nonsense"):  # settings reach norms of vectors too
        linalg.norm(np.ones((3, 4)), axis=0, settings={"nonsense": 1})
