"""Batch normalization for backplane.nn.functional, and its gradients for backplane.nn.grad."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple, Union

from .. import _core
from .._convert import exact, shape_of
from .._errors import bad_value
from .._products import _like
from ._functions import function

if TYPE_CHECKING:
    from .._types import Flag, Kind, Operand, Out, SettingsArgument

def _parameter(name: str, array: Any) -> Any:
    return None if array is None else exact(name, array)


def _normalize(name: str, of: Dict[str, Any], explains: bool) -> Any:
    input, training = exact(name, of["input"]), bool(of["training"])
    if not training and (of["running_mean"] is None or of["running_var"] is None):
        raise bad_value("running_mean and running_var: are needed unless training is true")
    mean, variance = of["running_mean"], of["running_var"]
    if not training:  # training writes them
        mean, variance = exact(name, mean), exact(name, variance)
    shape = shape_of(input)
    if training and len(shape) > 1 and math.prod(shape) == shape[1]:
        raise bad_value(f"input: has shape {shape}; training needs more than one value per channel")
    updates = mean is not None or variance is not None
    statistics = bool(training and of["return_statistics"])
    results = _core.call(
        "batch_norm",
        ("output", "mean", "inverse_std") if statistics else ("output",),
        None,
        of["out"],
        of["settings"],
        explains,
        pass_="training" if training else "inference",
        relu=of["relu"],
        eps=of["eps"],
        momentum=of["momentum"] if training and updates else 0.0,
        input=input,
        weight=_parameter(name, of["weight"]),
        bias=_parameter(name, of["bias"]),
        running_mean=mean,
        running_var=variance,
    )
    if explains:
        return results
    output = of["out"] if results[0] is None else _like(results[0], input)
    return (output, *(_like(r, input) for r in results[1:])) if statistics else output


def _differentiate(name: str, of: Dict[str, Any], explains: bool) -> Any:
    gradient, input = exact(name, of["grad_output"]), exact(name, of["input"])
    constant = not of["training"]
    results = _core.call(
        "batch_norm",
        ("input_gradient", "weight_gradient", "bias_gradient"),
        None,
        None,
        of["settings"],
        explains,
        pass_="backward",
        eps=of["eps"] if constant else 0.0,  # the inverse standard deviation has it already
        input=input,
        weight=_parameter(name, of["weight"]),
        grad_output=gradient,
        running_mean=of["mean"] if constant else None,
        running_var=of["spread"] if constant else None,
        mean=None if constant else of["mean"],
        inverse_std=None if constant else of["spread"],
    )
    return results if explains else tuple(_like(r, input) for r in results)


@function("backplane.nn.functional", _normalize)
def batch_norm(
    input: Kind,
    running_mean: Optional[Operand],
    running_var: Optional[Operand],
    weight: Optional[Operand] = None,
    bias: Optional[Operand] = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *,
    relu: bool = False,
    return_statistics: Flag = False,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Union[Kind, Tuple[Kind, Kind, Kind]]:
    """Normalizes each channel of ``input`` (N x C, or with one to three sizes more).

    As torch.nn.functional.batch_norm: with ``training`` by the statistics of the batch, which update ``running_mean`` and
    ``running_var`` in place (None: not), otherwise by these two. With ``relu`` (inference), negative elements become 0. With
    ``return_statistics`` (training), returns a tuple of output, mean and inverse standard deviation, for the gradients.

    Shapes: ``input`` N x C, or with one to three sizes more; statistics and parameters C; the result has the input's shape.
    Errors: BadValueError: there is one value per channel with ``training``, or no running statistics without it

    >>> backplane.nn.functional.batch_norm([[1.0], [3.0]], [1.0], [4.0], eps=0.0)
    array([[0.],
           [1.]])
    """
    return locals()


@function("backplane.nn.grad", _differentiate)
def batch_norm_gradients(
    input: Kind,
    grad_output: Operand,
    weight: Optional[Operand],
    mean: Operand,
    spread: Operand,
    training: bool = True,
    eps: float = 1e-5,
    *,
    settings: SettingsArgument = None,
) -> Tuple[Kind, Kind, Kind]:
    """Computes the gradients of batch_norm() by its input, weight and bias, as a tuple.

    With ``training``, ``mean`` and ``spread`` are the mean and inverse standard deviation that batch_norm() returned.
    Otherwise they are the running mean and variance, which are constants, and ``eps`` is added to the variance.

    Shapes: ``input`` and ``grad_output`` N x C, or with one to three sizes more; all others C; the results are as input, C and C.

    >>> x, one = np.array([[1.0], [3.0]]), np.ones(1)
    >>> backplane.nn.grad.batch_norm_gradients(x, np.ones_like(x), one, one, one, training=False, eps=0.0)[2]
    array([2.])
    """
    return locals()  # type: ignore[return-value]
