"""Intel's MKL."""

from __future__ import annotations

from .._config import backend_status
from .._settings import flags as _scope
from ._module import attach

VERBOSE_OFF = 0
VERBOSE_ON = 1

enabled: bool


def is_available() -> bool:
    """Whether MKL is installed and works here; backplane.backend_status("mkl") has the reason."""
    return backend_status("mkl").available


def is_enabled() -> bool:
    """Whether it is available and may be chosen."""
    return backend_status("mkl").enabled


def verbose(enable: int) -> _scope:
    """MKL's own lines about its calls, inside a ``with`` block: VERBOSE_OFF or VERBOSE_ON."""
    return _scope({"mkl.verbose": enable})


attach(__name__, "mkl.")
