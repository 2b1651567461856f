"""What the rest of the package has to know of the values of a function that backplane.compile traces: their type, and how types are united."""

from __future__ import annotations

import sys
import threading
from typing import Any, Callable, Optional, Tuple


class _Tracing(threading.local):
    refuse: Optional[Callable[[str], Exception]] = None
    """Makes the error for what cannot be recorded, while the thread traces a function."""


TRACING = _Tracing()


def refuse_while_tracing(what: str) -> None:
    """Raises the error of a function that is being traced by the calling thread, because later calls would not do this."""
    if TRACING.refuse is not None:
        raise TRACING.refuse(what)


class Traced:
    """A value of a function that is being traced. It has a type and a shape, and no elements. backplane.compiler has the methods."""

    __slots__ = ()

    @property
    def kind(self) -> str:
        """The library's name of the element type."""
        raise NotImplementedError

    @property
    def dtype(self) -> Any:
        """The element type, as the arrays have it that the traced function was called with."""
        raise NotImplementedError

    @property
    def shape(self) -> Tuple[int, ...]:
        """The sizes of the dimensions."""
        raise NotImplementedError

    def as_float(self) -> Any:
        """Returns the value with the default float type of the function's library."""
        raise NotImplementedError

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """Returns the value with another element type."""
        raise NotImplementedError


def follows_numpy(value: Any) -> bool:
    """Returns whether this is a traced value that stands for an array of NumPy."""
    numpy = sys.modules.get("numpy")
    return isinstance(value, Traced) and numpy is not None and isinstance(value.dtype, numpy.dtype)


def unite_traced(arrays: Tuple[Any, ...], whole_is_float: bool) -> Tuple[Any, ...]:
    """Returns values and arrays of one element type by NumPy's rules, if the values stand for NumPy's arrays."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not all(isinstance(one, numpy.ndarray) or follows_numpy(one) for one in arrays):
        return arrays
    kinds = [numpy.dtype(float) if whole_is_float and one.dtype.kind in "biu" else one.dtype for one in arrays]
    wanted = numpy.result_type(*kinds)
    return tuple(one if one.dtype == wanted else one.astype(wanted) for one in arrays)
