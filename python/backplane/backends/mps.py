"""Metal, the GPUs of Apple's machines."""

from __future__ import annotations

import platform
from typing import NoReturn

from .. import _core
from .._config import backend_status
from .._errors import failure
from ._module import attach


def is_built() -> bool:
    """Whether code for it is compiled in."""
    return backend_status("mps").built


def is_available() -> bool:
    """Whether it can run here; asked anew each time. backplane.backend_status("mps") has the reason."""
    return backend_status("mps").available


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether this is macOS of that version or a newer one."""
    parts = [int(part) for part in platform.mac_ver()[0].split(".") if part.isdigit()]
    return bool(parts) and (*parts, 0)[:2] >= (major, minor)


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Whether this is macOS 13 of that minor version, or newer."""
    return is_macos_or_newer(13, minor)


def get_name() -> str:
    """The name of the GPU; an Error where there is none."""
    _no_device()


def get_core_count() -> int:
    """The number of the GPU's cores; an Error where there is none."""
    _no_device()


def _no_device() -> NoReturn:
    raise failure(_core.Error, "E_UNSUPPORTED", f"there is no Metal device: {backend_status('mps').reason}")


attach(__name__, "mps.")
