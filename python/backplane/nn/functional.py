"""Convolutions, linear and recurrent layers, pooling, normalization, softmax, attention, activations, embeddings and padding with the
names and arguments of torch.nn.functional and torch.

Element types are f16, bf16, f32 and f64; all arrays of a call have the same one. Arrays of any strides are read in place.
The result of a channels-last input is channels-last. It is of the input's array type if that library imports DLPack,
otherwise a backplane.Tensor.

>>> from array import array  # any object with the buffer protocol or DLPack
>>> signal = memoryview(array("d", [1, 2, 3, 4])).cast("B").cast("d", (1, 4))
>>> kernel = memoryview(array("d", [1, 10])).cast("B").cast("d", (1, 1, 2))
>>> conv1d(signal, kernel).tolist()
[[21.0, 32.0, 43.0]]
>>> conv1d(signal, kernel, stride=2, padding=1).tolist()
[[10.0, 32.0, 4.0]]
>>> conv_transpose1d(signal, kernel).tolist()
[[1.0, 12.0, 23.0, 34.0, 40.0]]
>>> linear(signal, memoryview(array("d", [1, 0, 0, 1])).cast("B").cast("d", (1, 4))).tolist()
[[5.0]]
>>> max_pool1d(signal, 2, return_indices=True)[1].tolist()
[[1, 3]]
>>> avg_pool1d(signal, 3, stride=1, padding=1, count_include_pad=False).tolist()
[[1.5, 2.0, 3.0, 3.5]]
>>> adaptive_avg_pool1d(signal, 3).tolist()
[[1.5, 2.5, 3.5]]
>>> query = memoryview(array("d", [0, 0, 9, 0])).cast("B").cast("d", (2, 2))
>>> scaled_dot_product_attention(query, query, query, is_causal=True)[0].tolist()
[0.0, 0.0]
>>> relu(array("d", [-1, 2])).tolist()
[0.0, 2.0]
>>> embedding(array("q", [1, 0]), memoryview(array("d", [1, 2, 3, 4])).cast("B").cast("d", (2, 2))).tolist()
[[3.0, 4.0], [1.0, 2.0]]
>>> softmax(signal, 1).tolist()[0][3] / softmax(signal, 1).tolist()[0][2] - 2.718281828459045 < 1e-12
True
>>> layer_norm(signal, 4, eps=0.75).tolist()  # the variance is 1.25
[[-1.0606601717798212, -0.3535533905932738, 0.3535533905932738, 1.0606601717798212]]
"""

from __future__ import annotations

from .._moves import pad
from ..backends._module import close as _close
from ._activation import embedding, gelu, in_place, plain
from ._attention import scaled_dot_product_attention
from ._convolution import convolution, transposed
from ._linear import linear
from ._normalization import batch_norm
from ._numbers import celu, elu, hardshrink, hardtanh, leaky_relu, relu6, softplus, softshrink, threshold
from ._pooling import adaptive_avg_pool, adaptive_max_pool, avg_pool, max_pool
from ._recurrent import gru, lstm, rnn_relu, rnn_tanh
from ._rows import group_norm, instance_norm, layer_norm, log_softmax, rms_norm, softmax

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "celu",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "elu",
    "embedding",
    "gelu",
    "group_norm",
    "gru",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "instance_norm",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "lstm",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mish",
    "pad",
    "relu",
    "relu6",
    "rms_norm",
    "rnn_relu",
    "rnn_tanh",
    "scaled_dot_product_attention",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
]

conv1d, conv2d, conv3d = convolution
conv_transpose1d, conv_transpose2d, conv_transpose3d = transposed
max_pool1d, max_pool2d, max_pool3d = max_pool
avg_pool1d, avg_pool2d, avg_pool3d = avg_pool
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = adaptive_max_pool
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = adaptive_avg_pool
relu = in_place("relu", "max(x, 0)", "[-1.0, 2.0]", "array([0., 2.])")
silu = in_place("silu", "x / (1 + exp(-x))", "[0.0]", "array([0.])")
hardswish = in_place("hardswish", "x min(max(x + 3, 0), 6) / 6", "[-3.0, 3.0]", "array([-0.,  3.])")
hardsigmoid = in_place("hardsigmoid", "min(max(x + 3, 0), 6) / 6", "[-3.0, 0.0]", "array([0. , 0.5])")
mish = in_place("mish", "x tanh(log(1 + exp(x)))", "[0.0, 1.0]", "array([0.        , 0.86509839])")
selu = in_place(
    "selu", "s x of x > 0, otherwise s a (exp(x) - 1), with s = 1.0507009873554805 and a = 1.6732632423543773,", "[0.0, 1.0]",
    "array([0.        , 1.05070099])",
)
sigmoid = plain("sigmoid", "1 / (1 + exp(-x))", "[0.0]", "array([0.5])")
logsigmoid = plain("logsigmoid", "-log(1 + exp(-x))", "[0.0]", "array([-0.69314718])")
softsign = plain("softsign", "x / (1 + abs(x))", "[-3.0, 1.0]", "array([-0.75,  0.5 ])")
tanhshrink = plain("tanhshrink", "x - tanh(x), without loss of digits near 0,", "[0.0, 1.0]", "array([0.        , 0.23840584])")
tanh = plain("tanh", "the hyperbolic tangent", "[0.0]", "array([0.])")

_close(__name__)
