"""eval and explain of linear algebra: results equal NumPy's, files for each result, options, errors."""

import numpy as np
import pytest


@pytest.fixture
def save(tmp_path):
    def write(**arrays):
        for name, value in arrays.items():
            np.save(tmp_path / f"{name}.npy", value)

    return write


def random(*shape, dtype="f8"):
    rng = np.random.default_rng(3)
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def definite(n, dtype="f8"):
    a = random(n, n, dtype=dtype)
    return (a @ a.conj().T + np.eye(n)).astype(dtype)


@pytest.fixture
def evaluate(backplane, tmp_path):
    """Runs an operation and returns its results, one for each name."""

    def run(*words, out):
        targets = [word for name in out for word in ("-o", f"{name}.npy")]
        done = backplane("eval", *words, *targets)
        assert done.code == 0, done
        return [np.load(tmp_path / f"{name}.npy") for name in out]

    return run


@pytest.fixture
def lapack(backplane):
    """For operations that need a LAPACK library."""
    if backplane("explain", "qr", "f64", "6x4").code == 4:
        pytest.skip("no library offers LAPACK")


def test_files_behind_commas(save, backplane, evaluate, tmp_path, lapack):
    a = random(6, 4)
    save(a=a)
    for targets in (["-o", "u.npy,s.npy,v.npy"], ["-o", "u.npy", "-o", "s.npy,v.npy"]):
        assert backplane("eval", "svd", "a.npy", *targets).code == 0
        u, s, vh = (np.load(tmp_path / f"{name}.npy") for name in "usv")
        assert np.allclose(u * s @ vh, a)
        for name in "usv":
            (tmp_path / f"{name}.npy").unlink()
    refused = backplane("eval", "svd", "a.npy", "-o", "u.npy,s.npy,v.npy,w.npy")
    assert refused.code == 2 and "-o w.npy is one too many" in refused.err and not (tmp_path / "u.npy").exists()
    (x,) = evaluate("svdvals", "a.npy", out=["one,name"])  # a comma in the file name of a single result
    assert np.allclose(x, np.linalg.svd(a, compute_uv=False))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_inverses_and_solutions(save, evaluate, dtype):
    a, b = random(3, 5, 5, dtype=dtype), random(5, 2, dtype=dtype)
    save(a=a, b=b, left=random(2, 5, dtype=dtype))
    close = {"rtol": 2e-3, "atol": 2e-3} if dtype in ("f4", "c8") else {"rtol": 1e-9, "atol": 1e-9}
    (x,) = evaluate("inv", "a.npy", out=["x"])
    assert x.dtype == np.dtype(dtype) and np.allclose(x, np.linalg.inv(a), **close)
    (x,) = evaluate("solve", "a.npy", "b.npy", out=["x"])
    assert x.shape == (3, 5, 2) and np.allclose(a @ x, b, **close)
    (x,) = evaluate("solve", "a.npy", "left.npy", "--right", out=["x"])
    assert x.shape == (3, 2, 5) and np.allclose(x @ a, random(2, 5, dtype=dtype), **close)
    (x,) = evaluate("solve_triangular", "a.npy", "b.npy", "--upper", "--unitriangular", out=["x"])
    assert np.allclose((np.triu(a, 1) + np.eye(5)) @ x, b, **close)
    (d,) = evaluate("det", "a.npy", out=["d"])
    assert d.shape == (3,) and np.allclose(d, np.linalg.det(a), **close)
    sign, logarithm = evaluate("slogdet", "a.npy", out=["s", "l"])
    assert np.allclose(sign * np.exp(logarithm), np.linalg.det(a), **close)


def test_factors(save, evaluate):
    a = random(4, 4)
    save(a=a, b=random(4, 2), h=definite(4))
    lu, pivots = evaluate("lu_factor", "a.npy", out=["lu", "p"])
    assert pivots.dtype == np.int32 and lu.shape == (4, 4)
    (x,) = evaluate("lu_solve", "lu.npy", "p.npy", "b.npy", "--adjoint", out=["x"])
    assert np.allclose(a.T @ x, random(4, 2))
    ld, pivots = evaluate("ldl_factor", "a.npy", out=["ld", "p"])
    (x,) = evaluate("ldl_solve", "ld.npy", "p.npy", "b.npy", out=["x"])
    assert pivots.dtype == np.int32 and np.allclose((np.tril(a) + np.tril(a, -1).T) @ x, random(4, 2))
    p, lower, upper = evaluate("lu", "a.npy", out=["x", "y", "z"])
    assert np.allclose(p @ lower @ upper, a)
    (u,) = evaluate("cholesky", "h.npy", "--upper", out=["u"])
    assert np.allclose(u.T @ u, definite(4)) and np.array_equal(u, np.triu(u))
    (x,) = evaluate("cholesky_solve", "b.npy", "u.npy", "--upper", out=["x"])
    assert np.allclose(definite(4) @ x, random(4, 2))
    (x,) = evaluate("cholesky_inverse", "u.npy", "--upper", out=["x"])
    assert np.allclose(definite(4) @ x, np.eye(4))


def test_orthogonal_factors(lapack, save, evaluate):
    a = random(6, 4)
    save(a=a)
    q, r = evaluate("qr", "a.npy", out=["q", "r"])
    assert q.shape == (6, 4) and np.allclose(q @ r, a)
    q, r = evaluate("qr", "a.npy", "--mode", "complete", out=["q", "r"])
    assert q.shape == (6, 6) and np.allclose(q @ r, a)
    (alone,) = evaluate("qr", "a.npy", "--mode", "r", out=["alone"])
    assert np.allclose(alone.T @ alone, a.T @ a)
    u, s, vh = evaluate("svd", "a.npy", out=["u", "s", "v"])
    assert u.shape == (6, 4) and np.allclose(u * s @ vh, a)
    u, s, vh = evaluate("svd", "a.npy", "--full-matrices", out=["u", "s", "v"])
    assert u.shape == (6, 6) and np.allclose(u[:, :4] * s @ vh, a)
    assert np.allclose(evaluate("svdvals", "a.npy", out=["s"])[0], np.linalg.svd(a, compute_uv=False))
    assert np.allclose(evaluate("pinv", "a.npy", "--rtol", "1e-12", out=["x"])[0], np.linalg.pinv(a))
    assert evaluate("matrix_rank", "a.npy", "--atol", "1e9", out=["x"])[0] == 0
    for order, numpy_order in [("fro", "fro"), ("nuc", "nuc"), ("1", 1), ("-1", -1), ("2", 2), ("-inf", -np.inf)]:
        (norm,) = evaluate("matrix_norm", "a.npy", f"--ord={order}", out=["n"])
        assert norm.shape == () and np.isclose(norm, np.linalg.norm(a, numpy_order))
    assert np.isclose(evaluate("cond", "a.npy", out=["n"])[0], np.linalg.cond(a))


def test_eigenvalues(lapack, save, evaluate):
    a, h = random(5, 5), definite(5)
    save(a=a, h=h, lower=np.tril(h) + 9 * np.triu(np.ones((5, 5)), 1))
    w, v = evaluate("eigh", "lower.npy", out=["w", "v"])
    assert np.allclose(v * w @ v.T, h) and np.allclose(w, np.linalg.eigvalsh(h))
    assert np.allclose(evaluate("eigvalsh", "h.npy", "--upper", out=["w"])[0], w)
    w, v = evaluate("eig", "a.npy", out=["w", "v"])
    assert w.dtype == np.complex128 and np.allclose(a @ v, v * w)
    (alone,) = evaluate("eigvals", "a.npy", out=["w"])
    assert np.allclose(np.sort_complex(alone), np.sort_complex(w))


def test_least_squares(lapack, save, evaluate):
    a, b = random(7, 3), np.random.default_rng(5).standard_normal(7)
    save(a=a, b=b)
    wanted, residual, rank, values = np.linalg.lstsq(a, b, rcond=None)
    x, residuals, found, s = evaluate("lstsq", "a.npy", "b.npy", "--driver", "gelsd", out=["x", "r", "k", "s"])
    assert np.allclose(x, wanted) and np.allclose(residuals, residual) and found == rank and np.allclose(s, values)
    (x,) = evaluate("lstsq", "a.npy", "b.npy", "--driver", "gels", out=["x"])
    assert np.allclose(x, wanted)
    (x,) = evaluate("lstsq", "a.npy", "b.npy", "--rcond", "0.999999", out=["x"])
    assert not np.allclose(x, wanted)


def test_least_squares_without_right_sides(lapack, save, backplane, tmp_path):
    a = random(7, 3)
    save(a=a, b=np.zeros((7, 0)))
    done = backplane("eval", "lstsq", "a.npy", "b.npy", "--driver", "gelsd", "-o", "x.npy,r.npy,k.npy", "-o", "s.npy")
    assert done.code == 0, done
    assert np.load(tmp_path / "x.npy").shape == (3, 0) and np.load(tmp_path / "k.npy") == 3
    assert np.allclose(np.load(tmp_path / "s.npy"), np.linalg.svd(a, compute_uv=False))


def test_machine_precision(lapack, save, evaluate, backplane):
    save(a=np.diag([1, 1.5 * np.finfo("f8").eps]), b=np.ones((2, 1)))
    for rcond, rank in (("-1", 2), ("0.001", 1)):
        assert evaluate("lstsq", "a.npy", "b.npy", f"--rcond={rcond}", out=["x", "r", "k"])[2] == rank
    refused = backplane("eval", "lstsq", "a.npy", "b.npy", "--rcond", "1,2", "-o", "x.npy")
    assert refused.code != 0 and "rcond is nan" in refused.err


def test_a_file_for_info_forgives(save, evaluate, backplane, tmp_path):
    save(a=np.stack([np.eye(2), np.zeros((2, 2))]))
    done = backplane("eval", "inv", "a.npy", "-o", "x.npy")
    assert done.code == 7 and "(Batch element 1)" in done.err and not (tmp_path / "x.npy").exists()
    x, info = evaluate("inv", "a.npy", out=["x", "info"])
    assert info.dtype == np.int32 and info.tolist() == [0, 1] and np.array_equal(x[0], np.eye(2))


def test_refusals(save, backplane):
    save(a=random(5, 3), i=np.ones((2, 2), "i4"), b=random(5))
    for words, code, sentence in [
        (("inv", "a.npy", "-o", "x.npy"), 3, "must be square"),
        (("inv", "i.npy", "-o", "x.npy"), 3, "A is i32"),
        (("inv", "b.npy", "-o", "x.npy"), 3, "at least 2 dimensions"),
        (("inv", "a.npy", "b.npy", "-o", "x.npy"), 2, "inv: 2 arrays given; it takes A"),
        (("svd", "a.npy", "--upper", "-o", "x.npy"), 2, "svd takes no option --upper; it is for"),
        (("qr", "a.npy", "--mode", "full", "-o", "x.npy"), 2, "it must be one of reduced, complete, r"),
        (("matrix_norm", "a.npy", "--ord", "3", "-o", "x.npy"), 2, "it must be one of fro, nuc, 1"),
        (("pinv", "a.npy", "--rtol", "-1", "-o", "x.npy"), 3, "rtol is -1"),
        (("det", "a.npy", "-o", "x.npy", "-o", "y.npy"), 2, "one too many"),
        (("qr", "a.npy", "--mode", "r", "-o", "x.npy", "-o", "y.npy"), 2, "one too many"),
        (("lstsq", "a.npy", "b.npy", "-o", "1.npy", "-o", "2.npy", "-o", "3.npy", "-o", "4.npy"), 2, "one too many"),
        (("svds", "a.npy", "-o", "x.npy"), 2, "did you mean 'svd'"),
        (("qr", "a.npy", "-o", "x.npy,x.npy"), 2, "-o x.npy is given twice"),
    ]:
        done = backplane("eval", *words)
        assert done.code == code and sentence in done.err, done


def test_explain(backplane, save):
    done = backplane("explain", "inv", "f32", "10x16x16", "--json")
    assert done.code == 0 and done.json["problem"].startswith("f32 10 x 16x16"), done
    done = backplane("explain", "lu_solve", "c128", "4x4", "4", "4x2")
    assert done.code == 0 and "2 right sides" in done.out, done
    assert "full" in backplane("explain", "svd", "f64", "100x50", "--full-matrices").out
    assert backplane("explain", "inv", "f32", "3x4").code == 3
    save(a=np.eye(3))
    done = backplane("eval", "inv", "a.npy", "-o", "x.npy", "--explain", "--set", "linalg.preferred=native")
    assert done.code == 0 and "linalg.preferred=native" in done.out, done
