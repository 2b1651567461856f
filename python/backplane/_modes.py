"""The switches that torch has at its top: precision of float32 products, and determinism."""

from __future__ import annotations

from typing import Union

from ._errors import bad_type, bad_value, whole
from ._settings import set_flags, setting

_DEBUG_MODES = ("default", "warn", "error")


def set_float32_matmul_precision(precision: str) -> None:
    """How float32 products may be computed: highest (float32), high (TF32 allowed), medium (bfloat16 allowed)."""
    setting("float32_matmul_precision").set(precision)


def get_float32_matmul_precision() -> str:
    """The precision in force, derived from the same settings that steer each library; reading never raises."""
    return str(setting("float32_matmul_precision").get())


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Refuses what does not promise the same bits again; with warn_only it is told and run."""
    set_flags({"deterministic_algorithms": mode, "deterministic_algorithms.warn_only": warn_only})


def are_deterministic_algorithms_enabled() -> bool:
    """Whether use_deterministic_algorithms(True) is in force."""
    return bool(setting("deterministic_algorithms").get())


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether a call without a deterministic candidate is told and run."""
    return bool(setting("deterministic_algorithms.warn_only").get())


def set_deterministic_debug_mode(debug_mode: Union[int, str]) -> None:
    """0 or "default": off; 1 or "warn": told; 2 or "error": refused."""
    number = whole(debug_mode)  # bools too: torch takes True for 1
    if number is not None:
        if number not in range(len(_DEBUG_MODES)):
            raise bad_value(f"deterministic_debug_mode: {number} is not accepted; it takes 0, 1 or 2")
        debug_mode = _DEBUG_MODES[number]
    elif not isinstance(debug_mode, str):
        raise bad_type(f"deterministic_debug_mode: expects an int or a str, but got {type(debug_mode).__name__}")
    setting("deterministic_debug_mode").set(debug_mode)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2, as set_deterministic_debug_mode() takes them."""
    return _DEBUG_MODES.index(str(setting("deterministic_debug_mode").get()))
