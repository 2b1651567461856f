"""Matrices and arrays that are spread over the ranks of an MPI program, with linear algebra on ScaLAPACK and transforms on FFTW-MPI.

Every rank runs the same program, started by the launcher of its MPI: ``mpirun -np 4 python program.py``. It opens a
``Communicator``, describes how matrices are divided, and fills its own part of each. All ranks make the same calls in the same
order; if one differs or fails, all raise the same exception, which names the rank. Needs NumPy, MPI and ScaLAPACK, or FFTW-MPI.
"""

from __future__ import annotations

import importlib
import os
from types import TracebackType
from typing import Any, Callable, NamedTuple, Optional, Tuple, Type, Union

import numpy as np

from . import _core
from ._errors import bad_type, bad_value

__all__ = [
    "Array",
    "Communicator",
    "Distribution",
    "Matrix",
    "cholesky",
    "cholesky_solve",
    "eigh",
    "eigvalsh",
    "explain",
    "fft2",
    "fftn",
    "ifft2",
    "ifftn",
    "inv",
    "irfftn",
    "lstsq",
    "lu_factor",
    "lu_solve",
    "matmul",
    "norm",
    "qr",
    "rfftn",
    "solve",
    "svd",
    "svdvals",
]

_TYPES = {"float32": 3, "float64": 4, "complex64": 5, "complex128": 6, "int32": 9}
_TURNS = {"N": 0, "T": 1, "C": 2}
_NORMS = {None: 0, "backward": 0, "ortho": 1, "forward": 2}
_FFT, _IFFT, _RFFT, _IRFFT = range(4)
_QR_REDUCED, _QR_R, _SVD_REDUCED, _GELS, _NORM_FRO, _NORM_P = 1, 3, 4, 7, 10, 12


class Communicator:
    """The ranks that compute together.

    ``comm`` is a communicator of mpi4py; ``None`` means all ranks of the program, and MPI is then initialized unless it has
    been. ``library`` is the file of mpi4py's MPI, if the process has several. All ranks make and close it together.
    """

    def __init__(self, comm: Any = None, library: Optional[str] = None) -> None:
        self._capsule: Optional[object] = None
        if comm is None:
            self._capsule = _core.comm_open(True)
        else:
            try:
                MPI = importlib.import_module("mpi4py.MPI")
            except ImportError:
                raise bad_type("comm is a communicator of mpi4py, which is not installed; None opens one without it") from None
            if not isinstance(comm, MPI.Comm):
                raise bad_type(f"comm is {type(comm).__name__}; it must be a communicator of mpi4py, or None")
            self._capsule = _core.comm_from_mpi(MPI._addressof(comm), MPI._sizeof(comm), library)
        facts = _core.comm_describe(self._capsule)
        self.rank: int = facts["rank"]
        self.size: int = facts["size"]
        self.mpi: str = facts["mpi"]
        self.version: str = facts["version"]
        self.library: str = facts["library"]
        self.latency: float = facts["latency_ns"] * 1e-9
        """Seconds that a small message takes between the two slowest neighbours."""
        self.bandwidth: float = facts["bytes_per_sec"]

    @property
    def capsule(self) -> object:
        """The handle for the extension."""
        if self._capsule is None:
            raise bad_value("the communicator was closed", "E_DEVICE")
        return self._capsule

    def close(self) -> None:
        """Closes it, on all ranks. Finalizes MPI if it was initialized here."""
        if self._capsule is not None:
            capsule, self._capsule = self._capsule, None
            _core.comm_close(capsule)

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], traceback: Optional[TracebackType]) -> None:
        if kind is None:  # else other ranks may not close it
            self.close()

    def __repr__(self) -> str:
        return f"Communicator(rank {self.rank} of {self.size}, {self.mpi})"

    def distribution(
        self, grid: Optional[Tuple[int, int]] = None, block: Union[int, Tuple[int, int], None] = None, source: Tuple[int, int] = (0, 0)
    ) -> Distribution:
        """How matrices are divided: a grid of ranks (default: nearly square), blocks (default: 64 by 64), and the place of the first block."""
        blocks = (block, block) if isinstance(block, int) else block or (0, 0)
        rows, columns = grid or (0, 0)
        whole = _core.dist_complete(self.capsule, rows, columns, blocks[0], blocks[1], source[0], source[1], 0, 0, -1)
        return Distribution(self, whole[0], whole[1], (source[0], source[1]))

    def slabs(self, count: int) -> Distribution:
        """The distribution that transforms need: each rank has whole columns, one after another. ``count`` is the number of columns of a
        matrix, or the length of the first dimension of an array."""
        return self.distribution((1, self.size), (64, max(1, -(-count // self.size))))


class Distribution(NamedTuple):
    """How matrices are divided among ranks: 2-D block-cyclic, as in ScaLAPACK. ``Communicator.distribution`` makes it."""

    comm: Communicator
    grid: Tuple[int, int]
    block: Tuple[int, int]
    source: Tuple[int, int]

    def _arguments(self, shape: Tuple[int, int], last: int) -> Tuple[Any, ...]:
        return (self.comm.capsule, *self.grid, *self.block, *self.source, *shape, last)

    def local_shape(self, shape: Tuple[int, int], rank: int = -1) -> Tuple[int, int]:
        """Rows and columns of the part that a rank has of a matrix; -1 is this rank."""
        return _core.dist_complete(*self._arguments(shape, rank))[2]

    def position(self, rank: int = -1) -> Tuple[int, int]:
        """Row and column of a rank in the grid; (-1, -1) if it has none."""
        return _core.dist_complete(*self._arguments((0, 0), rank))[3]

    def indices(self, shape: Tuple[int, int]) -> Tuple[Any, Any]:
        """Numbers, in the whole matrix, of the rows and columns that this rank has."""
        found = []
        for count, block, grid, source, at in zip(self.local_shape(shape), self.block, self.grid, self.source, self.position()):
            local = np.arange(count)
            found.append((local // block * grid + (at + grid - source) % grid) * block + local % block)
        return found[0], found[1]

    def empty(self, shape: Tuple[int, int], dtype: Any = "float64") -> Matrix:
        """A matrix whose elements are undefined."""
        return Matrix(self, shape, np.empty(self.local_shape(shape), dtype, order="F"))

    def zeros(self, shape: Tuple[int, int], dtype: Any = "float64") -> Matrix:
        """A matrix of zeros."""
        return Matrix(self, shape, np.zeros(self.local_shape(shape), dtype, order="F"))

    def from_function(self, function: Callable[[Any, Any], Any], shape: Tuple[int, int], dtype: Any = "float64") -> Matrix:
        """A matrix with element ``function(i, j)``. The function gets arrays of numbers of rows and columns, as from ``numpy.ogrid``."""
        rows, columns = self.indices(shape)
        made = self.empty(shape, dtype)
        made.local[...] = function(rows[:, None], columns[None, :])
        return made

    def load(self, path: Union[str, "os.PathLike[str]"]) -> Matrix:
        """The matrix of a ``.npy`` file. Each rank reads its own part. A vector becomes a matrix of one column."""
        name = os.fsencode(path)
        try:
            number, rows, columns = _core.dist_file(name)
        except Exception:  # perhaps of this rank alone: the call in which the others wait fails on all of them
            _core.dist_transfer(False, name, (self.empty((0, 0))._operand(),))
            raise
        types = [each for each, its in _TYPES.items() if its == number]
        if not types:
            raise bad_type(f"{os.fsdecode(name)}: its elements must be {', '.join(_TYPES)}")
        made = self.empty((rows, columns), types[0])
        _core.dist_transfer(False, name, (made._operand(),))
        return made


class Matrix:
    """A distributed matrix: ``local`` is the part of this rank, an array of NumPy whose columns are contiguous."""

    def __init__(self, distribution: Distribution, shape: Tuple[int, int], local: Any) -> None:
        shape = (int(shape[0]), int(shape[1]))
        if not isinstance(local, np.ndarray) or local.dtype.name not in _TYPES:
            raise bad_type("local must be an array of NumPy of float32, float64, complex64, complex128 or int32")
        if local.shape != distribution.local_shape(shape):
            raise bad_value(f"local has shape {local.shape}; this rank has {distribution.local_shape(shape)} of {shape}", "E_SHAPE")
        self.distribution = distribution
        self.shape = shape
        self.local = local if local.flags.f_contiguous else np.asfortranarray(local)

    @property
    def dtype(self) -> Any:
        """Element type, of NumPy."""
        return self.local.dtype

    def __repr__(self) -> str:
        return f"Matrix({self.shape}, {self.dtype}, grid {self.distribution.grid}, block {self.distribution.block})"

    def _operand(self) -> Tuple[Any, ...]:
        arguments = self.distribution._arguments(self.shape, 2)
        return arguments, self.local.ctypes.data, max(1, self.local.shape[0]), _TYPES[self.dtype.name]

    def redistribute(self, distribution: Distribution) -> Matrix:
        """A copy with another grid, block or source. It moves each element at most once."""
        made = distribution.empty(self.shape, self.dtype)
        _core.dist_redistribute((self._operand(), made._operand()))
        return made

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes a ``.npy`` file with the whole matrix, each rank its own part. Another number of ranks can load it, and ``numpy.load``."""
        _core.dist_transfer(True, os.fsencode(path), (self._operand(),))

    def gather(self) -> Optional[Any]:
        """The whole matrix as an array on rank 0, and None on the others."""
        comm = self.distribution.comm
        block = (max(1, self.shape[0]), max(1, self.shape[1]))
        whole = self.redistribute(comm.distribution((1, 1), block))
        return whole.local if comm.rank == 0 else None


class Array:
    """A distributed array of two or three dimensions: ``local`` is the part of this rank, an array of NumPy in C order. The first
    dimension is divided. ``distribution`` is the one of ``Communicator.slabs(shape[0])``, which is the default."""

    def __init__(self, comm: Communicator, shape: Tuple[int, ...], local: Any = None, dtype: Any = "complex128",
                 distribution: Optional[Distribution] = None) -> None:
        self.shape = tuple(int(n) for n in shape)
        if not 2 <= len(self.shape) <= 3 or min(self.shape) < 0:
            raise bad_value(f"shape is {self.shape}; it must have two or three sizes", "E_SHAPE")
        self.distribution = distribution or comm.slabs(self.shape[0])
        own = (self.distribution.local_shape((1, self.shape[0]))[1], *self.shape[1:])
        self.local = np.zeros(own, dtype) if local is None else np.ascontiguousarray(local)
        if self.local.dtype.name not in _TYPES:
            raise bad_type("local must be an array of NumPy of float32, float64, complex64 or complex128")
        if self.local.shape != own:
            raise bad_value(f"local has shape {self.local.shape}; this rank has {own} of {self.shape}", "E_SHAPE")

    @property
    def dtype(self) -> Any:
        """Element type, of NumPy."""
        return self.local.dtype

    @property
    def indices(self) -> Any:
        """Numbers, in the first dimension of the whole array, of what this rank has."""
        return self.distribution.indices((1, self.shape[0]))[1]

    def __repr__(self) -> str:
        return f"Array({self.shape}, {self.dtype}, block {self.distribution.block[1]})"

    def _operand(self) -> Tuple[Any, ...]:
        return self.distribution._arguments((1, self.shape[0]), len(self.shape)), self.local.ctypes.data, 0, _TYPES[self.dtype.name], self.shape

    def _like(self, shape: Tuple[int, ...], dtype: Any) -> Array:
        return Array(self.distribution.comm, shape, None, dtype, self.distribution)

    def gather(self) -> Optional[Any]:
        """The whole array on rank 0, and None on the others."""
        comm = self.distribution.comm
        whole = Array(comm, self.shape, None, self.dtype, comm.distribution((1, 1), (64, max(1, self.shape[0]))))
        _core.dist_redistribute((self._operand(), whole._operand()))
        return whole.local if comm.rank == 0 else None


def _replicated(distribution: Distribution, values: Any) -> Tuple[Any, ...]:
    return distribution._arguments((values.size, 1), values.ndim), values.ctypes.data, 0, _TYPES[values.dtype.name]


class _Call(NamedTuple):
    """A call that can be run or explained, and what it returns."""

    run: Callable[[bool], Optional[str]]
    result: Any


def _matrices(*given: Any) -> None:
    for each in given:
        if not isinstance(each, Matrix):
            raise bad_type(f"{type(each).__name__} is not a distributed matrix (backplane.distributed.Matrix)")


def _linalg(name: str, inputs: Tuple[Any, ...], outputs: Tuple[Any, ...], result: Any, mode: int = 0, upper: bool = False, adjoint: bool = False,
            order: float = 0.0) -> _Call:
    def operand(each: Any) -> Any:
        return each if each is None else each._operand() if isinstance(each, Matrix) else _replicated(inputs[0].distribution, each)

    def run(explains: bool) -> Optional[str]:
        return _core.dist_linalg(explains, name, mode, upper, adjoint, order, tuple(map(operand, inputs)), tuple(map(operand, outputs)))

    return _Call(run, result)


def _real(a: Matrix) -> Any:
    return a.local.real.dtype


def _plan_matmul(a: Matrix, b: Matrix, transpose_a: str = "N", transpose_b: str = "N", alpha: complex = 1.0, beta: complex = 0.0,
                 out: Optional[Matrix] = None) -> _Call:
    _matrices(a, b)
    for letter in (transpose_a, transpose_b):
        if letter not in _TURNS:
            raise bad_value(f"{letter!r} is no transpose; it must be N, T or C")
    rows = a.shape[0] if transpose_a == "N" else a.shape[1]
    columns = b.shape[1] if transpose_b == "N" else b.shape[0]
    made = a.distribution.empty((rows, columns), a.dtype) if out is None else out
    _matrices(made)
    factors = (complex(alpha).real, complex(alpha).imag, complex(beta).real, complex(beta).imag)

    def run(explains: bool) -> Optional[str]:
        operands = (a._operand(), b._operand(), made._operand())
        return _core.dist_gemm(explains, _TURNS[transpose_a], _TURNS[transpose_b], *factors, operands)

    return _Call(run, made)


def _plan_cholesky(a: Matrix, upper: bool = False) -> _Call:
    _matrices(a)
    factor = a.distribution.empty(a.shape, a.dtype)
    return _linalg("cholesky", (a,), (factor,), factor, upper=upper)


def _plan_cholesky_solve(b: Matrix, factor: Matrix, upper: bool = False) -> _Call:
    _matrices(b, factor)
    x = b.distribution.empty(b.shape, b.dtype)
    return _linalg("cholesky_solve", (b, factor), (x,), x, upper=upper)


def _plan_solve(a: Matrix, b: Matrix) -> _Call:
    _matrices(a, b)
    x = b.distribution.empty(b.shape, b.dtype)
    return _linalg("solve", (a, b), (x,), x)


def _plan_inv(a: Matrix) -> _Call:
    _matrices(a)
    inverse = a.distribution.empty(a.shape, a.dtype)
    return _linalg("inv", (a,), (inverse,), inverse)


def _plan_lu_factor(a: Matrix) -> _Call:
    _matrices(a)
    factors, pivots = a.distribution.empty(a.shape, a.dtype), np.empty(min(a.shape), "int32")
    return _linalg("lu_factor", (a,), (factors, pivots), (factors, pivots))


def _plan_lu_solve(factors: Matrix, pivots: Any, b: Matrix, adjoint: bool = False) -> _Call:
    _matrices(factors, b)
    x = b.distribution.empty(b.shape, b.dtype)
    return _linalg("lu_solve", (factors, np.ascontiguousarray(pivots, "int32"), b), (x,), x, adjoint=adjoint)


def _plan_qr(a: Matrix, mode: str = "reduced") -> _Call:
    _matrices(a)
    if mode not in ("reduced", "r"):
        raise bad_value(f"mode is {mode!r}; it must be reduced or r")
    k = min(a.shape)
    r = a.distribution.empty((k, a.shape[1]), a.dtype)
    if mode == "r":
        return _linalg("qr", (a,), (None, r), r, mode=_QR_R)
    q = a.distribution.empty((a.shape[0], k), a.dtype)
    return _linalg("qr", (a,), (q, r), (q, r), mode=_QR_REDUCED)


def _plan_lstsq(a: Matrix, b: Matrix) -> _Call:
    _matrices(a, b)
    x = a.distribution.empty((a.shape[1], b.shape[1]), a.dtype)
    return _linalg("lstsq", (a, b), (x,), x, mode=_GELS)


def _plan_eigh(a: Matrix, upper: bool = False) -> _Call:
    _matrices(a)
    values, vectors = np.empty(a.shape[0], _real(a)), a.distribution.empty(a.shape, a.dtype)
    return _linalg("eigh", (a,), (values, vectors), (values, vectors), upper=upper)


def _plan_eigvalsh(a: Matrix, upper: bool = False) -> _Call:
    _matrices(a)
    values = np.empty(a.shape[0], _real(a))
    return _linalg("eigh", (a,), (values, None), values, upper=upper)


def _plan_svd(a: Matrix) -> _Call:
    _matrices(a)
    k = min(a.shape)
    u, vh = a.distribution.empty((a.shape[0], k), a.dtype), a.distribution.empty((k, a.shape[1]), a.dtype)
    values = np.empty(k, _real(a))
    return _linalg("svd", (a,), (u, values, vh), (u, values, vh), mode=_SVD_REDUCED)


def _plan_svdvals(a: Matrix) -> _Call:
    _matrices(a)
    values = np.empty(min(a.shape), _real(a))
    return _linalg("svd", (a,), (None, values, None), values, mode=_SVD_REDUCED)


def _plan_norm(a: Matrix, order: Union[str, float] = "fro") -> _Call:
    _matrices(a)
    value = np.empty((), _real(a))
    if order == "fro":
        return _linalg("norm", (a,), (value,), value, mode=_NORM_FRO)
    return _linalg("norm", (a,), (value,), value, mode=_NORM_P, order=float(order))


def _complex_of(dtype: Any) -> Any:
    return np.result_type(dtype, np.complex64)


def _real_of(dtype: Any) -> Any:
    return np.empty(0, dtype).real.dtype


def _fft(transform: int, a: Union[Matrix, Array], made: Union[Matrix, Array], norm: Optional[str], length: int = 0) -> _Call:
    if norm not in _NORMS:
        raise bad_value(f"norm is {norm!r}; it must be backward, ortho or forward")

    def run(explains: bool) -> Optional[str]:
        return _core.dist_fft(explains, transform, _NORMS[norm], length, (a._operand(), made._operand()))

    return _Call(run, made)


def _plan_fft2(a: Matrix, norm: Optional[str] = None) -> _Call:
    _matrices(a)
    return _fft(_FFT, a, a.distribution.empty(a.shape, _complex_of(a.dtype)), norm)


def _plan_ifft2(a: Matrix, norm: Optional[str] = None) -> _Call:
    _matrices(a)
    return _fft(_IFFT, a, a.distribution.empty(a.shape, _complex_of(a.dtype)), norm)


def _arrays(given: Any) -> None:
    if not isinstance(given, Array):
        raise bad_type(f"{type(given).__name__} is not a distributed array (backplane.distributed.Array)")


def _plan_fftn(a: Array, norm: Optional[str] = None) -> _Call:
    _arrays(a)
    return _fft(_FFT, a, a._like(a.shape, _complex_of(a.dtype)), norm)


def _plan_ifftn(a: Array, norm: Optional[str] = None) -> _Call:
    _arrays(a)
    return _fft(_IFFT, a, a._like(a.shape, _complex_of(a.dtype)), norm)


def _plan_rfftn(a: Array, norm: Optional[str] = None) -> _Call:
    _arrays(a)
    return _fft(_RFFT, a, a._like((*a.shape[:-1], a.shape[-1] // 2 + 1), _complex_of(a.dtype)), norm)


def _plan_irfftn(a: Array, length: Optional[int] = None, norm: Optional[str] = None) -> _Call:
    _arrays(a)
    size = 2 * (a.shape[-1] - 1) if length is None else int(length)
    return _fft(_IRFFT, a, a._like((*a.shape[:-1], max(0, size)), _real_of(a.dtype)), norm, size)


def _done(call: _Call) -> Any:
    call.run(False)
    return call.result


def matmul(a: Matrix, b: Matrix, transpose_a: str = "N", transpose_b: str = "N", alpha: complex = 1.0, beta: complex = 0.0,
           out: Optional[Matrix] = None) -> Matrix:
    """``alpha`` times the product of two matrices, plus ``beta`` times ``out``. A transpose is N (none), T, or C (conjugate)."""
    made: Matrix = _done(_plan_matmul(a, b, transpose_a, transpose_b, alpha, beta, out))
    return made


def cholesky(a: Matrix, upper: bool = False) -> Matrix:
    """The Cholesky factor of a Hermitian positive definite matrix. One triangle of it is read."""
    made: Matrix = _done(_plan_cholesky(a, upper))
    return made


def cholesky_solve(b: Matrix, factor: Matrix, upper: bool = False) -> Matrix:
    """Solves A X = B from the Cholesky factor of A."""
    made: Matrix = _done(_plan_cholesky_solve(b, factor, upper))
    return made


def solve(a: Matrix, b: Matrix) -> Matrix:
    """Solves A X = B by LU."""
    made: Matrix = _done(_plan_solve(a, b))
    return made


def inv(a: Matrix) -> Matrix:
    """The inverse."""
    made: Matrix = _done(_plan_inv(a))
    return made


def lu_factor(a: Matrix) -> Tuple[Matrix, Any]:
    """Both factors in one matrix, and the pivots, which every rank gets."""
    made: Tuple[Matrix, Any] = _done(_plan_lu_factor(a))
    return made


def lu_solve(factors: Matrix, pivots: Any, b: Matrix, adjoint: bool = False) -> Matrix:
    """Solves A X = B, or with the adjoint of A, from the result of lu_factor."""
    made: Matrix = _done(_plan_lu_solve(factors, pivots, b, adjoint))
    return made


def qr(a: Matrix, mode: str = "reduced") -> Any:
    """The factors Q and R, or R alone (mode r)."""
    return _done(_plan_qr(a, mode))


def lstsq(a: Matrix, b: Matrix) -> Matrix:
    """The matrix X that minimises the norm of A X - B, by QR. A has full rank."""
    made: Matrix = _done(_plan_lstsq(a, b))
    return made


def eigh(a: Matrix, upper: bool = False) -> Tuple[Any, Matrix]:
    """Eigenvalues, which every rank gets, and eigenvectors of a Hermitian matrix."""
    made: Tuple[Any, Matrix] = _done(_plan_eigh(a, upper))
    return made


def eigvalsh(a: Matrix, upper: bool = False) -> Any:
    """Eigenvalues of a Hermitian matrix, on every rank."""
    return _done(_plan_eigvalsh(a, upper))


def svd(a: Matrix) -> Tuple[Matrix, Any, Matrix]:
    """U, the singular values, which every rank gets, and V^H; both reduced."""
    made: Tuple[Matrix, Any, Matrix] = _done(_plan_svd(a))
    return made


def svdvals(a: Matrix) -> Any:
    """Singular values, on every rank."""
    return _done(_plan_svdvals(a))


def norm(a: Matrix, order: Union[str, float] = "fro") -> float:
    """The norm: fro, 1, -1, inf or -inf."""
    return float(_done(_plan_norm(a, order)))


def fft2(a: Matrix, norm: Optional[str] = None) -> Matrix:
    """The transform of a matrix in both dimensions, as of ``numpy.fft``. Its distribution is one of ``Communicator.slabs``."""
    made: Matrix = _done(_plan_fft2(a, norm))
    return made


def ifft2(a: Matrix, norm: Optional[str] = None) -> Matrix:
    """The inverse of fft2."""
    made: Matrix = _done(_plan_ifft2(a, norm))
    return made


def fftn(a: Array, norm: Optional[str] = None) -> Array:
    """The transform of an array in all dimensions, as of ``numpy.fft``."""
    made: Array = _done(_plan_fftn(a, norm))
    return made


def ifftn(a: Array, norm: Optional[str] = None) -> Array:
    """The inverse of fftn."""
    made: Array = _done(_plan_ifftn(a, norm))
    return made


def rfftn(a: Array, norm: Optional[str] = None) -> Array:
    """The transform of a real array in all dimensions: n/2+1 elements of the last one."""
    made: Array = _done(_plan_rfftn(a, norm))
    return made


def irfftn(a: Array, length: Optional[int] = None, norm: Optional[str] = None) -> Array:
    """The inverse of rfftn. The last dimension of the result has ``length`` elements, by default an even number."""
    made: Array = _done(_plan_irfftn(a, length, norm))
    return made


_PLANS = {function: globals()["_plan_" + function.__name__] for function in (
    matmul, cholesky, cholesky_solve, solve, inv, lu_factor, lu_solve, qr, lstsq, eigh, eigvalsh, svd, svdvals, norm, fft2, ifft2, fftn, ifftn,
    rfftn, irfftn)}


def explain(function: Callable[..., Any], *arguments: Any, **names: Any) -> str:
    """What a call of a function of this module would send between the ranks, its memory and its time. Nothing runs."""
    if function not in _PLANS:
        raise bad_value("explain takes a function of backplane.distributed")
    text = _PLANS[function](*arguments, **names).run(True)
    return text or ""
