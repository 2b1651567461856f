"""Softmax, and rows of a table."""

from __future__ import annotations

from typing import Any, Optional, Tuple

import torch

from ..nn import functional, grad
from ._operators import define, empty, ops

__all__ = ["embedding", "log_softmax", "softmax"]


def _save_rows(ctx: Any, inputs: Any, output: torch.Tensor) -> None:
    ctx.save_for_backward(output)
    ctx.dim = inputs[1]


def _softmax_backward(ctx: Any, by: torch.Tensor) -> Tuple[Any, ...]:
    return ops.softmax_input(*ctx.saved_tensors, by, ctx.dim), None


def _log_softmax_backward(ctx: Any, by: torch.Tensor) -> Tuple[Any, ...]:
    return ops.log_softmax_input(*ctx.saved_tensors, by, ctx.dim), None


for _name, _compute, _by_input, _backward in (
    ("softmax", functional.softmax, grad.softmax_input, _softmax_backward),
    ("log_softmax", functional.log_softmax, grad.log_softmax_input, _log_softmax_backward),
):
    define(f"{_name}(Tensor input, int dim) -> Tensor", _compute, lambda input, dim: empty(input), _backward, _save_rows)
    define(f"{_name}_input(Tensor output, Tensor by, int dim) -> Tensor", _by_input, lambda output, by, dim: empty(output))


def softmax(input: torch.Tensor, dim: int, *, dtype: Optional[torch.dtype] = None) -> torch.Tensor:
    """As torch.nn.functional.softmax; ``dim`` is required."""
    return ops.softmax(input if dtype is None else input.to(dtype), dim)


def log_softmax(input: torch.Tensor, dim: int, *, dtype: Optional[torch.dtype] = None) -> torch.Tensor:
    """As torch.nn.functional.log_softmax; ``dim`` is required."""
    return ops.log_softmax(input if dtype is None else input.to(dtype), dim)


def _save_embedding(ctx: Any, inputs: Any, output: torch.Tensor) -> None:
    ctx.save_for_backward(inputs[0])
    ctx.rows, ctx.padding = inputs[1].shape[0], inputs[2]


def _embedding_backward(ctx: Any, by: torch.Tensor) -> Tuple[Any, ...]:
    (indices,) = ctx.saved_tensors
    padding = -1 if ctx.padding is None else ctx.padding
    return None, torch.ops.aten.embedding_dense_backward(by, indices, ctx.rows, padding, False), None


define(
    "embedding(Tensor input, Tensor weight, int? padding_idx) -> Tensor",
    functional.embedding,
    lambda input, weight, padding: empty(weight, (*input.shape, weight.shape[1])),
    _embedding_backward,
    _save_embedding,
)


def embedding(input: torch.Tensor, weight: torch.Tensor, padding_idx: Optional[int] = None) -> torch.Tensor:
    """As torch.nn.functional.embedding. Backplane has no sum over equal indices, so torch computes the gradient."""
    if padding_idx is not None and padding_idx < 0:
        padding_idx += weight.shape[0]
    return ops.embedding(input, weight, padding_idx)
