"""Converts lists, numbers and integers to arrays that the library takes, as NumPy does."""

from __future__ import annotations

import numbers
import sys
from typing import Any, Tuple

from . import _core
from ._errors import bad_type
from ._products import _is_numpy, _is_torch


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


def widen(array: Any) -> Any:
    """Converts integers and bools to the default float type of the array's library: float64 for NumPy. Tensors of torch are
    not converted."""
    return array.astype(float) if _is_whole(array) else array


def floating(op: str, array: Any) -> Any:
    """Converts lists and numbers to NumPy arrays, and integers and bools to the default float type of the array's library."""
    if _is_numpy(array):
        return array.astype(float) if array.dtype.kind in "biu" else array
    if _is_torch(array):
        whole = not (array.is_floating_point() or array.is_complex())
        return array.to(sys.modules["torch"].get_default_dtype()) if whole else array
    return widen(with_numpy(op, (array,))[0])


def unite(arrays: Tuple[Any, ...], whole_is_float: bool = False) -> Tuple[Any, ...]:
    """Returns NumPy arrays of one element type, by NumPy's rules; other arrays as they are.

    With ``whole_is_float``, integers and bools count as float64, as in numpy.linalg, or as the default float type of the
    array's library.
    """
    numpy = sys.modules.get("numpy")
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
