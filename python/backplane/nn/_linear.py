"""Linear layers for backplane.nn.functional, and their gradients for backplane.nn.grad."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple, Union

from .. import _core
from .._convert import exact, shape_of
from .._einsum import einsum
from .._elements import one, two
from .._errors import bad_value
from .._products import _EXPLAINERS, _like
from .._quick import described
from ._functions import function

if TYPE_CHECKING:
    from .._types import Activation, Flag, Kind, Next, Operand, Out, SettingsArgument

def _optional(name: str, array: Any) -> Any:
    return None if array is None else exact(name, array)


def _is_product(weight: Any) -> bool:
    """Returns whether the weight has one dimension or a size of 0; a layer of such a weight is a product of vectors or empty."""
    shape = shape_of(weight)
    return len(shape) == 1 or len(shape) == 2 and 0 in shape


def _multiply(input: Any, weight: Any, of: Dict[str, Any], explains: bool) -> Any:
    """Computes a layer as a product, a sum and an activation. Only the last of them writes ``out``, so that a wrong bias or activation is refused
    before anything is written."""
    factor = weight if len(shape_of(weight)) == 1 else _core.from_dlpack(weight).T if not hasattr(weight, "T") else weight.T
    out, settings, activation, bias = of["out"], of["settings"], of["activation"], of["bias"]
    if activation is not None:
        _core.word("linear", "activation", activation)
    if explains:
        return _core.explain_matmul_floats(input, factor, out=out, settings=settings)
    result = _core.matmul_floats(input, factor, out=out if bias is None and activation is None else None, settings=settings)
    if bias is not None:
        result = two("add", result, exact("linear", bias), out if activation is None else None, settings, False)
    return result if activation is None else one(activation, result, out, settings, False)


def _forward(name: str, of: Dict[str, Any], explains: bool) -> Any:
    input, weight = exact(name, of["input"]), exact(name, of["weight"])
    if _is_product(weight):
        return _multiply(input, weight, of, explains)
    results = _core.call(
        "linear",
        ("output",),
        None,
        of["out"],
        of["settings"],
        explains,
        pass_="forward",
        activation=of["activation"],
        input=input,
        weight=weight,
        bias=_optional(name, of["bias"]),
    )
    return results if explains else of["out"] if results[0] is None else _like(results[0], input, weight)


def _contract(operands: Tuple[Any, ...], like: Any, settings: SettingsArgument, explains: bool) -> Any:
    """Runs or explains an einsum with lists of labels. A contraction of size 0 gives zeros."""
    return _EXPLAINERS[einsum](*operands, settings=settings) if explains else _like(einsum(*operands, settings=settings), like)


def _labels(array: Any, *last: int) -> Tuple[int, ...]:
    """Returns labels for the dimensions of an array: equal ones for equal rows, and `last` for the last dimensions."""
    return (*range(len(shape_of(array)) - len(last)), *last)


_OUT, _IN = 1000, 1001  # labels of the features


def _input(name: str, of: Dict[str, Any], explains: bool) -> Any:
    weight, gradient = exact(name, of["weight"]), exact(name, of["grad_output"])
    if _is_product(weight):
        out = () if len(shape_of(weight)) == 1 else (_OUT,)
        if out and shape_of(gradient)[-1:] != shape_of(weight)[:1]:
            raise bad_value(
                f"{name}: grad_output has shape {shape_of(gradient)}; its last size must be {shape_of(weight)[0]}, as the weight says", "E_SHAPE"
            )
        rows = _labels(gradient, *out)
        operands = gradient, rows, weight, (*out, _IN), (*rows[: len(rows) - len(out)], _IN)
        return _contract(operands, gradient, of["settings"], explains)
    settings = of["settings"]
    results = _core.call("linear", ("input_gradient",), None, None, settings, explains, pass_="input", grad_output=gradient, weight=weight)
    return results if explains else _like(results[0], gradient, weight)


def _weight_of_product(input: Any, gradient: Any, bias: bool, settings: SettingsArgument, explains: bool) -> Any:
    out = (_OUT,) if len(shape_of(gradient)) == len(shape_of(input)) else ()
    rows = _labels(gradient, *out)
    result = _contract((input, _labels(input, _IN), gradient, rows, (*out, _IN)), input, settings, explains)
    return (result, _contract((gradient, rows, out), gradient, settings, False)) if bias and not explains else result


def _weight(name: str, of: Dict[str, Any], explains: bool) -> Any:
    input, gradient, bias = exact(name, of["input"]), exact(name, of["grad_output"]), bool(of["bias"])
    sizes = shape_of(input), shape_of(gradient)
    if sizes[0] and (sizes[0][:-1] == sizes[1] or sizes[0][:-1] == sizes[1][:-1] and sizes[1] and 0 in (sizes[0][-1], sizes[1][-1])):
        return _weight_of_product(input, gradient, bias, of["settings"], explains)
    wanted, settings = ("weight_gradient", "bias_gradient") if bias else ("weight_gradient",), of["settings"]
    results = _core.call("linear", wanted, None, None, settings, explains, pass_="weight", input=input, grad_output=gradient)
    if explains:
        return results
    return tuple(_like(r, input, gradient) for r in results) if bias else _like(results[0], input, gradient)


# The library refuses a weight of one dimension or without elements, so that the function of Python computes the layer (_is_product).
_QUICK = described("linear", ("input", "weight", "bias"), 2, {"pass_": "forward"})


@function("backplane.nn.functional", _forward, form=_QUICK)
def linear(
    input: Kind,
    weight: Next,
    bias: Optional[Operand] = None,
    *,
    activation: Optional[Activation] = None,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    """Multiplies the rows of ``input`` (... x I) by ``weight`` (O x I), and adds ``bias`` (O). A weight of
    one dimension (I) gives results without the last dimension.

    As torch.nn.functional.linear. ``activation`` is the name of a function of elementwise.h, such as ``"gelu"``, that is
    computed of each result.

    Shapes: ``input`` ... x I; ``weight`` O x I, or I; ``bias`` O; the result ... x O, or ....

    >>> backplane.nn.functional.linear([[1.0, 2.0]], [[3.0, 4.0]], [0.5])
    array([[11.5]])
    """
    return locals()


@function("backplane.nn.grad", _input)
def linear_input(weight: Next, grad_output: Kind, *, settings: SettingsArgument = None) -> Kind:
    """Computes the gradient of linear() by its input, from the gradient by its output.

    Shapes: ``weight`` O x I; ``grad_output`` ... x O; the result ... x I.

    >>> backplane.nn.grad.linear_input([[3.0, 4.0]], [[2.0]])
    array([[6., 8.]])
    """
    return locals()


@function("backplane.nn.grad", _weight)
def linear_weight(
    input: Kind, grad_output: Next, bias: Flag = False, *, settings: SettingsArgument = None
) -> Union[Kind, Tuple[Kind, Kind]]:
    """Computes the gradient of linear() by its weight, from the gradient by its output.

    With ``bias``, returns a tuple of the gradients by weight and bias.

    Shapes: ``input`` ... x I; ``grad_output`` ... x O; the results O x I, and O with ``bias``.

    >>> backplane.nn.grad.linear_weight([[1.0, 2.0]], [[2.0]])
    array([[2., 4.]])
    """
    return locals()
