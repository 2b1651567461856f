"""Functions of single elements. Backplane computes the functions, and torch the gradients, from its own formulas."""

from __future__ import annotations

from typing import Any, Callable, Tuple

import torch

from ..nn import functional
from ._operators import define, named, ops, ordered

__all__ = [
    "celu",
    "elu",
    "gelu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "logsigmoid",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
]

_aten: Any = torch.ops.aten


def _define(name: str, parameters: str, count: int, backward: Callable[..., torch.Tensor], result: bool = False) -> None:
    """Defines a function with ``count`` numbers. The gradient needs the input, or, with ``result``, the result."""
    compute = getattr(functional, name)

    def save(ctx: Any, inputs: Any, output: torch.Tensor) -> None:
        ctx.save_for_backward(output if result else inputs[0])
        ctx.numbers = inputs[1:]

    def by_input(ctx: Any, by: torch.Tensor) -> Tuple[Any, ...]:
        return backward(by, *ctx.saved_tensors, *ctx.numbers), *[None] * count

    define(f"{name}(Tensor input{parameters}) -> Tensor", compute, lambda input, *numbers: ordered(input), by_input, save)


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805  # of the definition of selu

_define("relu", "", 0, lambda by, y: _aten.threshold_backward(by, y, 0), result=True)
_define("sigmoid", "", 0, lambda by, y: _aten.sigmoid_backward(by, y), result=True)
_define("tanh", "", 0, lambda by, y: _aten.tanh_backward(by, y), result=True)
_define("gelu", ", str approximate", 1, lambda by, x, kind: _aten.gelu_backward(by, x, approximate=kind))
_define("silu", "", 0, lambda by, x: _aten.silu_backward(by, x))
_define("mish", "", 0, lambda by, x: _aten.mish_backward(by, x))
_define("elu", ", float alpha", 1, lambda by, x, alpha: _aten.elu_backward(by, alpha, 1, 1, False, x))
_define("celu", ", float alpha", 1, lambda by, x, alpha: _aten.elu_backward(by, alpha, 1, 1 / alpha, False, x))
_define("selu", "", 0, lambda by, x: _aten.elu_backward(by, _SELU_ALPHA, _SELU_SCALE, 1, False, x))
_define("leaky_relu", ", float slope", 1, lambda by, x, slope: _aten.leaky_relu_backward(by, x, slope, False))
_define("hardtanh", ", float low, float high", 2, lambda by, x, low, high: _aten.hardtanh_backward(by, x, low, high))
_define("hardsigmoid", "", 0, lambda by, x: _aten.hardsigmoid_backward(by, x))
_define("hardswish", "", 0, lambda by, x: _aten.hardswish_backward(by, x))
_define("hardshrink", ", float lambd", 1, lambda by, x, lambd: _aten.hardshrink_backward(by, x, lambd))
_define("softshrink", ", float lambd", 1, lambda by, x, lambd: _aten.softshrink_backward(by, x, lambd))
_define("softplus", ", float beta, float threshold", 2, lambda by, x, beta, most: _aten.softplus_backward(by, x, beta, most))
_define("threshold", ", float threshold, float value", 2, lambda by, x, limit, value: _aten.threshold_backward(by, x, limit))
_define("logsigmoid", "", 0, lambda by, x: by * torch.sigmoid(-x))
_define("softsign", "", 0, lambda by, x: by / (1 + x.abs()).square())
_define("tanhshrink", "", 0, lambda by, x: by * torch.tanh(x).square())


def _function(name: str) -> Any:
    """Returns a function without numbers."""

    def function(input: torch.Tensor) -> torch.Tensor:
        return getattr(ops, name)(input)

    return named(function, name, f"torch.nn.functional.{name}")


relu, sigmoid, tanh, silu, mish, selu = map(_function, ("relu", "sigmoid", "tanh", "silu", "mish", "selu"))
hardsigmoid, hardswish, logsigmoid = map(_function, ("hardsigmoid", "hardswish", "logsigmoid"))
softsign, tanhshrink = map(_function, ("softsign", "tanhshrink"))


def relu6(input: torch.Tensor) -> torch.Tensor:
    """As torch.nn.functional.relu6."""
    return hardtanh(input, 0.0, 6.0)


def gelu(input: torch.Tensor, approximate: str = "none") -> torch.Tensor:
    """As torch.nn.functional.gelu."""
    return ops.gelu(input, approximate)


def elu(input: torch.Tensor, alpha: float = 1.0) -> torch.Tensor:
    """As torch.nn.functional.elu."""
    return ops.elu(input, alpha)


def celu(input: torch.Tensor, alpha: float = 1.0) -> torch.Tensor:
    """As torch.nn.functional.celu."""
    return ops.celu(input, alpha)


def leaky_relu(input: torch.Tensor, negative_slope: float = 0.01) -> torch.Tensor:
    """As torch.nn.functional.leaky_relu."""
    return ops.leaky_relu(input, negative_slope)


def hardtanh(input: torch.Tensor, min_val: float = -1.0, max_val: float = 1.0) -> torch.Tensor:
    """As torch.nn.functional.hardtanh."""
    return ops.hardtanh(input, min_val, max_val)


def hardshrink(input: torch.Tensor, lambd: float = 0.5) -> torch.Tensor:
    """As torch.nn.functional.hardshrink."""
    return ops.hardshrink(input, lambd)


def softshrink(input: torch.Tensor, lambd: float = 0.5) -> torch.Tensor:
    """As torch.nn.functional.softshrink."""
    return ops.softshrink(input, lambd)


def softplus(input: torch.Tensor, beta: float = 1.0, threshold: float = 20.0) -> torch.Tensor:
    """As torch.nn.functional.softplus."""
    return ops.softplus(input, beta, threshold)


def threshold(input: torch.Tensor, threshold: float, value: float) -> torch.Tensor:
    """As torch.nn.functional.threshold."""
    return ops.threshold(input, threshold, value)
