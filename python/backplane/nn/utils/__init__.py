"""The parts of torch.nn.utils for sequences of several lengths."""

from ...backends._module import close as _close
from . import rnn as rnn

__all__ = ["rnn"]

_close(__name__)
