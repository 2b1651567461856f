"""Metal, the GPU interface of Apple's machines."""

from __future__ import annotations

import platform
from typing import NoReturn

from .. import _core
from .._config import backend_status
from .._errors import failure
from ._module import attach

__all__ = ["get_core_count", "get_name", "is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer"]


def is_built() -> bool:
    """Returns whether code for it is compiled in."""
    return backend_status("mps").built


def is_available() -> bool:
    """Returns whether it can run on this machine, determined on each call; backplane.backend_status("mps") has the reason."""
    return backend_status("mps").available


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Returns whether this is macOS of that version or a newer one."""
    parts = [int(part) for part in platform.mac_ver()[0].split(".") if part.isdigit()]
    return bool(parts) and (*parts, 0)[:2] >= (major, minor)


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Returns whether this is macOS 13 of that minor version, or newer."""
    return is_macos_or_newer(13, minor)


def get_name() -> str:
    """Returns the name of the GPU. Raises Error if there is none."""
    _no_device()


def get_core_count() -> int:
    """Returns the number of the GPU's cores. Raises Error if there is none."""
    _no_device()


def _no_device() -> NoReturn:
    raise failure(_core.Error, "E_UNSUPPORTED", f"there is no Metal device: {backend_status('mps').reason}")


attach(__name__, "mps.")
