"""backplane.linalg on NumPy arrays; NumPy is the reference."""

import gc
import inspect
import threading

import numpy as np
import pytest

import backplane
from backplane import linalg

TYPES = ["f4", "f8", "c8", "c16"]


@pytest.fixture
def lapack():
    """Skips tests of operations that the native provider does not have, if there is no library for them."""
    if backplane.explain(linalg.qr, np.ones((6, 4))).chosen is None:
        pytest.skip("no library offers LAPACK")


def random(*shape, dtype="f8", seed=3):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def definite(*shape, dtype="f8"):
    a = random(*shape, dtype=dtype)
    return (a @ a.conj().swapaxes(-1, -2) + np.eye(shape[-1])).astype(dtype)


def near(got, wanted, dtype="f8"):
    tolerance = 2e-3 if dtype in ("f4", "c8") else 1e-9
    assert np.shape(got) == np.shape(wanted)
    assert np.allclose(got, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", TYPES)
def test_inverses_and_solutions(dtype):
    a, b = random(3, 5, 5, dtype=dtype), random(5, 2, dtype=dtype)
    inverse = linalg.inv(a)
    assert isinstance(inverse, np.ndarray) and inverse.dtype == np.dtype(dtype)
    near(inverse, np.linalg.inv(a), dtype)
    near(a @ linalg.solve(a, b), np.broadcast_to(b, (3, 5, 2)), dtype)
    near(linalg.solve(a, b.T.copy(), left=False) @ a, np.broadcast_to(b.T, (3, 2, 5)), dtype)
    vectors = random(3, 5, dtype=dtype)
    near(np.einsum("bij,bj->bi", a, linalg.solve(a, vectors)), vectors, dtype)
    assert linalg.solve(a[0], vectors[0]).shape == (5,)
    near(np.triu(a) @ linalg.solve_triangular(a, b, upper=True), np.broadcast_to(b, (3, 5, 2)), dtype)
    unit = np.tril(a, -1) + np.eye(5, dtype=dtype)
    near(linalg.solve_triangular(a, b.T, upper=False, left=False, unitriangular=True) @ unit,
         np.broadcast_to(b.T, (3, 2, 5)), dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_cholesky(dtype):
    a, b = definite(2, 4, 4, dtype=dtype), random(4, 3, dtype=dtype)
    lower = linalg.cholesky(a)
    near(lower, np.linalg.cholesky(a), dtype)
    near(linalg.cholesky(a, upper=True), np.linalg.cholesky(a).conj().swapaxes(-1, -2), dtype)
    near(a @ linalg.cholesky_solve(b, lower), np.broadcast_to(b, (2, 4, 3)), dtype)
    near(linalg.cholesky_inverse(lower), np.linalg.inv(a), dtype)
    factor, info = linalg.cholesky_ex(-a)
    assert info.dtype == np.int32 and info.tolist() == [1, 1]


@pytest.mark.parametrize("dtype", TYPES)
def test_lu(dtype):
    a, b = random(4, 4, dtype=dtype), random(4, 2, dtype=dtype)
    factored = linalg.lu_factor(a)
    assert factored._fields == ("LU", "pivots") and factored.pivots.dtype == np.int32
    rows = list(range(4))
    for i, other in enumerate(factored.pivots - 1):
        rows[i], rows[other] = rows[other], rows[i]
    near((np.tril(factored.LU, -1) + np.eye(4)) @ np.triu(factored.LU), a[rows], dtype)
    for left in (True, False):
        for adjoint in (True, False):
            x = linalg.lu_solve(*factored, b if left else b.T, left=left, adjoint=adjoint)
            matrix = a.conj().T if adjoint else a
            near(matrix @ x if left else x @ matrix, b if left else b.T, dtype)
    p, lower, upper = linalg.lu(random(2, 5, 3, dtype=dtype))
    assert p.shape == (2, 5, 5) and lower.shape == (2, 5, 3) and upper.shape == (2, 3, 3)
    near(p @ lower @ upper, random(2, 5, 3, dtype=dtype), dtype)
    assert linalg.lu_factor_ex(np.zeros((2, 2), dtype)).info == 1
    with pytest.raises(RuntimeError, match="without pivoting"):
        linalg.lu(a, pivot=False)


@pytest.mark.parametrize("dtype", TYPES)
def test_qr(lapack, dtype):
    a = random(2, 6, 4, dtype=dtype)
    q, r = linalg.qr(a)
    assert q.shape == (2, 6, 4) and np.array_equal(r, np.triu(r))
    near(q @ r, a, dtype)
    q, r = linalg.qr(a, "complete")
    assert q.shape == (2, 6, 6) and r.shape == (2, 6, 4)
    near(q @ r, a, dtype)
    q, r = linalg.qr(a, mode="r")
    assert q.shape == (0,) and q.dtype == a.dtype and r.shape == (2, 4, 4)
    with pytest.raises(ValueError, match="reduced, complete, r"):
        linalg.qr(a, "full")


@pytest.mark.parametrize("dtype", TYPES)
def test_eigenvalues(lapack, dtype):
    h, a = definite(2, 5, 5, dtype=dtype), random(2, 5, 5, dtype=dtype)
    found = linalg.eigh(h)
    assert found._fields == ("eigenvalues", "eigenvectors") and found.eigenvalues.dtype == h.real.dtype
    near(found.eigenvalues, np.linalg.eigvalsh(h), dtype)
    near(h @ found.eigenvectors, found.eigenvectors * found.eigenvalues[:, None, :], dtype)
    near(linalg.eigvalsh(np.triu(h), UPLO="u"), found.eigenvalues, dtype)
    w, v = linalg.eig(a)
    assert w.dtype == v.dtype == np.result_type(a, np.complex64)
    near(a @ v, v * w[:, None, :], dtype)
    near(np.sort_complex(linalg.eigvals(a)), np.sort_complex(w), dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_singular_values(lapack, dtype):
    a = random(3, 4, 6, dtype=dtype)
    u, s, vh = linalg.svd(a)
    assert u.shape == (3, 4, 4) and vh.shape == (3, 6, 6) and s.dtype == a.real.dtype
    near(u * s[:, None, :] @ vh[:, :4], a, dtype)
    found = linalg.svd(a, full_matrices=False)
    assert found._fields == ("U", "S", "Vh") and found.Vh.shape == (3, 4, 6)
    near(linalg.svdvals(a), np.linalg.svd(a, compute_uv=False), dtype)
    near(linalg.pinv(a), np.linalg.pinv(a), dtype)
    near(linalg.pinv(definite(4, 4, dtype=dtype), hermitian=True), np.linalg.inv(definite(4, 4, dtype=dtype)), dtype)
    assert linalg.matrix_rank(a).tolist() == [4, 4, 4] and linalg.matrix_rank(a).dtype == np.int64
    assert linalg.matrix_rank(a, atol=1e9).tolist() == [0, 0, 0]
    near(linalg.cond(a), np.linalg.cond(a), dtype)
    near(linalg.cond(a[:, :, :4], 1), np.linalg.cond(a[:, :, :4], 1), dtype)
    with pytest.raises(RuntimeError, match="cuSOLVER"):
        linalg.svd(a, driver="gesvd")


@pytest.mark.parametrize("dtype", TYPES)
def test_least_squares(lapack, dtype):
    a, b = random(7, 3, dtype=dtype), random(7, 2, dtype=dtype, seed=5)
    wanted, residuals, rank, values = np.linalg.lstsq(a, b, rcond=None)
    for driver in (None, "gelsy", "gels", "gelsd", "gelss"):
        found = linalg.lstsq(a, b, driver=driver)
        near(found.solution, wanted, dtype)
        near(found.residuals, residuals, dtype)
        assert found.rank.shape == (0,) if driver == "gels" else found.rank == rank
        if driver in ("gelsd", "gelss"):
            near(found.singular_values, values, dtype)
        else:
            assert found.singular_values.shape == (0,)
    assert linalg.lstsq(a, b[:, 0]).solution.shape == (3,)
    assert linalg.lstsq(a, b, rcond=0.999999).rank < 3
    with pytest.raises(ValueError, match="gelsy, gels, gelsd, gelss"):
        linalg.lstsq(a, b, driver="gel")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(7, 3), (3, 7), (4, 4)])
def test_least_squares_without_right_sides(lapack, dtype, shape):
    a, b = random(*shape, dtype=dtype), np.zeros((shape[0], 0), dtype)
    wanted, _, rank, values = np.linalg.lstsq(a, b, rcond=None)
    for driver in ("gelsy", "gelsd", "gelss"):
        found = linalg.lstsq(a, b, driver=driver)
        assert found.solution.shape == wanted.shape and found.residuals.shape == (0,) and found.rank == rank
        if driver != "gelsy":
            near(found.singular_values, values, dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_negative_rcond_is_the_machine_precision(lapack, dtype):
    """As in NumPy (which computes in f8) a negative value goes to LAPACK, whose threshold is smaller than the default."""
    b = np.ones((2, 1), dtype)
    for value, rcond, rank in [(1.5, None, 1), (1.5, -1, 2), (0.75, -3, 2), (0.25, -1, 1)]:
        a = np.diag([1, value * np.finfo(dtype).eps]).astype(dtype)
        assert dtype == "f4" or np.linalg.lstsq(a, b, rcond=rcond)[2] == rank
        for driver in ("gelsy", "gelsd", "gelss"):
            assert linalg.lstsq(a, b, rcond, driver=driver).rank == rank


@pytest.mark.parametrize("order", [None, 2, -2, "fro", "nuc", 1, -1, np.inf, -np.inf])
def test_condition_of_zeros(lapack, order):
    assert np.isinf(linalg.cond(np.zeros((2, 3, 3)), order)).all()
    if order != "nuc":  # NumPy's singular values do not converge
        assert np.isinf(np.linalg.cond(np.zeros((2, 3, 3)), order)).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_determinants(dtype):
    a = random(3, 4, 4, dtype=dtype)
    near(linalg.det(a), np.linalg.det(a), dtype)
    found = linalg.slogdet(a)
    assert found._fields == ("sign", "logabsdet")
    near(found.sign * np.exp(found.logabsdet), np.linalg.det(a), dtype)
    assert linalg.det(a[0]).shape == () and linalg.det(np.zeros((0, 0))) == 1


@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_norms(lapack, order):
    a = random(2, 3, 4, 5)
    near(linalg.matrix_norm(a, order), np.linalg.norm(a, order, axis=(-2, -1)))
    for dim in ((0, 1), (1, 0), (-1, 0), (3, 1), (0, 2)):
        near(linalg.matrix_norm(a, order, dim), np.linalg.norm(a, order, axis=dim))
        wanted = np.linalg.norm(a, order, axis=dim, keepdims=True)
        near(linalg.matrix_norm(a, order, dim, True), wanted)
        into = np.full(wanted.shape, np.nan)
        assert linalg.matrix_norm(a, order, dim, keepdim=True, out=into) is into
        near(into, wanted)
    for dim in ((0, 0), (0, 4), (1, -3)):
        with pytest.raises(ValueError):
            linalg.matrix_norm(a, order, dim)
    with pytest.raises(TypeError):
        linalg.matrix_norm(a, order, 1)
    with pytest.raises(ValueError):
        linalg.matrix_norm(a, order, (0, 1), keepdim=True, out=np.zeros((2, 1, 4, 5)))


def test_a_preferred_library_computes_every_norm(lapack):
    """Also norms that are plain sums, for which the native provider is faster."""
    a = np.stack([random(3, 5, dtype="c16"), random(3, 5, dtype="c16", seed=4).T.reshape(3, 5)])
    libraries = [row.id for row in backplane.libraries() if "lapack" in row.offers and row.state == "ok"]
    assert libraries
    for name in libraries:
        with backplane.flags({"linalg.preferred": name, "dispatch.fallback": "strict"}):
            try:
                linalg.matrix_norm(a, "fro")
            except backplane.Error as error:
                assert "would call the products of" in str(error)  # another BLAS with this SONAME was loaded before
                continue
            for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
                for matrix in (a, a.swapaxes(-1, -2), a[:, ::-1, ::2]):
                    near(linalg.matrix_norm(matrix, order), np.linalg.norm(matrix, order, axis=(-2, -1)))
                    assert backplane.last_plan().library == name
            a[1, 0, 0] = np.nan
            assert np.isnan(linalg.matrix_norm(a, "fro")).tolist() == [False, True]
            a[1, 0, 0] = 1


def test_out():
    a = random(3, 4, 4)
    into = np.empty((3, 4, 4)).transpose(0, 2, 1)
    assert linalg.inv(a, out=into) is into
    near(into, np.linalg.inv(a))
    big, pivots = np.empty((3, 4, 4)), np.empty((3, 4), np.int32)
    found = linalg.lu_factor(a, out=(big, pivots))
    assert found.LU is big and found.pivots is pivots and pivots.min() >= 1
    with pytest.raises(ValueError, match="out has 1 arrays; there are 2 results"):
        linalg.lu_factor(a, out=(big,))
    with pytest.raises(ValueError, match="overlaps A"):
        linalg.inv(a, out=a)
    with pytest.raises(TypeError, match="inverse is f32"):
        linalg.inv(a, out=np.empty((3, 4, 4), "f4"))
    with pytest.raises(ValueError, match="read-only"):
        into.flags.writeable = False
        linalg.inv(a, out=into)


def test_failures():
    batch = np.stack([np.eye(2), np.zeros((2, 2))])
    assert issubclass(linalg.LinAlgError, RuntimeError) and issubclass(linalg.LinAlgError, backplane.Error)
    for call, status in [
        (lambda: linalg.inv(batch), "E_SINGULAR"),
        (lambda: linalg.lu_factor(batch), "E_SINGULAR"),
        (lambda: linalg.solve(batch, np.ones((2, 2))), "E_SINGULAR"),
        (lambda: linalg.cholesky(batch), "E_NOT_POSITIVE_DEFINITE"),
        (lambda: linalg.inv_ex(batch, check_errors=True), "E_SINGULAR"),
    ]:
        with pytest.raises(linalg.LinAlgError, match="Batch element 1") as caught:
            call()
        assert caught.value.status == status
    assert linalg.inv_ex(batch).info.tolist() == [0, 1]
    assert linalg.solve_ex(batch, np.ones((2, 1))).info.tolist() == [0, 1]
    batch[0, 0, 0] = np.nan
    with pytest.raises(linalg.LinAlgError, match="NaN or infinity"):
        linalg.det(batch)
    found = linalg.inv_ex(batch)
    assert found.info.tolist() == [-1, 1] and np.isnan(found.inverse[0]).all()


def test_refusals():
    with pytest.raises(TypeError, match="A is i64"):
        linalg.inv(memoryview(np.eye(2, dtype=np.int64)))
    with pytest.raises(ValueError, match="must be square"):
        linalg.inv(np.ones((2, 3)))
    with pytest.raises(ValueError, match="at least 2 dimensions"):
        linalg.det(np.ones(3))
    with pytest.raises(TypeError, match="because A is f64"):
        linalg.solve(np.eye(2), memoryview(np.ones((2, 1), "f4")))
    with pytest.raises(TypeError, match="masked array"):
        linalg.inv(np.ma.masked_array(np.eye(2)))
    with pytest.raises(TypeError, match="neither the buffer protocol"):
        linalg.inv({1.0})
    with pytest.raises(ValueError, match="order is 3; it must be 1"):
        linalg.matrix_norm(np.eye(2), 3)
    with pytest.raises(TypeError):
        linalg.cond(np.eye(2), True)
    with pytest.raises(ValueError, match="it must be L, U"):
        linalg.eigh(np.eye(2), "X")
    with pytest.raises(ValueError, match="rtol is -1"):
        linalg.pinv(np.eye(2), rtol=-1.0)
    with pytest.raises(AttributeError):
        linalg.invert


def test_layouts_and_kinds_of_arrays():
    a = random(4, 4)
    for view in (a.T, a[::-1], a[:, ::-1], np.broadcast_to(a, (3, 4, 4)), random(8, 8)[::2, ::2]):
        near(linalg.inv(view), np.linalg.inv(view))
    result = linalg.inv(memoryview(a))
    assert isinstance(result, backplane.Tensor) and result.shape == (4, 4)
    near(np.asarray(linalg.inv(result)), a)
    info = linalg.inv_ex(memoryview(a)).info
    assert info.dtype == "i32" and memoryview(info).format == "i"


def test_explain_and_settings():
    a = random(4, 4)
    explanation = backplane.explain(linalg.inv, a, settings={"linalg.preferred": "native"})
    assert explanation.chosen.library == "native" and explanation.problem.startswith("f64 4x4")
    linalg.inv(a, settings={"linalg.preferred": "native"})
    assert backplane.last_plan().library == "native" and backplane.last_plan().operation == "inv"
    with pytest.raises(backplane.Error) as caught:
        linalg.inv(a, settings={"linalg.preferred": "nowhere", "dispatch.fallback": "strict"})
    assert caught.value.status == "E_NOT_FOUND"
    with pytest.raises(TypeError, match="backplane.linalg"):
        backplane.explain(print, a)


def test_signatures():
    """Names, order and kinds of the arguments are as in torch, plus other names of NumPy and settings."""
    wanted = {
        "inv": "(A, *, out)", "inv_ex": "(A, *, check_errors, out)", "cholesky": "(A, *, upper, out)",
        "cholesky_ex": "(A, *, upper, check_errors, out)", "lu_factor": "(A, *, pivot, out)",
        "lu_factor_ex": "(A, *, pivot, check_errors, out)", "lu": "(A, *, pivot, out)",
        "lu_solve": "(LU, pivots, B, *, left, adjoint, out)", "qr": "(A, mode, *, out)", "eigh": "(A, UPLO, *, out)",
        "eigvalsh": "(A, UPLO, *, out)", "eig": "(A, *, out)", "eigvals": "(A, *, out)",
        "svd": "(A, full_matrices, *, driver, out)", "svdvals": "(A, *, driver, out)", "solve": "(A, B, *, left, out)",
        "solve_ex": "(A, B, *, left, check_errors, out)",
        "solve_triangular": "(A, B, *, upper, left, unitriangular, out)", "det": "(A, *, out)", "slogdet": "(A, *, out)",
        "pinv": "(A, rcond, hermitian, *, atol, rtol, out)", "matrix_rank": "(A, tol, hermitian, *, atol, rtol, out)",
        "cond": "(A, p, *, out)", "matrix_norm": "(A, ord, dim, keepdim, *, axis, keepdims, dtype, out)",
    }
    for name, words in wanted.items():
        kinds = inspect.signature(getattr(linalg, name)).parameters.values()
        shown, star = [], False
        for one in kinds:
            if one.kind is one.KEYWORD_ONLY and not star:
                shown.append("*")
                star = True
            shown.append(one.name)
        assert f"({', '.join(shown)})" == words[:-1] + ", settings)", name


def test_threads_and_memory():
    a = random(20, 6, 6)
    wanted = np.linalg.inv(a)
    wrong = []

    def work():
        for _ in range(50):
            if not np.allclose(linalg.inv(a), wanted):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    gc.collect()


# ---- Preferences ----


def test_preferred_linalg_library(lapack):
    prefer = backplane.backends.cuda.preferred_linalg_library
    library = backplane.explain(linalg.qr, np.ones((6, 4))).chosen.library
    assert prefer(library).name == "Default"
    assert backplane.setting("linalg.preferred").get() == library
    linalg.qr(random(6, 4))
    assert backplane.last_plan().library == library and "linalg.preferred" in backplane.last_plan().reason
    with pytest.raises(RuntimeError, match="no library 'nowhere' was found; linear algebra is offered by"):
        prefer("nowhere")
    with pytest.raises(RuntimeError, match="offers no LAPACK"):
        prefer("blas")
    assert backplane.setting("linalg.preferred").get() == library
    if "blas" in next(row.offers for row in backplane.libraries() if row.id == library):  # two providers call it
        with pytest.raises(RuntimeError, match="provider 'blas' offers no LAPACK"):
            prefer(f"{library}:blas")
        assert prefer(f"{library}:lapack").name == "Default"
        linalg.qr(random(6, 4))
        assert backplane.last_plan().library == library and backplane.last_plan().provider == "lapack"
        prefer(library)
    assert prefer("cusolver").name == "Cusolver" and backplane.setting("linalg.preferred").get() == library
    assert prefer("default").name == "Default" and backplane.setting("linalg.preferred").get() == ""


def test_a_preference_does_not_apply_to_empty_matrices():
    """No library runs for empty matrices, so the preference is ignored without a warning."""
    for library in [library.id for library in backplane.libraries() if "lapack" in library.offers and library.state == "ok"]:
        found = backplane.linalg.svd(np.zeros((3, 0)), settings={"linalg.preferred": library, "dispatch.fallback": "strict"})
        assert np.array_equal(found.U, np.eye(3)) and found.S.shape == (0,)


def test_gels_does_not_use_rcond():
    a, b = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]), np.ones((3, 1))
    wanted = linalg.lstsq(a, b, driver="gels").solution
    assert np.array_equal(linalg.lstsq(a, b, rcond=0.9, driver="gels").solution, wanted)
    np.testing.assert_allclose(wanted, np.linalg.lstsq(a, b, rcond=None)[0])
