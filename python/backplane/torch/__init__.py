"""The layers of backplane.nn.functional on tensors of PyTorch, with gradients.

Each function is an operator of torch (``torch.ops.backplane``), with rules for autograd and for fake tensors. So models that call
these functions are trained by torch, also under torch.compile:

    import backplane.torch as F

    y = F.linear(x, weight, bias)      # weight.requires_grad
    y.sum().backward()                 # gradients by Backplane, too

Arguments are as in torch.nn.functional and torch.lstm. Tensors are dense and on the host. Gradients of gradients are refused.
docs/how-to/train-torch-models.md has more.
"""

from typing import List

from . import _activations, _attention, _convolutions, _norms, _pooling, _recurrent, _rows
from ._activations import *  # noqa: F403
from ._attention import *  # noqa: F403
from ._convolutions import *  # noqa: F403
from ._norms import *  # noqa: F403
from ._pooling import *  # noqa: F403
from ._recurrent import *  # noqa: F403
from ._rows import *  # noqa: F403

__all__ = sorted(
    name
    for part in (_activations, _attention, _convolutions, _norms, _pooling, _recurrent, _rows)
    for name in part.__all__
)


def __dir__() -> List[str]:
    return __all__
