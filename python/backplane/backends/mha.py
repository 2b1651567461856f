"""The fast path of multi-head attention."""

from __future__ import annotations

from .._settings import setting
from ._module import attach


def get_fastpath_enabled() -> bool:
    """Whether the fast path may be taken."""
    return bool(setting("mha.fastpath").get())


def set_fastpath_enabled(value: bool) -> None:
    """Allows the fast path, or not, for the process."""
    setting("mha.fastpath").set(value)


attach(__name__, "mha.")
