"""What test_distributed.py starts on several ranks: each checks functions of backplane.distributed against NumPy.

With the argument mpi4py, the communicator is one of mpi4py, in which the ranks have another order. With "differs", the last rank makes another call."""

import ctypes.util
import sys

import numpy as np

import backplane
from backplane import distributed as dist


def make(of, shape, dtype, seed):
    """A matrix, and the whole of it on every rank."""
    random = np.random.default_rng(seed)
    whole = random.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        whole = whole + 1j * random.standard_normal(shape)
    whole = whole.astype(dtype)
    return of.from_function(lambda i, j: whole[i, j], shape, dtype), whole


def close(matrix, right, dtype):
    got = matrix.gather()
    bound = 1e-3 if np.dtype(dtype).name in ("float32", "complex64") else 1e-10
    assert got is None or np.abs(got - right).max() <= bound * max(1, np.abs(right).max()), (got, right)


def check_files(of, path):
    """A file has the whole matrix, which NumPy and other distributions read."""
    comm = of.comm
    for dtype in ("float32", "float64", "complex64", "complex128", "int32"):
        matrix, whole = make(of, (37, 11), dtype, 3)
        matrix.save(path)
        assert np.array_equal(np.load(path), whole)
        comm.distribution((1, 1)).zeros((1, 1)).redistribute(of)  # all have read before the next is written
        for other in (of, comm.distribution((comm.size, 1), (2, 5)), comm.distribution((1, comm.size), 100)):
            again = other.load(path)
            rows, columns = other.indices((37, 11))
            assert again.shape == (37, 11) and again.dtype == dtype and np.array_equal(again.local, whole[np.ix_(rows, columns)])
    if comm.rank == 0:
        np.save(path, np.arange(50.0).reshape(5, 10))
    comm.distribution((1, 1)).zeros((1, 1)).redistribute(of)
    rows, columns = of.indices((5, 10))
    assert np.array_equal(of.load(path).local, np.arange(50.0).reshape(5, 10)[np.ix_(rows, columns)])
    try:  # one rank alone does not find its file
        of.load(path + ".none" if comm.rank == comm.size - 1 else path)
    except backplane.Error as e:
        assert path + ".none" in str(e)
    else:
        raise AssertionError("a file was read that is not there")
    if comm.rank == 0:
        np.save(path, np.arange(50, dtype=np.int64))
    comm.distribution((1, 1)).zeros((1, 1)).redistribute(of)
    for name in (path, path + ".none"):
        try:
            of.load(name)
        except backplane.Error as e:
            assert str(name) in str(e)
        else:
            raise AssertionError(f"{name} was read")


def check(of, dtype):
    a, whole = make(of, (37, 37), dtype, 1)
    b, sides = make(of, (37, 3), dtype, 2)
    unit = np.eye(37, dtype=dtype)
    positive = whole @ whole.conj().T + unit
    p = of.from_function(lambda i, j: positive[i, j], (37, 37), dtype)
    close(dist.matmul(a, b), whole @ sides, dtype)
    close(dist.matmul(b, a, "C", "T", 2), 2 * sides.conj().T @ whole.T, dtype)
    c, _ = make(of, (37, 3), dtype, 2)
    close(dist.matmul(a, b, alpha=2, beta=3, out=c), 2 * whole @ sides + 3 * sides, dtype)
    factor = dist.cholesky(p)
    close(dist.matmul(factor, factor, "N", "C"), positive, dtype)
    close(dist.matmul(p, dist.cholesky_solve(b, factor)), sides, dtype)
    close(dist.matmul(a, dist.solve(a, b)), sides, dtype)
    close(dist.matmul(a, dist.inv(a)), unit, dtype)
    close(dist.matmul(a, dist.lu_solve(*dist.lu_factor(a), b)), sides, dtype)
    close(dist.lstsq(b, a), np.linalg.lstsq(sides, whole, rcond=None)[0], dtype)
    q, r = dist.qr(a)
    close(dist.matmul(q, r), whole, dtype)
    close(dist.matmul(q, dist.qr(a, "r")), whole, dtype)
    values, vectors = dist.eigh(p)
    tolerance = 1e-3 if np.dtype(dtype).name in ("float32", "complex64") else 1e-9
    assert np.allclose(values, np.linalg.eigvalsh(positive), rtol=tolerance, atol=tolerance * values[-1])
    assert np.allclose(dist.eigvalsh(p, upper=True), values, rtol=tolerance, atol=tolerance * values[-1])
    vectors_whole = vectors.gather()
    close(dist.matmul(p, vectors), None if vectors_whole is None else vectors_whole * values, dtype)
    u, s, vh = dist.svd(a)
    assert np.allclose(s, np.linalg.svd(whole, compute_uv=False), rtol=tolerance, atol=tolerance)
    assert np.allclose(dist.svdvals(a), s, rtol=tolerance, atol=tolerance)
    scaled = of.from_function(lambda i, j: np.broadcast_to(s[i], np.broadcast_shapes(i.shape, j.shape)) * (i == j), (37, 37), dtype)
    close(dist.matmul(u, dist.matmul(scaled, vh)), whole, dtype)
    for order in ("fro", 1, -1, np.inf, -np.inf):
        assert np.isclose(dist.norm(a, order), np.linalg.norm(whole, order), rtol=1e-5)


def array_of(comm, whole):
    made = dist.Array(comm, whole.shape, dtype=whole.dtype)
    made.local[...] = whole[made.indices]
    return made


def check_arrays(comm, shape, dtype):
    """Transforms of arrays against numpy.fft."""
    random = np.random.default_rng(7)
    whole = (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(dtype)
    real = whole.real.copy()
    for norm in (None, "ortho", "forward"):
        close(dist.fftn(array_of(comm, whole), norm), np.fft.fftn(whole, norm=norm), dtype)
        close(dist.ifftn(array_of(comm, whole), norm=norm), np.fft.ifftn(whole, norm=norm), dtype)
        half = dist.rfftn(array_of(comm, real), norm)
        assert half.dtype == np.dtype(dtype) and half.shape == (*shape[:-1], shape[-1] // 2 + 1)
        close(half, np.fft.rfftn(real, norm=norm), dtype)
        close(dist.irfftn(half, shape[-1], norm), real, dtype)
    close(dist.fftn(array_of(comm, real)), np.fft.fftn(real), dtype)


def check_transforms(comm):
    for dtype in ("complex128", "complex64"):
        check_arrays(comm, (7, 6), dtype)
        check_arrays(comm, (6, 5, 4), dtype)
        a, whole = make(comm.slabs(11), (9, 11), dtype, 4)
        close(dist.fft2(a), np.fft.fft2(whole), dtype)
        close(dist.ifft2(dist.fft2(a, "ortho"), "ortho"), whole, dtype)
    a, whole = make(comm.slabs(11), (9, 11), "float64", 4)
    close(dist.fft2(a), np.fft.fft2(whole), "float64")
    text = dist.explain(dist.fft2, a)
    assert "fftw-mpi" in text and ("messages" in text), text


def check_errors(comm, of):
    a, whole = make(of, (20, 20), "float64", 3)
    other = comm.distribution(block=4)
    for call, words in ((lambda: dist.matmul(a, a, out=a), "overlaps"), (lambda: dist.matmul(a, a.redistribute(other)), "bp_redistribute"), (lambda: dist.cholesky(a), "not positive-definite"),
                        (lambda: dist.matmul(a, whole), "ndarray"), (lambda: dist.explain(len, a), "explain"),
                        (lambda: dist.fftn(a), "Matrix"), (lambda: dist.fft2(whole), "ndarray"), (lambda: dist.fft2(a, "no"), "norm"),
                        (lambda: dist.fft2(a.redistribute(other)), "bp_redistribute" if comm.mpi == "Open MPI" and comm.size > 1 else "none accepts"),
                        (lambda: dist.Array(comm, (3,)), "two or three"), (lambda: dist.Array(comm, (3, 4), np.zeros((99, 4))), "shape"),
                        (lambda: dist.Array(comm, (3, 4), dtype="int8"), "local"),
                        (lambda: comm.distribution(grid=(99, 99)), "grid"), (lambda: dist.Matrix(of, (20, 20), np.zeros((999, 1))), "shape")):
        try:
            call()
        except backplane.Error as error:
            assert words in str(error), str(error)
        else:
            raise AssertionError(words)
    text = dist.explain(dist.matmul, a, a)
    assert "scalapack" in text and "messages" in text and f"grid {of.grid[0]}x{of.grid[1]}" in text, text
    close(a.redistribute(other).redistribute(of), whole, "float64")


def check_mpi4py(MPI):
    """Communicators of other ranks, and what is none. Closing them leaves MPI to the program."""
    world = MPI.COMM_WORLD
    own = world.Split(world.Get_rank(), 0)
    with dist.Communicator(own) as alone:
        assert (alone.rank, alone.size) == (0, 1)
        a, whole = make(alone.distribution(), (5, 5), "float64", 1)
        close(dist.matmul(a, a), whole @ whole, "float64")
    half = world.Split(0 if world.Get_rank() == 0 else MPI.UNDEFINED, 0)  # MPI_COMM_NULL on other ranks
    between = own.Create_intercomm(0, world, 1 - world.Get_rank(), 7)
    wrong = [(between, "intercommunicator"), (world.Get_group(), "mpi4py"), (3, "mpi4py")] + [(half, "MPI_COMM_NULL")] * (world.Get_rank() > 0)
    for comm, words in wrong:
        try:
            dist.Communicator(comm)
        except (backplane.Error, TypeError) as error:
            assert words in str(error), str(error)
        else:
            raise AssertionError(words)
    between.Free()
    own.Free()
    assert MPI.Is_initialized() and not MPI.Is_finalized()


def main():
    if "mpi4py" in sys.argv:
        from mpi4py import MPI  # it loads and initializes MPI

        check_mpi4py(MPI)
        comm = dist.Communicator(MPI.COMM_WORLD.Split(0, -MPI.COMM_WORLD.Get_rank()))
        assert (comm.rank, comm.size) == (MPI.COMM_WORLD.Get_size() - 1 - MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size())
    else:
        comm = dist.Communicator()
    of = comm.distribution(block=8)
    if "differs" in sys.argv:
        a, _ = make(of, (20, 20 + (comm.rank == comm.size - 1)), "float64", 3)
        try:
            dist.svdvals(a)
        except backplane.Error as error:
            print(f"rank {comm.rank}: {error}")
        comm.close()
        return
    for dtype in ("float64", "float32", "complex128", "complex64"):
        check(of, dtype)
    check_files(of, sys.argv[-1])
    check_errors(comm, of)
    if comm.mpi == "Open MPI" and ctypes.util.find_library("fftw3_mpi"):
        check_transforms(comm)
    print(f"rank {comm.rank} of {comm.size}: all right")
    comm.close()


main()
