"""The parts of torch.utils that have settings."""

from ..backends._module import close as _close
from . import deterministic as deterministic

__all__ = ["deterministic"]

_close(__name__)
