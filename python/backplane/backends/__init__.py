"""The functions and settings of torch.backends: the state of each backend, and its settings.

``is_built``, ``is_available`` and ``version`` are determined at run time; ``backplane.backend_status(name)`` has the reason.
Assigning a setting writes it for the whole process. ``flags(...)`` of each module changes settings for the calling thread
inside a ``with`` block.
"""

from __future__ import annotations

from typing import Optional

from .. import _core
from .._settings import flags as _scope
from ._module import Before, attach, scope, write

fp32_precision: str


def flags(fp32_precision: Optional[str] = None) -> _scope:
    """Changes the precision of float32 operations for the calling thread inside a ``with`` block."""
    return scope("", fp32_precision=fp32_precision)


def set_flags(_fp32_precision: Optional[str] = None) -> Before:
    """Sets the precision for the process. Returns the previous value in a tuple: ``set_flags(*before)`` sets it again.

    None leaves a setting unchanged. ``before.restore()`` restores what the process had stored: a value that was inherited
    is inherited again. The set_flags() of all modules do the same.
    """
    return write("", fp32_precision=_fp32_precision)


def disable_global_flags() -> None:
    """Makes assignment to settings an error from now on; flags() and set_flags() still work. Cannot be undone."""
    _core.freeze()


def flags_frozen() -> bool:
    """Returns whether assignment to settings is an error."""
    return _core.is_frozen()


from . import (  # noqa: E402  (these modules import this one)
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
    python_native,
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
    "python_native",
    "quantized",
    "set_flags",
    "xnnpack",
    "xpu",
]

_ALSO = ("xeon",)
attach(__name__, "", ["fp32_precision"])
