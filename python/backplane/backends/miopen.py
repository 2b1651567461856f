"""MIOpen, AMD's deep learning library."""

from __future__ import annotations

from typing import Optional

from .._config import backend_status
from .._settings import flags as _scope
from ._module import Before, attach, scope, write

__all__ = ["flags", "is_available", "set_flags"]

immediate: bool


def is_available() -> bool:
    """Returns whether it can run on this machine; backplane.backend_status("miopen") has the reason."""
    return backend_status("miopen").available


def flags(immediate: Optional[bool] = None) -> _scope:
    """Changes the given settings for the calling thread inside a ``with`` block."""
    return scope("miopen.", immediate=immediate)


def set_flags(_immediate: Optional[bool] = None) -> Before:
    """Sets the given settings for the process (None: unchanged). Returns the previous values, see backends.set_flags()."""
    return write("miopen.", immediate=_immediate)


attach(__name__, "miopen.")
