"""Lists, integers and mixed types: every function takes what the others take, and no integer is rounded."""

import numpy as np
import pytest

import backplane as bp

F, L = bp.nn.functional, bp.linalg
M, V = [[2.0, 1.0], [1.0, 3.0]], [1.0, 2.0]
SEQUENCE, IMAGE = [[[1.0, 2.0], [3.0, 4.0]]], [[[[1.0, 2.0], [3.0, 4.0]]]]
LARGE = 2**53 + 1

CALLS = {
    "matmul": lambda take: bp.matmul(take(M), take(V)),
    "gemm": lambda take: bp.gemm(take(M), take(M), transform_b="transpose", alpha=2),
    "einsum": lambda take: bp.einsum("ij,kj->ik", take(M), take(M)),
    "einsum of labels": lambda take: bp.einsum(take(M), [0, 1], take(V), [1], [0]),
    "einsum of one": lambda take: bp.einsum("ij->i", take(M)),
    "einsum with out": lambda take: bp.einsum("ij,j", take(M), take(V), out=np.empty(2)),
    "layer_norm": lambda take: F.layer_norm(take(M), (2,), take(V), take(V)),
    "rms_norm": lambda take: F.rms_norm(take(M), (2,)),
    "group_norm": lambda take: F.group_norm(take(SEQUENCE), 1),
    "instance_norm": lambda take: F.instance_norm(take(SEQUENCE)),
    "batch_norm": lambda take: F.batch_norm(take(M), take(V), take(V)),
    "batch_norm in training": lambda take: F.batch_norm(take(M), None, None, training=True),
    "softmax": lambda take: F.softmax(take(M), dim=0),
    "linear": lambda take: F.linear(take(M), take(M), take(V)),
    "conv2d": lambda take: F.conv2d(take(IMAGE), take(IMAGE)),
    "conv_transpose2d": lambda take: F.conv_transpose2d(take(IMAGE), take(IMAGE)),
    "max_pool2d": lambda take: F.max_pool2d(take(IMAGE), 2),
    "avg_pool2d": lambda take: F.avg_pool2d(take(IMAGE), 2),
    "attention": lambda take: F.scaled_dot_product_attention(take(SEQUENCE), take(SEQUENCE), take(SEQUENCE)),
    "mean": lambda take: bp.reduce.mean(take(M), axis=0),
    "add": lambda take: bp.elementwise.add(take(M), take(V)),
    "exp": lambda take: bp.elementwise.exp(take(M)),
    "fft": lambda take: bp.fft.fft(take(V)),
    "solve": lambda take: L.solve(take(M), take(V)),
    "matrix_exp": lambda take: L.matrix_exp(take(M)),
}


@pytest.mark.parametrize("name", CALLS)
def test_lists_and_integers(name):
    expected = CALLS[name](np.array)
    for take in (lambda given: given, lambda given: np.array(given).astype("int32"), lambda given: np.array(given).astype(int).tolist()):
        got = CALLS[name](take)
        assert type(got) is np.ndarray and np.allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_integers_are_exact():
    a, b = np.array([[LARGE, 1], [0, 2]]), np.array([[1, 0], [2, LARGE]])
    for dtype in ("i8", "u8"):
        x, y = a.astype(dtype), b.astype(dtype)
        for got in (bp.gemm(x, y), bp.einsum("ij,jk", x, y), bp.einsum(x, [0, 1], y, [1, 2]), bp.matmul(x, y), bp.gemm(x, y, alpha=1.0)):
            assert got.dtype == dtype and got.tolist() == [[LARGE + 2, LARGE], [4, 2 * LARGE]]
    c = np.full((2, 2), LARGE)
    assert bp.gemm(a, b, c, alpha=-1, beta=3.0) is c and c.tolist() == [[2 * LARGE - 2, 2 * LARGE], [3 * LARGE - 4, LARGE]]
    assert bp.gemm(a, b, alpha=0.5).dtype == float
    with pytest.raises(TypeError, match="cannot hold"):
        bp.gemm(a, b, c, alpha=0.5)
    with pytest.raises(ValueError, match="c has shape"):
        bp.gemm(a, b, np.zeros((3, 2), int), beta=1)
    with pytest.raises(ValueError, match="dimensions"):
        bp.gemm(a, [1, 2])
    out, wide, narrow = np.empty((2, 2)), np.array([[2**53, 1], [1, 1]]), np.empty((2, 2), "i4")
    assert (bp.einsum("ij->ij", wide, out=out) == wide).all() and (bp.gemm(np.eye(2, dtype=int), wide, out) == wide).all()
    for call in (lambda: bp.gemm(a, b, out), lambda: bp.einsum("ij,jk", a, b, out=out), lambda: bp.gemm(wide, b % 2, narrow)):
        with pytest.raises(TypeError, match="cannot hold"):
            call()
    assert bp.gemm([[1, 2]], [[3, 4]], transform_b="transpose").tolist() == [[11]]
    assert bp.gemm([[1], [2]], [[3], [4]], transform_a="conjugate_transpose").tolist() == [[11]]
    turned = np.array([[1j, 2]], np.clongdouble)
    assert bp.gemm(turned, turned, transform_b="conjugate_transpose").tolist() == [[5]]
    assert bp.einsum("i,i", np.array([100, 100], "i1"), np.array([2, 2], "i1")).tolist() == -112  # 400 modulo 256
    assert bp.einsum("ij->ji", a).base is None and bp.einsum("...i->...", [[LARGE, 0]]).tolist() == [LARGE]
    assert bp.einsum("ij,jk", bp.full((2, 2), 3), bp.full((2, 2), 2)).tolist() == [[12, 12], [12, 12]]


def test_mixed_types_become_one():
    f4, f8, whole = np.ones((2, 2), "f4"), np.ones((2, 2)), np.ones((2, 2), int)
    for call in (bp.matmul, bp.gemm, lambda a, b: bp.einsum("ij,jk", a, b)):
        assert call(f4, f8).dtype == call(f8, whole).dtype == call(f4, whole).dtype == "f8"
        assert call(f4, M).dtype == "f8" and call(f4, f4.astype("c8")).dtype == "c8"
    c = np.ones((2, 2))
    assert bp.gemm(f8, whole, c, beta=1) is c and (c == 3).all()


def test_a_list_of_arrays_and_a_list_that_is_an_array():
    assert bp.einsum("i->", [1.0, 2.0]) == 3 and bp.einsum("ij->j", [[1.0, 2.0]]).tolist() == [1, 2]
    assert bp.einsum("i->", [np.array([1.0, 2.0])]) == 3 and bp.einsum("i,i->", [[1.0, 2.0], [3.0, 4.0]]) == 11


def test_paths_and_explanations():
    assert bp.einsum_path("ij,jk,k", M, M, V)[0] == bp.einsum_path("ij,jk,k", *map(np.array, (M, M, V)))[0]
    for function, arguments in ((bp.gemm, (M, M)), (bp.matmul, (M, M)), (bp.einsum, ("ij,jk", M, M))):
        assert "f64" in bp.explain(function, *arguments).problem
    with pytest.raises(TypeError, match="i64"):
        bp.explain(bp.gemm, [[1]], [[2]])


def test_what_stays_refused():
    for call in (lambda x: bp.gemm(x, x), lambda x: bp.einsum("ij,jk", x, x), lambda x: bp.matmul(x, x)):
        for wrong in ("text", object(), [["a"]], None):
            with pytest.raises(TypeError):
                call(wrong)
    with pytest.raises(TypeError):
        F.batch_norm(M, V, V, training=True)  # they are written
    with pytest.raises(TypeError):
        bp.gemm(M, M, M, beta=1)  # it is written
