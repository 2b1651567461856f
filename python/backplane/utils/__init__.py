"""The parts of torch.utils that have settings."""

from . import deterministic as deterministic
