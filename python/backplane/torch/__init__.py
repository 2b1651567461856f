"""The layers of backplane.nn.functional on tensors of PyTorch, with gradients.

Each function is an operator of torch (``torch.ops.backplane``), with rules for autograd and for fake tensors. So models that call
these functions are trained by torch, also under torch.compile:

    import backplane.torch as F

    y = F.linear(x, weight, bias)      # weight.requires_grad
    y.sum().backward()                 # gradients by Backplane, too

Arguments are as in torch.nn.functional and torch.lstm. Tensors are dense and on the host. Gradients of gradients are refused.
docs/how-to/train-torch-models.md has more.
"""

from ._activations import (
    celu,
    elu,
    gelu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    logsigmoid,
    mish,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold,
)
from ._attention import scaled_dot_product_attention
from ._convolutions import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d, linear
from ._norms import batch_norm, group_norm, instance_norm, layer_norm, rms_norm
from ._pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from ._recurrent import gru, lstm, rnn_relu, rnn_tanh
from ._rows import embedding, log_softmax, softmax

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
