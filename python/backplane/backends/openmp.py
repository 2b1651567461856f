"""OpenMP runtimes."""

from __future__ import annotations

from .._config import backend_status
from ._module import attach

__all__ = ["is_available", "is_enabled"]

enabled: bool


def is_available() -> bool:
    """Returns whether an OpenMP runtime is available; backplane.backend_status("openmp") has the reason."""
    return backend_status("openmp").available


def is_enabled() -> bool:
    """Returns whether a runtime is available, and no setting disables libraries that use it."""
    return backend_status("openmp").enabled


attach(__name__, "openmp.")
