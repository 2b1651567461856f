"""Arguments that all transforms of backplane.fft have: lengths and dimensions; names and help of these functions."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Dict, Iterable, Mapping, Optional, Tuple, Union

from ._errors import bad_type, bad_value
from ._help import complete
from ._products import _EXPLAINERS


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


def bound(function: Callable[..., Any], arguments: Tuple[Any, ...], names: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the arguments of a call by name, with the defaults."""
    given = inspect.signature(function).bind(*arguments, **names)
    given.apply_defaults()
    return given.arguments


def finish(function: Any, name: str, text: str, explain: Callable[..., Dict[str, Any]], family: str = "fft") -> Any:
    """Gives a function of backplane.fft its name, help, and the function that explains its calls: explain(function, ...)."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = "backplane.fft"
    function.__doc__ = complete(function, family, text)
    _EXPLAINERS[function] = functools.partial(explain, function)
    return function
