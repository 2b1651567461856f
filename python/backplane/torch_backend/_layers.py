"""Handlers of layers: linear and recurrent ones, convolutions, pooling, normalization, softmax, attention."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from .._graph import Value
from ._lowering import Lowering, Numbers, Unsupported, handles, list_of, name_of


@handles("linear")
def linear(to: Lowering, input: Any, weight: Any, bias: Any = None) -> Value:
    x = to.value(input, to.dtype)
    made: Value = to.call("linear", x, to.value(weight, to.dtype), to.optional(bias, to.dtype), activation=to.activation())
    return made


# ---- Convolutions ----


def _batched(to: Lowering, value: Value, ndim: int) -> Tuple[Value, bool]:
    """Adds the dimension of items to an image without it."""
    single = value.ndim == ndim + 1
    return (to.graph.reshape(value, (1,) + value.shape) if single else value), single


def _unbatched(to: Lowering, value: Value, single: bool) -> Value:
    return to.graph.reshape(value, value.shape[1:]) if single else value


def _convolve(to: Lowering, input: Any, weight: Any, bias: Any, **fields: Any) -> Value:
    kernel = to.value(weight, to.dtype)
    image, single = _batched(to, to.value(input, to.dtype), kernel.ndim - 2)
    activation = None if single else to.activation()
    made = to.call("conv", image, kernel, to.optional(bias, to.dtype), activation=activation, **fields)
    return _unbatched(to, made, single)


@handles("conv1d", "conv2d", "conv3d")
def conv(
    to: Lowering,
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Numbers = 1,
    padding: Any = 0,
    dilation: Numbers = 1,
    groups: int = 1,
) -> Value:
    ndim = len(weight.shape) - 2
    fields: Dict[str, Any] = {"stride": list_of(stride, ndim), "dilation": list_of(dilation, ndim), "groups": groups}
    if isinstance(padding, str):
        fields["mode"] = padding
    else:
        fields["padding"] = list_of(padding, ndim)
    return _convolve(to, input, weight, bias, **fields)


@handles("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def conv_transpose(
    to: Lowering,
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Numbers = 1,
    padding: Numbers = 0,
    output_padding: Numbers = 0,
    groups: int = 1,
    dilation: Numbers = 1,
) -> Value:
    return convolution(to, input, weight, bias, stride, padding, dilation, True, output_padding, groups)


@handles("convolution", "_convolution")
def convolution(
    to: Lowering,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Numbers,
    padding: Numbers,
    dilation: Numbers,
    transposed: bool,
    output_padding: Numbers,
    groups: int,
    **ignored: Any,
) -> Value:
    ndim = len(weight.shape) - 2
    extra = {"output_padding": list_of(output_padding, ndim)} if transposed else {}
    return _convolve(
        to,
        input,
        weight,
        bias,
        stride=list_of(stride, ndim),
        padding=list_of(padding, ndim),
        dilation=list_of(dilation, ndim),
        transposed=transposed,
        groups=groups,
        **extra,
    )


# ---- Pooling ----


def _dimensions(to: Lowering) -> int:
    return int(name_of(to.node).replace("_with_indices", "")[-2])


def _pool(to: Lowering, input: Any, outputs: Any, **fields: Any) -> Any:
    image, single = _batched(to, to.value(input), _dimensions(to))
    made = to.call("pool", image, outputs=outputs, **fields)
    if isinstance(made, tuple):
        return tuple(_unbatched(to, one, single) for one in made)
    return _unbatched(to, made, single)


@handles("max_pool1d", "max_pool2d", "max_pool3d")
@handles("max_pool1d_with_indices", "max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool(
    to: Lowering,
    input: Any,
    kernel_size: Numbers,
    stride: Any = (),
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
) -> Any:
    ndim, name = _dimensions(to), name_of(to.node)
    return _pool(
        to,
        input,
        2 if name.endswith("_with_indices") else 1,
        kind="max",
        kernel=list_of(kernel_size, ndim),
        stride=list_of(stride or kernel_size, ndim),
        padding=list_of(padding, ndim),
        dilation=list_of(dilation, ndim),
        ceil_mode=ceil_mode,
    )


@handles("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(
    to: Lowering,
    input: Any,
    kernel_size: Numbers,
    stride: Any = (),
    padding: Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Optional[int] = None,
) -> Any:
    ndim = _dimensions(to)
    return _pool(
        to,
        input,
        1,
        kind="average",
        kernel=list_of(kernel_size, ndim),
        stride=list_of(stride or kernel_size, ndim),
        padding=list_of(padding, ndim),
        ceil_mode=ceil_mode,
        exclude_padding=not count_include_pad,
        divisor=divisor_override or 0,
    )


@handles("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
@handles("_adaptive_avg_pool2d", "_adaptive_avg_pool3d")
def adaptive_avg_pool(to: Lowering, input: Any, output_size: Numbers) -> Any:
    return _pool(to, input, 1, kind="average", output_size=list_of(output_size, _dimensions(to)))


@handles("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(to: Lowering, input: Any, output_size: Numbers) -> Any:
    return _pool(to, input, 2, kind="max", output_size=list_of(output_size, _dimensions(to)))


# ---- Normalization ----


@handles("batch_norm", "cudnn_batch_norm")
def batch_norm(
    to: Lowering,
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: Any,
    eps: float,
    cudnn_enabled: bool = True,
) -> Value:
    if training or running_mean is None:
        raise Unsupported("in training: call eval() of the model")
    parameters = [to.optional(one) for one in (weight, bias, running_mean, running_var)]
    made: Value = to.call("batch_norm", to.value(input), *parameters, eps=eps)
    return made


@handles("_native_batch_norm_legit_no_training")
def batch_norm_inference(
    to: Lowering, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: float, eps: float
) -> Any:
    mean, deviation = (to.run_torch(torch.empty, 0, dtype=one.dtype) for one in to.node.meta["val"][1:])
    return batch_norm(to, input, weight, bias, running_mean, running_var, False, momentum, eps), mean, deviation


@handles("layer_norm")
def layer_norm(
    to: Lowering,
    input: Any,
    normalized_shape: Sequence[int],
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Value:
    parameters = to.optional(weight), to.optional(bias)
    made: Value = to.call("layer_norm", to.value(input), *parameters, row_ndim=len(normalized_shape), eps=eps)
    return made


@handles("native_layer_norm")
def native_layer_norm(to: Lowering, input: Any, normalized_shape: Sequence[int], weight: Any, bias: Any, eps: float) -> Any:
    parameters = to.optional(weight), to.optional(bias)
    made = to.call("layer_norm", to.value(input), *parameters, outputs=3, row_ndim=len(normalized_shape), eps=eps)
    kept = tuple(input.shape[: input.ndim - len(normalized_shape)]) + (1,) * len(normalized_shape)
    types = [to.name_of_dtype(one.dtype) for one in to.node.meta["val"]]
    return made[0], *(to.graph.cast(to.graph.reshape(one, kept), dtype) for one, dtype in zip(made[1:], types[1:]))


@handles("rms_norm", "_fused_rms_norm")
def rms_norm(to: Lowering, input: Any, normalized_shape: Sequence[int], weight: Any = None, eps: Optional[float] = None) -> Value:
    x = to.value(input)
    if eps is None:
        eps = torch.finfo(torch.float64 if x.dtype == "f64" else torch.float32).eps
    made: Value = to.call("layer_norm", x, to.optional(weight), kind="rms", row_ndim=len(normalized_shape), eps=eps)
    return made


@handles("group_norm")
def group_norm(
    to: Lowering,
    input: Any,
    num_groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Value:
    parameters = to.optional(weight), to.optional(bias)
    made: Value = to.call("layer_norm", to.value(input), *parameters, kind="group", groups=num_groups, eps=eps)
    return made


@handles("instance_norm")
def instance_norm(
    to: Lowering,
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Value:
    if not use_input_stats:
        return batch_norm(to, input, weight, bias, running_mean, running_var, False, momentum, eps)
    if running_mean is not None:
        raise Unsupported("with running statistics that it changes")
    return group_norm(to, input, input.shape[1], weight, bias, eps)


def _enter_softmax(kind: str) -> None:
    @handles(kind, f"_{kind}")
    def softmax(to: Lowering, input: Any, dim: int, dtype: Any = None, half_to_float: bool = False) -> Value:
        x = to.value(input, to.dtype)
        if x.ndim == 0:
            return to.graph.reshape(softmax(to, to.graph.reshape(x, [1]), 0), [])
        made: Value = to.call("softmax", x, kind=kind, axis=dim)
        return made


_enter_softmax("softmax")
_enter_softmax("log_softmax")


# ---- Attention ----


@handles("scaled_dot_product_attention")
def attention(
    to: Lowering,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
) -> Value:
    if dropout_p != 0:
        raise Unsupported("with dropout: call eval() of the model")
    fields: Dict[str, Any] = {"is_causal": is_causal, "enable_gqa": enable_gqa}
    if scale is not None:
        fields.update(has_scale=True, scale=scale)
    q, k, v = to.value(query), to.value(key), to.value(value)
    mask = to.optional(attn_mask)
    if mask is not None and mask.dtype != "bool":
        mask = to.graph.cast(mask, q.dtype)
    made: Value = to.call("attention", q, k, v, mask, **fields)
    return made


def _heads(to: Lowering, x: Value, count: int) -> Value:
    """Takes the heads of a projection apart: items x heads x steps x width."""
    items, steps, width = x.shape
    return to.graph.permute(to.graph.reshape(x, [items, steps, count, width // count]), [0, 2, 1, 3])


def _mask_of(to: Lowering, mask: Any, mask_type: Optional[int], query: Value, key: Value) -> Optional[Value]:
    """Returns which scores count, from a mask of torch's fast paths, in which true is left out."""
    if mask is None:
        return None
    value = to.unary("logical_not", to.value(mask, "bool"))
    items, heads, steps, keys = *query.shape[:3], key.shape[2]
    shape = {0: [1, 1, steps, keys], 1: [items, 1, 1, keys]}.get(0 if mask_type is None else mask_type, [items, heads, steps, keys])
    return to.graph.reshape(value, shape)


def _self_attention(to: Lowering, given: Sequence[Any], heads: int, weights: Sequence[Any], mask: Any, mask_type: Any) -> List[Value]:
    """Adds the attention of a layer, without its last product: query, key, value, and the joined heads."""
    weight, bias = weights
    width = weight.shape[0] // 3
    parts = []
    for i, x in enumerate(given):
        rows = to.graph.slice(to.value(weight), 0, i * width, (i + 1) * width)
        biases = None if bias is None else to.graph.slice(to.value(bias), 0, i * width, (i + 1) * width)
        parts.append(_heads(to, to.call("linear", to.value(x), rows, biases), heads))
    seen = _mask_of(to, mask, mask_type, parts[0], parts[1])
    joined = to.graph.permute(to.call("attention", *parts, seen), [0, 2, 1, 3])
    return [*parts, to.graph.reshape(joined, [joined.shape[0], joined.shape[1], width])]


@handles("_native_multi_head_attention")
def multi_head_attention(
    to: Lowering,
    query: Any,
    key: Any,
    value: Any,
    embed_dim: int,
    num_head: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    mask: Any = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: Optional[int] = None,
) -> Any:
    weights = qkv_weight, qkv_bias
    q, k, _, joined = _self_attention(to, (query, key, value), num_head, weights, mask, mask_type)
    result = to.call("linear", joined, to.value(proj_weight), to.optional(proj_bias))
    if not need_weights:
        return result, None
    if mask is not None:
        raise Unsupported("weights of attention with a mask")
    scale = to.value(float(q.shape[-1]) ** -0.5, q.dtype)
    scores = to.call("matmul", to.call("binary", q, scale, kind="multiply"), to.graph.permute(k, [0, 1, 3, 2]))
    shares = to.call("softmax", scores, axis=-1)
    return result, to.call("reduce", shares, kind="mean", axes=[1]) if average_attn_weights else shares


@handles("_transformer_encoder_layer_fwd")
def encoder_layer(
    to: Lowering,
    src: Any,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Any,
    norm_bias_1: Any,
    norm_weight_2: Any,
    norm_bias_2: Any,
    ffn_weight_1: Any,
    ffn_bias_1: Any,
    ffn_weight_2: Any,
    ffn_bias_2: Any,
    mask: Any = None,
    mask_type: Optional[int] = None,
) -> Value:
    def norm(x: Value, weight: Any, bias: Any) -> Value:
        return layer_norm(to, x, [embed_dim], weight, bias, eps)

    def attend(x: Value) -> Value:
        joined = _self_attention(to, (x, x, x), num_heads, (qkv_weight, qkv_bias), mask, mask_type)[-1]
        made: Value = to.call("linear", joined, to.value(proj_weight), to.optional(proj_bias))
        return made

    def feed(x: Value) -> Value:
        wide = to.call(
            "linear", x, to.value(ffn_weight_1), to.optional(ffn_bias_1), activation="gelu" if use_gelu else "relu"
        )
        made: Value = to.call("linear", wide, to.value(ffn_weight_2), to.optional(ffn_bias_2))
        return made

    x = to.value(src)
    if norm_first:
        x = to.binary("add", x, attend(norm(x, norm_weight_1, norm_bias_1)))
        return to.binary("add", x, feed(norm(x, norm_weight_2, norm_bias_2)))
    x = norm(to.binary("add", x, attend(x)), norm_weight_1, norm_bias_1)
    return norm(to.binary("add", x, feed(x)), norm_weight_2, norm_bias_2)


# ---- Recurrent layers ----

def _stacked(to: Lowering, parts: Sequence[Any], dtype: str) -> Value:
    """Joins weights of the directions of a layer."""
    if all(isinstance(one, torch.Tensor) for one in parts):
        return to.value(parts[0][None] if len(parts) == 1 else torch.stack(list(parts)), dtype)
    values = [to.value(one, dtype) for one in parts]
    rows = [to.graph.reshape(one, (1,) + one.shape) for one in values]
    made: Value = rows[0] if len(rows) == 1 else to.call("concat", *rows, axis=0)
    return made


def _layer(to: Lowering, mode: str, input: Value, weights: Sequence[Sequence[Any]], states: Sequence[Optional[Value]]) -> Any:
    """Adds a layer. `weights` has for each direction: of the input, of the state, and two biases and a projection, or None."""
    ih, hh, bias_ih, bias_hh, projection = zip(*weights)
    joined: List[Optional[Value]] = [
        None if part[0] is None else _stacked(to, part, input.dtype) for part in (ih, hh, projection, bias_ih, bias_hh)
    ]
    wanted = (True, True, True) if mode == "lstm" else (True, True)
    return to.call(
        "rnn", input, *joined, *states, outputs=wanted, mode=mode, directions=len(weights)
    )


def _weights_of(params: Sequence[Any], has_biases: bool, projects: bool) -> List[List[Any]]:
    size = 2 + 2 * has_biases + projects
    rows = []
    for first in range(0, len(params), size):
        part = list(params[first : first + size])
        biases = part[2:4] if has_biases else [None, None]
        rows.append(part[:2] + biases + [part[-1] if projects else None])
    return rows


def _recurrent(
    to: Lowering,
    mode: str,
    input: Any,
    hx: Sequence[Any],
    params: Sequence[Any],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    x = to.value(input)
    if batch_first:
        x = to.graph.permute(x, [1, 0, 2])
    states = [to.value(one, x.dtype) for one in hx]
    projects = mode == "lstm" and len(params) == num_layers * (1 + bidirectional) * (3 + 2 * has_biases)
    weights, directions = _weights_of(params, has_biases, projects), 1 + bidirectional
    finals: List[List[Value]] = [[] for _ in states]
    for layer in range(num_layers):
        first = layer * directions
        own = [to.graph.slice(one, 0, first, first + directions) for one in states]
        x, *ends = _layer(to, mode, x, weights[first : first + directions], own)
        for final, end in zip(finals, ends):
            final.append(end)
    joined = [final[0] if len(final) == 1 else to.call("concat", *final, axis=0) for final in finals]
    return (to.graph.permute(x, [1, 0, 2]) if batch_first else x), *joined


def _check_training(dropout: float, train: bool) -> None:
    if train and dropout != 0:
        raise Unsupported("with dropout in training: call eval() of the model")


@handles("lstm")
def lstm(
    to: Lowering,
    input: Any,
    hx: Sequence[Any],
    params: Sequence[Any],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    _check_training(dropout, train)
    return _recurrent(to, "lstm", input, hx, params, has_biases, num_layers, bidirectional, batch_first)


def _enter_recurrent(mode: str) -> None:
    @handles(mode)
    def layers(
        to: Lowering,
        input: Any,
        hx: Any,
        params: Sequence[Any],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> Any:
        _check_training(dropout, train)
        return _recurrent(to, mode, input, [hx], params, has_biases, num_layers, bidirectional, batch_first)


for _mode in ("gru", "rnn_tanh", "rnn_relu"):
    _enter_recurrent(_mode)


def _cell(to: Lowering, mode: str, input: Any, states: Sequence[Any], weights: Sequence[Any]) -> List[Value]:
    """Adds a layer of one step, and returns its final states."""
    x = to.value(input)
    single = x.ndim == 1
    rows = [to.graph.reshape(to.value(one, x.dtype), (1, 1 if single else one.shape[0], one.shape[-1])) for one in (x, *states)]
    _, *ends = _layer(to, mode, rows[0], [[*weights, None]], rows[1:])
    return [to.graph.reshape(end, end.shape[2:] if single else end.shape[1:]) for end in ends]


@handles("lstm_cell")
def lstm_cell(to: Lowering, input: Any, hx: Sequence[Any], w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    return tuple(_cell(to, "lstm", input, hx, [w_ih, w_hh, b_ih, b_hh]))


def _enter_cell(name: str, mode: str) -> None:
    @handles(name)
    def cell(to: Lowering, input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Value:
        return _cell(to, mode, input, [hx], [w_ih, w_hh, b_ih, b_hh])[0]


_enter_cell("gru_cell", "gru")
_enter_cell("rnn_tanh_cell", "rnn_tanh")
_enter_cell("rnn_relu_cell", "rnn_relu")
