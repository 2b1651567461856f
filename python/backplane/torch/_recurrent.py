"""Recurrent layers."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch.nn import functional as F

from .._errors import bad_value
from ..nn import functional, grad
from ._operators import define, empty, named, ops

__all__ = ["gru", "lstm", "rnn_relu", "rnn_tanh"]

_RESERVES = {"lstm": 5, "gru": 4, "rnn_tanh": 0, "rnn_relu": 0}  # numbers of each state and step that the gradients need


def _fake_layer(name: str) -> Callable[..., Any]:
    def fake(input: Any, states: Any, params: Any, biases: bool, both: bool, projection: int) -> Tuple[List[torch.Tensor], torch.Tensor]:
        steps, items = input.shape[:2]
        hidden = params[1].shape[0] // {"lstm": 4, "gru": 3}.get(name, 1)
        kind = torch.float64 if input.dtype == torch.float64 else torch.float32
        shape = ((2,) if both else ()) + (steps, items, _RESERVES[name] * hidden)
        reserve = torch.empty(shape, dtype=kind, device=input.device)
        output = empty(input, (steps, items, (projection or hidden) * (1 + both)))
        return [output, *(empty(one) for one in states)], reserve

    return fake


def _layer(name: str) -> Callable[..., Any]:
    compute = getattr(functional, name)

    def run(input: Any, states: Any, params: Any, biases: bool, both: bool, projection: int) -> Tuple[List[Any], Any]:
        names: Dict[str, Any] = {"proj_size": projection} if name == "lstm" else {}
        hx = tuple(states) if name == "lstm" else states[0]
        found = compute(input, hx, params, biases, bidirectional=both, return_reserve=True, **names)
        return list(found[:-1]), found[-1]

    return run


def _gradients(name: str) -> Callable[..., Any]:
    compute = getattr(grad, f"{name}_gradients")

    def run(by: Any, input: Any, states: Any, params: Any, output: Any, reserve: Any, biases: bool, both: bool, projection: int) -> List[Any]:
        lstm = name == "lstm"
        names = {"grad_h_n": by[1], **({"grad_c_n": by[2], "proj_size": projection} if lstm else {})}
        hx = tuple(states) if lstm else states[0]
        by_input, by_hx, by_params = compute(by[0], input, hx, params, output, reserve, biases, both, **names)
        return [by_input, *(by_hx if lstm else [by_hx]), *by_params]

    return run


def _save(ctx: Any, inputs: Any, output: Any) -> None:
    input, states, params, *ctx.rest = inputs
    results, reserve = output
    ctx.counts = len(states), len(params)
    ctx.save_for_backward(input, *states, *params, results[0], reserve)
    ctx.shapes = [one.shape for one in results]


def _backward(name: str) -> Callable[..., Any]:
    def backward(ctx: Any, by: Sequence[Optional[torch.Tensor]], unused: Any) -> Tuple[Any, ...]:
        input, *tensors, output, reserve = ctx.saved_tensors
        states, params = tensors[: ctx.counts[0]], tensors[ctx.counts[0] :]
        whole = [empty(input, shape).zero_() if one is None else one for one, shape in zip(by, ctx.shapes)]
        found = getattr(ops, f"{name}_gradients")(whole, input, states, params, output, reserve, *ctx.rest)
        after = 1 + ctx.counts[0]
        return found[0], found[1:after], found[after:], None, None, None

    return backward


for _name in _RESERVES:
    define(
        f"{_name}(Tensor input, Tensor[] states, Tensor[] params, bool biases, bool both, int projection) -> (Tensor[], Tensor)",
        _layer(_name),
        _fake_layer(_name),
        _backward(_name),
        _save,
    )
    define(
        f"{_name}_gradients(Tensor[] by, Tensor input, Tensor[] states, Tensor[] params, Tensor output, Tensor reserve, bool biases, "
        "bool both, int projection) -> Tensor[]",
        _gradients(_name),
        lambda by, input, states, params, *rest: [empty(one) for one in (input, *states, *params)],
    )


def _run(
    name: str,
    input: torch.Tensor,
    states: List[torch.Tensor],
    params: Sequence[torch.Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    projection: int,
) -> Tuple[torch.Tensor, ...]:
    directions = 1 + bidirectional
    each, rest = divmod(len(params), num_layers)
    if rest or each != directions * (2 + 2 * has_biases + (projection > 0)):
        raise bad_value(f"params: {len(params)} tensors do not fit {num_layers} layers", "E_SHAPE")
    unbatched = input.dim() == 2
    if unbatched:
        input, states = input.unsqueeze(1), [one.unsqueeze(1) for one in states]
    elif batch_first:
        input = input.transpose(0, 1)
    finals: List[List[torch.Tensor]] = []
    for i in range(num_layers):
        own = [one[i * directions : (i + 1) * directions] for one in states]
        found, _ = getattr(ops, name)(input, own, list(params[i * each : (i + 1) * each]), has_biases, bidirectional, projection)
        input = found[0]
        finals.append(found[1:])
        if train and dropout > 0 and i + 1 < num_layers:
            input = F.dropout(input, dropout)
    last = [torch.cat(parts) for parts in zip(*finals)]
    if unbatched:
        return input.squeeze(1), *(one.squeeze(1) for one in last)
    return input.transpose(0, 1) if batch_first else input, *last


def _function(name: str, what: str) -> Any:
    def layers(
        input: torch.Tensor,
        hx: Any,
        params: Sequence[torch.Tensor],
        has_biases: bool = True,
        num_layers: int = 1,
        dropout: float = 0.0,
        train: bool = False,
        bidirectional: bool = False,
        batch_first: bool = False,
    ) -> Tuple[torch.Tensor, ...]:
        states = list(hx) if name == "lstm" else [hx]
        sizes = [one.shape[-1] for one in states]
        projection = sizes[0] if sizes[0] != sizes[-1] else 0
        return _run(name, input, states, params, has_biases, num_layers, dropout, train, bidirectional, batch_first, projection)

    return named(layers, name, f"torch.{name}: {what}")


lstm = _function("lstm", "output, h_n and c_n. With projections each direction has one parameter more, as in torch.nn.LSTM")
gru, rnn_tanh, rnn_relu = (_function(name, "output and h_n") for name in ("gru", "rnn_tanh", "rnn_relu"))
