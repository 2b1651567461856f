"""Turns the arguments of a function of backplane.linalg into one call of the extension.

The call is tried with the arguments as they are, because for small matrices most of the time is spent here. Only a TypeError
leads to the slow path: lists, scalars, integers and mixed types are converted as in NumPy, and tolerances may be arrays.
"""

from __future__ import annotations

import functools
import numbers
import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Tuple, TypeVar, cast

from . import _core
from ._convert import numpy_of, unite, with_numpy
from ._errors import bad_type, bad_value
from ._help import complete
from ._products import _EXPLAINERS, _is_numpy, _is_torch, _like

if TYPE_CHECKING:
    from ._types import SettingsArgument

Function = TypeVar("Function", bound=Callable[..., Any])
Results = TypeVar("Results")

# One call: operation, inputs, requested outputs, type for several results, the caller's `out`, keywords for the extension.
Request = Tuple[str, Tuple[Any, ...], Tuple[Any, ...], Optional[Callable[..., Any]], Any, Dict[str, Any]]

_LAST_TWO = "the matrix is the last two dimensions; move them there first, with numpy.moveaxis() or movedim()"
_HINTS = {
    "axis": _LAST_TWO,
    "axes": _LAST_TWO,
    "dim": _LAST_TWO,
    "dims": _LAST_TWO,
    "compute_uv": "backplane.linalg.svdvals computes the singular values alone",
    "hermitian": "backplane.linalg.eigh is for Hermitian matrices",
    "rcond": "the relative tolerance is rtol",
    "tol": "the absolute tolerance is atol",
    "keepdims": "the result has no dimensions to keep",
    "keepdim": "the result has no dimensions to keep",
}


def number_of(order: Any) -> Optional[float]:
    """Returns the order of a norm as a float; None if it is no real number, or a bool."""
    return None if isinstance(order, bool) or not isinstance(order, numbers.Real) else float(order)


# ---- The call ----


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


def _explain(request: Request, settings: SettingsArgument) -> Dict[str, Any]:
    found: Dict[str, Any] = _call(request, settings, True)[0]
    return found


# ---- The slow path ----


def _check_names(function: Callable[..., Any], names: Dict[str, Any]) -> None:
    code = function.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for name in names:
        if name not in known and name in _HINTS:
            raise bad_type(f"linalg.{function.__name__}: there is no argument {name!r}; {_HINTS[name]}")


def _is_array(tolerance: Any) -> bool:
    return isinstance(tolerance, (list, tuple)) or bool(getattr(tolerance, "ndim", 0))


def _each(request: Request, settings: SettingsArgument) -> Any:
    """Runs a call with arrays of tolerances: one call for each item of the batch. NumPy broadcasts them."""
    op, (given,), outputs, kind, out, words = request
    numpy = numpy_of(op)
    A = given if _is_numpy(given) else numpy.asarray(given)
    limits = {name: numpy.asarray(words[name], float) for name in ("rtol", "atol") if words[name] is not None}
    batch = numpy.broadcast_shapes(A.shape[:-2], *(limit.shape for limit in limits.values()))
    items = numpy.broadcast_to(A, batch + A.shape[-2:])
    spread = {name: numpy.broadcast_to(limit, batch) for name, limit in limits.items()}
    first = _run((op, (A[(0,) * (A.ndim - 2)],), outputs, kind, None, {**words, "rtol": None, "atol": None}), settings) if (
        A.size and 0 not in batch) else None
    if first is None:  # nothing to compute, but the result has a shape and a type
        zero = numpy.zeros(batch + A.shape[-2:], A.dtype)
        return _like_first(_run((op, (zero,), outputs, kind, out, {**words, "rtol": None, "atol": None}), settings), given)
    result = numpy.empty(batch + first.shape, first.dtype) if out is None else out
    for place in numpy.ndindex(batch):
        each = {**words, **{name: float(limit[place]) for name, limit in spread.items()}}
        result[place] = _run((op, (items[place],), outputs, kind, None, each), settings)
    return result if out is not None else _like_first(result, given)


def _like_first(result: Any, given: Any) -> Any:
    return sys.modules["torch"].as_tensor(result) if _is_torch(given) else result


def _norm_of_long_doubles(A: Any, out: Any, words: Dict[str, Any]) -> Any:
    """Computes a vector norm of long doubles, which no library has, with NumPy."""
    order, dim, keepdim = words["order"], words["dim"], words["keepdim"]
    sizes = abs(A)
    if abs(order) == float("inf"):
        result = sizes.max(dim, keepdims=keepdim, initial=0) if order > 0 else sizes.min(dim, keepdims=keepdim)
    elif order == 0:
        result = (sizes != 0).sum(dim, dtype=sizes.dtype, keepdims=keepdim)
    else:
        result = (sizes**order).sum(dim, keepdims=keepdim) ** (1 / sizes.dtype.type(order))
    if out is None:
        return result
    out[...] = result
    return out


def _slowly(
    function: Callable[..., Request],
    arguments: Tuple[Any, ...],
    names: Dict[str, Any],
    settings: SettingsArgument,
    end: Callable[[Request, SettingsArgument], Any],
    error: TypeError,
) -> Any:
    """Tries the call again with converted arguments; raises the first error if there is nothing to convert."""
    _check_names(function, names)
    try:
        op, inputs, outputs, kind, out, words = function(*arguments, **names)
    except TypeError:
        raise error from None
    # Pivots are not values, and keep their type.
    fixed = inputs[1:2] if op in ("lu_solve", "ldl_solve") else ()
    values = with_numpy(op, inputs[:1] + inputs[2:] if fixed else inputs)
    values = unite(values, True)
    converted = values[:1] + with_numpy(op, fixed) + values[1:]
    request = (op, converted, outputs, kind, out, words)
    if any(_is_array(words.get(name)) for name in ("rtol", "atol")):
        if end is not _run:
            words = {**words, "rtol": None, "atol": None}
            return end((op, converted, outputs, kind, out, words), settings)
        return _each(request, settings)
    if op == "vector_norm" and end is _run and _is_numpy(converted[0]) and converted[0].dtype.char in "gG":
        return _norm_of_long_doubles(converted[0], out, words)
    if all(one is other for one, other in zip(converted, inputs)):
        raise error
    return end(request, settings)


def operation(function: Function) -> Function:
    """Decorates a function that returns a Request: the decorated function runs it.

    The function declares ``settings`` for help and type checkers only; it is not called with them.
    """

    @functools.wraps(function)
    def run(*arguments: Any, settings: SettingsArgument = None, **names: Any) -> Any:
        try:
            return _run(function(*arguments, **names), settings)
        except TypeError as error:
            return _slowly(function, arguments, names, settings, _run, error)

    def explain(*arguments: Any, settings: SettingsArgument = None, **names: Any) -> Dict[str, Any]:
        try:
            return _explain(function(*arguments, **names), settings)
        except TypeError as error:
            found: Dict[str, Any] = _slowly(function, arguments, names, settings, _explain, error)
            return found

    run.__doc__ = complete(function, "linalg", function.__doc__ or "")
    _EXPLAINERS[run] = explain
    return cast(Function, run)


def ask(op: str, inputs: Tuple[Any, ...], outputs: Tuple[Any, ...], out: Any, **words: Any) -> Any:
    """Returns a Request with one result. An output is True if it is requested, False for an empty array instead, or None."""
    return (op, inputs, outputs, None, out, words)


def ask_for(
    kind: Callable[..., Results], op: str, inputs: Tuple[Any, ...], outputs: Tuple[Any, ...], out: Any, **words: Any
) -> Results:
    """Returns a Request with several results, which become a named tuple."""
    return cast(Results, (op, inputs, outputs, kind, out, words))
