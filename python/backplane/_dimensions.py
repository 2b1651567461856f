"""Arguments that all transforms of backplane.fft have: lengths, dimensions, and input of integers."""

from __future__ import annotations

import sys
from typing import Any, Iterable, Optional, Tuple, Union

from ._errors import bad_type, bad_value
from ._products import _is_numpy, _is_torch

Numbers = Union[None, int, Tuple[int, ...]]


def as_tuple(numbers: Any) -> Optional[Tuple[int, ...]]:
    if numbers is None or isinstance(numbers, tuple):
        return numbers
    return tuple(numbers) if isinstance(numbers, Iterable) else (numbers,)


def length(n: Optional[int]) -> Optional[Tuple[int, ...]]:
    if n is not None and not hasattr(n, "__index__"):
        raise bad_type(f"n: expects a whole number, but got {n!r}")
    if n == -1:  # in s it means the input's length
        raise bad_value("n: invalid number of data points (-1)", "E_ARGUMENT")
    return None if n is None else (n,)


def chosen(word: str, axis: Any, dim: Any, default: Any) -> Any:
    """Returns the dimensions from `dim` or from NumPy's name for them; both together are an error."""
    if axis is None:
        return dim
    if dim != default:
        raise bad_type(f"dim and {word} are two names of one argument; give one of them")
    return axis


def floating(array: Any) -> Any:
    """Converts integers and bools to the default float type of the array's library."""
    if _is_numpy(array):
        return array.astype("float64") if array.dtype.kind in "biu" else array
    if _is_torch(array) and not (array.is_floating_point() or array.is_complex()):
        return array.to(sys.modules["torch"].get_default_dtype())
    return array
