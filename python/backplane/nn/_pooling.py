"""Makes the functions of pooling in backplane.nn.functional and backplane.nn.grad: their arguments, help and
explanations."""

from __future__ import annotations

import functools
from typing import Any, Dict, Optional, Protocol, Tuple, Union

from .. import _core
from .._convert import exact, shape_of
from .._errors import bad_value
from .._products import SettingsArgument, _like
from ._convolution import Numbers, _each, _finish, _size

Sizes = Union[None, int, Tuple[Optional[int], ...]]


def _output_size(size: Any, sizes: Tuple[int, ...], ndim: int) -> Tuple[int, ...]:
    """Returns the sizes of adaptive pooling; None stands for that of the input."""
    given: Tuple[Any, ...] = (size,) * ndim if size is None else _each("output_size", size, ndim)
    return tuple(sizes[len(sizes) - ndim + d] if n is None and len(sizes) >= ndim else n for d, n in enumerate(given))


def _divisor(of: Dict[str, Any]) -> int:
    divisor = of.get("divisor_override")
    if divisor is None:
        return 0
    if divisor == 0:
        raise bad_value("divisor_override: must not be 0")
    return int(divisor)


def _call(kind: str, ndim: int, array: Any, wanted: Tuple[str, ...], size: Any, of: Dict[str, Any], explains: bool) -> Any:
    """Runs or explains a call whose arguments are `of`; one with a size is a gradient. Returns a tuple of the results."""
    forward, adaptive = size is None, "kernel_size" not in of
    divisor = _divisor(of)
    results = _core.call(
        "pool",
        wanted,
        size,
        of["out"],
        of["settings"],
        explains,
        kind=kind,
        pass_="forward" if forward else "backward",
        ndim=ndim,
        output_size=_output_size(of["output_size"], shape_of(array) if forward else size, ndim) if adaptive else None,
        kernel_size=None if adaptive else _each("kernel_size", of["kernel_size"], ndim),
        stride=None if adaptive or of["stride"] is None or of["stride"] == () else _each("stride", of["stride"], ndim),
        dilation=None if adaptive or kind == "average" else _each("dilation", of["dilation"], ndim),
        padding=None if adaptive else _each("padding", of["padding"], ndim),
        ceil_mode=not adaptive and of["ceil_mode"],
        exclude_padding=not of.get("count_include_pad", True) and divisor == 0,
        divisor=divisor,
        input=array if forward else None,
        grad_output=None if forward else array,
        indices=of.get("indices"),
    )
    return results if explains else (of["out"] if results[0] is None else _like(results[0], array), *results[1:])


def _forward(kind: str, ndim: int, name: str, of: Dict[str, Any], explains: bool) -> Any:
    input, both = exact(name, of["input"]), of.get("return_indices")
    results = _call(kind, ndim, input, ("output", "indices") if both else ("output",), None, of, explains)
    if explains:
        return results
    return (results[0], _like(results[1], input)) if both else results[0]


def _gradient(kind: str, ndim: int, name: str, of: Dict[str, Any], explains: bool) -> Any:
    gradient, size = exact(name, of["grad_output"]), _size("input_size", of["input_size"])
    if "kernel_size" not in of:
        of = dict(of, output_size=shape_of(gradient)[len(shape_of(gradient)) - ndim :])
    results = _call(kind, ndim, gradient, ("input",), size, of, explains)
    return results if explains else results[0]


class _Max(Protocol):
    """The type of max_pool1d(), max_pool2d() and max_pool3d()."""

    def __call__(
        self,
        input: Any,
        kernel_size: Numbers,
        stride: Optional[Numbers] = None,
        padding: Numbers = 0,
        dilation: Numbers = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
        *,
        out: Any = None,
        settings: SettingsArgument = None,
    ) -> Any: ...


class _Average(Protocol):
    """The type of avg_pool2d() and avg_pool3d(), and of avg_pool1d() with the divisor in addition to PyTorch's."""

    def __call__(
        self,
        input: Any,
        kernel_size: Numbers,
        stride: Optional[Numbers] = None,
        padding: Numbers = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Optional[int] = None,
        *,
        out: Any = None,
        settings: SettingsArgument = None,
    ) -> Any: ...


class _AdaptiveMax(Protocol):
    """The type of adaptive_max_pool1d(), adaptive_max_pool2d() and adaptive_max_pool3d()."""

    def __call__(
        self,
        input: Any,
        output_size: Sizes,
        return_indices: bool = False,
        *,
        out: Any = None,
        settings: SettingsArgument = None,
    ) -> Any: ...


class _AdaptiveAverage(Protocol):
    """The type of adaptive_avg_pool1d(), adaptive_avg_pool2d() and adaptive_avg_pool3d()."""

    def __call__(
        self, input: Any, output_size: Sizes, *, out: Any = None, settings: SettingsArgument = None
    ) -> Any: ...


class _MaxGradient(Protocol):
    """The type of max_pool1d_input(), max_pool2d_input() and max_pool3d_input()."""

    def __call__(
        self,
        input_size: Tuple[int, ...],
        indices: Any,
        grad_output: Any,
        kernel_size: Numbers,
        stride: Optional[Numbers] = None,
        padding: Numbers = 0,
        dilation: Numbers = 1,
        ceil_mode: bool = False,
        *,
        out: Any = None,
        settings: SettingsArgument = None,
    ) -> Any: ...


class _AverageGradient(Protocol):
    """The type of avg_pool1d_input(), avg_pool2d_input() and avg_pool3d_input()."""

    def __call__(
        self,
        input_size: Tuple[int, ...],
        grad_output: Any,
        kernel_size: Numbers,
        stride: Optional[Numbers] = None,
        padding: Numbers = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Optional[int] = None,
        *,
        out: Any = None,
        settings: SettingsArgument = None,
    ) -> Any: ...


class _AdaptiveMaxGradient(Protocol):
    """The type of adaptive_max_pool1d_input(), adaptive_max_pool2d_input() and adaptive_max_pool3d_input()."""

    def __call__(
        self,
        input_size: Tuple[int, ...],
        indices: Any,
        grad_output: Any,
        *,
        out: Any = None,
        settings: SettingsArgument = None,
    ) -> Any: ...


class _AdaptiveAverageGradient(Protocol):
    """The type of adaptive_avg_pool1d_input(), adaptive_avg_pool2d_input() and adaptive_avg_pool3d_input()."""

    def __call__(
        self, input_size: Tuple[int, ...], grad_output: Any, *, out: Any = None, settings: SettingsArgument = None
    ) -> Any: ...


_PLACES = "in its channel, as PyTorch does"
_KERNEL = """

    ``stride`` is ``kernel_size`` by default. ``kernel_size``, ``stride`` and ``padding`` are numbers, or tuples with one for
    each dimension. With ``ceil_mode`` the size of the output is rounded up. ``out`` is written in place and returned.
    """


def max_pool(ndim: int) -> _Max:
    run = functools.partial(_forward, "max", ndim)

    def call(
        input: Any,
        kernel_size: Numbers,
        stride: Optional[Numbers] = None,
        padding: Numbers = 0,
        dilation: Numbers = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
        *,
        out: Any = None,
        settings: SettingsArgument = None,
    ) -> Any:
        of = dict(input=input, kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation)
        of.update(ceil_mode=ceil_mode, return_indices=return_indices, out=out, settings=settings)
        return run(call.__name__, of, False)

    text = f"""Returns the maxima of windows of ``input`` (N x C x {ndim} sizes; N may be missing).

    As torch.nn.functional.max_pool{ndim}d. With ``return_indices``, returns a tuple of the maxima and the place of each
    {_PLACES}.{_KERNEL}"""
    function: _Max = _finish(call, "backplane.nn.functional", f"max_pool{ndim}d", text, run)
    return function


def avg_pool(ndim: int) -> _Average:
    run = functools.partial(_forward, "average", ndim)

    def call(
        input: Any,
        kernel_size: Numbers,
        stride: Optional[Numbers] = None,
        padding: Numbers = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Optional[int] = None,
        *,
        out: Any = None,
        settings: SettingsArgument = None,
    ) -> Any:
        of = dict(input=input, kernel_size=kernel_size, stride=stride, padding=padding, ceil_mode=ceil_mode)
        of.update(count_include_pad=count_include_pad, divisor_override=divisor_override, out=out, settings=settings)
        return run(call.__name__, of, False)

    text = f"""Returns the averages of windows of ``input`` (N x C x {ndim} sizes; N may be missing).

    As torch.nn.functional.avg_pool{ndim}d. ``divisor_override`` replaces the number of elements.{_KERNEL}"""
    function: _Average = _finish(call, "backplane.nn.functional", f"avg_pool{ndim}d", text, run)
    return function


def adaptive_max_pool(ndim: int) -> _AdaptiveMax:
    run = functools.partial(_forward, "max", ndim)

    def call(
        input: Any,
        output_size: Sizes,
        return_indices: bool = False,
        *,
        out: Any = None,
        settings: SettingsArgument = None,
    ) -> Any:
        of = dict(input=input, output_size=output_size, return_indices=return_indices, out=out, settings=settings)
        return run(call.__name__, of, False)

    text = f"""Returns the maxima of ``output_size`` windows that cover ``input`` (N x C x {ndim} sizes; N may be missing).

    As torch.nn.functional.adaptive_max_pool{ndim}d. A size of None is that of the input. With ``return_indices``, returns a
    tuple of the maxima and the place of each {_PLACES}. ``out`` is written in place and returned.
    """
    function: _AdaptiveMax = _finish(call, "backplane.nn.functional", f"adaptive_max_pool{ndim}d", text, run)
    return function


def adaptive_avg_pool(ndim: int) -> _AdaptiveAverage:
    run = functools.partial(_forward, "average", ndim)

    def call(input: Any, output_size: Sizes, *, out: Any = None, settings: SettingsArgument = None) -> Any:
        return run(call.__name__, dict(input=input, output_size=output_size, out=out, settings=settings), False)

    text = f"""Returns the averages of ``output_size`` windows that cover ``input`` (N x C x {ndim} sizes; N may be missing).

    As torch.nn.functional.adaptive_avg_pool{ndim}d. A size of None is that of the input. ``out`` is written in place and
    returned.
    """
    function: _AdaptiveAverage = _finish(call, "backplane.nn.functional", f"adaptive_avg_pool{ndim}d", text, run)
    return function


_GRADIENT = "Computes the gradient of {name}() by its input, of shape ``input_size``"


def max_pool_gradient(ndim: int) -> _MaxGradient:
    run = functools.partial(_gradient, "max", ndim)

    def call(
        input_size: Tuple[int, ...],
        indices: Any,
        grad_output: Any,
        kernel_size: Numbers,
        stride: Optional[Numbers] = None,
        padding: Numbers = 0,
        dilation: Numbers = 1,
        ceil_mode: bool = False,
        *,
        out: Any = None,
        settings: SettingsArgument = None,
    ) -> Any:
        of = dict(input_size=input_size, indices=indices, grad_output=grad_output, kernel_size=kernel_size)
        of.update(stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode, out=out, settings=settings)
        return run(call.__name__, of, False)

    name = f"max_pool{ndim}d"
    text = f"""{_GRADIENT.format(name=name)}, from the ``indices`` that it returned.{_KERNEL}"""
    function: _MaxGradient = _finish(call, "backplane.nn.grad", f"{name}_input", text, run)
    return function


def avg_pool_gradient(ndim: int) -> _AverageGradient:
    run = functools.partial(_gradient, "average", ndim)

    def call(
        input_size: Tuple[int, ...],
        grad_output: Any,
        kernel_size: Numbers,
        stride: Optional[Numbers] = None,
        padding: Numbers = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Optional[int] = None,
        *,
        out: Any = None,
        settings: SettingsArgument = None,
    ) -> Any:
        of = dict(input_size=input_size, grad_output=grad_output, kernel_size=kernel_size, stride=stride)
        of.update(padding=padding, ceil_mode=ceil_mode, count_include_pad=count_include_pad)
        of.update(divisor_override=divisor_override, out=out, settings=settings)
        return run(call.__name__, of, False)

    name = f"avg_pool{ndim}d"
    text = f"""{_GRADIENT.format(name=name)}.{_KERNEL}"""
    function: _AverageGradient = _finish(call, "backplane.nn.grad", f"{name}_input", text, run)
    return function


def adaptive_max_pool_gradient(ndim: int) -> _AdaptiveMaxGradient:
    run = functools.partial(_gradient, "max", ndim)

    def call(
        input_size: Tuple[int, ...],
        indices: Any,
        grad_output: Any,
        *,
        out: Any = None,
        settings: SettingsArgument = None,
    ) -> Any:
        of = dict(input_size=input_size, indices=indices, grad_output=grad_output, out=out, settings=settings)
        return run(call.__name__, of, False)

    name = f"adaptive_max_pool{ndim}d"
    text = f"""{_GRADIENT.format(name=name)}, from the ``indices`` that it returned.

    ``out`` is written in place and returned.
    """
    function: _AdaptiveMaxGradient = _finish(call, "backplane.nn.grad", f"{name}_input", text, run)
    return function


def adaptive_avg_pool_gradient(ndim: int) -> _AdaptiveAverageGradient:
    run = functools.partial(_gradient, "average", ndim)

    def call(
        input_size: Tuple[int, ...], grad_output: Any, *, out: Any = None, settings: SettingsArgument = None
    ) -> Any:
        return run(call.__name__, dict(input_size=input_size, grad_output=grad_output, out=out, settings=settings), False)

    name = f"adaptive_avg_pool{ndim}d"
    text = f"""{_GRADIENT.format(name=name)}. ``out`` is written in place and returned."""
    function: _AdaptiveAverageGradient = _finish(call, "backplane.nn.grad", f"{name}_input", text, run)
    return function
