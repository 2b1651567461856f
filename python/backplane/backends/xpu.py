"""Intel GPUs."""

from __future__ import annotations

from .._config import backend_status
from ._module import attach

__all__ = ["is_available", "is_built"]


def is_built() -> bool:
    """Returns whether code for it is compiled in."""
    return backend_status("xpu").built


def is_available() -> bool:
    """Returns whether it can run on this machine; backplane.backend_status("xpu") has the reason."""
    return backend_status("xpu").available


attach(__name__, "xpu.")
