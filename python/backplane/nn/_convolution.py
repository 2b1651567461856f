"""Convolutions for backplane.nn.functional, and their gradients for backplane.nn.grad. Each function stands for the functions of one to
three dimensions."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Dict, Optional, Sequence, Tuple

from .. import _core
from .._convert import exact
from .._errors import bad_type, bad_value
from .._products import _like
from ._functions import for_each_ndim

if TYPE_CHECKING:
    from .._types import Kind, Next, Numbers, Operand, Out, Padding, SettingsArgument


def _size(name: str, size: Any) -> Tuple[int, ...]:
    try:
        return tuple(size)
    except TypeError:
        raise bad_type(f"{name}: expects a shape, but got {size!r}") from None


def _call(kind: Tuple[str, int, bool], of: Dict[str, Any], wanted: str, size: Any, explains: bool, **arrays: Any) -> Any:
    """Runs or explains a call whose arguments are `of`, and returns what it wants."""
    pass_, ndim, transposed = kind
    padding, groups = of["padding"], of["groups"]
    named = isinstance(padding, str)
    if named and padding not in ("same", "valid"):
        raise bad_value(f"padding: expects 'same', 'valid' or numbers, but got {padding!r}", "E_ARGUMENT")
    if groups == 0:  # which is the default of the call
        raise bad_value("groups: is 0; it must be at least 1")
    sizes = {"stride": of["stride"], "dilation": of["dilation"]}
    if not named:
        sizes["padding"] = padding
    if transposed:
        sizes["output_padding"] = of["output_padding"]
    results = _core.call(
        "conv",
        (wanted,),
        size,
        of["out"],
        of["settings"],
        explains,
        pass_=pass_,
        ndim=ndim,
        transposed=transposed,
        groups=groups,
        mode=padding if named else "explicit",
        **sizes,
        **arrays,
    )
    return results if explains else of["out"] if results[0] is None else _like(results[0], *tuple(arrays.values())[:2])


def _forward(transposed: bool, ndim: int, name: str, of: Dict[str, Any], explains: bool) -> Any:
    input, weight = exact(name, of["input"]), exact(name, of["weight"])
    bias = None if of["bias"] is None else exact(name, of["bias"])
    return _call(("forward", ndim, transposed), of, "output", None, explains, input=input, weight=weight, bias=bias)


def _input(ndim: int, name: str, of: Dict[str, Any], explains: bool) -> Any:
    gradient, weight = exact(name, of["grad_output"]), exact(name, of["weight"])
    size = _size("input_size", of["input_size"])
    return _call(("input", ndim, False), of, "input_gradient", size, explains, grad_output=gradient, weight=weight)


def _weight(ndim: int, name: str, of: Dict[str, Any], explains: bool) -> Any:
    input, gradient = exact(name, of["input"]), exact(name, of["grad_output"])
    size = _size("weight_size", of["weight_size"])
    return _call(("weight", ndim, False), of, "weight_gradient", size, explains, input=input, grad_output=gradient)


_FUNCTIONS, _GRADIENTS = "backplane.nn.functional", "backplane.nn.grad"
_NUMBERS = """``stride``, ``padding`` and ``dilation`` are numbers, or tuples with one for each dimension."""


@for_each_ndim(_FUNCTIONS, "conv{ndim}d", functools.partial(_forward, False), numbers=_NUMBERS)
def convolution(
    input: Kind,
    weight: Next,
    bias: Optional[Operand] = None,
    stride: Numbers = 1,
    padding: Padding = 0,
    dilation: Numbers = 1,
    groups: int = 1,
    *,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    """Convolves ``input`` (N x C x {ndim} sizes; N may be missing) with ``weight`` (K x C/groups x {ndim} sizes).

    As torch.nn.functional.conv{ndim}d. ``padding`` may also be "same" or "valid".

    {numbers}

    Shapes: ``input`` N x C x {ndim} sizes, or C x {ndim} sizes; ``weight`` K x C/groups x {ndim} sizes; ``bias`` K; the result N x K x {ndim} sizes.
    Errors: BadValueError: padding is a word other than same and valid, or groups is 0 or does not divide the channels

    >>> x, w = np.ones((1, 1) + (3,) * {ndim}), np.ones((1, 1) + (2,) * {ndim})
    >>> bool(backplane.nn.functional.conv{ndim}d(x, w).sum() == 4**{ndim})
    True
    """
    return locals()


@for_each_ndim(_FUNCTIONS, "conv_transpose{ndim}d", functools.partial(_forward, True), numbers=_NUMBERS)
def transposed(
    input: Kind,
    weight: Next,
    bias: Optional[Operand] = None,
    stride: Numbers = 1,
    padding: Numbers = 0,
    output_padding: Numbers = 0,
    groups: int = 1,
    dilation: Numbers = 1,
    *,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    """Applies the transpose of a convolution to ``input``, with ``weight`` (C x K/groups x {ndim} sizes).

    As torch.nn.functional.conv_transpose{ndim}d.

    {numbers}

    Shapes: ``input`` N x C x {ndim} sizes, or C x {ndim} sizes; ``weight`` C x K/groups x {ndim} sizes; ``bias`` K; the result N x K x {ndim} sizes.
    Errors: BadValueError: groups is 0 or does not divide the channels, or output_padding is not below stride or dilation

    >>> x, w = np.ones((1, 1) + (3,) * {ndim}), np.ones((1, 1) + (2,) * {ndim})
    >>> backplane.nn.functional.conv_transpose{ndim}d(x, w).shape == (1, 1) + (4,) * {ndim}
    True
    """
    return locals()


@for_each_ndim(_GRADIENTS, "conv{ndim}d_input", _input, numbers=_NUMBERS)
def input_gradient(
    input_size: Sequence[int],
    weight: Next,
    grad_output: Kind,
    stride: Numbers = 1,
    padding: Padding = 0,
    dilation: Numbers = 1,
    groups: int = 1,
    *,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    """Computes the gradient of conv{ndim}d() by its input, of shape ``input_size``.

    As torch.nn.grad.conv{ndim}d_input.

    {numbers}

    Shapes: ``weight`` K x C/groups x {ndim} sizes; ``grad_output`` as the output of conv{ndim}d(); the result has the shape ``input_size``.

    >>> x, w = np.ones((1, 1) + (3,) * {ndim}), np.ones((1, 1) + (2,) * {ndim})
    >>> bool(backplane.nn.grad.conv{ndim}d_input(x.shape, w, np.ones((1, 1) + (2,) * {ndim})).max() == 2**{ndim})
    True
    """
    return locals()


@for_each_ndim(_GRADIENTS, "conv{ndim}d_weight", _weight, numbers=_NUMBERS)
def weight_gradient(
    input: Kind,
    weight_size: Sequence[int],
    grad_output: Next,
    stride: Numbers = 1,
    padding: Padding = 0,
    dilation: Numbers = 1,
    groups: int = 1,
    *,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    """Computes the gradient of conv{ndim}d() by its weight, of shape ``weight_size``.

    As torch.nn.grad.conv{ndim}d_weight.

    {numbers}

    Shapes: ``input`` N x C x {ndim} sizes; ``grad_output`` as the output of conv{ndim}d(); the result has the shape ``weight_size``.

    >>> x, w = np.ones((1, 1) + (3,) * {ndim}), np.ones((1, 1) + (2,) * {ndim})
    >>> bool(backplane.nn.grad.conv{ndim}d_weight(x, w.shape, np.ones((1, 1) + (2,) * {ndim})).max() == 2**{ndim})
    True
    """
    return locals()
