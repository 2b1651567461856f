"""The parts of torch.utils that have settings, and what connects Backplane with other packages."""

from ..backends._module import close as _close
from . import deterministic as deterministic
from ._array_api import array_namespace

__all__ = ["array_namespace", "deterministic"]

_close(__name__)
