"""Activations with numbers for backplane.nn.functional, with the names and defaults of torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple, Union

from .._convert import exact
from .._elements import finish, number_of, one
from .._errors import bad_value

if TYPE_CHECKING:
    from .._types import Kind, Out, SettingsArgument

_FORMS: Dict[str, Tuple[str, Tuple[Union[str, float], ...]]] = {
    "leaky_relu": ("leaky_relu", ("negative_slope",)),
    "elu": ("elu", ("alpha",)),
    "celu": ("celu", ("alpha",)),
    "hardtanh": ("clip", ("min_val", "max_val")),
    "relu6": ("clip", (0.0, 6.0)),
    "softplus": ("softplus", ("beta", "threshold")),
    "threshold": ("threshold", ("threshold", "value")),
    "hardshrink": ("hardshrink", ("lambd",)),
    "softshrink": ("softshrink", ("lambd",)),
}
"""The function of the library, and its numbers: arguments by their names, or constants."""


def _run(name: str, of: Dict[str, Any], explains: bool) -> Any:
    kind, numbers = _FORMS[name]
    inplace = of.get("inplace", False)
    if inplace and of["out"] is not None:
        raise bad_value("out: cannot be given together with inplace")
    values = tuple(number_of(one, of[one]) if isinstance(one, str) else one for one in numbers)
    if name == "hardtanh" and values[0] > values[1]:
        raise bad_value(f"min_val: is {values[0]:g}; it must not be greater than max_val, {values[1]:g}")
    array = of["input"] if kind == "clip" else exact(name, of["input"])
    return one(kind, array, of["input"] if inplace else of["out"], of["settings"], explains, values)


def leaky_relu(
    input: Kind, negative_slope: float = 0.01, inplace: bool = False, *, out: Optional[Out] = None, settings: SettingsArgument = None
) -> Kind:
    return _run("leaky_relu", locals(), False)


def elu(
    input: Kind, alpha: float = 1.0, inplace: bool = False, *, out: Optional[Out] = None, settings: SettingsArgument = None
) -> Kind:
    return _run("elu", locals(), False)


def celu(
    input: Kind, alpha: float = 1.0, inplace: bool = False, *, out: Optional[Out] = None, settings: SettingsArgument = None
) -> Kind:
    return _run("celu", locals(), False)


def hardtanh(
    input: Kind,
    min_val: float = -1.0,
    max_val: float = 1.0,
    inplace: bool = False,
    *,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    return _run("hardtanh", locals(), False)


def relu6(input: Kind, inplace: bool = False, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    return _run("relu6", locals(), False)


def softplus(
    input: Kind, beta: float = 1.0, threshold: float = 20.0, *, out: Optional[Out] = None, settings: SettingsArgument = None
) -> Kind:
    return _run("softplus", locals(), False)


def threshold(
    input: Kind,
    threshold: float,
    value: float,
    inplace: bool = False,
    *,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    return _run("threshold", locals(), False)


def hardshrink(input: Kind, lambd: float = 0.5, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    return _run("hardshrink", locals(), False)


def softshrink(input: Kind, lambd: float = 0.5, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    return _run("softshrink", locals(), False)


_IN_PLACE = " With ``inplace``, the input is written and returned."
_WHOLE = "\nTypes: f16, bf16, f32, f64, i32 and i64."


def _finish(function: Any, text: str, example: str, more: str = "", frequent: bool = True) -> Any:
    name = function.__name__

    def explained(of: Dict[str, Any], explains: bool) -> Any:
        return _run(name, of, explains)

    text = f"{text}, as torch.nn.functional.{name}.{more}\n\nShapes: any; the result has the same."
    text += f"{_WHOLE if _FORMS[name][0] == 'clip' else ''}\n\n>>> backplane.nn.functional.{name}({example}\n"
    return finish(function, "backplane.nn.functional", name, text, explained, ("unary", name) if frequent else None)


leaky_relu = _finish(
    leaky_relu, "Returns x where x > 0, and ``negative_slope`` x elsewhere", "[-1.0, 2.0], 0.25)\narray([-0.25,  2.  ])", _IN_PLACE)
elu = _finish(
    elu, "Returns x where x > 0, and ``alpha (exp(x) - 1)`` elsewhere", "[-1.0, 2.0])\narray([-0.63212056,  2.        ])", _IN_PLACE)
celu = _finish(
    celu, "Returns x where x > 0, and ``alpha (exp(x / alpha) - 1)`` elsewhere", "[-1.0, 2.0], 2.0)\narray([-0.78693868,  2.        ])",
    _IN_PLACE + "\n\nErrors: BadValueError: alpha is 0")
hardtanh = _finish(
    hardtanh, "Returns ``min(max(x, min_val), max_val)``", "[-3.0, 0.5, 2.0])\narray([-1. ,  0.5,  1. ])",
    _IN_PLACE, False)
relu6 = _finish(relu6, "Returns ``min(max(x, 0), 6)``", "[-3.0, 0.5, 9.0])\narray([0. , 0.5, 6. ])", _IN_PLACE, False)
softplus = _finish(
    softplus, "Returns ``log(1 + exp(beta x)) / beta``, and x where ``beta x > threshold``",
    "[0.0, 30.0])\narray([ 0.69314718, 30.        ])")
threshold = _finish(
    threshold, "Returns x where ``x > threshold`` or x is NaN, and ``value`` elsewhere", "[-1.0, 0.5], 0.1, 20.0)\narray([20. ,  0.5])",
    _IN_PLACE, False)
hardshrink = _finish(
    hardshrink, "Returns 0 where ``-lambd <= x <= lambd``, and x elsewhere", "[-1.0, 0.25])\narray([-1.,  0.])")
softshrink = _finish(
    softshrink, "Returns ``x - lambd`` where ``x > lambd``, ``x + lambd`` where ``x < -lambd``, and 0 elsewhere",
    "[-1.0, 0.25])\narray([-0.5,  0. ])", "\n\nErrors: BadValueError: lambd is below 0")
