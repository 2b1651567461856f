"""`backplane eval --ranks N`: operations on matrices that are spread over the ranks of MPI."""

import ctypes.util
import os
import shutil

import conftest
import pytest

np = pytest.importorskip("numpy")
ROOT_OF_OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
MPIS = [pytest.param(mpi, marks=pytest.mark.skipif(not shutil.which(program) or not ctypes.util.find_library(f"scalapack-{mpi}"),
                                                   reason=f"{program} or its ScaLAPACK is not installed"))
        for mpi, program in (("openmpi", "mpirun.openmpi"), ("mpich", "mpiexec.mpich"))]
pytestmark = pytest.mark.skipif(bool(conftest.SANITIZED), reason="MPI under a sanitizer is tested in C (tests/distributed)")


@pytest.fixture
def files(tmp_path):
    """Saves arrays and returns a function that loads one."""
    random = np.random.default_rng(5)
    a = random.standard_normal((90, 90))
    arrays = {"a": a, "p": np.asfortranarray(a @ a.T + np.eye(90)), "b": random.standard_normal((90, 3)), "v": random.standard_normal(90),
              "t": random.standard_normal((90, 20)), "z": (a + 1j * a.T).astype(np.complex64), "i": np.arange(90, dtype=np.int32),
              "cube": np.zeros((2, 90, 90))}
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    return arrays


@pytest.fixture
def run(backplane, tmp_path):
    def call(mpi, *words, ranks=2):
        words = [str(tmp_path / word) if word.endswith(".npy") else word for word in words]
        return backplane("eval", *words, "--ranks", str(ranks), "--mpi", mpi, "--set", "dist.block=16", env=ROOT_OF_OPEN_MPI)

    return call


def close(tmp_path, name, right):
    got = np.load(tmp_path / f"{name}.npy")
    assert got.shape == np.shape(right), (got.shape, np.shape(right))
    assert np.abs(got - right).max() <= (1e-2 if got.dtype == np.complex64 else 1e-8) * max(1, np.abs(right).max())


@pytest.mark.parametrize("mpi", MPIS)
def test_solutions_and_products(run, files, tmp_path, mpi):
    a, b, z = files["a"], files["b"], files["z"]
    done = run(mpi, "solve", "a.npy", "b.npy", "-o", "x.npy")
    assert done.code == 0 and done.out.count("by scalapack") == 1 and "f64 90x3" in done.out and not done.err, done
    close(tmp_path, "x", np.linalg.solve(a, b))
    assert run(mpi, "solve", "a.npy", "v.npy", "-o", "x.npy").code == 0
    close(tmp_path, "x", np.linalg.solve(a, files["v"])[:, None])
    assert run(mpi, "matmul", "z.npy", "z.npy", "-o", "c.npy").code == 0
    close(tmp_path, "c", z @ z)
    assert run(mpi, "gemm", "a.npy", "p.npy", "a.npy", "--alpha", "2", "--beta", "-3", "--trans-a", "-o", "a.npy").code == 0  # replaces an input
    close(tmp_path, "a", 2 * a.T @ files["p"] - 3 * a)


@pytest.mark.parametrize("mpi", MPIS)
def test_factors_and_values(run, files, tmp_path, mpi):
    a, p = files["a"], files["p"]
    assert run(mpi, "lu_factor", "a.npy", "-o", "lu.npy", "-o", "pivots.npy").code == 0
    assert np.load(tmp_path / "pivots.npy").dtype == np.int32
    assert run(mpi, "lu_solve", "lu.npy", "pivots.npy", "b.npy", "-o", "x.npy").code == 0
    close(tmp_path, "x", np.linalg.solve(a, files["b"]))
    assert run(mpi, "eigh", "p.npy", "-o", "w.npy,q.npy").code == 0
    close(tmp_path, "w", np.linalg.eigvalsh(p))
    vectors = np.load(tmp_path / "q.npy")
    assert np.abs(p @ vectors - vectors * np.load(tmp_path / "w.npy")).max() < 1e-8
    assert run(mpi, "svd", "t.npy", "-o", "u.npy,s.npy,vh.npy").code == 0
    close(tmp_path, "s", np.linalg.svd(files["t"], compute_uv=False))
    close(tmp_path, "t", np.load(tmp_path / "u.npy") * np.load(tmp_path / "s.npy") @ np.load(tmp_path / "vh.npy"))
    assert run(mpi, "matrix_norm", "a.npy", "-o", "n.npy").code == 0
    close(tmp_path, "n", np.linalg.norm(a))


@pytest.mark.skipif(not ctypes.util.find_library("fftw3_mpi"), reason="FFTW-MPI is not installed")
@pytest.mark.parametrize("mpi", MPIS[:1])
def test_transforms(run, files, tmp_path, mpi):
    random = np.random.default_rng(6)
    cube = random.standard_normal((7, 6, 5))
    np.save(tmp_path / "cube.npy", cube)
    np.save(tmp_path / "f.npy", np.asfortranarray(cube[0]))
    done = run(mpi, "fftn", "cube.npy", "-o", "x.npy")
    assert done.code == 0 and " ".join(done.out.split()).count("by fftw-mpi") == 1, done
    close(tmp_path, "x", np.fft.fftn(cube))
    assert run(mpi, "rfftn", "cube.npy", "-o", "h.npy", ranks=3).code == 0
    close(tmp_path, "h", np.fft.rfftn(cube))
    assert run(mpi, "irfftn", "h.npy", "--s", "7,6,5", "-o", "r.npy").code == 0
    close(tmp_path, "r", cube)
    assert run(mpi, "fft2", "f.npy", "--norm", "ortho", "-o", "x.npy").code == 0
    close(tmp_path, "x", np.fft.fft2(cube[0], norm="ortho"))
    assert run(mpi, "ifft2", "z.npy", "-o", "x.npy").code == 0
    close(tmp_path, "x", np.fft.ifft2(files["z"]))
    np.save(tmp_path / "f.npy", np.asfortranarray(cube))
    done = run(mpi, "fftn", "f.npy", "-o", "y.npy")
    assert done.code and "Fortran order" in done.err and not (tmp_path / "y.npy").exists(), done
    done = run(mpi, "fft", "cube.npy", "-o", "y.npy")
    assert done.code and "all dimensions must be transformed" in done.err and not (tmp_path / "y.npy").exists(), done


@pytest.mark.parametrize("mpi", MPIS)
def test_explanation_and_settings(run, files, mpi):
    done = run(mpi, "cholesky", "p.npy", "-o", "l.npy", "-e", "--set", "dist.grid=2x1")
    assert done.code == 0 and done.out.count("\nchosen ") == 1 and "grid 2x1, blocks of 16x16" in done.out, done


@pytest.mark.parametrize("words, code, text", [
    (("cholesky", "a.npy", "-o", "l.npy"), 7, "not positive-definite"),
    (("solve", "a.npy", "t.npy", "-o", "x.npy", "--set", "dist.grid=7x7"), None, "the grid is 7x7"),
    (("pinv", "a.npy", "-o", "x.npy"), 4, "no library offers pinv for distributed operands"),
])
def test_failures_of_all_ranks_are_told_once(run, files, tmp_path, words, code, text):
    done = run(MPIS[0].values[0], *words)
    assert done.code != 0 and (code is None or done.code == code) and done.err.count("backplane: eval:") == 1 and text in " ".join(done.err.split()), done
    assert not [name for name in os.listdir(tmp_path) if "partial" in name or name in ("l.npy", "x.npy")]


@pytest.mark.parametrize("words, code, text", [
    (("solve", "a.npy", "none.npy", "-o", "x.npy"), 6, "cannot be opened"),
    (("solve", "a.npy", "cube.npy", "-o", "x.npy"), None, "has 3 dimensions"),
    (("solve", "a.npy", "i.npy", "-o", "x.npy"), None, ""),
    (("einsum", "ij,kl->ijkl", "v.npy", "v.npy", "-o", "x.npy"), 3, "result 1 has 4 dimensions"),
    (("solve", "a.npy", "-", "-o", "x.npy"), 2, "each rank reads"),
    (("solve", "a.npy", "b.npy", "-o", "-"), 2, "each rank writes"),
    (("solve", "a.npy", "b.npy", "-o", "x.npy", "--device", "cpu"), 2, "--device"),
    (("solve", "a.npy", "b.npy", "-o", "x.npy", "-o", "y.npy", "-o", "z.npy"), 2, "too many"),
    (("solve", "a.npy", "b.npy", "-o", "none/x.npy"), 6, "none/x.npy"),
])
def test_what_is_refused_before_ranks_start(run, files, words, code, text):
    done = run("openmpi", *words)
    assert done.code != 0 and (code is None or done.code == code) and done.err.startswith("backplane: eval:") and text in done.err, done
    assert "mpirun" not in done.err


@pytest.mark.parametrize("mpi", MPIS)
def test_a_vector_that_cannot_be_written(backplane, files, tmp_path, mpi):
    """Rank 0 alone writes it. The others do not wait for what follows."""
    done = backplane("eval", "eigh", "p.npy", "-o", f"/dev/full,{tmp_path}/q.npy", "--ranks", "2", "--mpi", mpi, "--set", "dist.timeout=10", env=ROOT_OF_OPEN_MPI,
                     cwd=tmp_path)
    assert done.code == 6 and done.err.count("/dev/full") == 1 and "took part" not in done.err and "did not take part" not in done.err and not done.out, done
    assert np.load(tmp_path / "q.npy").shape == (90, 90)


@pytest.mark.skipif(not shutil.which("mpirun.openmpi"), reason="Open MPI is not installed")
def test_a_launcher_with_another_number_of_ranks(files, backplane):
    done = backplane("run", "-n", "2", "--mpi", "openmpi", "--", conftest.COMMAND, "eval", "solve", "a.npy", "b.npy", "-o", "x.npy", "--ranks", "3",
                     env=ROOT_OF_OPEN_MPI)
    assert done.code != 0 and done.err.count("--ranks is 3, but the launcher has started 2") == 1, done
