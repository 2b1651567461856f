"""The fast path of multi-head attention."""

from __future__ import annotations

from .._settings import setting
from ._module import attach

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]


def get_fastpath_enabled() -> bool:
    """Returns whether the fast path is allowed."""
    return bool(setting("mha.fastpath").get())


def set_fastpath_enabled(value: bool) -> None:
    """Allows or forbids the fast path for the process."""
    setting("mha.fastpath").set(value)


attach(__name__, "mha.")
