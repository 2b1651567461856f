"""The control surface of torch.backends: what there is, and the switches of each backend.

``is_built``, ``is_available`` and ``version`` are answered from fact; ``backplane.backend_status(name)`` has the reason.
Assigning a setting writes it for the whole process; ``flags(...)`` of each module changes what is named for the calling
thread inside a ``with`` block.
"""

from __future__ import annotations

from typing import Optional

from .. import _core
from .._settings import flags as _scope
from ._module import Before, attach, scope, write

fp32_precision: str


def flags(fp32_precision: Optional[str] = None) -> _scope:
    """The precision of float32 work for the calling thread inside a ``with`` block."""
    return scope("", fp32_precision=fp32_precision)


def set_flags(_fp32_precision: Optional[str] = None) -> Before:
    """Sets it for the process, and returns the value before in a tuple: ``set_flags(*before)`` sets that again.

    None leaves a setting as it is. ``before.restore()`` brings back exactly what the process had stored, so that a value which
    was inherited goes on to be so. All modules' set_flags() do the same.
    """
    return write("", fp32_precision=_fp32_precision)


def disable_global_flags() -> None:
    """Refuses assignment to settings from now on; flags() and set_flags() still work. Nothing turns it back."""
    _core.freeze()


def flags_frozen() -> bool:
    """Whether assignment is refused."""
    return _core.is_frozen()


from . import (  # noqa: E402  (they need this module to be there)
    cpu,
    cuda,
    cudnn,
    cusparselt,
    kleidiai,
    mha,
    miopen,
    mkl,
    mkldnn,
    mps,
    mtia,
    nnpack,
    openmp,
    opt_einsum,
    quantized,
    xnnpack,
    xpu,
)

__all__ = [
    "cpu",
    "cuda",
    "cudnn",
    "cusparselt",
    "disable_global_flags",
    "flags",
    "flags_frozen",
    "kleidiai",
    "mha",
    "miopen",
    "mkl",
    "mkldnn",
    "mps",
    "mtia",
    "nnpack",
    "openmp",
    "opt_einsum",
    "quantized",
    "set_flags",
    "xnnpack",
    "xpu",
]

attach(__name__, "", ["fp32_precision"])
