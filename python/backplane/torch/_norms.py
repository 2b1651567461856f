"""Batch, instance, layer, group and RMS normalization."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

import torch

from .._errors import bad_value
from ..nn import functional, grad
from ._operators import define, empty, image, ops

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"]


def _wide(x: torch.Tensor) -> torch.dtype:
    """The type of statistics."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _statistics(input: torch.Tensor, shape: Sequence[Any]) -> torch.Tensor:
    return torch.empty(tuple(shape), dtype=_wide(input), device=input.device)


def _wanted(ctx: Any, gradients: Sequence[Any], places: Sequence[int]) -> List[Any]:
    """The gradients by those inputs that need one, in a list for all inputs."""
    found: List[Any] = [None] * len(ctx.needs_input_grad)
    for place, one in zip(places, gradients):
        if ctx.needs_input_grad[place]:
            found[place] = one
    return found


# ---- Layer, RMS and group normalization ----


def _save_norm(ctx: Any, inputs: Any, output: Any) -> None:
    input, ctx.shape, weight = inputs[:3]
    ctx.eps = inputs[-1]
    ctx.save_for_backward(input, weight, *output[1:])
    ctx.mark_non_differentiable(*output[1:])


def _layer_backward(ctx: Any, by: torch.Tensor, *unused: Any) -> Any:
    input, weight, mean, inverse = ctx.saved_tensors
    found = ops.layer_norm_gradients(input, by, ctx.shape, weight, ctx.eps, mean, inverse)
    return tuple(_wanted(ctx, found, (0, 2, 3)))


def _group_backward(ctx: Any, by: torch.Tensor, *unused: Any) -> Any:
    input, weight, mean, inverse = ctx.saved_tensors
    found = ops.group_norm_gradients(input, by, ctx.shape, weight, ctx.eps, mean, inverse)
    return tuple(_wanted(ctx, found, (0, 2, 3)))


def _rms_backward(ctx: Any, by: torch.Tensor, *unused: Any) -> Any:
    input, weight, inverse = ctx.saved_tensors
    return tuple(_wanted(ctx, ops.rms_norm_gradients(input, by, ctx.shape, weight, ctx.eps, inverse), (0, 2)))


def _rows(input: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    return _statistics(input, input.shape[: input.dim() - len(shape)])


def _fake_layer(input: torch.Tensor, shape: Sequence[int], *rest: Any) -> Tuple[torch.Tensor, ...]:
    return empty(input), _rows(input, shape), _rows(input, shape)


def _fake_group(input: torch.Tensor, groups: int, *rest: Any) -> Tuple[torch.Tensor, ...]:
    rows = (input.shape[0], groups)
    return image(input), _statistics(input, rows), _statistics(input, rows)


define(
    "layer_norm(Tensor input, SymInt[] shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
    lambda input, shape, *rest: functional.layer_norm(input, tuple(shape), *rest, return_statistics=True),
    _fake_layer,
    _layer_backward,
    _save_norm,
)
define(
    "layer_norm_gradients(Tensor input, Tensor by, SymInt[] shape, Tensor? weight, float eps, Tensor mean, Tensor inverse) "
    "-> (Tensor, Tensor, Tensor)",
    lambda input, by, shape, weight, eps, mean, inverse: grad.layer_norm_gradients(
        input, by, tuple(shape), weight, eps, mean=mean, inverse_std=inverse
    ),
    lambda input, by, shape, *rest: (empty(input), empty(input, shape), empty(input, shape)),
)
define(
    "rms_norm(Tensor input, SymInt[] shape, Tensor? weight, float? eps) -> (Tensor, Tensor)",
    lambda input, shape, *rest: functional.rms_norm(input, tuple(shape), *rest, return_statistics=True),
    lambda input, shape, *rest: (empty(input), _rows(input, shape)),
    _rms_backward,
    _save_norm,
)
define(
    "rms_norm_gradients(Tensor input, Tensor by, SymInt[] shape, Tensor? weight, float? eps, Tensor inverse) -> (Tensor, Tensor)",
    lambda input, by, shape, weight, eps, inverse: grad.rms_norm_gradients(input, by, tuple(shape), weight, eps, inverse_std=inverse),
    lambda input, by, shape, *rest: (empty(input), empty(input, shape)),
)
define(
    "group_norm(Tensor input, int groups, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
    lambda *arguments: functional.group_norm(*arguments, return_statistics=True),
    _fake_group,
    _group_backward,
    _save_norm,
)
define(
    "group_norm_gradients(Tensor input, Tensor by, int groups, Tensor? weight, float eps, Tensor mean, Tensor inverse) "
    "-> (Tensor, Tensor, Tensor)",
    lambda input, by, groups, weight, eps, mean, inverse: grad.group_norm_gradients(
        input, by, groups, weight, eps, mean=mean, inverse_std=inverse
    ),
    lambda input, by, *rest: (image(input), empty(input, input.shape[1:2]), empty(input, input.shape[1:2])),
)


def layer_norm(
    input: torch.Tensor,
    normalized_shape: Sequence[int],
    weight: Optional[torch.Tensor] = None,
    bias: Optional[torch.Tensor] = None,
    eps: float = 1e-5,
) -> torch.Tensor:
    """As torch.nn.functional.layer_norm."""
    return ops.layer_norm(input, normalized_shape, weight, bias, eps)[0]


def rms_norm(
    input: torch.Tensor, normalized_shape: Sequence[int], weight: Optional[torch.Tensor] = None, eps: Optional[float] = None
) -> torch.Tensor:
    """As torch.nn.functional.rms_norm."""
    return ops.rms_norm(input, normalized_shape, weight, eps)[0]


def group_norm(
    input: torch.Tensor,
    num_groups: int,
    weight: Optional[torch.Tensor] = None,
    bias: Optional[torch.Tensor] = None,
    eps: float = 1e-5,
) -> torch.Tensor:
    """As torch.nn.functional.group_norm."""
    return ops.group_norm(input, num_groups, weight, bias, eps)[0]


# ---- Batch and instance normalization ----


def _batch_training(input: Any, mean: Any, var: Any, weight: Any, bias: Any, momentum: float, eps: float) -> Tuple[Any, ...]:
    """Running statistics are results, because an operator with a gradient changes no input."""
    means, variances = (None if one is None else one.clone() for one in (mean, var))
    output, batch_mean, inverse = functional.batch_norm(
        input, means, variances, weight, bias, True, momentum, eps, return_statistics=True
    )
    running = (input.new_empty(0) if one is None else one for one in (means, variances))
    return (output, batch_mean, inverse, *running)


def _fake_training(input: Any, mean: Any, var: Any, *rest: Any) -> Tuple[torch.Tensor, ...]:
    channels = input.shape[1:2]
    running = (input.new_empty(0) if one is None else empty(one) for one in (mean, var))
    return (image(input), _statistics(input, channels), _statistics(input, channels), *running)


def _save_training(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[0], inputs[3], *output[1:3])
    ctx.eps, ctx.training = inputs[-1], True
    ctx.mark_non_differentiable(*output[1:])


def _save_inference(ctx: Any, inputs: Any, output: Any) -> None:
    input, mean, var, weight, bias, ctx.eps = inputs
    ctx.save_for_backward(input, weight, mean, var)
    ctx.training = False


def _batch_backward(ctx: Any, by: torch.Tensor, *unused: Any) -> Any:
    input, weight, mean, spread = ctx.saved_tensors
    found = ops.batch_norm_gradients(input, by, weight, mean, spread, ctx.training, ctx.eps)
    return tuple(_wanted(ctx, found, (0, 3, 4)))


define(
    "batch_norm_training(Tensor input, Tensor? mean, Tensor? var, Tensor? weight, Tensor? bias, float momentum, float eps) "
    "-> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    _batch_training,
    _fake_training,
    _batch_backward,
    _save_training,
)
define(
    "batch_norm(Tensor input, Tensor mean, Tensor var, Tensor? weight, Tensor? bias, float eps) -> Tensor",
    lambda input, mean, var, weight, bias, eps: functional.batch_norm(input, mean, var, weight, bias, eps=eps),
    lambda input, *rest: image(input),
    _batch_backward,
    _save_inference,
)
define(
    "batch_norm_gradients(Tensor input, Tensor by, Tensor? weight, Tensor mean, Tensor spread, bool training, float eps) "
    "-> (Tensor, Tensor, Tensor)",
    grad.batch_norm_gradients,
    lambda input, *rest: (image(input), empty(input, input.shape[1:2]), empty(input, input.shape[1:2])),
)


def batch_norm(
    input: torch.Tensor,
    running_mean: Optional[torch.Tensor],
    running_var: Optional[torch.Tensor],
    weight: Optional[torch.Tensor] = None,
    bias: Optional[torch.Tensor] = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> torch.Tensor:
    """As torch.nn.functional.batch_norm. In training it updates the running statistics that are given."""
    if not training:
        if running_mean is None or running_var is None:
            raise bad_value("batch_norm: without training it needs running_mean and running_var")
        return ops.batch_norm(input, running_mean, running_var, weight, bias, eps)
    output, _, _, mean, var = ops.batch_norm_training(input, running_mean, running_var, weight, bias, momentum, eps)
    with torch.no_grad():
        for running, now in ((running_mean, mean), (running_var, var)):
            if running is not None:
                running.copy_(now)
    return output


def instance_norm(
    input: torch.Tensor, weight: Optional[torch.Tensor] = None, bias: Optional[torch.Tensor] = None, eps: float = 1e-5
) -> torch.Tensor:
    """As torch.nn.functional.instance_norm with the statistics of the input: group normalization with a channel in each group."""
    return group_norm(input, input.shape[1], weight, bias, eps)
