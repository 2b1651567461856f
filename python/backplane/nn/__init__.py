"""The parts of torch.nn that have settings."""

from ..backends._module import close as _close
from . import attention as attention

__all__ = ["attention"]

_close(__name__)
