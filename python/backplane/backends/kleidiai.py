"""Arm's KleidiAI micro-kernels."""

from __future__ import annotations

from .._config import backend_status
from ._module import attach

__all__ = ["is_available"]


def is_available() -> bool:
    """Returns whether it can run on this machine; backplane.backend_status("kleidiai") has the reason."""
    return backend_status("kleidiai").available


attach(__name__, "kleidiai.")
