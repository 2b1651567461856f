"""Scaled dot product attention."""

from __future__ import annotations

from typing import Any, Optional, Tuple

import torch

from ..nn import functional, grad
from ._operators import define, empty, ops

__all__ = ["scaled_dot_product_attention"]

_FIELDS = "Tensor? mask, float dropout_p, bool is_causal, float? scale, bool enable_gqa, Tensor? seed"


def _number(seed: Optional[torch.Tensor]) -> Optional[int]:
    return None if seed is None else int(seed.item())


def _forward(q: Any, k: Any, v: Any, mask: Any, dropout_p: float, causal: bool, scale: Any, gqa: bool, seed: Any) -> Any:
    return functional.scaled_dot_product_attention(
        q, k, v, mask, dropout_p, causal, scale, gqa, seed=_number(seed), return_logsumexp=True
    )


def _gradients(
    by: Any, q: Any, k: Any, v: Any, output: Any, logsumexp: Any, mask: Any, dropout_p: float, causal: bool, scale: Any, gqa: bool,
    seed: Any, of_mask: bool,
) -> Any:
    found = grad.scaled_dot_product_attention_gradients(
        by, q, k, v, output, logsumexp, mask, dropout_p, causal, scale, gqa, seed=_number(seed), mask_gradient=of_mask
    )
    return tuple(found) if of_mask else (*found, by.new_empty(0))


def _fake_forward(q: Any, k: Any, v: Any, *rest: Any) -> Tuple[torch.Tensor, torch.Tensor]:
    rows = torch.broadcast_shapes(q.shape[:-2], v.shape[:-2]) if not rest[4] else q.shape[:-2]
    kind = torch.float64 if q.dtype == torch.float64 else torch.float32
    return empty(q, (*rows, q.shape[-2], v.shape[-1])), torch.empty((*rows, q.shape[-2]), dtype=kind, device=q.device)


def _fake_gradients(by: Any, q: Any, k: Any, v: Any, output: Any, logsumexp: Any, mask: Any, *rest: Any) -> Tuple[torch.Tensor, ...]:
    return empty(q), empty(k), empty(v), empty(mask) if rest[-1] else by.new_empty(0)


def _save(ctx: Any, inputs: Any, output: Any) -> None:
    q, k, v, mask, *ctx.rest, seed = inputs
    ctx.save_for_backward(q, k, v, *output, mask, seed)
    ctx.mark_non_differentiable(output[1])


def _backward(ctx: Any, by: torch.Tensor, unused: Any) -> Tuple[Any, ...]:
    *tensors, mask, seed = ctx.saved_tensors
    of_mask = ctx.needs_input_grad[3]
    by_q, by_k, by_v, by_mask = ops.attention_gradients(by, *tensors, mask, *ctx.rest, seed, of_mask)
    return by_q, by_k, by_v, by_mask if of_mask else None, *[None] * 5


define(f"attention(Tensor q, Tensor k, Tensor v, {_FIELDS}) -> (Tensor, Tensor)", _forward, _fake_forward, _backward, _save)
define(
    f"attention_gradients(Tensor by, Tensor q, Tensor k, Tensor v, Tensor output, Tensor logsumexp, {_FIELDS}, bool of_mask) "
    "-> (Tensor, Tensor, Tensor, Tensor)",
    _gradients,
    _fake_gradients,
)


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: Optional[torch.Tensor] = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """As torch.nn.functional.scaled_dot_product_attention. The seed of dropout comes from torch's generator."""
    seed = torch.randint(1 << 62, (1,)) if dropout_p > 0 else None
    return ops.attention(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa, seed)[0]
