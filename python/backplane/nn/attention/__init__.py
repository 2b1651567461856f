"""The names of torch.nn.attention: select the implementations of attention."""

from __future__ import annotations

import collections.abc
from typing import Dict, Iterable, List, Union

from ..._errors import bad_type
from ..._settings import Value, flags, named, table
from ...backends._module import close
from ...backends.cuda import SDPBackend
from . import bias as bias

__all__ = ["SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "bias", "sdpa_kernel"]

# Whether scaled_dot_product_attention() warns if the kernel math runs because all others were refused, with the reasons.
WARN_FOR_UNFUSED_KERNELS = False

_SWITCHES = {
    SDPBackend.FLASH_ATTENTION: ("cuda.flash_sdp", "flash"),
    SDPBackend.EFFICIENT_ATTENTION: ("cuda.mem_efficient_sdp", "efficient"),
    SDPBackend.MATH: ("cuda.math_sdp", "math"),
    SDPBackend.CUDNN_ATTENTION: ("cuda.cudnn_sdp", "cudnn"),
    SDPBackend.OVERRIDEABLE: ("cuda.overrideable_sdp", "overrideable"),
}


def sdpa_kernel(backends: Union[SDPBackend, Iterable[SDPBackend]], set_priority: bool = False) -> flags:
    """Allows only the given implementations for the calling thread inside a ``with`` block.

    With ``set_priority`` they are tried in the given order.
    """
    if not isinstance(backends, (SDPBackend, collections.abc.Iterable)):
        raise bad_type(f"backends: expects SDPBackend or a list of them, but got {backends!r}")
    wanted: List[SDPBackend] = [backends] if isinstance(backends, SDPBackend) else list(backends)
    for one in wanted:
        if not isinstance(one, SDPBackend) or one not in _SWITCHES:  # an int may equal a member, but is not one
            raise bad_type(f"backends: expects SDPBackend or a list of them, but got {one!r}")
    chosen: Dict[str, Value] = {
        switch: backend in wanted for backend, (switch, _) in _SWITCHES.items() if switch in table or backend in wanted
    }
    if set_priority:
        chosen["cuda.sdp_priority"] = ",".join(dict.fromkeys(_SWITCHES[one][1] for one in wanted))
    return flags(named(chosen))


close(__name__)
