"""Cumulative sums, with the name and arguments of torch.cumsum, and the flags that CumSum of ONNX has."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Dict, Optional

from . import _core
from ._convert import WHOLE, type_of, with_numpy
from ._elements import finish, run, type_name
from ._errors import bad_type, whole
from ._products import _is_numpy, _is_torch, _like

if TYPE_CHECKING:
    from ._types import DType, Kind, Out, SettingsArgument

_SHORT = {"bool": "bool", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128"}
_SHORT.update({f"{sign}int{bits}": f"{sign or 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)})
_LONG = {short: name for name, short in _SHORT.items()}


def _kind(array: Any) -> str:
    """Returns the library's name of the element type of any array."""
    if _is_numpy(array) or _is_torch(array):
        name = type_name(array.dtype)
        return _SHORT.get(name, name)
    return type_of(array)


def _convert(array: Any, kind: str) -> Any:
    """Returns the array with another element type. NumPy and torch convert types that the library does not have."""
    if _kind(array) == kind:
        return array
    name = _LONG.get(kind, kind)
    if _is_torch(array) and hasattr(sys.modules["torch"], name):
        return array.to(getattr(sys.modules["torch"], name))
    return array.astype(name) if _is_numpy(array) and kind != "bf16" else run("unary", "copy", (array,), None, None, False, 0, kind)


def _run(of: Dict[str, Any], explains: bool) -> Any:
    """Integers are added as int64. What is wanted in another integer type is converted at the end, which is the same modulo 2^n."""
    dim, out = whole(of["dim"]), of["out"]
    if dim is None:
        raise bad_type(f"dim: expects a whole number, but got {of['dim']!r}")
    array = with_numpy("cumsum", (of["input"],))[0]
    given = _kind(array)
    name = None if of["dtype"] is None else type_name(of["dtype"])
    wanted = "u64" if name is None and given == "u64" else None if name is None else _SHORT.get(name, name)
    if (wanted or given) in WHOLE and not (given == "i32" and wanted in (None, "i32")):
        array = _convert(array, "i64")
    elif wanted:
        array = _convert(array, wanted)
    words = dict(axis=dim, exclusive=of["exclusive"], reverse=of["reverse"], input=array)
    results = _core.call("cumsum", ("output",), None, out, of["settings"], explains, **words)
    if explains or results[0] is None:
        return results if explains else out
    result = _like(results[0], array)
    return _convert(result, wanted) if wanted in WHOLE else result


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
    may be the input. Errors: BadTypeError (elements of another type, ``dim`` is no whole number), BadValueError (``dim`` is no dimension).

    >>> cumsum([1, 2, 3, 4], 0).tolist(), cumsum([1, 2, 3, 4], 0, exclusive=True, reverse=True).tolist()
    ([1, 3, 6, 10], [9, 7, 4, 0])
    """
    words = dict(input=input, dim=dim, dtype=dtype, out=out, exclusive=exclusive, reverse=reverse, settings=settings)
    return _run(words, False)


finish(cumsum, "backplane", "cumsum", cumsum.__doc__ or "", _run)
