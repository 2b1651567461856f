"""Cumulative sums, with the name and arguments of torch.cumsum, and the flags that CumSum of ONNX has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Optional

from . import _core
from ._conversions import converted, kind_of, short_name
from ._convert import WHOLE, with_numpy
from ._elements import finish
from ._errors import bad_type, whole
from ._products import _like

if TYPE_CHECKING:
    from ._types import DType, Kind, Out, SettingsArgument

def _run(of: Dict[str, Any], explains: bool) -> Any:
    """Integers are added as int64. What is wanted in another integer type is converted at the end, which is the same modulo 2^n."""
    dim, out = whole(of["dim"]), of["out"]
    if dim is None:
        raise bad_type(f"dim: expects a whole number, but got {of['dim']!r}")
    array = with_numpy("cumsum", (of["input"],))[0]
    given = kind_of(array)
    name = None if of["dtype"] is None else short_name(of["dtype"])
    wanted = "u64" if name is None and given == "u64" else name
    if (wanted or given) in WHOLE and not (given == "i32" and wanted in (None, "i32")):
        array = converted(array, "i64")
    elif wanted:
        array = converted(array, wanted)
    words = dict(axis=dim, exclusive=of["exclusive"], reverse=of["reverse"], input=array)
    results = _core.call("cumsum", ("output",), None, out, of["settings"], explains, **words)
    if explains or results[0] is None:
        return results if explains else out
    result = _like(results[0], array)
    return converted(result, wanted) if wanted in WHOLE else result


def cumsum(
    input: Kind,
    dim: int,
    *,
    dtype: Optional[DType] = None,
    out: Optional[Out] = None,
    exclusive: bool = False,
    reverse: bool = False,
    settings: SettingsArgument = None,
) -> Kind:
    """Returns the sums of the elements of ``input`` along ``dim``, up to each element.

    As torch.cumsum. With ``exclusive``, an element is not in its own sum, so that the first one is 0; with ``reverse``, sums begin
    at the end. The gradient by the input is cumsum() of the gradient by the output, with the other value of
    ``reverse``.

    ``input`` has any shape, and elements of float16, bfloat16, float32, float64, or integers or bool, whose sums are int64 and wrap
    around. The result has its shape and type; with ``dtype``, ``input`` is converted first. ``out`` is written in place and returned; it
    may be the input. Errors: BadTypeError (elements of another type, ``dim`` is not a whole number), BadValueError (``dim`` is not a dimension).

    >>> cumsum([1, 2, 3, 4], 0).tolist(), cumsum([1, 2, 3, 4], 0, exclusive=True, reverse=True).tolist()
    ([1, 3, 6, 10], [9, 7, 4, 0])
    """
    words = dict(input=input, dim=dim, dtype=dtype, out=out, exclusive=exclusive, reverse=reverse, settings=settings)
    return _run(words, False)


finish(cumsum, "backplane", "cumsum", cumsum.__doc__ or "", _run)
