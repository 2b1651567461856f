"""Pooling."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple, Union

import torch

from .._errors import bad_value
from ..nn import functional, grad
from ._operators import Numbers, batched, define, for_dimensions, image, ops, several

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
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
]

Sizes = Union[int, Sequence[Optional[int]]]


def _of(module: Any, name: str) -> Any:
    """The functions for one to three dimensions, by the dimensions of a tensor with items and channels."""
    return {n + 2: getattr(module, name.format(n)) for n in (1, 2, 3)}


_MAX, _MAX_INPUT = _of(functional, "max_pool{}d"), _of(grad, "max_pool{}d_input")
_AVG, _AVG_INPUT = _of(functional, "avg_pool{}d"), _of(grad, "avg_pool{}d_input")
_TO_MAX, _TO_MAX_INPUT = _of(functional, "adaptive_max_pool{}d"), _of(grad, "adaptive_max_pool{}d_input")
_TO_AVG, _TO_AVG_INPUT = _of(functional, "adaptive_avg_pool{}d"), _of(grad, "adaptive_avg_pool{}d_input")


def _pooled(input: Any, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], ceil: bool) -> Any:
    """The shape of the result. With ``ceil`` the last window begins inside the image or its padding on the left."""
    sizes = []
    for n, k, s, p, d in zip(input.shape[2:], kernel, stride, padding, dilation):
        span = n + 2 * p - d * (k - 1) - 1
        size = (span + (s - 1 if ceil else 0)) // s + 1
        if ceil and (size - 1) * s >= n + p:
            size -= 1
        sizes.append(size)
    return (*input.shape[:2], *sizes)


# ---- Windows of a given size ----


def _fake_max(input: Any, *geometry: Any) -> Tuple[torch.Tensor, torch.Tensor]:
    shape = _pooled(input, *geometry)
    return image(input, shape), image(input, shape).to(torch.int64)


def _save_max(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.size, ctx.geometry = inputs[0].shape, inputs[1:]
    ctx.save_for_backward(output[1])
    ctx.mark_non_differentiable(output[1])


def _max_backward(ctx: Any, by: torch.Tensor, unused: Any) -> Tuple[Any, ...]:
    return ops.max_pool_input(ctx.size, *ctx.saved_tensors, by, *ctx.geometry), *[None] * len(ctx.geometry)


_WINDOWS = "int[] kernel, int[] stride, int[] padding"
define(
    f"max_pool(Tensor input, {_WINDOWS}, int[] dilation, bool ceil) -> (Tensor, Tensor)",
    lambda input, *geometry: _MAX[input.dim()](input, *geometry, return_indices=True),
    _fake_max,
    _max_backward,
    _save_max,
)
define(
    f"max_pool_input(SymInt[] size, Tensor indices, Tensor by, {_WINDOWS}, int[] dilation, bool ceil) -> Tensor",
    lambda size, indices, by, *geometry: _MAX_INPUT[by.dim()](tuple(size), indices, by, *geometry),
    lambda size, indices, by, *geometry: image(by, size),
)


def _fake_avg(input: Any, kernel: Any, stride: Any, padding: Any, ceil: bool, *rest: Any) -> torch.Tensor:
    return image(input, _pooled(input, kernel, stride, padding, (1,) * len(kernel), ceil))


def _save_avg(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.size, ctx.geometry = inputs[0].shape, inputs[1:]


def _avg_backward(ctx: Any, by: torch.Tensor) -> Tuple[Any, ...]:
    return ops.avg_pool_input(ctx.size, by, *ctx.geometry), *[None] * len(ctx.geometry)


define(
    f"avg_pool(Tensor input, {_WINDOWS}, bool ceil, bool count_include_pad, int? divisor) -> Tensor",
    lambda input, *geometry: _AVG[input.dim()](input, *geometry),
    _fake_avg,
    _avg_backward,
    _save_avg,
)
define(
    f"avg_pool_input(SymInt[] size, Tensor by, {_WINDOWS}, bool ceil, bool count_include_pad, int? divisor) -> Tensor",
    lambda size, by, *geometry: _AVG_INPUT[by.dim()](tuple(size), by, *geometry),
    lambda size, by, *geometry: image(by, size),
)

Indexed = Union[torch.Tensor, Tuple[torch.Tensor, torch.Tensor]]


def _max_pool(count: int) -> Any:
    def max_pool(
        input: torch.Tensor,
        kernel_size: Numbers,
        stride: Optional[Numbers] = None,
        padding: Numbers = 0,
        dilation: Numbers = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Indexed:
        input, added = batched(input, count + 2, f"max_pool{count}d")
        kernel = several(kernel_size, count, "kernel_size")
        strides = kernel if stride is None else several(stride, count, "stride")
        rest = several(padding, count, "padding"), several(dilation, count, "dilation"), ceil_mode
        return _results(ops.max_pool(input, kernel, strides, *rest), added, return_indices)

    return max_pool


def _results(found: Any, added: bool, indices: bool) -> Indexed:
    values, where = (one.squeeze(0) if added else one for one in found)
    return (values, where) if indices else values


def _avg_pool(count: int) -> Any:
    def avg_pool(
        input: torch.Tensor,
        kernel_size: Numbers,
        stride: Optional[Numbers] = None,
        padding: Numbers = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Optional[int] = None,
    ) -> torch.Tensor:
        input, added = batched(input, count + 2, f"avg_pool{count}d")
        kernel = several(kernel_size, count, "kernel_size")
        strides = kernel if stride is None else several(stride, count, "stride")
        paddings = several(padding, count, "padding")
        found = ops.avg_pool(input, kernel, strides, paddings, ceil_mode, count_include_pad, divisor_override)
        return found.squeeze(0) if added else found

    return avg_pool


max_pool1d, max_pool2d, max_pool3d = for_dimensions(_max_pool, "max_pool{}d")
avg_pool1d, avg_pool2d, avg_pool3d = for_dimensions(_avg_pool, "avg_pool{}d")

# ---- Results of a given size ----


def _fake_to_max(input: Any, size: Any) -> Tuple[torch.Tensor, torch.Tensor]:
    shape = (*input.shape[:2], *size)
    return image(input, shape), image(input, shape).to(torch.int64)


def _to_max_backward(ctx: Any, by: torch.Tensor, unused: Any) -> Tuple[Any, ...]:
    return ops.adaptive_max_pool_input(ctx.size, *ctx.saved_tensors, by), None


def _to_avg_backward(ctx: Any, by: torch.Tensor) -> Tuple[Any, ...]:
    return ops.adaptive_avg_pool_input(ctx.size, by), None


define(
    "adaptive_max_pool(Tensor input, SymInt[] size) -> (Tensor, Tensor)",
    lambda input, size: _TO_MAX[input.dim()](input, tuple(size), return_indices=True),
    _fake_to_max,
    _to_max_backward,
    _save_max,
)
define(
    "adaptive_max_pool_input(SymInt[] size, Tensor indices, Tensor by) -> Tensor",
    lambda size, indices, by: _TO_MAX_INPUT[by.dim()](tuple(size), indices, by),
    lambda size, indices, by: image(by, size),
)
define(
    "adaptive_avg_pool(Tensor input, SymInt[] size) -> Tensor",
    lambda input, size: _TO_AVG[input.dim()](input, tuple(size)),
    lambda input, size: image(input, (*input.shape[:2], *size)),
    _to_avg_backward,
    _save_avg,
)
define(
    "adaptive_avg_pool_input(SymInt[] size, Tensor by) -> Tensor",
    lambda size, by: _TO_AVG_INPUT[by.dim()](tuple(size), by),
    lambda size, by: image(by, size),
)


def _wanted_sizes(input: torch.Tensor, output_size: Sizes, count: int) -> Tuple[Any, ...]:
    """None keeps the size of the input."""
    wanted = (output_size,) * count if isinstance(output_size, int) else tuple(output_size)
    if len(wanted) != count:
        raise bad_value(f"output_size: {output_size!r} has {len(wanted)} numbers; it must have {count}")
    return tuple(input.shape[i - count] if n is None else n for i, n in enumerate(wanted))


def _adaptive_max(count: int) -> Any:
    def adaptive_max_pool(input: torch.Tensor, output_size: Sizes, return_indices: bool = False) -> Indexed:
        input, added = batched(input, count + 2, f"adaptive_max_pool{count}d")
        return _results(ops.adaptive_max_pool(input, _wanted_sizes(input, output_size, count)), added, return_indices)

    return adaptive_max_pool


def _adaptive_avg(count: int) -> Any:
    def adaptive_avg_pool(input: torch.Tensor, output_size: Sizes) -> torch.Tensor:
        input, added = batched(input, count + 2, f"adaptive_avg_pool{count}d")
        found = ops.adaptive_avg_pool(input, _wanted_sizes(input, output_size, count))
        return found.squeeze(0) if added else found

    return adaptive_avg_pool


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = for_dimensions(_adaptive_max, "adaptive_max_pool{}d")
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = for_dimensions(_adaptive_avg, "adaptive_avg_pool{}d")
