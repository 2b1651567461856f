"""Makes the functions of backplane.nn.functional and backplane.nn.grad: their arguments, help and explanations."""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Optional, Protocol, Tuple, Union

from .. import _core
from .._convert import exact
from .._dimensions import bound
from .._errors import bad_type, bad_value
from .._products import _EXPLAINERS, SettingsArgument, _like

Numbers = Union[int, Tuple[int, ...]]
Padding = Union[str, int, Tuple[int, ...]]


def _each(name: str, numbers: Any, ndim: int) -> Tuple[int, ...]:
    """Returns one number for each dimension; a single one is for all."""
    if hasattr(numbers, "__index__"):
        return (numbers,) * ndim
    try:
        given = tuple(numbers)
    except TypeError:
        raise bad_type(f"{name}: expects a whole number or a tuple of them, but got {numbers!r}") from None
    return given * ndim if len(given) == 1 else given


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
        groups=-1 if groups == 0 else groups,  # 0 is no default here
        stride=_each("stride", of["stride"], ndim),
        dilation=_each("dilation", of["dilation"], ndim),
        padding=None if named else _each("padding", padding, ndim),
        output_padding=_each("output_padding", of["output_padding"], ndim) if transposed else None,
        mode=padding if named else "explicit",
        **arrays,
    )
    return results if explains else of["out"] if results[0] is None else _like(results[0], *tuple(arrays.values())[:2])


def _forward(kind: Tuple[str, int, bool], name: str, of: Dict[str, Any], explains: bool) -> Any:
    input, weight = exact(name, of["input"]), exact(name, of["weight"])
    bias = None if of["bias"] is None else exact(name, of["bias"])
    return _call(kind, of, "output", None, explains, input=input, weight=weight, bias=bias)


class _Convolution(Protocol):
    """The type of conv1d(), conv2d() and conv3d()."""

    def __call__(
        self,
        input: Any,
        weight: Any,
        bias: Any = None,
        stride: Numbers = 1,
        padding: Padding = 0,
        dilation: Numbers = 1,
        groups: int = 1,
        *,
        out: Any = None,
        settings: SettingsArgument = None,
    ) -> Any: ...


class _Transposed(Protocol):
    """The type of conv_transpose1d(), conv_transpose2d() and conv_transpose3d()."""

    def __call__(
        self,
        input: Any,
        weight: Any,
        bias: Any = None,
        stride: Numbers = 1,
        padding: Numbers = 0,
        output_padding: Numbers = 0,
        groups: int = 1,
        dilation: Numbers = 1,
        *,
        out: Any = None,
        settings: SettingsArgument = None,
    ) -> Any: ...


class _InputGradient(Protocol):
    """The type of conv1d_input(), conv2d_input() and conv3d_input()."""

    def __call__(
        self,
        input_size: Tuple[int, ...],
        weight: Any,
        grad_output: Any,
        stride: Numbers = 1,
        padding: Padding = 0,
        dilation: Numbers = 1,
        groups: int = 1,
        *,
        out: Any = None,
        settings: SettingsArgument = None,
    ) -> Any: ...


class _WeightGradient(Protocol):
    """The type of conv1d_weight(), conv2d_weight() and conv3d_weight()."""

    def __call__(
        self,
        input: Any,
        weight_size: Tuple[int, ...],
        grad_output: Any,
        stride: Numbers = 1,
        padding: Padding = 0,
        dilation: Numbers = 1,
        groups: int = 1,
        *,
        out: Any = None,
        settings: SettingsArgument = None,
    ) -> Any: ...


def _finish(function: Any, module: str, name: str, text: str, run: Callable[[str, Dict[str, Any], bool], Any]) -> Any:
    """Gives a function its name, help, and the function that explains its calls."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = text

    def explain(*arguments: Any, **names: Any) -> Dict[str, Any]:
        page: Dict[str, Any] = run(name, dict(bound(function, arguments, names)), True)
        return page

    _EXPLAINERS[function] = explain
    return function


_ARGUMENTS = """

    ``stride``, ``padding`` and ``dilation`` are numbers, or tuples with one for each dimension. ``out`` is written in place and
    returned.
    """


def convolution(ndim: int) -> _Convolution:
    kind = ("forward", ndim, False)
    run = functools.partial(_forward, kind)

    def call(
        input: Any,
        weight: Any,
        bias: Any = None,
        stride: Numbers = 1,
        padding: Padding = 0,
        dilation: Numbers = 1,
        groups: int = 1,
        *,
        out: Any = None,
        settings: SettingsArgument = None,
    ) -> Any:
        of = dict(input=input, weight=weight, bias=bias, stride=stride, padding=padding, dilation=dilation, groups=groups)
        return run(call.__name__, dict(of, out=out, settings=settings), False)

    text = f"""Convolves ``input`` (N x C x {ndim} sizes; N may be missing) with ``weight`` (K x C/groups x {ndim} sizes).

    As torch.nn.functional.conv{ndim}d. ``padding`` may also be "same" or "valid".{_ARGUMENTS}"""
    function: _Convolution = _finish(call, "backplane.nn.functional", f"conv{ndim}d", text, run)
    return function


def transposed(ndim: int) -> _Transposed:
    run = functools.partial(_forward, ("forward", ndim, True))

    def call(
        input: Any,
        weight: Any,
        bias: Any = None,
        stride: Numbers = 1,
        padding: Numbers = 0,
        output_padding: Numbers = 0,
        groups: int = 1,
        dilation: Numbers = 1,
        *,
        out: Any = None,
        settings: SettingsArgument = None,
    ) -> Any:
        of = dict(input=input, weight=weight, bias=bias, stride=stride, padding=padding, output_padding=output_padding)
        return run(call.__name__, dict(of, groups=groups, dilation=dilation, out=out, settings=settings), False)

    text = f"""Applies the transpose of a convolution to ``input``, with ``weight`` (C x K/groups x {ndim} sizes).

    As torch.nn.functional.conv_transpose{ndim}d.{_ARGUMENTS}"""
    function: _Transposed = _finish(call, "backplane.nn.functional", f"conv_transpose{ndim}d", text, run)
    return function


def input_gradient(ndim: int) -> _InputGradient:
    def run(name: str, of: Dict[str, Any], explains: bool) -> Any:
        gradient, weight = exact(name, of["grad_output"]), exact(name, of["weight"])
        size = _size("input_size", of["input_size"])
        return _call(("input", ndim, False), of, "input", size, explains, grad_output=gradient, weight=weight)

    def call(
        input_size: Tuple[int, ...],
        weight: Any,
        grad_output: Any,
        stride: Numbers = 1,
        padding: Padding = 0,
        dilation: Numbers = 1,
        groups: int = 1,
        *,
        out: Any = None,
        settings: SettingsArgument = None,
    ) -> Any:
        of = dict(input_size=input_size, weight=weight, grad_output=grad_output, stride=stride, padding=padding)
        return run(call.__name__, dict(of, dilation=dilation, groups=groups, out=out, settings=settings), False)

    text = f"""Computes the gradient of conv{ndim}d() by its input, of shape ``input_size``.

    As torch.nn.grad.conv{ndim}d_input.{_ARGUMENTS}"""
    function: _InputGradient = _finish(call, "backplane.nn.grad", f"conv{ndim}d_input", text, run)
    return function


def weight_gradient(ndim: int) -> _WeightGradient:
    def run(name: str, of: Dict[str, Any], explains: bool) -> Any:
        input, gradient = exact(name, of["input"]), exact(name, of["grad_output"])
        size = _size("weight_size", of["weight_size"])
        return _call(("weight", ndim, False), of, "weight", size, explains, input=input, grad_output=gradient)

    def call(
        input: Any,
        weight_size: Tuple[int, ...],
        grad_output: Any,
        stride: Numbers = 1,
        padding: Padding = 0,
        dilation: Numbers = 1,
        groups: int = 1,
        *,
        out: Any = None,
        settings: SettingsArgument = None,
    ) -> Any:
        of = dict(input=input, weight_size=weight_size, grad_output=grad_output, stride=stride, padding=padding)
        return run(call.__name__, dict(of, dilation=dilation, groups=groups, out=out, settings=settings), False)

    text = f"""Computes the gradient of conv{ndim}d() by its weight, of shape ``weight_size``.

    As torch.nn.grad.conv{ndim}d_weight.{_ARGUMENTS}"""
    function: _WeightGradient = _finish(call, "backplane.nn.grad", f"conv{ndim}d_weight", text, run)
    return function
