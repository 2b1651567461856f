"""The parts of torch.nn that have settings."""

from . import attention as attention
