"""Converts lists, numbers and integers to arrays that the library takes, as NumPy does."""

from __future__ import annotations

import numbers
import sys
from typing import Any, NoReturn, Tuple

from . import _core
from ._errors import bad_type
from ._products import _is_numpy, _is_torch
from ._traced import Traced, unite_traced


def is_literal(array: Any) -> bool:
    """Returns whether this is a list, tuple or number, which NumPy converts."""
    if isinstance(array, (list, tuple, numbers.Number)):
        return True
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(array, numpy.generic)


def shape_of(array: Any) -> Tuple[int, ...]:
    """Returns the shape of any accepted array."""
    shape: Any = getattr(array, "shape", None)
    if shape is None:
        try:
            shape = memoryview(array).shape or ()
        except TypeError:  # of DLPack alone
            shape = _core.fftshift(array, (), False).shape
    return tuple(shape)


def numpy_of(op: str) -> Any:
    """Imports NumPy for an operation that cannot do without."""
    try:
        import numpy
    except ImportError:
        raise bad_type(f"{op}: NumPy is needed for this input, and is not installed") from None
    return numpy


def with_numpy(op: str, arrays: Tuple[Any, ...]) -> Tuple[Any, ...]:
    """Returns the arrays with lists and numbers as NumPy arrays."""
    if not any(map(is_literal, arrays)):
        return arrays
    numpy = numpy_of(op)
    return tuple(numpy.asarray(array) if is_literal(array) else array for array in arrays)


def _is_whole(array: Any) -> bool:
    """Returns whether these are integers or bools of NumPy, or of a library that has NumPy's element types (jax, CuPy)."""
    kind = getattr(getattr(array, "dtype", None), "kind", None)
    return isinstance(kind, str) and kind in ("b", "i", "u") and hasattr(array, "astype")


WHOLE = ("bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
"""Names of the element types that are whole numbers."""
_FORMATS = dict(zip("?bhiBHIfdeqQ", "bool i8 i16 i32 u8 u16 u32 f32 f64 f16 i64 u64".split()), l="i64", L="u64", n="i64", N="u64")
_CONVERTED = ("bool", "i8", "u8", "i32", "i64")


def type_of(array: Any) -> str:
    """Returns the library's name of the element type of an array that is neither NumPy's nor torch's; "" if it has none."""
    if isinstance(array, _core.Tensor):
        return array.dtype
    if isinstance(array, Traced):
        return array.kind
    try:
        return _FORMATS.get(memoryview(array).format.lstrip("@="), "")
    except TypeError:  # no buffer
        pass
    name = str(getattr(getattr(array, "dtype", None), "name", ""))
    digits = name.lstrip("abcdefghijklmnopqrstuvwxyz")
    short = {"int": "i", "uint": "u", "float": "f", "bfloat": "bf", "complex": "c", "bool": "bool"}.get(name[: len(name) - len(digits)])
    if short is not None:
        return short + digits
    try:
        return _core.from_dlpack(array).dtype
    except Exception:  # no array, or one that the call refuses with a better message
        return ""


def widen(array: Any) -> Any:
    """Converts integers and bools to the default float type of the array's library: float64 for NumPy. Tensors of torch are
    not converted."""
    return array.astype(float) if _is_whole(array) else array


def widen_any(array: Any) -> Any:
    """As widen(); tensors of this package and arrays without a library of their own become float64 too."""
    if _is_whole(array):
        return array.astype(float)
    if isinstance(array, Traced):
        return array.as_float() if array.kind in WHOLE else array
    own = not _is_numpy(array) and not _is_torch(array) and not hasattr(array, "astype") and type_of(array) in _CONVERTED
    return _core.elementwise("unary", "copy", (array,), 0, "f64", None, None, False) if own else array


def floating(op: str, array: Any) -> Any:
    """Converts lists and numbers to NumPy arrays, and integers and bools to the default float type of the array's library."""
    if _is_numpy(array):
        return array.astype(float) if array.dtype.kind in "biu" else array
    if _is_torch(array):
        whole = not (array.is_floating_point() or array.is_complex())
        return array.to(sys.modules["torch"].get_default_dtype()) if whole else array
    return widen(with_numpy(op, (array,))[0])


_EXACT = 1 << 53
"""Whole numbers up to this size are exact in float64."""


def _refuse_whole(op: str, text: str) -> NoReturn:
    raise bad_type(f"{op}: {text}; convert the array to a floating type first, which may round")


def exact(op: str, array: Any) -> Any:
    """Returns an array of floating numbers for a layer, which no conversion may round.

    Lists, numbers, and integers and bools of NumPy become float64. Those beyond 2^53, and integers of any other library, whose
    default float type is narrower than its integers, are a TypeError.
    """
    array = with_numpy(op, (array,))[0]
    if _is_numpy(array):
        if array.dtype.kind not in "biu":
            return array
        if array.dtype.itemsize == 8 and array.size and not -_EXACT <= int(array.min()) <= int(array.max()) <= _EXACT:
            _refuse_whole(op, "an integer beyond 2^53 has no exact float64")
        return array.astype(float)
    if _is_torch(array):
        whole = not (array.is_floating_point() or array.is_complex())
    else:
        whole = type_of(array) in WHOLE
    if whole:
        _refuse_whole(op, f"elements are {getattr(array, 'dtype', type_of(array))}; they must be of a floating type")
    return array


def unite(arrays: Tuple[Any, ...], whole_is_float: bool = False) -> Tuple[Any, ...]:
    """Returns NumPy arrays of one element type, by NumPy's rules; other arrays as they are.

    With ``whole_is_float``, integers and bools count as float64, as in numpy.linalg, or as the default float type of the
    array's library.
    """
    numpy = sys.modules.get("numpy")
    if any(isinstance(one, Traced) for one in arrays):
        return unite_traced(arrays, whole_is_float)
    if numpy is None or not all(map(_is_numpy, arrays)):
        return tuple(map(widen, arrays)) if whole_is_float else arrays
    if any(isinstance(one, numpy.ma.MaskedArray) for one in arrays):
        return arrays
    kinds = [numpy.dtype(float) if whole_is_float and one.dtype.kind in "biu" else one.dtype for one in arrays]
    try:
        kind = numpy.result_type(*kinds)
    except TypeError:
        return arrays
    return tuple(one if one.dtype == kind else one.astype(kind) for one in arrays)
