"""The processor."""

from __future__ import annotations

from .. import _core
from ._module import attach

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """Returns the instruction set that the native kernels use: DEFAULT, AVX2, AVX512, VSX, Z VECTOR or SVE256.

    It is the hardware's, lowered by the setting cpu.capability.
    """
    return _core.cpu_capability()


attach(__name__, "cpu.")
