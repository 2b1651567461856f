"""Operations on single elements for backplane.elementwise and backplane.nn.functional."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Tuple

from . import _core
from ._convert import WHOLE, floating, is_literal, type_of, unite, widen_any, with_numpy
from ._dimensions import bound
from ._errors import bad_type, bad_value, failure
from ._help import complete
from ._products import _EXPLAINERS, _is_numpy, _is_torch, _like
from ._quick import quick
from ._traced import follows_numpy

if TYPE_CHECKING:
    from ._types import SettingsArgument

def run(
    op: str,
    kind: str,
    arrays: Tuple[Any, ...],
    out: Any,
    settings: SettingsArgument,
    explains: bool,
    axis: int = 0,
    dtype: str = "",
    like: Tuple[Any, ...] = (),
    numbers: Tuple[float, ...] = (),
) -> Any:
    """Runs an operation of the extension, and returns its result as an array of the library of the first array, or of the first one
    of ``like``."""
    result = _core.elementwise(op, kind, arrays, axis, dtype, out, settings, explains, numbers)
    if explains or result is None:
        return result if explains else out
    try:
        return _like(result, *(like or arrays))
    except TypeError:  # bfloat16, which NumPy has with ml_dtypes only
        return result


_OF_INTEGERS = ("negative", "abs", "relu", "floor", "ceil", "round", "trunc", "sign", "logical_not", "bitwise_invert", "clip")
"""The functions of one element that integers have."""


def number_of(name: str, value: Any) -> float:
    """Returns the number of a function."""
    try:
        if not isinstance(value, (str, bytes)):
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise bad_type(f"{name}: is {value!r}; it must be a number")


def one(kind: str, x: Any, out: Any, settings: SettingsArgument, explains: bool, numbers: Tuple[float, ...] = ()) -> Any:
    """A function of one element. Integers become the default float type, except for functions that integers have."""
    whole = kind in _OF_INTEGERS
    array = with_numpy(kind, (x,))[0] if whole else widen_any(floating(kind, x))
    return run("unary", kind, (array,), out, settings, explains, numbers=numbers)


def _number(x: Any) -> Any:
    """Returns a number of Python as int or float, or None for anything else. A bool counts as an int."""
    if isinstance(x, bool):
        return int(x)
    return x if type(x) in (int, float) else None


def _number_of_numpy(x: Any) -> Any:
    """Returns a number of NumPy as Python's. Only next to NumPy's arrays does it have a type of its own."""
    numpy = sys.modules.get("numpy")
    return _number(x.item()) if numpy is not None and isinstance(x, numpy.generic) else None


def _check_fits(scalar: Any, kind: str) -> None:
    bits = {"i32": 31, "i64": 63}.get(kind)
    if bits is not None and not -(1 << bits) <= scalar < 1 << bits:
        raise bad_value(f"the number {scalar} is out of the range of {kind}, the type of the array that it meets")


def _meet_other(scalar: Any, array: Any, divides: bool) -> Tuple[Any, Any]:
    """Returns a number as a tensor of the type of an array that is not of NumPy or torch, and the array. An array of integers
    becomes one of floating numbers if the number is one, or if the numbers are divided."""
    kind = type_of(array)
    if kind in WHOLE and (divides or isinstance(scalar, float)):
        array = widen_any(array)
        kind = type_of(array)
    _check_fits(scalar, kind)
    place = array.device if isinstance(array, _core.Tensor) else "host"
    made = _core.empty((), kind, "host" if str(place) == "cpu" else str(place))
    made[...] = float(scalar) if kind not in WHOLE and abs(scalar) < 1 << 1023 else scalar
    return made, array


def _meet(scalar: Any, array: Any, divides: bool) -> Tuple[Any, Any]:
    """Returns a number of Python as an array of no dimensions, of the type that it has with this array, and the array."""
    if _is_torch(array):
        torch = sys.modules["torch"]
        return torch.as_tensor(scalar, dtype=torch.result_type(array, scalar)), array
    if _is_numpy(array) or follows_numpy(array):
        numpy = sys.modules["numpy"]
        like = array if _is_numpy(array) else numpy.empty((1,) * len(array.shape), array.dtype)
        return numpy.asarray(scalar, dtype=numpy.result_type(like, scalar)), array
    return _meet_other(scalar, array, divides)


def _scalar_next_to(x: Any, array: Any) -> Any:
    """Returns x as a number if it takes the type of the array, otherwise None."""
    if is_literal(array):
        return None
    number = _number(x)
    return number if number is not None or _is_numpy(array) or follows_numpy(array) else _number_of_numpy(x)


def pair(kind: str, x1: Any, x2: Any) -> Tuple[Any, ...]:
    """Returns arrays of one type, by NumPy's rules. A number takes the type of the array that it meets."""
    if _is_numpy(x1) and _is_numpy(x2) and x1.dtype == x2.dtype and x1.dtype.kind == "f":
        return x1, x2
    divides = kind in ("divide", "atan2")
    first, second = _scalar_next_to(x1, x2), _scalar_next_to(x2, x1)
    if first is not None:
        x1, x2 = _meet(first, x2, divides)
    elif second is not None:
        x2, x1 = _meet(second, x1, divides)
    arrays = with_numpy(kind, (x1, x2))
    return unite(tuple(map(widen_any, arrays)) if divides else arrays)


def two(kind: str, x1: Any, x2: Any, out: Any, settings: SettingsArgument, explains: bool) -> Any:
    """A function of two elements."""
    return run("binary", kind, pair(kind, x1, x2), out, settings, explains)


def _limits(array: Any, low: Any, high: Any) -> Optional[Tuple[float, float]]:
    """Returns the limits of clip() as numbers of the array's type; None: there is an array, or a number that the type lacks."""
    whole = type_of(array) in WHOLE
    made = []
    for value, absent in ((low, -float("inf")), (high, float("inf"))):
        number = absent if value is None else _number(value)
        if number is None or number != number or (whole and value is not None and (isinstance(number, float) or abs(number) > 1 << 53)):
            return None
        made.append(float(number) if abs(number) < 1 << 1023 or isinstance(number, float) else float("inf") * (1 if number > 0 else -1))
    return made[0], made[1]


def clip(x: Any, low: Any, high: Any, out: Any, settings: SettingsArgument, explains: bool) -> Any:
    """Elements between limits: a function of one element if these are numbers of its type, otherwise of two."""
    array = with_numpy("clip", (x,))[0]
    limits = _limits(array, low, high)
    if limits is not None:
        return one("clip", array, out, settings, explains, limits)
    if low is None or high is None:
        return two("minimum" if low is None else "maximum", x, high if low is None else low, out, settings, explains)
    return two("minimum", two("maximum", x, low, None, settings, False), high, out, settings, explains)


def choice(condition: Any, x1: Any, x2: Any, out: Any, settings: SettingsArgument, explains: bool) -> Any:
    """Elements of x1 where the condition is true, of x2 elsewhere."""
    arrays = pair("where", x1, x2)
    return run("where", "", with_numpy("where", (condition,)) + arrays, out, settings, explains, like=arrays)


_BYTES = re.compile("[<>=|]([fiuc])(1|2|4|8|16)|(f)(2|4|8)|([iu])(1|2|4)|(c)(8|16)")
"""Element types as NumPy abbreviates them, whose numbers count bytes. f16, i8 and u8 are names here too, and count bits."""


def type_name(dtype: Any) -> str:
    """Returns the library's name of an element type: an object of this package, of NumPy, of torch, of Python, or a name."""
    own = {bool: "bool", int: "i64", float: "f64", complex: "c128"}
    if isinstance(dtype, type) and dtype in own:
        return own[dtype]
    name = getattr(dtype, "name", None) or (dtype.__name__ if isinstance(dtype, type) else str(dtype))
    if not isinstance(name, str):
        raise bad_type(f"dtype: is {dtype!r}; it must be an element type")
    short = _BYTES.fullmatch(name)
    if short:
        letter, size = (part for part in short.groups() if part)
        right = f"{letter}{8 * int(size)}"
        accepted = "f16, bf16, f32, f64, c64, c128, i8, i16, i32, i64, u8, u16, u32, u64 and bool"
        raise failure(_core.BadTypeError, "E_DTYPE", f"dtype: {name!r} counts bytes, as NumPy does, and names here count bits: write "
                      f"{right!r} or numpy.dtype({name!r}). A name must be one of {accepted}")
    return name.rpartition(".")[2]


def finish(
    function: Any, module: str, name: str, text: str, call: Callable[[Dict[str, Any], bool], Any], form: Optional[Tuple[str, str]] = None
) -> Any:
    """Gives a function its name, help, the function that explains its calls, and its frequent form, if it has one (_quick.py)."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = complete(function, "elementwise" if module == "backplane.elementwise" else "nn", text)

    def explain(*arguments: Any, **names: Any) -> Dict[str, Any]:
        page: Dict[str, Any] = call(dict(bound(function, arguments, names)), True)
        return page

    made = function if form is None else quick(function, form)
    _EXPLAINERS[made] = explain
    return made
