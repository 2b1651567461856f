"""Attention for backplane.nn.functional, and its gradients for backplane.nn.grad."""

from __future__ import annotations

import secrets
import warnings
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple, Union

from .. import _core
from .._convert import WHOLE, exact, type_of, with_numpy
from .._errors import bad_type, bad_value
from .._products import _is_numpy, _is_torch, _like
from .._quick import described
from . import attention as switches
from ._functions import function
from .attention.bias import CausalBias

if TYPE_CHECKING:
    from .._types import Flag, Kind, Next, Operand, Out, Seed, SettingsArgument

def _words(seed: Seed) -> Tuple[int, int]:
    """Returns seed and offset; 64 bits of each count."""
    if seed is None:
        return secrets.randbits(64), 0
    pair = seed if isinstance(seed, tuple) else (seed, 0)
    if len(pair) != 2 or not all(hasattr(word, "__index__") for word in pair):
        raise bad_type(f"seed: is {seed!r}; it must be an integer or a tuple of two, seed and offset")
    return pair[0], pair[1]


def _mask(name: str, mask: Any) -> Any:
    """Returns the mask; lists become arrays. Integers are refused, as by PyTorch: 0 and 1 may be meant as bools."""
    if mask is None:
        return None
    mask = with_numpy(name, (mask,))[0]
    dtype = getattr(mask, "dtype", None)
    if str(dtype).endswith("bool"):
        return mask
    own = type_of(mask) if not _is_numpy(mask) and not _is_torch(mask) else ""
    if own == "bool":
        return mask
    if getattr(dtype, "kind", "") in ("i", "u") or "int" in str(dtype) or own in WHOLE:
        raise bad_type(f"attn_mask: is {own or dtype}; it must be bool, float32, or of the type of query")
    return exact(name, mask)


def _whole(numbers: Any) -> Any:
    """Returns a table of pages or lengths; lists become arrays."""
    return with_numpy("scaled_dot_product_attention", (numbers,))[0] if isinstance(numbers, (list, tuple)) else numbers


def _window(window: Any) -> Tuple[int, int]:
    """Returns the limits of a window on both sides; None is no limit."""
    if window is None:
        return -1, -1
    if not isinstance(window, (tuple, list)) or len(window) != 2 or not all(hasattr(side, "__index__") for side in window):
        raise bad_type(f"window: is {window!r}; it must be two integers, the keys behind and ahead of a query's position, or None")
    return window[0], window[1]


def _without_bias(of: Dict[str, Any]) -> Dict[str, Any]:
    """Replaces a causal mask without an array, also of torch, by flags."""
    bias = of["attn_mask"]
    if not isinstance(bias, CausalBias) and type(bias).__module__ != "torch.nn.attention.bias":
        return of
    if of["is_causal"] or of["lower_right"]:
        raise bad_value(f"attn_mask: is {bias!r}; is_causal and lower_right must be False then")
    lengths = of["query"].shape[-2], of["key"].shape[-2]
    if lengths != (bias.seq_len_q, bias.seq_len_kv):
        raise bad_value(f"attn_mask: is for {bias.seq_len_q} queries and {bias.seq_len_kv} keys, but there are {lengths[0]} and {lengths[1]}")
    return dict(of, attn_mask=None, is_causal=True, lower_right=int(bias.variant) == 2)


def _run(name: str, pass_: str, wanted: Tuple[str, ...], of: Dict[str, Any], explains: bool) -> Any:
    """Runs or explains a call whose arguments are `of`. Returns query, key and value as arrays, and the wanted results."""
    inputs = exact(name, of["query"]), exact(name, of["key"]), exact(name, of["value"])
    of = _without_bias(dict(of, query=inputs[0], key=inputs[1]))
    scale, window = of["scale"], _window(of["window"])
    has_window = window != (-1, -1)
    results = _core.call(
        "attention",
        wanted,
        None,
        of.get("out"),
        of["settings"],
        explains,
        pass_=pass_,
        is_causal=of["is_causal"],
        enable_gqa=of["enable_gqa"],
        has_scale=scale is not None,
        scale=0.0 if scale is None else scale,
        dropout_p=of["dropout_p"],
        query=inputs[0],
        key=inputs[1],
        value=inputs[2],
        attn_mask=_mask(name, of["attn_mask"]),
        seed=_words(of["seed"]) if of["dropout_p"] > 0 else None,
        output=of.get("output"),
        logsumexp=of.get("logsumexp"),
        grad_output=of.get("grad_output"),
        pages=_whole(of.get("pages")),
        lengths=_whole(of["lengths"]),
        softcap=of["softcap"],
        has_window=has_window,
        lower_right=of["lower_right"],
        window_left=window[0] if has_window else 0,
        window_right=window[1] if has_window else 0,
    )
    return results if explains else (inputs, results)


def _warn_if_unfused(name: str, of: Dict[str, Any]) -> None:
    """Warns if the program asks for it, and all kernels but math were refused."""
    if not switches.WARN_FOR_UNFUSED_KERNELS:
        return
    plan = _core.last_plan()
    if plan is None or plan["algorithm"] != "math":
        return
    page = _run(name, "forward", ("output",), dict(of, seed=of["seed"] or 0), True)
    others = [one for one in page["candidates"] if one["algorithm"] != "math"]
    if others and not any(one["accepted"] for one in others):
        reasons = "; ".join(f"{one['algorithm'] or one['provider']}: {one['text']}" for one in others)
        warnings.warn(f"{name}: no fused kernel accepts the call, and math runs: {reasons}", stacklevel=4)


def _attend(name: str, of: Dict[str, Any], explains: bool) -> Any:
    wanted = ("output", "logsumexp") if of["return_logsumexp"] else ("output",)
    found = _run(name, "forward", wanted, of, explains)
    if explains:
        return found
    inputs, results = found
    _warn_if_unfused(name, of)
    output = of["out"] if results[0] is None else _like(results[0], *inputs)
    return (output, _like(results[1], *inputs)) if of["return_logsumexp"] else output


def _differentiate(name: str, of: Dict[str, Any], explains: bool) -> Any:
    if of["dropout_p"] > 0 and of["seed"] is None:
        raise bad_type("seed: is None; gradients need the seed of the call that they belong to")
    if of["mask_gradient"] and of["attn_mask"] is None:
        raise bad_value("mask_gradient: is True, but attn_mask is None; there is no mask to differentiate by")
    wanted = ("query_gradient", "key_gradient", "value_gradient", *(("mask_gradient",) if of["mask_gradient"] else ()))
    found = _run(name, "backward", wanted, of, explains)
    return found if explains else tuple(_like(one, *found[0]) for one in found[1])


_QUICK = described(
    "attention",
    ("query", "key", "value"),
    3,
    {"pass_": "forward"},
    ("is_causal", "enable_gqa"),
    unless=(vars(switches), "WARN_FOR_UNFUSED_KERNELS"),
)


@function("backplane.nn.functional", _attend, form=_QUICK)
def scaled_dot_product_attention(
    query: Kind,
    key: Next,
    value: Next,
    attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
    *,
    softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False,
    pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None,
    seed: Seed = None,
    return_logsumexp: Flag = False,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Union[Kind, Tuple[Kind, Kind]]:
    """Computes attention: ``softmax(query key' scale + mask) value``, with ``scale`` 1 / square root of the last size.

    The arguments and the rules of broadcasting are as in torch.nn.functional.scaled_dot_product_attention. A mask of bools is True
    where a key may be used; a mask and ``is_causal`` together are refused. Rows without a usable key are 0. With ``dropout_p``,
    weights are always dropped. ``seed`` (or a tuple of seed and offset, see attention.h) repeats them; without it they are random.
    With ``return_logsumexp``, returns a tuple of output and logsumexp, for the gradients.

    With ``softcap``, a score is ``softcap tanh(score / softcap)`` before the mask is added. ``window`` has two numbers: a query sees so
    many keys behind and ahead of its position, -1 is no limit. The position of query i is i, and with ``lower_right`` it is counted from
    the last key, which the last query then has. ``lengths`` has a number of keys for each index of the first dimension; the others are
    not read. ``attn_mask`` may also be a mask of ``nn.attention.bias``.

    With ``pages`` and ``lengths``, key and value are pools of pages, ``(pages, rows, heads, columns)``, and query has the shape
    ``(items, heads, rows, columns)``. ``pages`` has the numbers of each item's pages in a row, ``lengths`` the number of its keys;
    positions are counted from the last one.

    Shapes: ``query`` ... x L x E, ``key`` ... x S x E, ``value`` ... x S x V; ``attn_mask`` broadcasts to ... x L x S; the result ... x L x V, the logsumexp ... x L.
    Types: f16, bf16, f32 and f64, one for query, key and value; the mask bool, f32 or as query.
    Errors: BadTypeError: the mask has integers, or seed is not a number

    >>> q = np.zeros((1, 2, 4))
    >>> backplane.nn.functional.scaled_dot_product_attention(q, q, np.ones((1, 2, 3)))[0, 0]
    array([1., 1., 1.])
    """
    return locals()


@function("backplane.nn.grad", _differentiate)
def scaled_dot_product_attention_gradients(
    grad_output: Operand,
    query: Kind,
    key: Next,
    value: Next,
    output: Operand,
    logsumexp: Operand,
    attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
    *,
    softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False,
    lengths: Optional[Operand] = None,
    seed: Seed = None,
    mask_gradient: Flag = False,
    settings: SettingsArgument = None,
) -> Union[Tuple[Kind, Kind, Kind], Tuple[Kind, Kind, Kind, Kind]]:
    """Computes the gradients of scaled_dot_product_attention() by query, key and value, as a tuple.

    ``output`` and ``logsumexp`` are what that call returned; all other arguments are as in that call. With
    ``mask_gradient``, a fourth element is the gradient by ``attn_mask``, which must not be a mask of bools.

    Shapes: as in the call that they belong to; each result is as the array that it is the gradient by.
    Errors: BadTypeError: there is dropout, and seed is None
    Errors: BadValueError: mask_gradient is True, and there is no mask

    >>> q = np.ones((1, 2, 4))
    >>> y, sums = backplane.nn.functional.scaled_dot_product_attention(q, q, q, return_logsumexp=True)
    >>> by_value = backplane.nn.grad.scaled_dot_product_attention_gradients(np.ones_like(y), q, q, q, y, sums)[2]
    >>> round(by_value.sum().item(), 12)
    8.0
    """
    return locals()  # type: ignore[return-value]
