"""Gradients of convolutions with the names and arguments of torch.nn.grad.

>>> from array import array
>>> signal = memoryview(array("d", [1, 2, 3, 4])).cast("B").cast("d", (1, 4))
>>> kernel = memoryview(array("d", [1, 10])).cast("B").cast("d", (1, 1, 2))
>>> gradient = memoryview(array("d", [1, 0, 2])).cast("B").cast("d", (1, 3))
>>> conv1d_input((1, 4), kernel, gradient).tolist()
[[1.0, 10.0, 2.0, 20.0]]
>>> conv1d_weight(signal, (1, 1, 2), gradient).tolist()
[[[7.0, 10.0]]]
"""

from __future__ import annotations

from ..backends._module import close as _close
from ._convolution import input_gradient, weight_gradient

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]

conv1d_input = input_gradient(1)
conv2d_input = input_gradient(2)
conv3d_input = input_gradient(3)
conv1d_weight = weight_gradient(1)
conv2d_weight = weight_gradient(2)
conv3d_weight = weight_gradient(3)

_close(__name__)
