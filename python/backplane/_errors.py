"""Failures that are found in Python, as the kinds that the library's own failures have."""

from __future__ import annotations

import operator
from typing import Any, Optional, Type, TypeVar

from . import _core

Kind = TypeVar("Kind", bound=_core.Error)


def failure(kind: Type[Kind], status: str, text: str) -> Kind:
    """An exception to be raised, with the status that docs/reference/status.md lists."""
    made = kind(text)
    made.status = status
    return made


def whole(number: Any) -> Optional[int]:
    """A whole number of Python, NumPy or another library as an int; None for anything else."""
    try:
        return operator.index(number)
    except TypeError:
        return None


def bad_type(text: str) -> _core.BadTypeError:
    """For an argument of a wrong Python type."""
    return failure(_core.BadTypeError, "E_ARGUMENT", text)


def bad_value(text: str, status: str = "E_BAD_VALUE") -> _core.BadValueError:
    """For an argument of the right type that is not accepted."""
    return failure(_core.BadValueError, status, text)
