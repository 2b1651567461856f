"""Pooling for backplane.nn.functional, and its gradients for backplane.nn.grad. Each function stands for the functions of one to three
dimensions."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Dict, Optional, Sequence, Tuple, Union

from .. import _core
from .._convert import exact, shape_of
from .._errors import bad_type, bad_value, whole
from .._products import _like
from ._convolution import _size
from ._functions import for_each_ndim

if TYPE_CHECKING:
    from .._types import Flag, Kind, Numbers, Operand, Out, SettingsArgument, Sizes

def _output_size(size: Any, sizes: Tuple[int, ...], ndim: int) -> Any:
    """Returns the sizes of adaptive pooling; None stands for the input's size."""
    given = size if isinstance(size, (tuple, list)) else (size,)
    if not any(one is None for one in given):
        return size
    given = tuple(given) * ndim if len(given) == 1 else given
    return tuple(sizes[len(sizes) - ndim + d] if n is None and len(sizes) >= ndim else n for d, n in enumerate(given))


def _sizes(array: Any, size: Any, ndim: int, of: Dict[str, Any]) -> Dict[str, Any]:
    """Returns the fields that are numbers for each dimension."""
    if "output_size" in of:
        return {"output_size": _output_size(of["output_size"], shape_of(array) if size is None else size, ndim)}
    given: Dict[str, Any] = {name: of[name] for name in ("kernel_size", "stride", "padding", "dilation") if name in of}
    stride = given["stride"]
    if stride is None or (isinstance(stride, (tuple, list)) and not stride):  # PyTorch's words for the kernel's sizes
        del given["stride"]
    return given


def _divisor(of: Dict[str, Any]) -> int:
    given = of.get("divisor_override")
    if given is None:
        return 0
    divisor = whole(given)
    if divisor is None:
        raise bad_type(f"divisor_override: expects a whole number or None, but got {given!r}")
    if divisor == 0:
        raise bad_value("divisor_override: must not be 0")
    return divisor


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
        ceil_mode=not adaptive and of["ceil_mode"],
        exclude_padding=not of.get("count_include_pad", True) and divisor == 0,
        divisor=divisor,
        input=array if forward else None,
        grad_output=None if forward else array,
        indices=of.get("indices"),
        **_sizes(array, size, ndim, of),
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
    results = _call(kind, ndim, gradient, ("input_gradient",), size, of, explains)
    return results if explains else results[0]


_FUNCTIONS = functools.partial(for_each_ndim, "backplane.nn.functional")
_GRADIENTS = functools.partial(for_each_ndim, "backplane.nn.grad")
_MAX, _AVERAGE = (functools.partial(_forward, kind) for kind in ("max", "average"))
_MAX_GRADIENT, _AVERAGE_GRADIENT = (functools.partial(_gradient, kind) for kind in ("max", "average"))
_KERNEL = """``stride`` is ``kernel_size`` by default. ``kernel_size``, ``stride`` and ``padding`` are numbers, or tuples with one for
    each dimension. With ``ceil_mode`` the size of the output is rounded up."""


@_FUNCTIONS("max_pool{ndim}d", _MAX, kernel=_KERNEL)
def max_pool(
    input: Kind,
    kernel_size: Numbers,
    stride: Optional[Numbers] = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: Flag = False,
    *,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Union[Kind, Tuple[Kind, Kind]]:
    """Returns the maxima of windows of ``input`` (N x C x {ndim} sizes; N may be missing).

    As torch.nn.functional.max_pool{ndim}d. With ``return_indices``, returns a tuple of the maxima and the place of each
    in its channel, as PyTorch does.

    {kernel}

    Shapes: N x C x {ndim} sizes, or C x {ndim} sizes; the result has the number of windows as sizes, and so have the places, which are i64.

    >>> x = np.arange(4.0**{ndim}).reshape((1, 1) + (4,) * {ndim})
    >>> bool(backplane.nn.functional.max_pool{ndim}d(x, 2).max() == x.max())
    True
    """
    return locals()


@_FUNCTIONS("avg_pool{ndim}d", _AVERAGE, kernel=_KERNEL)
def avg_pool(
    input: Kind,
    kernel_size: Numbers,
    stride: Optional[Numbers] = None,
    padding: Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Optional[int] = None,
    *,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    """Returns the averages of windows of ``input`` (N x C x {ndim} sizes; N may be missing).

    As torch.nn.functional.avg_pool{ndim}d. ``divisor_override`` replaces the number of elements.

    {kernel}

    Shapes: N x C x {ndim} sizes, or C x {ndim} sizes; the result has the number of windows as sizes.
    Errors: BadValueError: divisor_override is 0

    >>> x = np.arange(4.0**{ndim}).reshape((1, 1) + (4,) * {ndim})
    >>> bool(backplane.nn.functional.avg_pool{ndim}d(x, 4).item() == x.mean())
    True
    """
    return locals()


@_FUNCTIONS("adaptive_max_pool{ndim}d", _MAX)
def adaptive_max_pool(
    input: Kind, output_size: Sizes, return_indices: Flag = False, *, out: Optional[Out] = None, settings: SettingsArgument = None
) -> Union[Kind, Tuple[Kind, Kind]]:
    """Returns the maxima of ``output_size`` windows that cover ``input`` (N x C x {ndim} sizes; N may be missing).

    As torch.nn.functional.adaptive_max_pool{ndim}d. A size of None is the input's. With ``return_indices``, returns a
    tuple of the maxima and the place of each in its channel, as PyTorch does.

    Shapes: N x C x {ndim} sizes, or C x {ndim} sizes; the result has the sizes ``output_size``, and so have the places, which are i64.

    >>> x = np.arange(4.0**{ndim}).reshape((1, 1) + (4,) * {ndim})
    >>> bool(backplane.nn.functional.adaptive_max_pool{ndim}d(x, 1).item() == x.max())
    True
    """
    return locals()


@_FUNCTIONS("adaptive_avg_pool{ndim}d", _AVERAGE)
def adaptive_avg_pool(input: Kind, output_size: Sizes, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Returns the averages of ``output_size`` windows that cover ``input`` (N x C x {ndim} sizes; N may be missing).

    As torch.nn.functional.adaptive_avg_pool{ndim}d. A size of None is the input's. ``out`` is written in place and
    returned.

    Shapes: N x C x {ndim} sizes, or C x {ndim} sizes; the result has the sizes ``output_size``.

    >>> x = np.arange(4.0**{ndim}).reshape((1, 1) + (4,) * {ndim})
    >>> bool(backplane.nn.functional.adaptive_avg_pool{ndim}d(x, 1).item() == x.mean())
    True
    """
    return locals()


@_GRADIENTS("max_pool{ndim}d_input", _MAX_GRADIENT, kernel=_KERNEL)
def max_pool_gradient(
    input_size: Sequence[int],
    indices: Operand,
    grad_output: Kind,
    kernel_size: Numbers,
    stride: Optional[Numbers] = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    *,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    """Computes the gradient of max_pool{ndim}d() by its input, of shape ``input_size``, from the ``indices`` that it returned.

    {kernel}

    Shapes: ``grad_output`` and ``indices`` as the output of max_pool{ndim}d(); the result has the shape ``input_size``.

    >>> x = np.arange(4.0**{ndim}).reshape((1, 1) + (4,) * {ndim})
    >>> y, places = backplane.nn.functional.max_pool{ndim}d(x, 2, return_indices=True)
    >>> bool(backplane.nn.grad.max_pool{ndim}d_input(x.shape, places, np.ones_like(y), 2).sum() == y.size)
    True
    """
    return locals()


@_GRADIENTS("avg_pool{ndim}d_input", _AVERAGE_GRADIENT, kernel=_KERNEL)
def avg_pool_gradient(
    input_size: Sequence[int],
    grad_output: Kind,
    kernel_size: Numbers,
    stride: Optional[Numbers] = None,
    padding: Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Optional[int] = None,
    *,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    """Computes the gradient of avg_pool{ndim}d() by its input, of shape ``input_size``.

    {kernel}

    Shapes: ``grad_output`` as the output of avg_pool{ndim}d(); the result has the shape ``input_size``.
    Errors: BadValueError: divisor_override is 0

    >>> backplane.nn.grad.avg_pool{ndim}d_input((1, 1) + (2,) * {ndim}, np.ones((1, 1) + (1,) * {ndim}), 2).sum().item()
    1.0
    """
    return locals()


@_GRADIENTS("adaptive_max_pool{ndim}d_input", _MAX_GRADIENT)
def adaptive_max_pool_gradient(
    input_size: Sequence[int], indices: Operand, grad_output: Kind, *, out: Optional[Out] = None, settings: SettingsArgument = None
) -> Kind:
    """Computes the gradient of adaptive_max_pool{ndim}d() by its input, of shape ``input_size``, from the ``indices`` that it
    returned.

    Shapes: ``grad_output`` and ``indices`` as the output of adaptive_max_pool{ndim}d(); the result has the shape ``input_size``.

    >>> x = np.arange(4.0**{ndim}).reshape((1, 1) + (4,) * {ndim})
    >>> y, places = backplane.nn.functional.adaptive_max_pool{ndim}d(x, 2, return_indices=True)
    >>> bool(backplane.nn.grad.adaptive_max_pool{ndim}d_input(x.shape, places, np.ones_like(y)).sum() == y.size)
    True
    """
    return locals()


@_GRADIENTS("adaptive_avg_pool{ndim}d_input", _AVERAGE_GRADIENT)
def adaptive_avg_pool_gradient(
    input_size: Sequence[int], grad_output: Kind, *, out: Optional[Out] = None, settings: SettingsArgument = None
) -> Kind:
    """Computes the gradient of adaptive_avg_pool{ndim}d() by its input, of shape ``input_size``.

    Shapes: ``grad_output`` as the output of adaptive_avg_pool{ndim}d(); the result has the shape ``input_size``.

    >>> backplane.nn.grad.adaptive_avg_pool{ndim}d_input((1, 1) + (2,) * {ndim}, np.ones((1, 1) + (1,) * {ndim})).sum().item()
    1.0
    """
    return locals()
