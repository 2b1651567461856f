"""The global modes of torch: precision of float32 products, and determinism."""

from __future__ import annotations

from typing import Union

from ._errors import bad_type, bad_value, whole
from ._settings import set_flags, setting

_DEBUG_MODES = ("default", "warn", "error")


def set_float32_matmul_precision(precision: str) -> None:
    """Sets the lowest precision of float32 products: highest (float32), high (TF32 allowed), medium (bfloat16 allowed)."""
    setting("float32_matmul_precision").set(precision)


def get_float32_matmul_precision() -> str:
    """Returns the current precision, derived from the precision settings that the libraries use. Never raises."""
    return str(setting("float32_matmul_precision").get())


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Requires reproducible results: libraries without that guarantee are refused, or, with warn_only, warned about and run."""
    set_flags({"deterministic_algorithms": mode, "deterministic_algorithms.warn_only": warn_only})


def are_deterministic_algorithms_enabled() -> bool:
    """Returns whether use_deterministic_algorithms(True) is in effect."""
    return bool(setting("deterministic_algorithms").get())


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Returns whether a call without a deterministic candidate warns and runs."""
    return bool(setting("deterministic_algorithms.warn_only").get())


def set_deterministic_debug_mode(debug_mode: Union[int, str]) -> None:
    """Sets the mode for calls without a deterministic candidate: 0 or "default": run; 1 or "warn": warn; 2 or "error": fail."""
    number = whole(debug_mode)  # also for bools: torch treats True as 1
    if number is not None:
        if number not in range(len(_DEBUG_MODES)):
            raise bad_value(f"deterministic_debug_mode: {number} is not accepted; it takes 0, 1 or 2")
        debug_mode = _DEBUG_MODES[number]
    elif not isinstance(debug_mode, str):
        raise bad_type(f"deterministic_debug_mode: expects an int or a str, but got {type(debug_mode).__name__}")
    setting("deterministic_debug_mode").set(debug_mode)


def get_deterministic_debug_mode() -> int:
    """Returns 0, 1 or 2, see set_deterministic_debug_mode()."""
    return _DEBUG_MODES.index(str(setting("deterministic_debug_mode").get()))
