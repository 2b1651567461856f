"""The processor."""

from __future__ import annotations

from .. import _core
from ._module import attach


def get_cpu_capability() -> str:
    """The instruction set that the library's own kernels use: DEFAULT, AVX2, AVX512, VSX, Z VECTOR or SVE256.

    It is the hardware's, lowered by the setting cpu.capability.
    """
    return _core.cpu_capability()


attach(__name__, "cpu.")
