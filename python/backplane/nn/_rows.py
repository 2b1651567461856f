"""Softmax, and layer, RMS and group normalization for backplane.nn.functional; their gradients for backplane.nn.grad."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Literal, Optional, Tuple, Union

from .. import _core
from .._conversions import converted, short_name
from .._convert import WHOLE, exact, shape_of, type_of, with_numpy
from .._errors import bad_type, bad_value, whole
from .._products import _is_numpy, _is_torch, _like
from ._convolution import _size
from ._functions import function

if TYPE_CHECKING:
    from .._types import DType, Flag, Kind, Operand, Out, SettingsArgument, Shape

SOFTMAX, LOG_SOFTMAX = range(2)

_FUNCTIONS, _GRADIENTS = "backplane.nn.functional", "backplane.nn.grad"
_STATISTICS = """With ``return_statistics``, returns a tuple of output, mean and inverse standard deviation of each row, for the
    gradients."""

# ---- Softmax ----


def _converted(name: str, input: Any, dtype: Any) -> Any:
    wanted = short_name(dtype)
    if wanted in WHOLE:
        raise bad_type(f"{name}: dtype is {wanted}; it must be a floating type")
    return converted(with_numpy(name, (input,))[0], wanted)


def _softmax(name: str, of: Dict[str, Any], explains: bool) -> Any:
    kind = LOG_SOFTMAX if name.startswith("log") else SOFTMAX
    input = exact(name, of["input"] if of["dtype"] is None else _converted(name, of["input"], of["dtype"]))
    result = _core.softmax(kind, input, None, dim=of["dim"], out=of["out"], settings=of["settings"], explains=explains)
    return result if explains else of["out"] if result is None else _like(result, input)


def _softmax_gradient(name: str, of: Dict[str, Any], explains: bool) -> Any:
    kind = LOG_SOFTMAX if name.startswith("log") else SOFTMAX
    output, gradient = exact(name, of["output"]), exact(name, of["grad_output"])
    words = dict(dim=of["dim"], out=of["out"], settings=of["settings"], explains=explains)
    result = _core.softmax(kind, output, gradient, **words)
    return result if explains else of["out"] if result is None else _like(result, output)


@function(_FUNCTIONS, _softmax)
def softmax(
    input: Kind, dim: int, *, dtype: Optional[DType] = None, out: Optional[Out] = None, settings: SettingsArgument = None
) -> Kind:
    """Computes ``exp(input)``, divided by its sum along ``dim``, without overflow.

    As torch.nn.functional.softmax. ``out`` may be the input. ``dtype`` is the type to which elements are converted before, and of the result.

    Shapes: any; the result has the same.

    >>> backplane.nn.functional.softmax([0.0, 0.0], 0)
    array([0.5, 0.5])
    """
    return locals()


@function(_FUNCTIONS, _softmax)
def log_softmax(
    input: Kind, dim: int, *, dtype: Optional[DType] = None, out: Optional[Out] = None, settings: SettingsArgument = None
) -> Kind:
    """Computes the logarithm of softmax() along ``dim``, also of results that are too small for softmax().

    As torch.nn.functional.log_softmax. ``out`` may be the input. ``dtype`` is the type to which elements are converted before, and of the result.

    Shapes: any; the result has the same.

    >>> backplane.nn.functional.log_softmax([0.0, 0.0], 0).round(6)
    array([-0.693147, -0.693147])
    """
    return locals()


@function(_GRADIENTS, _softmax_gradient)
def softmax_input(
    output: Kind, grad_output: Operand, dim: int, *, out: Optional[Out] = None, settings: SettingsArgument = None
) -> Kind:
    """Computes the gradient of softmax() by its input, from its output and the gradient by the output.

    Shapes: any, the same for both and the result.

    >>> backplane.nn.grad.softmax_input([0.5, 0.5], [1.0, 0.0], 0)
    array([ 0.25, -0.25])
    """
    return locals()


@function(_GRADIENTS, _softmax_gradient)
def log_softmax_input(
    output: Kind, grad_output: Operand, dim: int, *, out: Optional[Out] = None, settings: SettingsArgument = None
) -> Kind:
    """Computes the gradient of log_softmax() by its input, from its output and the gradient by the output.

    Shapes: any, the same for both and the result.

    >>> backplane.nn.grad.log_softmax_input(np.log([0.5, 0.5]), [1.0, 0.0], 0).round(6)
    array([ 0.5, -0.5])
    """
    return locals()


# ---- Normalization ----


def _dims(input: Any, normalized_shape: Shape) -> int:
    """Returns how many dimensions a row has."""
    number = whole(normalized_shape)
    wanted = (number,) if number is not None else _size("normalized_shape", normalized_shape)
    shape = shape_of(input)
    if not wanted or shape[len(shape) - min(len(wanted), len(shape)) :] != wanted:
        raise bad_value(f"normalized_shape: is {wanted}; it must be the last sizes of the input, which has shape {shape}")
    return len(wanted)


def _kind(name: str, of: Dict[str, Any]) -> Tuple[str, int, int]:
    """Returns the kind, the dimensions of a row and the number of groups."""
    if "num_groups" in of:
        return "group", 0, of["num_groups"]
    return ("rms" if name.startswith("rms_norm") else "layer"), _dims(of["input"], of["normalized_shape"]), 0


def _is_double(array: Any) -> bool:
    if _is_numpy(array):
        return bool(array.dtype.itemsize == 8)
    return array.element_size() == 8 if _is_torch(array) else type_of(array) == "f64"


def _eps(of: Dict[str, Any]) -> float:
    """Returns what is added to the variance: nothing to one that has it already, and by default, which rms_norm() has, the
    distance of 1 to the next number of the type that PyTorch computes in, f32 for f16 and bf16."""
    if of.get("inverse_std") is not None:
        return 0.0
    eps: Optional[float] = of["eps"]
    return eps if eps is not None else 2.0**-52 if _is_double(of["input"]) else 2.0**-23


def _run(name: str, wanted: Tuple[str, ...], of: Dict[str, Any], explains: bool) -> Any:
    """Runs or explains a call whose arguments are `of`. Returns a tuple of the wanted results."""
    input = exact(name, of["input"])
    of = dict(of, input=input)
    kind, dims, groups = _kind(name, of)
    weight, bias, backward = of.get("weight"), of.get("bias"), "grad_output" in of
    results = _core.call(
        "layer_norm",
        wanted,
        None,
        of.get("out"),
        of["settings"],
        explains,
        pass_="backward" if backward else "forward",
        kind=kind,
        row_ndim=dims,
        groups=groups,
        eps=_eps(of),
        input=input,
        weight=None if weight is None else exact(name, weight),
        bias=None if bias is None else exact(name, bias),
        grad_output=exact(name, of["grad_output"]) if backward else None,
        mean=of.get("mean"),
        inverse_std=of.get("inverse_std"),
    )
    if explains:
        return results
    return tuple([of["out"] if one is None else _like(one, input) for one in results])


def _normalize(name: str, of: Dict[str, Any], explains: bool) -> Any:
    statistics = bool(of["return_statistics"])
    parts = ("inverse_std",) if name == "rms_norm" else ("mean", "inverse_std")
    wanted = ("output", *parts) if statistics else ("output",)
    results = _run(name, wanted, of, explains)
    return results if explains or statistics else results[0]


def _differentiate(name: str, of: Dict[str, Any], explains: bool) -> Any:
    parameters = ("weight_gradient",) if name.startswith("rms_norm") else ("weight_gradient", "bias_gradient")
    return _run(name, ("input_gradient", *parameters), of, explains)


@function(_FUNCTIONS, _normalize, statistics=_STATISTICS)
def layer_norm(
    input: Kind,
    normalized_shape: Shape,
    weight: Optional[Operand] = None,
    bias: Optional[Operand] = None,
    eps: float = 1e-5,
    *,
    return_statistics: Flag = False,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Union[Kind, Tuple[Kind, Kind, Kind]]:
    """Normalizes the rows of ``input``, which are its last dimensions with the sizes ``normalized_shape``.

    As torch.nn.functional.layer_norm; ``weight`` and ``bias`` have the shape of a row.

    {statistics}

    Shapes: ``input`` ... x ``normalized_shape``; ``weight`` and ``bias`` ``normalized_shape``; the result has the input's shape, the statistics one element for each row.

    >>> backplane.nn.functional.layer_norm([[1.0, 3.0]], 2, eps=0.0)
    array([[-1.,  1.]])
    """
    return locals()


@function(_FUNCTIONS, _normalize)
def rms_norm(
    input: Kind,
    normalized_shape: Shape,
    weight: Optional[Operand] = None,
    eps: Optional[float] = None,
    *,
    return_statistics: Flag = False,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Union[Kind, Tuple[Kind, Kind]]:
    """Divides the rows of ``input`` by their root mean square. Rows are as in layer_norm().

    As torch.nn.functional.rms_norm; ``eps`` None is the machine epsilon of the input's type, of f32 for f16 and bf16, as
    these are computed in f32. With ``return_statistics``, returns a tuple of output and inverse root mean square.

    Shapes: ``input`` ... x ``normalized_shape``; ``weight`` ``normalized_shape``; the result has the input's shape, the statistic one element for each row.

    >>> backplane.nn.functional.rms_norm([[3.0, -3.0]], 2, eps=0.0)
    array([[ 1., -1.]])
    """
    return locals()


@function(_FUNCTIONS, _normalize, statistics=_STATISTICS)
def group_norm(
    input: Kind,
    num_groups: int,
    weight: Optional[Operand] = None,
    bias: Optional[Operand] = None,
    eps: float = 1e-5,
    *,
    return_statistics: Flag = False,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Union[Kind, Tuple[Kind, Kind, Kind]]:
    """Normalizes ``num_groups`` groups of channels of each item of ``input`` (N x C x ...).

    As torch.nn.functional.group_norm; ``weight`` and ``bias`` have C elements.

    {statistics}

    Shapes: ``input`` N x C x ...; ``weight`` and ``bias`` C; the result has the input's shape, the statistics N x groups.
    Errors: BadValueError: num_groups does not divide the channels

    >>> backplane.nn.functional.group_norm([[1.0, 3.0]], 1, eps=0.0)
    array([[-1.,  1.]])
    """
    return locals()


def _instance(name: str, of: Dict[str, Any], explains: bool) -> Any:
    if not of["use_input_stats"] or of["running_mean"] is not None or of["running_var"] is not None:
        raise bad_value(
            f"{name}: running statistics are not updated; without them use_input_stats must be True. With statistics that "
            "are given, this is batch_norm"
        )
    of = dict(of, input=exact(name, of["input"]))
    shape = shape_of(of["input"])
    if len(shape) < 2:
        raise bad_value(f"input: has shape {shape}; it must have 2 dimensions or more")
    return _normalize(name, dict(of, num_groups=max(shape[1], 1), return_statistics=False), explains)


@function(_FUNCTIONS, _instance)
def instance_norm(
    input: Kind,
    running_mean: None = None,
    running_var: None = None,
    weight: Optional[Operand] = None,
    bias: Optional[Operand] = None,
    use_input_stats: Literal[True] = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    """Normalizes each channel of each item of ``input`` (N x C x ...).

    As torch.nn.functional.instance_norm with the input's statistics; running statistics must be None. ``out`` is written in
    place and returned.

    Shapes: ``input`` N x C x ...; ``weight`` and ``bias`` C; the result has the input's shape.
    Errors: BadValueError: running statistics are given, or use_input_stats is False

    >>> backplane.nn.functional.instance_norm([[[1.0, 3.0]]], eps=0.0)
    array([[[-1.,  1.]]])
    """
    return locals()


@function(_GRADIENTS, _differentiate)
def layer_norm_gradients(
    input: Kind,
    grad_output: Operand,
    normalized_shape: Shape,
    weight: Optional[Operand] = None,
    eps: float = 1e-5,
    *,
    mean: Optional[Operand] = None,
    inverse_std: Optional[Operand] = None,
    settings: SettingsArgument = None,
) -> Tuple[Kind, Kind, Kind]:
    """Computes the gradients of layer_norm() by its input, weight and bias, as a tuple.

    ``mean`` and ``inverse_std`` are those that layer_norm() returned; without them they are computed again, with ``eps``.

    Shapes: ``input`` and ``grad_output`` ... x ``normalized_shape``; ``weight`` ``normalized_shape``; the results are as input, weight and weight.

    >>> x = np.array([[1.0, 3.0]])
    >>> backplane.nn.grad.layer_norm_gradients(x, np.ones_like(x), 2, eps=0.0)[2]
    array([1., 1.])
    """
    return locals()  # type: ignore[return-value]


@function(_GRADIENTS, _differentiate)
def rms_norm_gradients(
    input: Kind,
    grad_output: Operand,
    normalized_shape: Shape,
    weight: Optional[Operand] = None,
    eps: Optional[float] = None,
    *,
    inverse_std: Optional[Operand] = None,
    settings: SettingsArgument = None,
) -> Tuple[Kind, Kind]:
    """Computes the gradients of rms_norm() by its input and weight, as a tuple.

    ``inverse_std`` is what rms_norm() returned; without it, it is computed again, with ``eps``.

    Shapes: ``input`` and ``grad_output`` ... x ``normalized_shape``; ``weight`` ``normalized_shape``; the results are as input and weight.

    >>> x = np.array([[1.0, 3.0]])
    >>> backplane.nn.grad.rms_norm_gradients(x / x, np.ones_like(x), 2, eps=0.0)[1]
    array([1., 1.])
    """
    return locals()  # type: ignore[return-value]


@function(_GRADIENTS, _differentiate)
def group_norm_gradients(
    input: Kind,
    grad_output: Operand,
    num_groups: int,
    weight: Optional[Operand] = None,
    eps: float = 1e-5,
    *,
    mean: Optional[Operand] = None,
    inverse_std: Optional[Operand] = None,
    settings: SettingsArgument = None,
) -> Tuple[Kind, Kind, Kind]:
    """Computes the gradients of group_norm() by its input, weight and bias, as a tuple.

    ``mean`` and ``inverse_std`` are those that group_norm() returned; without them they are computed again, with ``eps``.

    Shapes: ``input`` and ``grad_output`` N x C x ...; ``weight`` C; the results are as input, C and C.

    >>> x = np.array([[1.0, 3.0]])
    >>> backplane.nn.grad.group_norm_gradients(x, np.ones_like(x), 1, eps=0.0)[2]
    array([1., 1.])
    """
    return locals()  # type: ignore[return-value]
