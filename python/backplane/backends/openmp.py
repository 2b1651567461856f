"""OpenMP run-time libraries."""

from __future__ import annotations

from .._config import backend_status
from ._module import attach

enabled: bool


def is_available() -> bool:
    """Whether an OpenMP run-time library can be used here; backplane.backend_status("openmp") has the reason."""
    return backend_status("openmp").available


def is_enabled() -> bool:
    """Whether it is available, and libraries that run on it may be chosen."""
    return backend_status("openmp").enabled


attach(__name__, "openmp.")
