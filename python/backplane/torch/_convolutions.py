"""Linear layers, convolutions and transposed convolutions."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple, Union

import torch
from torch.nn import functional as F

from .._errors import bad_value
from ..nn import functional, grad
from ._operators import Numbers, batched, define, empty, for_dimensions, image, ops, several

__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "linear"]

_CONV = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
_TRANSPOSED = {1: functional.conv_transpose1d, 2: functional.conv_transpose2d, 3: functional.conv_transpose3d}
_BY_INPUT = {1: grad.conv1d_input, 2: grad.conv2d_input, 3: grad.conv3d_input}
_BY_WEIGHT = {1: grad.conv1d_weight, 2: grad.conv2d_weight, 3: grad.conv3d_weight}

# ---- Linear layers ----


def _save_linear(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs[:2])


def _linear_backward(ctx: Any, by: torch.Tensor) -> Tuple[Any, ...]:
    input, weight = ctx.saved_tensors
    by_input = ops.linear_input(weight, by) if ctx.needs_input_grad[0] else None
    by_weight = by_bias = None
    if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
        by_weight, by_bias = ops.linear_weight(input, by)
    return by_input, by_weight, by_bias if ctx.needs_input_grad[2] else None


define(
    "linear(Tensor input, Tensor weight, Tensor? bias) -> Tensor",
    functional.linear,
    lambda input, weight, bias: empty(input, (*input.shape[:-1], weight.shape[0])),
    _linear_backward,
    _save_linear,
)
define(
    "linear_input(Tensor weight, Tensor by) -> Tensor",
    grad.linear_input,
    lambda weight, by: empty(by, (*by.shape[:-1], weight.shape[1])),
)
define(
    "linear_weight(Tensor input, Tensor by) -> (Tensor, Tensor)",
    lambda input, by: grad.linear_weight(input, by, True),
    lambda input, by: (empty(by, (by.shape[-1], input.shape[-1])), empty(by, by.shape[-1:])),
)


def linear(input: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor] = None) -> torch.Tensor:
    """As torch.nn.functional.linear."""
    if weight.dim() == 1:
        return linear(input, weight.unsqueeze(0), None if bias is None else bias.reshape(1)).squeeze(-1)
    if input.dim() == 1:
        return linear(input.unsqueeze(0), weight, bias).squeeze(0)
    return ops.linear(input, weight, bias)


# ---- Convolutions ----


def _save_conv(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs[:2])
    ctx.geometry = inputs[3:]


def _by_bias(by: torch.Tensor) -> torch.Tensor:
    return by.sum([0, *range(2, by.dim())])


def _conv_backward(ctx: Any, by: torch.Tensor) -> Tuple[Any, ...]:
    input, weight = ctx.saved_tensors
    needs = ctx.needs_input_grad
    return (
        ops.convolution_input(input.shape, weight, by, *ctx.geometry) if needs[0] else None,
        ops.convolution_weight(input, weight.shape, by, *ctx.geometry) if needs[1] else None,
        _by_bias(by) if needs[2] else None,
        *[None] * 4,
    )


def _fake_conv(input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> torch.Tensor:
    like = torch.convolution(input, weight, bias, stride, padding, dilation, False, [0] * len(stride), groups)
    return image(input, like.shape)


_GEOMETRY = "int[] stride, int[] padding, int[] dilation, int groups"
define(
    f"convolution(Tensor input, Tensor weight, Tensor? bias, {_GEOMETRY}) -> Tensor",
    lambda input, *rest: _CONV[input.dim() - 2](input, *rest),
    _fake_conv,
    _conv_backward,
    _save_conv,
)
define(
    f"convolution_input(SymInt[] input_size, Tensor weight, Tensor by, {_GEOMETRY}) -> Tensor",
    lambda size, weight, by, *rest: _BY_INPUT[by.dim() - 2](tuple(size), weight, by, *rest),
    lambda size, weight, by, *rest: image(by, size),
)
define(
    f"convolution_weight(Tensor input, SymInt[] weight_size, Tensor by, {_GEOMETRY}) -> Tensor",
    lambda input, size, by, *rest: _BY_WEIGHT[by.dim() - 2](input, tuple(size), by, *rest),
    lambda input, size, by, *rest: empty(by, size),
)


def _same_padding(input: torch.Tensor, kernel: Sequence[int], dilation: Sequence[int]) -> Tuple[torch.Tensor, Tuple[int, ...]]:
    """Returns the input, with one row more where the padding is odd, and the padding of each side."""
    total = [d * (k - 1) for k, d in zip(kernel, dilation)]
    if any(n % 2 for n in total):
        input = F.pad(input, [n for t in reversed(total) for n in (0, t % 2)])
    return input, tuple(t // 2 for t in total)


def _conv(count: int) -> Any:
    def conv(
        input: torch.Tensor,
        weight: torch.Tensor,
        bias: Optional[torch.Tensor] = None,
        stride: Numbers = 1,
        padding: Union[Numbers, str] = 0,
        dilation: Numbers = 1,
        groups: int = 1,
    ) -> torch.Tensor:
        input, added = batched(input, count + 2, f"conv{count}d")
        strides, dilations = several(stride, count, "stride"), several(dilation, count, "dilation")
        if padding == "same":
            if any(s != 1 for s in strides):
                raise bad_value(f"conv{count}d: padding 'same' needs a stride of 1")
            input, paddings = _same_padding(input, weight.shape[2:], dilations)
        elif isinstance(padding, str) and padding != "valid":
            raise bad_value(f"conv{count}d: padding is {padding!r}; it takes numbers, 'same' and 'valid'")
        else:
            paddings = (0,) * count if isinstance(padding, str) else several(padding, count, "padding")
        result = ops.convolution(input, weight, bias, strides, paddings, dilations, groups)
        return result.squeeze(0) if added else result

    return conv


# ---- Transposed convolutions ----


def _transposed_backward(ctx: Any, by: torch.Tensor) -> Tuple[Any, ...]:
    """The gradient by the input is a convolution, and the one by the weight has input and gradient the other way round."""
    input, weight = ctx.saved_tensors
    stride, padding, output_padding, groups, dilation = ctx.geometry
    needs = ctx.needs_input_grad
    used = by
    for i in range(len(stride)):  # rows that no input reaches
        size = (input.shape[i + 2] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (weight.shape[i + 2] - 1) + 1
        more = min(output_padding[i], stride[i] - 1)
        used = used.narrow(i + 2, 0, size + more)
    return (
        ops.convolution(used, weight, None, stride, padding, dilation, groups) if needs[0] else None,
        ops.convolution_weight(used, weight.shape, input, stride, padding, dilation, groups) if needs[1] else None,
        _by_bias(by) if needs[2] else None,
        *[None] * 5,
    )


def _fake_transposed(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: Any, dilation: Any
) -> torch.Tensor:
    return image(input, torch.convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups).shape)


define(
    "convolution_transpose(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] output_padding, int groups, "
    "int[] dilation) -> Tensor",
    lambda input, *rest: _TRANSPOSED[input.dim() - 2](input, *rest),
    _fake_transposed,
    _transposed_backward,
    _save_conv,
)


def _conv_transpose(count: int) -> Any:
    def conv_transpose(
        input: torch.Tensor,
        weight: torch.Tensor,
        bias: Optional[torch.Tensor] = None,
        stride: Numbers = 1,
        padding: Numbers = 0,
        output_padding: Numbers = 0,
        groups: int = 1,
        dilation: Numbers = 1,
    ) -> torch.Tensor:
        input, added = batched(input, count + 2, f"conv_transpose{count}d")
        result = ops.convolution_transpose(
            input,
            weight,
            bias,
            several(stride, count, "stride"),
            several(padding, count, "padding"),
            several(output_padding, count, "output_padding"),
            groups,
            several(dilation, count, "dilation"),
        )
        return result.squeeze(0) if added else result

    return conv_transpose


conv1d, conv2d, conv3d = for_dimensions(_conv, "conv{}d")
conv_transpose1d, conv_transpose2d, conv_transpose3d = for_dimensions(_conv_transpose, "conv_transpose{}d")
