"""Makes the exceptions for errors that are detected in Python, of the same classes as the library's errors."""

from __future__ import annotations

import operator
from typing import Any, Optional, Type, TypeVar

from . import _core

Kind = TypeVar("Kind", bound=_core.Error)


def failure(kind: Type[Kind], status: str, text: str) -> Kind:
    """Returns an exception to raise, with a status of docs/reference/status.md."""
    made = kind(text)
    made.status = status
    return made


def whole(number: Any) -> Optional[int]:
    """Converts a whole number of Python, NumPy or another library to int; returns None for anything else."""
    try:
        return operator.index(number)
    except TypeError:
        return None


def bad_type(text: str) -> _core.BadTypeError:
    """Returns the exception for an argument of a wrong Python type."""
    return failure(_core.BadTypeError, "E_ARGUMENT", text)


def bad_value(text: str, status: str = "E_BAD_VALUE") -> _core.BadValueError:
    """Returns the exception for an argument of the right type with a wrong value."""
    return failure(_core.BadValueError, status, text)
