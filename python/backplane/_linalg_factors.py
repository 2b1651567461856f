"""The functions of torch.linalg for LU and LDL factors, and for solutions with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Sequence

from . import _core
from ._errors import failure
from ._linalg_calls import ask, ask_for, operation

if TYPE_CHECKING:
    from ._types import Kind, Next, Out, SettingsArgument

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


class LDLFactor(NamedTuple):
    LD: Any
    pivots: Any


class LDLFactorEx(NamedTuple):
    LD: Any
    pivots: Any
    info: Any


def _pivot(op: str, pivot: bool) -> None:
    if not pivot:
        raise failure(_core.Error, "E_UNSUPPORTED", f"linalg.{op}: LU without pivoting is not supported on the CPU")


@operation
def lu_factor(A: Kind, *, pivot: bool = True, out: Optional[Sequence[Out]] = None, settings: SettingsArgument = None) -> LUFactor:
    """Computes L and U in one matrix, and the pivots, from 1 as in LAPACK.

    Shapes: A ... x m x n; LU has the same, pivots ... x min(m, n), of i32.
    Errors: Error: pivot is False

    >>> backplane.linalg.lu_factor(np.array([[0.0, 1.0], [2.0, 0.0]])).pivots
    array([2, 2], dtype=int32)
    """
    _pivot("lu_factor", pivot)
    return ask_for(LUFactor, "lu_factor", (A,), (True, True, None), out)


@operation
def lu_factor_ex(
    A: Kind, *, pivot: bool = True, check_errors: bool = False, out: Optional[Sequence[Out]] = None, settings: SettingsArgument = None
) -> LUFactorEx:
    """Computes the results of lu_factor(), and for each item 0 or the index, from 1, of the zero on the diagonal of U.

    Shapes: as in lu_factor(); info has the batch.
    Errors: Error: pivot is False

    >>> backplane.linalg.lu_factor_ex(np.zeros((2, 2))).info
    array(1, dtype=int32)
    """
    _pivot("lu_factor_ex", pivot)
    return ask_for(LUFactorEx, "lu_factor", (A,), (True, True, True), out, fail_on_item_error=check_errors)


@operation
def lu(A: Kind, *, pivot: bool = True, out: Optional[Sequence[Out]] = None, settings: SettingsArgument = None) -> LU:
    """Computes P, L, U with A = P L U.

    Shapes: A ... x m x n; P ... x m x m, L ... x m x k, U ... x k x n, where k is min(m, n).
    Errors: Error: pivot is False

    >>> backplane.linalg.lu(np.array([[0.0, 1.0], [2.0, 0.0]])).P
    array([[0., 1.],
           [1., 0.]])
    """
    _pivot("lu", pivot)
    return ask_for(LU, "lu", (A,), (True, True, True), out)


@operation
def lu_solve(
    LU: Kind,
    pivots: Next,
    B: Next,
    *,
    left: bool = True,
    adjoint: bool = False,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    """Solves A X = B from the results of lu_factor(A); X A = B if not ``left``, with A^H instead of A if ``adjoint``.

    Shapes: LU ... x n x n, pivots ... x n, B ... x n x k; the result is as B.

    >>> backplane.linalg.lu_solve(*backplane.linalg.lu_factor(np.array([[2.0]])), np.array([[3.0]]))
    array([[1.5]])
    """
    return ask("lu_solve", (LU, pivots, B), (True,), out=out, right=not left, adjoint=adjoint)


@operation
def ldl_factor(A: Kind, *, hermitian: bool = False, out: Optional[Sequence[Out]] = None, settings: SettingsArgument = None) -> LDLFactor:
    """Factors symmetric A = L D L^T, or A = L D L^H if ``hermitian``; reads the lower triangle only.

    A need not be positive definite. L and the blocks of D are in one matrix, and the pivots are from 1, as LAPACK's sytrf and
    hetrf write them: the pivots of a 2x2 block of D are two equal negative numbers.

    Shapes: A ... x n x n; LD has the same, pivots ... x n, of i32.

    >>> backplane.linalg.ldl_factor(np.array([[0.0, 2.0], [2.0, 0.0]])).pivots
    array([-2, -2], dtype=int32)
    """
    return ask_for(LDLFactor, "ldl_factor", (A,), (True, True, None), out, hermitian=hermitian)


@operation
def ldl_factor_ex(
    A: Kind, *, hermitian: bool = False, check_errors: bool = False, out: Optional[Sequence[Out]] = None, settings: SettingsArgument = None
) -> LDLFactorEx:
    """Computes the results of ldl_factor(), and for each item 0 or the index, from 1, of a block of D that is zero.

    Shapes: as in ldl_factor(); info has the batch.

    >>> backplane.linalg.ldl_factor_ex(np.zeros((2, 2))).info
    array(1, dtype=int32)
    """
    words = {"hermitian": hermitian, "fail_on_item_error": check_errors}
    return ask_for(LDLFactorEx, "ldl_factor", (A,), (True, True, True), out, **words)


@operation
def ldl_solve(
    LD: Kind, pivots: Next, B: Next, *, hermitian: bool = False, out: Optional[Out] = None, settings: SettingsArgument = None
) -> Kind:
    """Solves A X = B from the results of ldl_factor(A) with the same ``hermitian``. B is a matrix; batches broadcast.

    Shapes: LD ... x n x n, pivots ... x n, B ... x n x k; the result is as B.

    >>> backplane.linalg.ldl_solve(*backplane.linalg.ldl_factor(np.array([[2.0]])), np.array([[3.0]]))
    array([[1.5]])
    """
    return ask("ldl_solve", (LD, pivots, B), (True,), out=out, hermitian=hermitian)
