"""Linear algebra with the names, arguments and results of torch.linalg, numpy.linalg and the array API standard.

A matrix is the last two dimensions of an array; the dimensions before them are a batch, and each element of the batch is an item.
Arrays are NumPy's and torch's, or any object with the buffer protocol or DLPack, of f32, f64, c64 or c128 and any strides.
Lists and numbers become NumPy arrays. NumPy arrays of integers, and of mixed types, are converted as in NumPy: integers to float64.
Results are of the array type of the first input. ``out`` receives the result, or a tuple of arrays if there are several.
Functions that run on a library also accept ``settings``, a dict of dotted names or backplane.Options, for this call only.
``backplane.explain(backplane.linalg.svd, a)`` returns which library would run the call.

If torch and NumPy differ, the function is torch's: ``qr`` returns Q and R in every mode, ``svd`` always returns three arrays, and
``solve`` treats B as a batch of vectors if its shape is A's without the last dimension.

If an operation fails on an item, it raises LinAlgError with the item's index; the ``_ex`` functions return an ``info`` instead.
It is also a numpy.linalg.LinAlgError if NumPy has been imported. NaN and infinity in the input raise it too: see
docs/reference/linalg.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Literal, NamedTuple, Optional, Sequence, Tuple, Union

from . import _core
from ._core import LinAlgError
from ._errors import bad_type, bad_value, failure, whole
from ._linalg_calls import ask, ask_for, number_of, operation
from ._linalg_factors import (
    LU,
    LDLFactor,
    LDLFactorEx,
    LUFactor,
    LUFactorEx,
    ldl_factor,
    ldl_factor_ex,
    ldl_solve,
    lu,
    lu_factor,
    lu_factor_ex,
    lu_solve,
)
from .backends._module import close

if TYPE_CHECKING:
    from ._types import Kind, Next, Out, SettingsArgument, Tolerance, UpLo

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cholesky_inverse",
    "cholesky_solve",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_sqrth",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "polar",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vander",
    "vecdot",
    "vector_norm",
]


class InvEx(NamedTuple):
    inverse: Any
    info: Any


class CholeskyEx(NamedTuple):
    L: Any
    info: Any


class SolveEx(NamedTuple):
    result: Any
    info: Any


class QR(NamedTuple):
    Q: Any
    R: Any


class Eigen(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


class SVD(NamedTuple):
    U: Any
    S: Any
    Vh: Any


class LeastSquares(NamedTuple):
    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


class SignedLogarithm(NamedTuple):
    sign: Any
    logabsdet: Any


# ---- Inverses and solutions ----


@operation
def inv(A: Kind, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Computes the inverse of square matrices.

    Shapes: A ... x n x n; the result has the same.

    >>> backplane.linalg.inv(np.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    return ask("inv", (A,), (True, None), out=out)


@operation
def inv_ex(A: Kind, *, check_errors: bool = False, out: Optional[Sequence[Out]] = None, settings: SettingsArgument = None) -> InvEx:
    """Computes the inverse, and for each item 0 or the index, from 1, of the zero on the diagonal of U.

    Shapes: A ... x n x n; the inverse has the same, and info the batch.

    >>> backplane.linalg.inv_ex(np.zeros((2, 2))).info
    array(1, dtype=int32)
    """
    return ask_for(InvEx, "inv", (A,), (True, True), out, fail_on_item_error=check_errors)


@operation
def solve(A: Kind, B: Next, *, left: bool = True, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Solves A X = B, or X A = B if not ``left``. B is a matrix or a vector; batches broadcast.

    Shapes: A ... x n x n, B ... x n x k or ... x n; the result is as B. Not ``left``: B ... x k x n.

    >>> backplane.linalg.solve([[2, 0], [0, 4]], [2, 2])
    array([1. , 0.5])
    """
    return ask("solve", (A, B), (True, None), out=out, right=not left)


@operation
def solve_ex(
    A: Kind, B: Next, *, left: bool = True, check_errors: bool = False, out: Optional[Sequence[Out]] = None, settings: SettingsArgument = None
) -> SolveEx:
    """Computes X as solve() does, and an info for each item as inv_ex() does.

    Shapes: as in solve(); info has the batch.

    >>> backplane.linalg.solve_ex(np.array([[2.0]]), np.array([3.0])).result
    array([1.5])
    """
    return ask_for(SolveEx, "solve", (A, B), (True, True), out, right=not left, fail_on_item_error=check_errors)


@operation
def solve_triangular(
    A: Kind,
    B: Next,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    """Solves A X = B, or X A = B if not ``left``, for a triangular A; reads one triangle only.

    Shapes: A ... x n x n, B ... x n x k, not ``left`` ... x k x n; the result is as B.

    >>> backplane.linalg.solve_triangular(np.array([[2.0, 9.0], [1.0, 1.0]]), np.array([[2.0], [3.0]]), upper=False)
    array([[1.],
           [2.]])
    """
    words = {"upper": upper, "right": not left, "unitriangular": unitriangular}
    return ask("solve_triangular", (A, B), (True,), out=out, **words)


@operation
def lstsq(
    A: Kind,
    B: Next,
    rcond: Optional[float] = None,
    *,
    driver: Optional[Literal["gelsy", "gels", "gelsd", "gelss"]] = None,
    out: None = None,
    settings: SettingsArgument = None,
) -> LeastSquares:
    """Computes X that minimises |A X - B|, the residuals, the rank, and the singular values.

    The residuals are NaN unless A has more rows than columns and full rank. A result that the driver (gelsy, gels, gelsd,
    gelss) does not compute is an empty array. Singular values up to rcond times the largest are treated as zero. The default of
    rcond is epsilon times the longer side; a negative value means LAPACK's machine precision. As in PyTorch, gels does not use
    rcond.

    Shapes: A ... x m x n, B ... x m x k or ... x m; the solution ... x n x k or ... x n, residuals k, singular values min(m, n), rank the batch.
    Errors: BadValueError: out is given

    >>> backplane.linalg.lstsq(np.array([[1.0], [1.0]]), np.array([[1.0], [3.0]])).solution.round(12)
    array([[2.]])
    """
    mode = _word("lstsq", "driver", driver, ("gelsy", "gels", "gelsd", "gelss")) if driver is not None else "gelsy"
    wanted = (True, True, mode != "gels", mode in ("gelsd", "gelss"))
    if out is not None:
        raise bad_value("linalg.lstsq: out is not supported; it must be None", "E_ARGUMENT")
    return ask_for(LeastSquares, "lstsq", (A, B), wanted, None, mode=mode, rtol=None if mode == "gels" else rcond)


# ---- Factors ----


@operation
def cholesky(A: Kind, *, upper: bool = False, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Factors Hermitian positive-definite A = L L^H, or A = U^H U if ``upper``; reads one triangle only.

    Shapes: A ... x n x n; the result has the same.

    >>> backplane.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 2.0]]))
    array([[2., 0.],
           [1., 1.]])
    """
    return ask("cholesky", (A,), (True, None), out=out, upper=upper)


@operation
def cholesky_ex(
    A: Kind, *, upper: bool = False, check_errors: bool = False, out: Optional[Sequence[Out]] = None, settings: SettingsArgument = None
) -> CholeskyEx:
    """Computes the factor, and for each item 0 or the order of the leading minor that is not positive definite.

    Shapes: A ... x n x n; the factor has the same, and info the batch.

    >>> backplane.linalg.cholesky_ex(-np.eye(2)).info
    array(1, dtype=int32)
    """
    return ask_for(CholeskyEx, "cholesky", (A,), (True, True), out, upper=upper, fail_on_item_error=check_errors)


@operation
def cholesky_solve(B: Kind, L: Next, upper: bool = False, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Solves L L^H X = B.

    Shapes: B ... x n x k, L ... x n x n; the result is as B.

    >>> backplane.linalg.cholesky_solve(np.array([[4.0], [2.0]]), np.array([[2.0, 0.0], [1.0, 1.0]]))
    array([[1.],
           [0.]])
    """
    return ask("cholesky_solve", (B, L), (True,), out=out, upper=upper)


@operation
def cholesky_inverse(L: Kind, upper: bool = False, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Computes the inverse of L L^H.

    Shapes: L ... x n x n; the result has the same.

    >>> backplane.linalg.cholesky_inverse(np.array([[2.0, 0.0], [0.0, 1.0]]))
    array([[0.25, 0.  ],
           [0.  , 1.  ]])
    """
    return ask("cholesky_inverse", (L,), (True, None), out=out, upper=upper)


def _word(op: str, name: str, word: Any, known: Tuple[str, ...]) -> str:
    if not isinstance(word, str):
        raise bad_type(f"linalg.{op}: {name} expects a str, but got {type(word).__name__}")
    if word not in known:
        raise bad_value(f"linalg.{op}: {name} is {word!r}; it must be {', '.join(known)}", "E_ARGUMENT")
    return word


@operation
def qr(A: Kind, mode: Literal["reduced", "complete", "r"] = "reduced", *, out: Optional[Sequence[Out]] = None, settings: SettingsArgument = None) -> QR:
    """Computes Q and R with A = Q R. mode is reduced, complete, or r (Q is then an empty array).

    Shapes: A ... x m x n; Q ... x m x k and R ... x k x n, where k is min(m, n), or m in mode complete.
    Errors: BadValueError: mode is another word, or out is given in mode r

    >>> backplane.linalg.qr(np.ones((3, 2)), "complete").Q.shape
    (3, 3)
    """
    _word("qr", "mode", mode, ("reduced", "complete", "r"))
    if mode == "r" and out is not None:
        raise bad_value("linalg.qr: out is not supported with mode r; it must be None", "E_ARGUMENT")
    return ask_for(QR, "qr", (A,), (mode != "r", True), out, mode=mode)


# ---- Eigenvalues and singular values ----


def _upper(op: str, UPLO: Any) -> bool:
    return _word(op, "UPLO", UPLO.upper() if isinstance(UPLO, str) else UPLO, ("L", "U")) == "U"


@operation
def eigh(A: Kind, UPLO: UpLo = "L", *, out: Optional[Sequence[Out]] = None, settings: SettingsArgument = None) -> Eigen:
    """Computes the eigenvalues, ascending, and eigenvectors of Hermitian matrices; reads one triangle only.

    Shapes: A ... x n x n; eigenvalues ... x n, eigenvectors ... x n x n.
    Errors: BadValueError: UPLO is neither L nor U

    >>> backplane.linalg.eigh(np.array([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    array([1., 2.])
    """
    return ask_for(Eigen, "eigh", (A,), (True, True), out, upper=_upper("eigh", UPLO))


@operation
def eigvalsh(A: Kind, UPLO: UpLo = "L", *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Computes the eigenvalues of Hermitian matrices, ascending; reads one triangle only.

    Shapes: A ... x n x n; the result ... x n.
    Errors: BadValueError: UPLO is neither L nor U

    >>> backplane.linalg.eigvalsh(np.array([[2.0, 1.0], [1.0, 2.0]])).round(12)
    array([1., 3.])
    """
    return ask("eigh", (A,), (True, None), out=out, upper=_upper("eigvalsh", UPLO))


@operation
def eig(A: Kind, *, out: Optional[Sequence[Out]] = None, settings: SettingsArgument = None) -> Eigen:
    """Computes the eigenvalues and eigenvectors of square matrices; both are complex.

    Shapes: A ... x n x n; eigenvalues ... x n, eigenvectors ... x n x n.

    >>> backplane.linalg.eig(np.array([[2.0]])).eigenvalues
    array([2.+0.j])
    """
    return ask_for(Eigen, "eig", (A,), (True, True), out)


@operation
def eigvals(A: Kind, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Computes the eigenvalues of square matrices; they are complex.

    Shapes: A ... x n x n; the result ... x n.

    >>> backplane.linalg.eigvals(np.array([[0.0, 1.0], [-1.0, 0.0]])).imag
    array([ 1., -1.])
    """
    return ask("eig", (A,), (True, None), out=out)


def _no_driver(op: str, driver: Optional[str]) -> None:
    if driver is not None:
        raise failure(_core.Error, "E_UNSUPPORTED", f"linalg.{op}: driver names a routine of cuSOLVER; it is gesdd on the CPU and gesvd on CUDA")


@operation
def svd(
    A: Kind,
    full_matrices: bool = True,
    *,
    driver: None = None,
    out: Optional[Sequence[Out]] = None,
    settings: SettingsArgument = None,
) -> SVD:
    """Computes U, S, Vh with A = U diag(S) Vh; S is descending.

    Shapes: A ... x m x n; U ... x m x m, S ... x k, Vh ... x n x n, where k is min(m, n); not full_matrices: U ... x m x k, Vh ... x k x n.
    Errors: Error: driver is given

    >>> backplane.linalg.svd(np.ones((2, 3)), full_matrices=False).Vh.shape
    (2, 3)
    """
    _no_driver("svd", driver)
    return ask_for(SVD, "svd", (A,), (True, True, True), out, mode="full" if full_matrices else "thin")


@operation
def svdvals(A: Kind, *, driver: None = None, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Computes the singular values, descending.

    Shapes: A ... x m x n; the result ... x min(m, n).
    Errors: Error: driver is given

    >>> backplane.linalg.svdvals(np.array([[3.0, 0.0], [0.0, -4.0]]))
    array([4., 3.])
    """
    _no_driver("svdvals", driver)
    return ask("svd", (A,), (None, True, None), out=out)


# ---- Determinant, pseudoinverse, rank, condition number, norm ----


@operation
def det(A: Kind, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Computes the determinant.

    Shapes: A ... x n x n; the result has the batch.

    >>> float(backplane.linalg.det(np.array([[2.0, 0.0], [0.0, 4.0]])))
    8.0
    """
    return ask("det", (A,), (True,), out=out)


@operation
def slogdet(A: Kind, *, out: Optional[Sequence[Out]] = None, settings: SettingsArgument = None) -> SignedLogarithm:
    """Computes the sign of the determinant and the logarithm of its absolute value; 0 and -inf for a singular matrix.

    Shapes: A ... x n x n; both results have the batch.

    >>> backplane.linalg.slogdet(np.zeros((2, 2))).logabsdet
    array(-inf)
    """
    return ask_for(SignedLogarithm, "slogdet", (A,), (True, True), out)


def _tolerance(op: str, name: str, value: Tolerance, standard: str, other: Tolerance) -> Tolerance:
    if value is None:
        return other
    if other is not None:
        raise bad_value(f"linalg.{op}: {name} and {standard} are the same tolerance; give one of them", "E_ARGUMENT")
    return value


@operation
def pinv(
    A: Kind,
    rcond: Tolerance = None,
    hermitian: bool = False,
    *,
    atol: Tolerance = None,
    rtol: Tolerance = None,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    """Computes the Moore-Penrose inverse. Singular values up to max(atol, rtol * largest) are treated as zero.

    A tolerance may be an array with a value for each item of the batch. rcond is another name of rtol.

    Shapes: A ... x m x n; the result ... x n x m.

    >>> backplane.linalg.pinv(np.array([[2.0], [0.0]]))
    array([[0.5, 0. ]])
    """
    rtol = _tolerance("pinv", "rcond", rcond, "rtol", rtol)
    return ask("pinv", (A,), (True,), out=out, atol=atol, rtol=rtol, hermitian=hermitian)


@operation
def matrix_rank(
    A: Kind,
    tol: Tolerance = None,
    hermitian: bool = False,
    *,
    atol: Tolerance = None,
    rtol: Tolerance = None,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    """Computes the number of singular values above max(atol, rtol * largest).

    A tolerance may be an array with a value for each item of the batch. tol is another name of atol; with it, the default of
    rtol is 0.

    Shapes: A ... x m x n; the result has the batch, of i64.

    >>> backplane.linalg.matrix_rank(np.ones((2, 3)))
    array(1)
    """
    atol = _tolerance("matrix_rank", "tol", tol, "atol", atol)
    return ask("matrix_rank", (A,), (True,), out=out, atol=atol, rtol=rtol, hermitian=hermitian)


def _norm(op: str, order: Union[str, float]) -> Dict[str, Any]:
    if isinstance(order, str):
        return {"mode": _word(op, "order", order, ("fro", "nuc"))}
    number = number_of(order)
    if number is None:
        raise bad_type(f"linalg.{op}: the order must be a number, 'fro' or 'nuc', but got {type(order).__name__}")
    return {"mode": "p", "order": number}


@operation
def cond(A: Kind, p: Union[None, Literal["fro", "nuc"], float] = None, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Computes the condition number in a norm: None or 2, -2, fro, nuc, 1, -1, inf, -inf.

    Shapes: A ... x m x n, square unless p is None, 2 or -2; the result has the batch.
    Errors: BadValueError: p is not such a norm

    >>> float(backplane.linalg.cond(np.array([[2.0, 0.0], [0.0, 4.0]])))
    2.0
    """
    return ask("cond", (A,), (True,), out=out, **_norm("cond", 2 if p is None else p))


@operation
def matrix_norm(
    A: Kind,
    ord: Union[Literal["fro", "nuc"], float] = "fro",
    dim: Tuple[int, int] = (-2, -1),
    keepdim: bool = False,
    *,
    axis: Optional[Tuple[int, int]] = None,
    keepdims: Optional[bool] = None,
    dtype: None = None,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    """Computes a norm of the matrices in the two dimensions ``dim``: fro, nuc, 1, -1, 2, -2, inf, -inf.

    axis and keepdims are other names of dim and keepdim.

    Shapes: A of two or more dimensions; the result lacks the dimensions in ``dim``, or has them with size 1 for ``keepdim``.
    Errors: BadValueError: dtype is given

    >>> float(backplane.linalg.matrix_norm(np.array([[3.0, 0.0], [0.0, 4.0]])))
    5.0
    """
    if dtype is not None:
        raise bad_value("linalg.matrix_norm: dtype is not supported; convert A first", "E_ARGUMENT")
    dim, keepdim = dim if axis is None else axis, keepdim if keepdims is None else bool(keepdims)
    if not isinstance(dim, (tuple, list)) or len(dim) != 2 or any(whole(one) is None for one in dim):
        raise bad_type(f"linalg.matrix_norm: dim expects two ints, but got {dim!r}")
    return ask("matrix_norm", (A,), (True,), out=out, dim=tuple(dim), keepdim=keepdim, **_norm("matrix_norm", ord))


# These use the functions above.
from ._linalg_names import (  # noqa: E402
    cross,
    diagonal,
    matmul,
    matrix_power,
    matrix_transpose,
    multi_dot,
    norm,
    outer,
    tensordot,
    tensorinv,
    tensorsolve,
    trace,
    vecdot,
    vector_norm,
)
from ._linalg_composed import Polar, householder_product, matrix_exp, matrix_sqrth, polar, vander  # noqa: E402

close(__name__)
