"""cuDNN, NVIDIA's deep learning library."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Optional

from .._config import backend_status
from .._settings import flags as _scope
from ._module import Before, attach, scope, write

if TYPE_CHECKING:
    from .._settings_tree import CudnnConv, CudnnRnn

__all__ = ["CUDNN_TENSOR_DTYPES", "flags", "is_acceptable", "is_available", "set_flags", "version"]

enabled: bool
deterministic: bool
benchmark: bool
benchmark_limit: int
allow_tf32: bool
fp32_precision: str
depthwise_kernel: str
conv: CudnnConv
rnn: CudnnRnn

# Names as in backplane.Tensor.dtype, because this module has no dtype objects.
CUDNN_TENSOR_DTYPES = frozenset({"f16", "f32", "f64"})


def version() -> Optional[int]:
    """Returns the version of the installed cuDNN (91900 for 9.19.0), even if it cannot run; None if there is none."""
    return backend_status("cudnn").version_number or None


def is_available() -> bool:
    """Returns whether cuDNN can run on this machine; backplane.backend_status("cudnn") has the reason."""
    return backend_status("cudnn").available


def is_acceptable(tensor: Any) -> bool:
    """Returns whether cuDNN accepts a tensor: cuDNN is enabled, and the tensor is on a CUDA device. Warns if it is not."""
    status = backend_status("cudnn")
    device = tensor.__dlpack_device__()[0]
    if status.enabled and device == 2:
        return True
    reason = "the tensor is not on a CUDA device" if status.enabled else status.reason or "cudnn.enabled is off"
    warnings.warn(f"cuDNN does not accept this tensor: {reason}", stacklevel=2)
    return False


def flags(
    enabled: Optional[bool] = None,
    benchmark: Optional[bool] = None,
    benchmark_limit: Optional[int] = None,
    deterministic: Optional[bool] = None,
    allow_tf32: Optional[bool] = None,
    fp32_precision: Optional[str] = None,
    depthwise_kernel: Optional[str] = None,
) -> _scope:
    """Changes the given settings for the calling thread inside a ``with`` block."""
    return scope(
        "cudnn.",
        enabled=enabled,
        benchmark=benchmark,
        benchmark_limit=benchmark_limit,
        deterministic=deterministic,
        allow_tf32=allow_tf32,
        fp32_precision=fp32_precision,
        depthwise_kernel=depthwise_kernel,
    )


def set_flags(
    _enabled: Optional[bool] = None,
    _benchmark: Optional[bool] = None,
    _benchmark_limit: Optional[int] = None,
    _deterministic: Optional[bool] = None,
    _allow_tf32: Optional[bool] = None,
    _fp32_precision: Optional[str] = None,
    _depthwise_kernel: Optional[str] = None,
) -> Before:
    """Sets the given settings for the process (None: unchanged). Returns the previous values, see backends.set_flags()."""
    return write(
        "cudnn.",
        enabled=_enabled,
        benchmark=_benchmark,
        benchmark_limit=_benchmark_limit,
        deterministic=_deterministic,
        allow_tf32=_allow_tf32,
        fp32_precision=_fp32_precision,
        depthwise_kernel=_depthwise_kernel,
    )


attach(__name__, "cudnn.")
