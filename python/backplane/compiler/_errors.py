"""Errors of backplane.compiler."""

from __future__ import annotations

import os
import sys
from typing import Optional, Tuple

from .._core import BadValueError, Error
from .._errors import failure

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class TraceError(Error):
    """A function does what cannot be recorded in a graph, for example a decision by the elements of an array."""


class InvalidBackend(BadValueError):
    """There is no backend of this name."""


class BackendCompilerFailed(Error):
    """A backend failed. The exception that it raised is the cause."""


class RecompileLimitHit(Error):
    """A call has other types or sizes than those before, and the stance is fail_on_recompile."""


FailOnRecompileLimitHit = RecompileLimitHit


def _place() -> Optional[Tuple[str, int]]:
    """Returns file and line of the program that called the package."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back  # type: ignore[assignment]
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def trace_error(text: str, status: str = "E_UNSUPPORTED") -> TraceError:
    """Returns the exception for what cannot be recorded, with the program's line."""
    place = _place()
    where = "" if place is None else f"{place[0]}:{place[1]}: "
    return failure(TraceError, status, where + text)
