"""Linear algebra with the names, arguments and results of torch.linalg.

A matrix is the last two dimensions of an array; the dimensions before them are a batch, each element of which is an item.
Arrays are those of NumPy and torch, or any object with the buffer protocol or DLPack, of f32, f64, c64 or c128 and any strides.
Results are of the array type of the first input. ``out`` receives the result, or a tuple of arrays if there are several.
Every function also accepts ``settings``, a dict of dotted names or backplane.Options, for this call only.
``backplane.explain(backplane.linalg.svd, a)`` returns which library would run the call.

If an operation fails on an item, it raises LinAlgError with the item's index; the ``_ex`` functions return an ``info`` instead.
It is also a numpy.linalg.LinAlgError if NumPy has been imported. NaN and infinity in the input raise it too: see
docs/reference/linalg.md.
"""

from __future__ import annotations

import functools
import numbers
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple, TypeVar, Union, cast

from . import _core
from ._core import LinAlgError
from ._errors import bad_type, bad_value, failure, whole
from ._products import _EXPLAINERS, SettingsArgument, _like
from .backends._module import close

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cholesky_inverse",
    "cholesky_solve",
    "cond",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "inv_ex",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matrix_norm",
    "matrix_rank",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
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


class LUFactor(NamedTuple):
    LU: Any
    pivots: Any


class LUFactorEx(NamedTuple):
    LU: Any
    pivots: Any
    info: Any


class LU(NamedTuple):
    P: Any
    L: Any
    U: Any


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


# ---- From a function's arguments to the call ----

Function = TypeVar("Function", bound=Callable[..., Any])

# One call: operation, inputs, requested outputs, type for several results, the caller's `out`, keywords for the extension. A
# plain tuple, because for small matrices most of the time is spent here.
Request = Tuple[str, Tuple[Any, ...], Tuple[Any, ...], Optional[Callable[..., Any]], Any, Dict[str, Any]]


def _place(op: str, outputs: Tuple[Any, ...], several: bool, out: Any) -> Tuple[Any, ...]:
    """Returns the outputs, with the arrays of ``out`` for the requested ones."""
    count = sum(wanted is not None for wanted in outputs)
    arrays = tuple(out) if several else (out,)
    if len(arrays) != count:
        raise bad_value(f"linalg.{op}: out has {len(arrays)} arrays; there are {count} results", "E_ARGUMENT")
    taken = iter(arrays)
    return tuple(None if wanted is None else next(taken) for wanted in outputs)


def _call(request: Request, settings: SettingsArgument, explain: bool) -> Tuple[Any, Tuple[Any, ...]]:
    """Returns the extension's result, and the outputs that it was given."""
    op, inputs, outputs, kind, out, words = request
    if out is not None:
        outputs = _place(op, outputs, kind is not None, out)
    return _core.linalg(op, inputs, outputs, settings, explain, **words), outputs


def _run(request: Request, settings: SettingsArgument) -> Any:
    made, outputs = _call(request, settings, False)
    inputs, kind = request[1], request[3]
    results = []
    for given, result in zip(outputs, made):
        if given is not None:
            one = given if result is None else _like(result, *inputs)
            if kind is None:
                return one
            results.append(one)
    return kind(*results) if kind else None


def _operation(function: Function) -> Function:
    """Decorates a function that returns a Request: the decorated function runs it."""

    @functools.wraps(function)
    def run(*arguments: Any, settings: SettingsArgument = None, **names: Any) -> Any:
        return _run(function(*arguments, **names), settings)

    def explain(*arguments: Any, settings: SettingsArgument = None, **names: Any) -> Dict[str, Any]:
        found: Dict[str, Any] = _call(function(*arguments, **names), settings, True)[0]
        return found

    _EXPLAINERS[run] = explain
    return cast(Function, run)


Results = TypeVar("Results")


def _ask(op: str, inputs: Tuple[Any, ...], outputs: Tuple[Any, ...], out: Any, **words: Any) -> Any:
    """Returns a Request with one result. An output is True if it is requested, False for an empty array instead, or None."""
    return (op, inputs, outputs, None, out, words)


def _ask_for(
    kind: Callable[..., Results], op: str, inputs: Tuple[Any, ...], outputs: Tuple[Any, ...], out: Any, **words: Any
) -> Results:
    """Returns a Request with several results, which become a named tuple."""
    return cast(Results, (op, inputs, outputs, kind, out, words))


# ---- Inverses and solutions ----


@_operation
def inv(A: Any, *, out: Any = None) -> Any:
    """Computes the inverse of square matrices."""
    return _ask("inv", (A,), (True, None), out=out)


@_operation
def inv_ex(A: Any, *, check_errors: bool = False, out: Any = None) -> InvEx:
    """Computes the inverse, and for each item 0 or the index, from 1, of the zero on the diagonal of U."""
    return _ask_for(InvEx, "inv", (A,), (True, True), out, fail_on_item_error=check_errors)


@_operation
def solve(A: Any, B: Any, *, left: bool = True, out: Any = None) -> Any:
    """Solves A X = B, or X A = B if not ``left``. B is a matrix or a vector; batches broadcast."""
    return _ask("solve", (A, B), (True, None), out=out, right=not left)


@_operation
def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False, out: Any = None) -> SolveEx:
    """Computes X as solve() does, and an info for each item as inv_ex() does."""
    return _ask_for(SolveEx, "solve", (A, B), (True, True), out, right=not left, fail_on_item_error=check_errors)


@_operation
def solve_triangular(
    A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False, out: Any = None
) -> Any:
    """Solves A X = B, or X A = B if not ``left``, for a triangular A; reads one triangle only."""
    words = {"upper": upper, "right": not left, "unitriangular": unitriangular}
    return _ask("solve_triangular", (A, B), (True,), out=out, **words)


@_operation
def lstsq(
    A: Any, B: Any, rcond: Optional[float] = None, *, driver: Optional[str] = None, out: Any = None
) -> LeastSquares:
    """Computes X that minimises |A X - B|, the residuals, the rank, and the singular values.

    The residuals are NaN unless A has more rows than columns and full rank. A result that the driver (gelsy, gels, gelsd,
    gelss) does not compute is an empty array. Singular values up to rcond times the largest are treated as zero. The default of
    rcond is epsilon times the longer side; a negative value means LAPACK's machine precision.
    """
    mode = _word("lstsq", "driver", driver, ("gelsy", "gels", "gelsd", "gelss")) if driver is not None else "gelsy"
    wanted = (True, True, mode != "gels", mode in ("gelsd", "gelss"))
    if out is not None:
        raise bad_value("linalg.lstsq: out is not supported; it must be None", "E_ARGUMENT")
    return _ask_for(LeastSquares, "lstsq", (A, B), wanted, None, mode=mode, rtol=rcond)


# ---- Factors ----


@_operation
def cholesky(A: Any, *, upper: bool = False, out: Any = None) -> Any:
    """Factors Hermitian positive-definite A = L L^H, or A = U^H U if ``upper``; reads one triangle only."""
    return _ask("cholesky", (A,), (True, None), out=out, upper=upper)


@_operation
def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> CholeskyEx:
    """Computes the factor, and for each item 0 or the order of the leading minor that is not positive definite."""
    return _ask_for(CholeskyEx, "cholesky", (A,), (True, True), out, upper=upper, fail_on_item_error=check_errors)


@_operation
def cholesky_solve(B: Any, L: Any, upper: bool = False, *, out: Any = None) -> Any:
    """Solves L L^H X = B."""
    return _ask("cholesky_solve", (B, L), (True,), out=out, upper=upper)


@_operation
def cholesky_inverse(L: Any, upper: bool = False, *, out: Any = None) -> Any:
    """Computes the inverse of L L^H."""
    return _ask("cholesky_inverse", (L,), (True, None), out=out, upper=upper)


def _pivot(op: str, pivot: bool) -> None:
    if not pivot:
        raise failure(_core.Error, "E_UNSUPPORTED", f"linalg.{op}: LU without pivoting is not supported on the CPU")


@_operation
def lu_factor(A: Any, *, pivot: bool = True, out: Any = None) -> LUFactor:
    """Computes L and U in one matrix, and the pivots, from 1 as in LAPACK."""
    _pivot("lu_factor", pivot)
    return _ask_for(LUFactor, "lu_factor", (A,), (True, True, None), out)


@_operation
def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False, out: Any = None) -> LUFactorEx:
    """Computes the results of lu_factor(), and for each item 0 or the index, from 1, of the zero on the diagonal of U."""
    _pivot("lu_factor_ex", pivot)
    return _ask_for(LUFactorEx, "lu_factor", (A,), (True, True, True), out, fail_on_item_error=check_errors)


@_operation
def lu(A: Any, *, pivot: bool = True, out: Any = None) -> LU:
    """Computes P, L, U with A = P L U."""
    _pivot("lu", pivot)
    return _ask_for(LU, "lu", (A,), (True, True, True), out)


@_operation
def lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False, out: Any = None) -> Any:
    """Solves A X = B from the results of lu_factor(A); X A = B if not ``left``, with A^H instead of A if ``adjoint``."""
    return _ask("lu_solve", (LU, pivots, B), (True,), out=out, right=not left, adjoint=adjoint)


def _word(op: str, name: str, word: Any, known: Tuple[str, ...]) -> str:
    if not isinstance(word, str):
        raise bad_type(f"linalg.{op}: {name} expects a str, but got {type(word).__name__}")
    if word not in known:
        raise bad_value(f"linalg.{op}: {name} is {word!r}; it must be {', '.join(known)}", "E_ARGUMENT")
    return word


@_operation
def qr(A: Any, mode: str = "reduced", *, out: Any = None) -> QR:
    """Computes Q and R with A = Q R. mode is reduced, complete, or r (Q is then an empty array)."""
    _word("qr", "mode", mode, ("reduced", "complete", "r"))
    if mode == "r" and out is not None:
        raise bad_value("linalg.qr: out is not supported with mode r; it must be None", "E_ARGUMENT")
    return _ask_for(QR, "qr", (A,), (mode != "r", True), out, mode=mode)


# ---- Eigenvalues and singular values ----


def _upper(op: str, UPLO: Any) -> bool:
    return _word(op, "UPLO", UPLO.upper() if isinstance(UPLO, str) else UPLO, ("L", "U")) == "U"


@_operation
def eigh(A: Any, UPLO: str = "L", *, out: Any = None) -> Eigen:
    """Computes the eigenvalues, ascending, and eigenvectors of Hermitian matrices; reads one triangle only."""
    return _ask_for(Eigen, "eigh", (A,), (True, True), out, upper=_upper("eigh", UPLO))


@_operation
def eigvalsh(A: Any, UPLO: str = "L", *, out: Any = None) -> Any:
    """Computes the eigenvalues of Hermitian matrices, ascending; reads one triangle only."""
    return _ask("eigh", (A,), (True, None), out=out, upper=_upper("eigvalsh", UPLO))


@_operation
def eig(A: Any, *, out: Any = None) -> Eigen:
    """Computes the eigenvalues and eigenvectors of square matrices; both are complex."""
    return _ask_for(Eigen, "eig", (A,), (True, True), out)


@_operation
def eigvals(A: Any, *, out: Any = None) -> Any:
    """Computes the eigenvalues of square matrices; they are complex."""
    return _ask("eig", (A,), (True, None), out=out)


def _no_driver(op: str, driver: Optional[str]) -> None:
    if driver is not None:
        raise failure(_core.Error, "E_UNSUPPORTED", f"linalg.{op}: driver names a routine of cuSOLVER; on the CPU it is gesdd")


@_operation
def svd(A: Any, full_matrices: bool = True, *, driver: Optional[str] = None, out: Any = None) -> SVD:
    """Computes U, S, Vh with A = U diag(S) Vh; S is descending."""
    _no_driver("svd", driver)
    return _ask_for(SVD, "svd", (A,), (True, True, True), out, mode="full" if full_matrices else "thin")


@_operation
def svdvals(A: Any, *, driver: Optional[str] = None, out: Any = None) -> Any:
    """Computes the singular values, descending."""
    _no_driver("svdvals", driver)
    return _ask("svd", (A,), (None, True, None), out=out)


# ---- Determinant, pseudoinverse, rank, condition number, norm ----


@_operation
def det(A: Any, *, out: Any = None) -> Any:
    """Computes the determinant."""
    return _ask("det", (A,), (True,), out=out)


@_operation
def slogdet(A: Any, *, out: Any = None) -> SignedLogarithm:
    """Computes the sign of the determinant and the logarithm of its absolute value; 0 and -inf for a singular matrix."""
    return _ask_for(SignedLogarithm, "slogdet", (A,), (True, True), out)


@_operation
def pinv(
    A: Any, *, atol: Optional[float] = None, rtol: Optional[float] = None, hermitian: bool = False, out: Any = None
) -> Any:
    """Computes the Moore-Penrose inverse. Singular values up to max(atol, rtol * largest) are treated as zero."""
    return _ask("pinv", (A,), (True,), out=out, atol=atol, rtol=rtol, hermitian=hermitian)


@_operation
def matrix_rank(
    A: Any, *, atol: Optional[float] = None, rtol: Optional[float] = None, hermitian: bool = False, out: Any = None
) -> Any:
    """Computes the number of singular values above max(atol, rtol * largest)."""
    return _ask("matrix_rank", (A,), (True,), out=out, atol=atol, rtol=rtol, hermitian=hermitian)


def _norm(op: str, order: Union[str, float]) -> Dict[str, Any]:
    if isinstance(order, str):
        return {"mode": _word(op, "order", order, ("fro", "nuc"))}
    if isinstance(order, bool) or not isinstance(order, numbers.Real):
        raise bad_type(f"linalg.{op}: the order must be a number, 'fro' or 'nuc', but got {type(order).__name__}")
    return {"mode": "p", "order": float(order)}


@_operation
def cond(A: Any, p: Union[None, str, float] = None, *, out: Any = None) -> Any:
    """Computes the condition number in a norm: None or 2, -2, fro, nuc, 1, -1, inf, -inf."""
    return _ask("cond", (A,), (True,), out=out, **_norm("cond", 2 if p is None else p))


@_operation
def matrix_norm(
    A: Any,
    ord: Union[str, float] = "fro",
    dim: Tuple[int, int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    """Computes a norm of the matrices in the two dimensions ``dim``: fro, nuc, 1, -1, 2, -2, inf, -inf."""
    if dtype is not None:
        raise bad_value("linalg.matrix_norm: dtype is not supported; convert A first", "E_ARGUMENT")
    if not isinstance(dim, (tuple, list)) or len(dim) != 2 or any(whole(one) is None for one in dim):
        raise bad_type(f"linalg.matrix_norm: dim expects two ints, but got {dim!r}")
    return _ask("matrix_norm", (A,), (True,), out=out, dim=tuple(dim), keepdim=keepdim, **_norm("matrix_norm", ord))


close(__name__)
