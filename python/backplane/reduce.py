"""Reductions with the names and arguments of the Python array API standard.

Element types are f16, bf16, f32, f64, i32 and i64, and of sum() and prod() all integers of NumPy that fit into i64. Sums
and products of integers are i64. Arrays of any strides are read in place; ``axis`` is a number, a tuple, or None for all.

>>> from array import array  # any object with the buffer protocol or DLPack
>>> x = memoryview(array("d", [1, 5, 3, 4, 2, 6])).cast("B").cast("d", (2, 3))
>>> sum(x).tolist(), mean(x, axis=0).tolist(), max(x, axis=1, keepdims=True).tolist()
(21.0, [2.5, 3.5, 4.5], [[5.0], [6.0]])
>>> argmax(x).tolist(), argmin(x, axis=1).tolist()
(5, [0, 1])
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional

from . import _core
from ._convert import widen, with_numpy
from ._dimensions import as_tuple
from ._help import complete
from ._products import _EXPLAINERS, _like
from ._quick import quick
from .backends._module import close as _close

if TYPE_CHECKING:
    from ._types import Dims, Kind, Out, SettingsArgument

__all__ = ["argmax", "argmin", "max", "mean", "min", "prod", "sum"]

_KINDS = ("sum", "prod", "mean", "max", "min", "argmax", "argmin")


def _as_input(name: str, x: Any) -> Any:
    (x,) = with_numpy(name, (x,))
    if name == "mean":
        return widen(x)
    short = name in ("sum", "prod") and str(getattr(x, "dtype", "")) in ("bool", "int8", "int16", "uint8", "uint16", "uint32")
    return x.astype("int64") if short and hasattr(x, "astype") else x


def _run(name: str, x: Any, axis: Any, keepdims: bool, out: Any, settings: SettingsArgument, explains: bool) -> Any:
    x = _as_input(name, x)
    words: Dict[str, Any] = dict(axis=as_tuple(axis), keepdims=keepdims, out=out, settings=settings, explains=explains)
    result = _core.reduce(_KINDS.index(name), x, **words)
    return result if explains else out if result is None else _like(result, x)


def _reduction(name: str, text: str, result: str) -> Callable[..., Any]:
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

    call.__name__ = call.__qualname__ = name
    example = f"\n\n>>> backplane.reduce.{name}([1.0, 2.0, 3.0]).item()\n{result}\n"
    call.__doc__ = complete(call, "reduce", text + example)
    made: Callable[..., Any] = quick(call, ("reduce", name))
    _EXPLAINERS[made] = functools.wraps(call)(explain)
    return made


sum = _reduction("sum", "Adds elements. The sum of none is 0.", "6.0")
prod = _reduction("prod", "Multiplies elements. The product of none is 1.", "6.0")
mean = _reduction("mean", "Computes the mean of elements. The mean of none is NaN.\nTypes: f16, bf16, f32 and f64. Integers of NumPy become f64.", "2.0")
max = _reduction("max", "Finds the greatest element, or NaN if one is NaN.\nErrors: BadValueError: there is no element", "3.0")
min = _reduction("min", "Finds the least element, or NaN if one is NaN.\nErrors: BadValueError: there is no element", "1.0")
argmax = _reduction("argmax", "Finds the index of the first greatest element, or of the first NaN. It is i64.\nErrors: BadValueError: there is no element", "2")
argmin = _reduction("argmin", "Finds the index of the first least element, or of the first NaN. It is i64.\nErrors: BadValueError: there is no element", "0")

_close(__name__)
