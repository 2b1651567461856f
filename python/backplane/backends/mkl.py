"""Intel oneMKL."""

from __future__ import annotations

from typing import Optional

from .._config import backend_status
from .._verbose import Handler
from .._verbose import verbose as _verbose
from ._module import attach

__all__ = ["VERBOSE_OFF", "VERBOSE_ON", "is_available", "is_enabled", "verbose"]

VERBOSE_OFF = 0
VERBOSE_ON = 1

enabled: bool


def is_available() -> bool:
    """Returns whether MKL is installed and works; backplane.backend_status("mkl") has the reason."""
    return backend_status("mkl").available


def is_enabled() -> bool:
    """Returns whether MKL is available and no setting disables it."""
    return backend_status("mkl").enabled


def verbose(enable: int, lines: Optional[Handler] = None) -> _verbose:
    """Makes MKL write lines about its calls inside a ``with`` block: VERBOSE_OFF or VERBOSE_ON.

    Applies to the whole process. If ``lines`` is given, it is called with each line when the block ends.
    """
    return _verbose("mkl", enable, lines, VERBOSE_ON)


attach(__name__, "mkl.")
