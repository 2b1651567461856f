"""oneDNN, formerly MKL-DNN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from .._config import backend_status
from .._settings import flags as _scope
from .._verbose import Handler
from .._verbose import verbose as _verbose
from ._module import Before, attach, scope, write

if TYPE_CHECKING:
    from .._settings_tree import MkldnnConv, MkldnnMatmul, MkldnnRnn

__all__ = [
    "VERBOSE_OFF",
    "VERBOSE_ON",
    "VERBOSE_ON_CREATION",
    "flags",
    "is_acl_available",
    "is_available",
    "set_flags",
    "verbose",
]

VERBOSE_OFF = 0
VERBOSE_ON = 1
VERBOSE_ON_CREATION = 2

enabled: bool
deterministic: bool
allow_tf32: bool
fp32_precision: str
matmul: MkldnnMatmul
conv: MkldnnConv
rnn: MkldnnRnn


def is_available() -> bool:
    """Returns whether oneDNN is installed and works; backplane.backend_status("mkldnn") has the reason."""
    return backend_status("mkldnn").available


def is_acl_available() -> bool:
    """Returns whether oneDNN uses the Arm Compute Library. Always False: there is no provider for such a build."""
    return False


def verbose(level: int, lines: Optional[Handler] = None) -> _verbose:
    """Makes oneDNN write lines about its calls inside a ``with`` block: VERBOSE_OFF, VERBOSE_ON or VERBOSE_ON_CREATION.

    Applies to the whole process. If ``lines`` is given, it is called with each line when the block ends.
    """
    return _verbose("mkldnn", level, lines)


def flags(
    enabled: Optional[bool] = None,
    deterministic: Optional[bool] = None,
    allow_tf32: Optional[bool] = None,
    fp32_precision: Optional[str] = None,
) -> _scope:
    """Changes the given settings for the calling thread inside a ``with`` block."""
    return scope(
        "mkldnn.", enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32, fp32_precision=fp32_precision
    )


def set_flags(
    _enabled: Optional[bool] = None,
    _deterministic: Optional[bool] = None,
    _allow_tf32: Optional[bool] = None,
    _fp32_precision: Optional[str] = None,
) -> Before:
    """Sets the given settings for the process (None: unchanged). Returns the previous values, see backends.set_flags()."""
    return write(
        "mkldnn.", enabled=_enabled, deterministic=_deterministic, allow_tf32=_allow_tf32, fp32_precision=_fp32_precision
    )


attach(__name__, "mkldnn.")
