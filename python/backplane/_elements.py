"""Operations on single elements for backplane.elementwise and backplane.nn.functional."""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict, Tuple

from . import _core
from ._convert import floating, is_literal, unite, with_numpy
from ._dimensions import bound
from ._errors import bad_type
from ._products import _EXPLAINERS, SettingsArgument, _is_numpy, _is_torch, _like


def run(
    op: str,
    kind: str,
    arrays: Tuple[Any, ...],
    out: Any,
    settings: SettingsArgument,
    explains: bool,
    axis: int = 0,
    dtype: str = "",
) -> Any:
    """Runs an operation of the extension, and returns its result as an array of the library of the first array."""
    result = _core.elementwise(op, kind, arrays, axis, dtype, out, settings, explains)
    if explains or result is None:
        return result if explains else out
    try:
        return _like(result, *arrays)
    except TypeError:  # bfloat16, which NumPy has with ml_dtypes only
        return result


def one(kind: str, x: Any, out: Any, settings: SettingsArgument, explains: bool) -> Any:
    """A function of one element. Integers become the default float type, except for functions that integers have."""
    whole = kind in ("negative", "abs", "relu")
    array = with_numpy(kind, (x,))[0] if whole else floating(kind, x)
    return run("unary", kind, (array,), out, settings, explains)


def _is_scalar(x: Any) -> bool:
    """Returns whether this is a number of Python, which takes the type of the array that it meets."""
    return type(x) in (int, float)


def _meet(scalar: Any, array: Any) -> Any:
    """Returns a number of Python as an array of no dimensions, of the type that it has with this array."""
    if _is_torch(array):
        torch = sys.modules["torch"]
        return torch.as_tensor(scalar, dtype=torch.result_type(array, scalar))
    if _is_numpy(array):
        numpy = sys.modules["numpy"]
        return numpy.asarray(scalar, dtype=numpy.result_type(array, scalar))
    if isinstance(array, _core.Tensor) and array.__dlpack_device__()[0] != 1:
        made = _core.empty((), array.dtype, str(array.device))
        made[...] = scalar
        return made
    return scalar


def pair(kind: str, x1: Any, x2: Any) -> Tuple[Any, ...]:
    """Returns arrays of one type, by NumPy's rules."""
    if _is_numpy(x1) and _is_numpy(x2) and x1.dtype == x2.dtype and x1.dtype.kind == "f":
        return x1, x2
    if _is_scalar(x1) and not is_literal(x2):
        x1 = _meet(x1, x2)
    elif _is_scalar(x2) and not is_literal(x1):
        x2 = _meet(x2, x1)
    return unite(with_numpy(kind, (x1, x2)), kind == "divide")


def two(kind: str, x1: Any, x2: Any, out: Any, settings: SettingsArgument, explains: bool) -> Any:
    """A function of two elements."""
    return run("binary", kind, pair(kind, x1, x2), out, settings, explains)


def type_name(dtype: Any) -> str:
    """Returns the library's name of an element type: of NumPy, of torch, of Python, or a name."""
    own = {bool: "bool", int: "i64", float: "f64"}
    if isinstance(dtype, type) and dtype in own:
        return own[dtype]
    name = getattr(dtype, "name", None) or (dtype.__name__ if isinstance(dtype, type) else str(dtype))
    if not isinstance(name, str):
        raise bad_type(f"dtype: is {dtype!r}; it must be an element type")
    return name.rpartition(".")[2]


def finish(function: Any, module: str, name: str, text: str, call: Callable[[Dict[str, Any], bool], Any]) -> Any:
    """Gives a function its name, help, and the function that explains its calls."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = text

    def explain(*arguments: Any, **names: Any) -> Dict[str, Any]:
        page: Dict[str, Any] = call(dict(bound(function, arguments, names)), True)
        return page

    _EXPLAINERS[function] = explain
    return function
