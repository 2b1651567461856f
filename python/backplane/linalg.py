"""Linear algebra with the names, arguments and results of torch.linalg.

Matrices are the last two dimensions of an array, those before are a batch. Arrays are NumPy's, torch's, or anything with the
buffer protocol or DLPack, of f32, f64, c64 or c128, read in place whatever their strides; results come back as what the first
input was. ``out`` takes results in place, a tuple where there are several. Every function also takes ``settings``, a dict of
dotted names or backplane.Options for this call only, and ``backplane.explain(backplane.linalg.svd, a)`` tells which library
would run it.

A matrix on which an operation fails raises LinAlgError, which names the item of the batch and is numpy.linalg's as well if that
has been imported; the ``_ex`` functions return an
``info`` instead. NaN and infinity in the input raise it too: see docs/linalg.md.
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

# One call: the operation, its inputs, which outputs are wanted, what several results become, the caller's `out`, and words
# for the extension. A plain tuple, since for small matrices most of the time is spent here.
Request = Tuple[str, Tuple[Any, ...], Tuple[Any, ...], Optional[Callable[..., Any]], Any, Dict[str, Any]]


def _place(op: str, outputs: Tuple[Any, ...], several: bool, out: Any) -> Tuple[Any, ...]:
    """The outputs with the arrays of ``out`` in place of those that are wanted."""
    count = sum(wanted is not None for wanted in outputs)
    arrays = tuple(out) if several else (out,)
    if len(arrays) != count:
        raise bad_value(f"linalg.{op}: out has {len(arrays)} arrays; there are {count} results", "E_ARGUMENT")
    taken = iter(arrays)
    return tuple(None if wanted is None else next(taken) for wanted in outputs)


def _call(request: Request, settings: SettingsArgument, explain: bool) -> Tuple[Any, Tuple[Any, ...]]:
    """What the extension returns, and the outputs that it was given."""
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
    """Makes the call of what the function returns: it only says what is asked for."""

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
    """For one result. An output is True where it is wanted, False where an empty array takes its place, else None."""
    return (op, inputs, outputs, None, out, words)


def _ask_for(
    kind: Callable[..., Results], op: str, inputs: Tuple[Any, ...], outputs: Tuple[Any, ...], out: Any, **words: Any
) -> Results:
    """For several, as a tuple with names."""
    return cast(Results, (op, inputs, outputs, kind, out, words))


# ---- Inverses and solutions ----


@_operation
def inv(A: Any, *, out: Any = None) -> Any:
    """The inverse of square matrices."""
    return _ask("inv", (A,), (True, None), out=out)


@_operation
def inv_ex(A: Any, *, check_errors: bool = False, out: Any = None) -> InvEx:
    """The inverse, and for each item of the batch 0 or the number of the zero on the diagonal of U."""
    return _ask_for(InvEx, "inv", (A,), (True, True), out, check=check_errors)


@_operation
def solve(A: Any, B: Any, *, left: bool = True, out: Any = None) -> Any:
    """X with A X = B, or X A = B where not ``left``. B is a matrix or a vector, batches broadcast."""
    return _ask("solve", (A, B), (True, None), out=out, right=not left)


@_operation
def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False, out: Any = None) -> SolveEx:
    """X as solve(), and an info for each item."""
    return _ask_for(SolveEx, "solve", (A, B), (True, True), out, right=not left, check=check_errors)


@_operation
def solve_triangular(
    A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False, out: Any = None
) -> Any:
    """X with A X = B for a triangular A, of which one triangle is read."""
    words = {"upper": upper, "right": not left, "unitriangular": unitriangular}
    return _ask("solve_triangular", (A, B), (True,), out=out, **words)


@_operation
def lstsq(
    A: Any, B: Any, rcond: Optional[float] = None, *, driver: Optional[str] = None, out: Any = None
) -> LeastSquares:
    """X that minimises |A X - B|, the residuals (NaN where A has not more rows than columns, or not full rank), the rank, and
    the singular values; an empty array for what the driver (gelsy, gels, gelsd, gelss) does not compute. Singular values up to
    rcond times the largest count as zero: epsilon times the longer side by default, LAPACK's machine precision where it is negative."""
    mode = _word("lstsq", "driver", driver, ("gelsy", "gels", "gelsd", "gelss")) if driver is not None else "gelsy"
    wanted = (True, True, mode != "gels", mode in ("gelsd", "gelss"))
    if out is not None:
        raise bad_value("linalg.lstsq: out is not taken", "E_ARGUMENT")
    return _ask_for(LeastSquares, "lstsq", (A, B), wanted, None, mode=mode, rtol=rcond)


# ---- Factors ----


@_operation
def cholesky(A: Any, *, upper: bool = False, out: Any = None) -> Any:
    """L with A = L L^H, or U with A = U^H U, of Hermitian positive-definite matrices, of which one triangle is read."""
    return _ask("cholesky", (A,), (True, None), out=out, upper=upper)


@_operation
def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> CholeskyEx:
    """The factor, and for each item 0 or the order of the leading minor that is not positive definite."""
    return _ask_for(CholeskyEx, "cholesky", (A,), (True, True), out, upper=upper, check=check_errors)


@_operation
def cholesky_solve(B: Any, L: Any, upper: bool = False, *, out: Any = None) -> Any:
    """X with L L^H X = B."""
    return _ask("cholesky_solve", (B, L), (True,), out=out, upper=upper)


@_operation
def cholesky_inverse(L: Any, upper: bool = False, *, out: Any = None) -> Any:
    """The inverse of L L^H."""
    return _ask("cholesky_inverse", (L,), (True, None), out=out, upper=upper)


def _pivot(op: str, pivot: bool) -> None:
    if not pivot:
        raise failure(_core.Error, "E_UNSUPPORTED", f"linalg.{op}: LU without pivoting is not done on the CPU")


@_operation
def lu_factor(A: Any, *, pivot: bool = True, out: Any = None) -> LUFactor:
    """L and U in one matrix, and the pivots as LAPACK counts them."""
    _pivot("lu_factor", pivot)
    return _ask_for(LUFactor, "lu_factor", (A,), (True, True, None), out)


@_operation
def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False, out: Any = None) -> LUFactorEx:
    """The same, and for each item 0 or the number of the zero on the diagonal of U."""
    _pivot("lu_factor_ex", pivot)
    return _ask_for(LUFactorEx, "lu_factor", (A,), (True, True, True), out, check=check_errors)


@_operation
def lu(A: Any, *, pivot: bool = True, out: Any = None) -> LU:
    """P, L, U with A = P L U."""
    _pivot("lu", pivot)
    return _ask_for(LU, "lu", (A,), (True, True, True), out)


@_operation
def lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False, out: Any = None) -> Any:
    """X with A X = B from what lu_factor() gave for A; X A = B where not ``left``, A^H where ``adjoint``."""
    return _ask("lu_solve", (LU, pivots, B), (True,), out=out, right=not left, adjoint=adjoint)


def _word(op: str, name: str, word: Any, known: Tuple[str, ...]) -> str:
    if not isinstance(word, str):
        raise bad_type(f"linalg.{op}: {name} expects a str, but got {type(word).__name__}")
    if word not in known:
        raise bad_value(f"linalg.{op}: {name} {word!r} is none; it takes {', '.join(known)}", "E_ARGUMENT")
    return word


@_operation
def qr(A: Any, mode: str = "reduced", *, out: Any = None) -> QR:
    """Q and R with A = Q R; mode is reduced, complete, or r, where Q is an empty array."""
    _word("qr", "mode", mode, ("reduced", "complete", "r"))
    if mode == "r" and out is not None:
        raise bad_value("linalg.qr: out is not taken with mode r", "E_ARGUMENT")
    return _ask_for(QR, "qr", (A,), (mode != "r", True), out, mode=mode)


# ---- Eigenvalues and singular values ----


def _upper(op: str, UPLO: Any) -> bool:
    return _word(op, "UPLO", UPLO.upper() if isinstance(UPLO, str) else UPLO, ("L", "U")) == "U"


@_operation
def eigh(A: Any, UPLO: str = "L", *, out: Any = None) -> Eigen:
    """Eigenvalues, ascending, and eigenvectors of Hermitian matrices, of which one triangle is read."""
    return _ask_for(Eigen, "eigh", (A,), (True, True), out, upper=_upper("eigh", UPLO))


@_operation
def eigvalsh(A: Any, UPLO: str = "L", *, out: Any = None) -> Any:
    """The eigenvalues alone."""
    return _ask("eigh", (A,), (True, None), out=out, upper=_upper("eigvalsh", UPLO))


@_operation
def eig(A: Any, *, out: Any = None) -> Eigen:
    """Eigenvalues and eigenvectors of any square matrices; both are complex."""
    return _ask_for(Eigen, "eig", (A,), (True, True), out)


@_operation
def eigvals(A: Any, *, out: Any = None) -> Any:
    """The eigenvalues alone."""
    return _ask("eig", (A,), (True, None), out=out)


def _no_driver(op: str, driver: Optional[str]) -> None:
    if driver is not None:
        raise failure(_core.Error, "E_UNSUPPORTED", f"linalg.{op}: driver names a routine of cuSOLVER; on the CPU it is gesdd")


@_operation
def svd(A: Any, full_matrices: bool = True, *, driver: Optional[str] = None, out: Any = None) -> SVD:
    """U, S, Vh with A = U diag(S) Vh and S descending."""
    _no_driver("svd", driver)
    return _ask_for(SVD, "svd", (A,), (True, True, True), out, mode="full" if full_matrices else "thin")


@_operation
def svdvals(A: Any, *, driver: Optional[str] = None, out: Any = None) -> Any:
    """The singular values alone."""
    _no_driver("svdvals", driver)
    return _ask("svd", (A,), (None, True, None), out=out)


# ---- Numbers ----


@_operation
def det(A: Any, *, out: Any = None) -> Any:
    """The determinant."""
    return _ask("det", (A,), (True,), out=out)


@_operation
def slogdet(A: Any, *, out: Any = None) -> SignedLogarithm:
    """Sign and logarithm of the absolute value of the determinant; 0 and -inf for a singular matrix."""
    return _ask_for(SignedLogarithm, "slogdet", (A,), (True, True), out)


@_operation
def pinv(
    A: Any, *, atol: Optional[float] = None, rtol: Optional[float] = None, hermitian: bool = False, out: Any = None
) -> Any:
    """The Moore-Penrose inverse; singular values up to max(atol, rtol * largest) count as zero."""
    return _ask("pinv", (A,), (True,), out=out, atol=atol, rtol=rtol, hermitian=hermitian)


@_operation
def matrix_rank(
    A: Any, *, atol: Optional[float] = None, rtol: Optional[float] = None, hermitian: bool = False, out: Any = None
) -> Any:
    """The number of singular values above max(atol, rtol * largest)."""
    return _ask("matrix_rank", (A,), (True,), out=out, atol=atol, rtol=rtol, hermitian=hermitian)


def _norm(op: str, order: Union[str, float]) -> Dict[str, Any]:
    if isinstance(order, str):
        return {"mode": _word(op, "order", order, ("fro", "nuc"))}
    if isinstance(order, bool) or not isinstance(order, numbers.Real):
        raise bad_type(f"linalg.{op}: the order expects a number, 'fro' or 'nuc', but got {type(order).__name__}")
    return {"mode": "p", "order": float(order)}


@_operation
def cond(A: Any, p: Union[None, str, float] = None, *, out: Any = None) -> Any:
    """The condition number in a norm: None or 2, -2, fro, nuc, 1, -1, inf, -inf."""
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
    """A norm of matrices, which lie in the two dimensions ``dim``: fro, nuc, 1, -1, 2, -2, inf, -inf."""
    if dtype is not None:
        raise bad_value("linalg.matrix_norm: dtype is not taken; convert A first", "E_ARGUMENT")
    if not isinstance(dim, (tuple, list)) or len(dim) != 2 or any(whole(one) is None for one in dim):
        raise bad_type(f"linalg.matrix_norm: dim expects two ints, but got {dim!r}")
    return _ask("matrix_norm", (A,), (True,), out=out, dim=tuple(dim), keepdim=keepdim, **_norm("matrix_norm", ord))


close(__name__)
