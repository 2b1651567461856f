"""Gradients of convolutions with the names and arguments of torch.nn.grad, and gradients of other operations of networks.

>>> from array import array
>>> signal = memoryview(array("d", [1, 2, 3, 4])).cast("B").cast("d", (1, 4))
>>> kernel = memoryview(array("d", [1, 10])).cast("B").cast("d", (1, 1, 2))
>>> gradient = memoryview(array("d", [1, 0, 2])).cast("B").cast("d", (1, 3))
>>> conv1d_input((1, 4), kernel, gradient).tolist()
[[1.0, 10.0, 2.0, 20.0]]
>>> conv1d_weight(signal, (1, 1, 2), gradient).tolist()
[[[7.0, 10.0]]]
>>> avg_pool1d_input((1, 4), gradient, 2, 1).tolist()
[[0.5, 0.5, 1.0, 1.0]]
"""

from __future__ import annotations

from ..backends._module import close as _close
from ._attention import scaled_dot_product_attention_gradients
from ._convolution import input_gradient, weight_gradient
from ._linear import linear_input, linear_weight
from ._normalization import batch_norm_gradients
from ._pooling import adaptive_avg_pool_gradient, adaptive_max_pool_gradient, avg_pool_gradient, max_pool_gradient
from ._recurrent import gru_gradients, lstm_gradients, rnn_relu_gradients, rnn_tanh_gradients
from ._rows import (
    group_norm_gradients,
    layer_norm_gradients,
    log_softmax_input,
    rms_norm_gradients,
    softmax_input,
)

__all__ = [
    "adaptive_avg_pool1d_input",
    "adaptive_avg_pool2d_input",
    "adaptive_avg_pool3d_input",
    "adaptive_max_pool1d_input",
    "adaptive_max_pool2d_input",
    "adaptive_max_pool3d_input",
    "avg_pool1d_input",
    "avg_pool2d_input",
    "avg_pool3d_input",
    "batch_norm_gradients",
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
    "group_norm_gradients",
    "gru_gradients",
    "layer_norm_gradients",
    "linear_input",
    "linear_weight",
    "log_softmax_input",
    "lstm_gradients",
    "max_pool1d_input",
    "max_pool2d_input",
    "max_pool3d_input",
    "rms_norm_gradients",
    "rnn_relu_gradients",
    "rnn_tanh_gradients",
    "scaled_dot_product_attention_gradients",
    "softmax_input",
]

conv1d_input, conv2d_input, conv3d_input = input_gradient
conv1d_weight, conv2d_weight, conv3d_weight = weight_gradient
max_pool1d_input, max_pool2d_input, max_pool3d_input = max_pool_gradient
avg_pool1d_input, avg_pool2d_input, avg_pool3d_input = avg_pool_gradient
adaptive_max_pool1d_input, adaptive_max_pool2d_input, adaptive_max_pool3d_input = adaptive_max_pool_gradient
adaptive_avg_pool1d_input, adaptive_avg_pool2d_input, adaptive_avg_pool3d_input = adaptive_avg_pool_gradient

_close(__name__)
