"""Reductions with the names and arguments of the Python array API standard.

Element types are f16, bf16, f32, f64, i32 and i64, of any() and all() also bool, and of these, sum() and prod() all integers of NumPy
that fit into i64. Sums and products of integers are i64. Arrays of any strides are read in place; ``axis`` is a number, a tuple, or None for all.

>>> from array import array  # any object with the buffer protocol or DLPack
>>> x = memoryview(array("d", [1, 5, 3, 4, 2, 6])).cast("B").cast("d", (2, 3))
>>> sum(x).tolist(), mean(x, axis=0).tolist(), max(x, axis=1, keepdims=True).tolist()
(21.0, [2.5, 3.5, 4.5], [[5.0], [6.0]])
>>> argmax(x).tolist(), argmin(x, axis=1).tolist()
(5, [0, 1])
>>> all(x).tolist(), var(x, axis=1).tolist(), std(x, axis=1, correction=1).tolist()
(True, [2.6666666666666665, 2.6666666666666665], [2.0, 2.0])
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional

from . import _core
from ._conversions import converted, short_name
from ._convert import WHOLE, widen, with_numpy
from ._dimensions import as_tuple
from ._errors import bad_type, bad_value
from ._help import complete
from ._products import _EXPLAINERS, _like
from ._quick import quick
from .backends._module import close as _close

if TYPE_CHECKING:
    from ._types import Dims, DType, Kind, Out, SettingsArgument

__all__ = ["all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var"]

_KINDS = ("sum", "prod", "mean", "max", "min", "argmax", "argmin", "any", "all", "var", "std")


def _as_input(name: str, x: Any) -> Any:
    (x,) = with_numpy(name, (x,))
    if name in ("mean", "var", "std"):
        return widen(x)
    kind = str(getattr(x, "dtype", "")).rpartition(".")[2] if hasattr(x, "astype") else ""
    if name in ("any", "all"):
        return x.astype("bool") if kind in ("int8", "int16", "uint8", "uint16", "uint32", "uint64") else x
    return x.astype("int64") if name in ("sum", "prod") and kind in ("bool", "int8", "int16", "uint8", "uint16", "uint32") else x


def _run(
    name: str, x: Any, axis: Any, keepdims: bool, out: Any, settings: SettingsArgument, explains: bool, correction: float = 0
) -> Any:
    x = _as_input(name, x)
    words: Dict[str, Any] = dict(axis=as_tuple(axis), keepdims=keepdims, out=out, settings=settings, explains=explains)
    if correction != 0:
        words["correction"] = correction
    result = _core.reduce(_KINDS.index(name), x, **words)
    return result if explains else out if result is None else _like(result, x)


def _typed(name: str, x: Any, dtype: Any) -> Any:
    """Returns an array that is converted before it is reduced: sums of integers are made in i64."""
    kind = short_name(dtype)
    if name == "mean" and kind in WHOLE:
        raise bad_type(f"mean: dtype is {kind}; it must be a floating type")
    return converted(with_numpy(name, (x,))[0], "i64" if kind in WHOLE else kind)


def _run_typed(name: str, x: Any, axis: Any, keepdims: bool, dtype: Any, out: Any, settings: SettingsArgument, explains: bool) -> Any:
    """As _run(). A result of another integer type than i64 is converted at the end, which is the same modulo 2^n."""
    if dtype is None:
        return _run(name, x, axis, keepdims, out, settings, explains)
    x, kind = _typed(name, x, dtype), short_name(dtype)
    if kind not in WHOLE or kind == "i64":
        return _run(name, x, axis, keepdims, out, settings, explains)
    if out is not None:
        raise bad_value(f"out: is given with dtype {kind}; write it with elementwise.astype(), or let dtype be int64")
    result = _run(name, x, axis, keepdims, None, settings, explains)
    return result if explains else converted(result, kind)


def _finished(call: Any, explain: Any, name: str, text: str, arguments: str, result: str) -> Callable[..., Any]:
    call.__name__ = call.__qualname__ = name
    example = f"\n\n>>> backplane.reduce.{name}({arguments}).item()\n{result}\n"
    call.__doc__ = complete(call, "reduce", text + example)
    made: Callable[..., Any] = quick(call, ("reduce", name))
    _EXPLAINERS[made] = functools.wraps(call)(explain)
    return made


def _reduction(name: str, text: str, result: str, arguments: str = "[1.0, 2.0, 3.0]") -> Callable[..., Any]:
    def call(
        x: Kind,
        /,
        *,
        axis: Dims = None,
        keepdims: bool = False,
        out: Optional[Out] = None,
        settings: SettingsArgument = None,
    ) -> Kind:
        return _run(name, x, axis, keepdims, out, settings, False)

    def explain(
        x: Any, /, *, axis: Dims = None, keepdims: bool = False, out: Any = None, settings: SettingsArgument = None
    ) -> Any:
        return _run(name, x, axis, keepdims, out, settings, True)

    return _finished(call, explain, name, text, arguments, result)


def _sum(name: str, text: str, result: str, arguments: str = "[1.0, 2.0, 3.0]") -> Callable[..., Any]:
    """Returns a reduction with a type of its own for the sum, as torch and NumPy have it."""

    def call(
        x: Kind,
        /,
        *,
        axis: Dims = None,
        dtype: Optional[DType] = None,
        keepdims: bool = False,
        out: Optional[Out] = None,
        settings: SettingsArgument = None,
    ) -> Kind:
        return _run_typed(name, x, axis, keepdims, dtype, out, settings, False)

    def explain(
        x: Any, /, *, axis: Dims = None, dtype: Any = None, keepdims: bool = False, out: Any = None, settings: SettingsArgument = None
    ) -> Any:
        return _run_typed(name, x, axis, keepdims, dtype, out, settings, True)

    text += "\n\n``dtype`` is the type to which elements are converted before, and of the result."
    return _finished(call, explain, name, text, arguments, result)


def _variance(name: str, text: str, result: str) -> Callable[..., Any]:
    def call(
        x: Kind,
        /,
        *,
        axis: Dims = None,
        correction: float = 0.0,
        keepdims: bool = False,
        out: Optional[Out] = None,
        settings: SettingsArgument = None,
    ) -> Kind:
        return _run(name, x, axis, keepdims, out, settings, False, correction)

    def explain(
        x: Any,
        /,
        *,
        axis: Dims = None,
        correction: float = 0.0,
        keepdims: bool = False,
        out: Any = None,
        settings: SettingsArgument = None,
    ) -> Any:
        return _run(name, x, axis, keepdims, out, settings, True, correction)

    return _finished(call, explain, name, text + _OF_VARIANCES, "[1.0, 2.0, 3.0], correction=1", result)


_OF_VARIANCES = """
``correction`` is subtracted from the number of elements, by which the squares are divided: 0 as NumPy's ddof, 1 for a sample, which is
torch's default. With no more elements than ``correction``, the result is infinite, or NaN if all elements are equal.
Types: f16, bf16, f32 and f64. Integers of NumPy become f64.
Errors: BadValueError: ``correction`` is not finite"""

sum = _sum("sum", "Adds elements. The sum of none is 0.", "6.0")
prod = _sum("prod", "Multiplies elements. The product of none is 1.", "6.0")
mean = _sum("mean", "Computes the mean of elements. The mean of none is NaN.\nTypes: f16, bf16, f32 and f64. Integers of NumPy become f64.", "2.0")
max = _reduction("max", "Finds the greatest element, or NaN if one is NaN.\nErrors: BadValueError: there is no element", "3.0")
min = _reduction("min", "Finds the least element, or NaN if one is NaN.\nErrors: BadValueError: there is no element", "1.0")
argmax = _reduction("argmax", "Finds the index of the first greatest element, or of the first NaN. It is i64.\nErrors: BadValueError: there is no element", "2")
argmin = _reduction("argmin", "Finds the index of the first least element, or of the first NaN. It is i64.\nErrors: BadValueError: there is no element", "0")
any = _reduction("any", "Finds whether an element is not 0; NaN is not 0. Of no elements it is False.\nTypes: f16, bf16, f32, f64, bool and all integers; the result is bool.", "True", "[False, True]")
all = _reduction("all", "Finds whether each element is not 0; NaN is not 0. Of no elements it is True.\nTypes: f16, bf16, f32, f64, bool and all integers; the result is bool.", "False", "[False, True]")
var = _variance("var", "Computes the variance of elements. The variance of none is NaN.", "1.0")
std = _variance("std", "Computes the standard deviation of elements. It is NaN of none.", "1.0")

_close(__name__)
