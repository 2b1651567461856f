"""Registers operators with torch: what they compute, the shapes of their results, and their gradients."""

from __future__ import annotations

from typing import Any, Callable, List, NoReturn, Optional, Sequence, Tuple, Union

import torch

from .._errors import bad_value

if not hasattr(torch, "library"):
    raise ImportError("backplane.torch needs PyTorch, but the name torch is Backplane's now; call backplane.uninstall_as_torch() first")

Numbers = Union[int, Sequence[int]]

_LIBRARY = torch.library.Library("backplane", "DEF")
ops: Any = torch.ops.backplane


def plain(x: Any) -> Any:
    """Returns what the functions of Backplane take: a tensor without a gradient. Other values stay."""
    return x.detach() if isinstance(x, torch.Tensor) else x


def define(
    schema: str,
    compute: Callable[..., Any],
    fake: Callable[..., Any],
    backward: Optional[Callable[..., Any]] = None,
    save: Optional[Callable[..., None]] = None,
) -> None:
    """Defines an operator. ``fake`` makes empty results of the right shapes and types. ``backward`` returns the gradients by the
    inputs, with what ``save`` has stored in its context; without it the operator is a gradient itself, and has none."""
    name = schema.partition("(")[0]

    def run(*arguments: Any) -> Any:
        return compute(*[[plain(one) for one in x] if isinstance(x, list) else plain(x) for x in arguments])

    _LIBRARY.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    _LIBRARY.impl(name, run, "CPU")
    torch.library.register_fake(f"backplane::{name}", fake, lib=_LIBRARY)
    torch.library.register_autograd(f"backplane::{name}", backward or _refuse_gradient, setup_context=save, lib=_LIBRARY)


def _refuse_gradient(ctx: Any, *by: Any) -> NoReturn:
    raise RuntimeError("backplane: gradients of gradients are not computed")


def empty(x: torch.Tensor, shape: Optional[Sequence[Any]] = None) -> torch.Tensor:
    """An empty, contiguous tensor of this type, with the shape of ``x`` or another one."""
    return torch.empty(x.shape if shape is None else tuple(shape), dtype=x.dtype, device=x.device)


def image(x: torch.Tensor, shape: Optional[Sequence[Any]] = None) -> torch.Tensor:
    """As ``empty``, for a result that is an image: its channels are the last ones in memory if the channels of ``x`` are, which is decided as in
    described_call.c."""
    sizes = tuple(x.shape if shape is None else shape)
    if len(sizes) != x.dim() or not _is_channels_last(x):
        return empty(x, sizes)
    return empty(x, (sizes[0], *sizes[2:], sizes[1])).movedim(-1, 1)


def _is_channels_last(x: torch.Tensor) -> bool:
    least: Any = 0
    if x.dim() < 3 or x.stride(1) == 0:
        return False
    for d in (1, *range(x.dim() - 1, 1, -1), 0):
        if x.shape[d] == 0 or x.stride(d) < least or (d == 0 and least == x.stride(1)):
            return False
        least = x.stride(d) * x.shape[d] if x.shape[d] > 1 else x.stride(d)
    return True


def ordered(x: torch.Tensor) -> torch.Tensor:
    """As ``empty``, for a function of single elements: the dimensions have the order in memory that they have in ``x``, as in results.c."""
    places = [d for d in range(x.dim()) if x.stride(d) != 0]
    order = list(range(x.dim()))
    for place, d in zip(places, sorted(places, key=lambda d: -x.stride(d))):
        order[place] = d
    return empty(x, [x.shape[d] for d in order]).permute([order.index(d) for d in range(x.dim())])


def several(value: Numbers, count: int, name: str) -> Tuple[int, ...]:
    """Returns a number for each dimension."""
    numbers = (value,) * count if isinstance(value, int) else tuple(value)
    if len(numbers) == 1:
        numbers *= count
    if len(numbers) != count:
        raise bad_value(f"{name}: {value!r} has {len(numbers)} numbers; it must have 1 or {count}")
    return numbers


def batched(x: torch.Tensor, ndim: int, name: str) -> Tuple[torch.Tensor, bool]:
    """Returns the tensor with a dimension of items, and whether that was added."""
    if x.dim() == ndim - 1:
        return x.unsqueeze(0), True
    if x.dim() != ndim:
        raise bad_value(f"{name}: input has {x.dim()} dimensions; it must have {ndim - 1} or {ndim}", "E_SHAPE")
    return x, False


def named(function: Any, name: str, what: str) -> Any:
    """Gives a function that was made for a name this name, and its help."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As {what}."
    return function


def for_dimensions(make: Callable[[int], Any], name: str) -> List[Any]:
    """Returns the functions for one, two and three dimensions, which ``make`` makes."""
    names = [name.format(n) for n in (1, 2, 3)]
    return [named(make(n), one, f"torch.nn.functional.{one}") for n, one in enumerate(names, 1)]
