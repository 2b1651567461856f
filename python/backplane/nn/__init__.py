"""The parts of torch.nn that run operations or have settings."""

from ..backends._module import close as _close
from . import attention as attention
from . import functional as functional
from . import grad as grad
from . import utils as utils

__all__ = ["attention", "functional", "grad", "utils"]

_close(__name__)
