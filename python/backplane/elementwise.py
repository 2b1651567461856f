"""Functions of single elements, conversions, choices, indexing, concatenation, flips and rolls, with the names and arguments of the array API.

Element types are f16, bf16, f32 and f64, and i32, i64 and bool where a function has integers or bool. Arrays of two types get one by NumPy's
rules if both are NumPy's; a number of Python takes the type of the array, of any
library; together with integers, a floating number makes both float64, and so do divide() and atan2(). Lists and numbers become NumPy arrays. Arrays of any
strides are read in place. The result is of the array type of the first array if its library imports DLPack, otherwise a
backplane.Tensor. ``out`` is written in place and returned; it may be one of the arrays.

>>> from array import array  # any object with the buffer protocol or DLPack
>>> x = array("d", [-1, 0, 4])
>>> sqrt(abs(x)).tolist()
[1.0, 0.0, 2.0]
>>> maximum(x, array("d", [2])).tolist()
[2.0, 2.0, 4.0]
>>> take(x, array("q", [2, 0])).tolist()
[4.0, -1.0]
>>> concat([x, x]).shape, astype(x, "float32").dtype
((6,), 'f32')
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Sequence

from ._convert import shape_of, with_numpy
from ._elements import choice, clip as _clipped, finish, one, run, two, type_name
from ._errors import bad_type, bad_value
from ._moves import flip, roll
from .backends._module import close as _close

if TYPE_CHECKING:
    from ._types import DType, Kind, Operand, Out, Pair, SettingsArgument

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "concat",
    "cos",
    "cosh",
    "divide",
    "equal",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "flip",
    "floor",
    "floor_divide",
    "fmod",
    "greater",
    "greater_equal",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "not_equal",
    "pow",
    "reciprocal",
    "remainder",
    "roll",
    "round",
    "rsqrt",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "subtract",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "trunc",
    "where",
]


def _example(name: str, arguments: str, result: str) -> str:
    return f"\n\n>>> backplane.elementwise.{name}({arguments})\n{result}\n"


def _types(name: str) -> str:
    """Returns what the help says of types where it is not what the family's says."""
    bits = "i32 and i64" if name.endswith("_shift") else "i32, i64 and bool"
    return f"\n\nTypes: {bits}." if name.startswith("bitwise_") else ""


def _unary(name: str, text: str, arguments: str, result: str) -> Callable[..., Any]:
    def call(x: Kind, /, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
        return one(name, x, out, settings, False)

    def explained(of: Dict[str, Any], explains: bool) -> Any:
        return one(name, of["x"], of["out"], of["settings"], explains)

    text = f"Computes {text} of each element." + _types(name) + _example(name, arguments, result)
    made: Callable[..., Any] = finish(call, __name__, name, text, explained, ("unary", name))
    return made


def _binary(name: str, text: str, arguments: str, result: str) -> Callable[..., Any]:
    def call(x1: Pair, x2: Pair, /, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
        return two(name, x1, x2, out, settings, False)

    def explained(of: Dict[str, Any], explains: bool) -> Any:
        return two(name, of["x1"], of["x2"], of["out"], of["settings"], explains)

    text = f"Computes {text} of each pair of elements. Arrays are broadcast." + _types(name) + _example(name, arguments, result)
    made: Callable[..., Any] = finish(call, __name__, name, text, explained, ("binary", name))
    return made


abs = _unary("abs", "the absolute value", "[-1.5, 2.0]", "array([1.5, 2. ])")
ceil = _unary("ceil", "the least integer that is not smaller", "[-1.5, 2.5]", "array([-1.,  3.])")
cos = _unary("cos", "the cosine", "[0.0]", "array([1.])")
erf = _unary("erf", "the error function", "[0.0, 0.5]", "array([0.        , 0.52049988])")
exp = _unary("exp", "e to the power", "[0.0, 1.0]", "array([1.        , 2.71828183])")
expm1 = _unary("expm1", "e to the power, less 1,", "[0.0, 1e-10]", "array([0.e+00, 1.e-10])")
floor = _unary("floor", "the greatest integer that is not larger", "[-1.5, 2.5]", "array([-2.,  2.])")
log = _unary("log", "the natural logarithm", "[1.0]", "array([0.])")
log1p = _unary("log1p", "the natural logarithm of the sum with 1", "[0.0, 1e-10]", "array([0.e+00, 1.e-10])")
log2 = _unary("log2", "the logarithm to base 2", "[8.0, 0.5]", "array([ 3., -1.])")
negative = _unary("negative", "the negative", "[1.0, -2.0]", "array([-1.,  2.])")
reciprocal = _unary("reciprocal", "1 divided by the value", "[4.0, -2.0]", "array([ 0.25, -0.5 ])")
round = _unary("round", "the nearest integer (the even one of two)", "[0.5, 1.5, 2.4]", "array([0., 2., 2.])")
rsqrt = _unary("rsqrt", "1 divided by the square root", "[4.0, 0.25]", "array([0.5, 2. ])")
sign = _unary("sign", "the sign (-1, 0 or 1; NaN of NaN)", "[-1.5, 0.0, 2.0]", "array([-1.,  0.,  1.])")
sin = _unary("sin", "the sine", "[0.0]", "array([0.])")
sqrt = _unary("sqrt", "the square root", "[4.0, 9.0]", "array([2., 3.])")
tan = _unary("tan", "the tangent", "[0.0]", "array([0.])")
tanh = _unary("tanh", "the hyperbolic tangent", "[0.0]", "array([0.])")
trunc = _unary("trunc", "the integer next to it towards 0", "[-1.5, 2.5]", "array([-1.,  2.])")
acos = _unary("acos", "the angle with this cosine", "[1.0, 0.0]", "array([0.        , 1.57079633])")
acosh = _unary("acosh", "the inverse of the hyperbolic cosine", "[1.0, 2.0]", "array([0.       , 1.3169579])")
asin = _unary("asin", "the angle with this sine", "[0.0, 1.0]", "array([0.        , 1.57079633])")
asinh = _unary("asinh", "the inverse of the hyperbolic sine", "[0.0, 1.0]", "array([0.        , 0.88137359])")
atan = _unary("atan", "the angle with this tangent", "[0.0, 1.0]", "array([0.        , 0.78539816])")
atanh = _unary("atanh", "the inverse of the hyperbolic tangent", "[0.0, 0.5]", "array([0.        , 0.54930614])")
cosh = _unary("cosh", "the hyperbolic cosine", "[0.0, 1.0]", "array([1.        , 1.54308063])")
erfc = _unary("erfc", "1 less the error function, without loss of digits where it is small,", "[0.0, 0.5]", "array([1.        , 0.47950012])")
exp2 = _unary("exp2", "2 to the power", "[0.0, -1.0, 3.0]", "array([1. , 0.5, 8. ])")
log10 = _unary("log10", "the logarithm to base 10", "[1000.0, 0.1]", "array([ 3., -1.])")
sinh = _unary("sinh", "the hyperbolic sine", "[0.0, 1.0]", "array([0.        , 1.17520119])")
isfinite = _unary("isfinite", "whether it is finite,", "[1.0, np.inf, np.nan]", "array([ True, False, False])")
isinf = _unary("isinf", "whether it is an infinity,", "[1.0, -np.inf, np.nan]", "array([False,  True, False])")
isnan = _unary("isnan", "whether it is NaN,", "[1.0, np.inf, np.nan]", "array([False, False,  True])")
logical_not = _unary("logical_not", "whether it is 0,", "[1.0, 0.0, np.nan]", "array([False,  True, False])")
bitwise_invert = _unary("bitwise_invert", "the inverted bits", "[0, 5]", "array([-1, -6])")
equal = _binary("equal", "whether both are equal,", "[1.0, 2.0], [1.0, 3.0]", "array([ True, False])")
not_equal = _binary("not_equal", "whether they differ,", "[1.0, 2.0], [1.0, 3.0]", "array([False,  True])")
less = _binary("less", "whether the first is less,", "[1.0, 2.0], [1.0, 3.0]", "array([False,  True])")
less_equal = _binary("less_equal", "whether the first is not greater,", "[1.0, 4.0], [1.0, 3.0]", "array([ True, False])")
greater = _binary("greater", "whether the first is greater,", "[1.0, 4.0], [1.0, 3.0]", "array([False,  True])")
greater_equal = _binary("greater_equal", "whether the first is not less,", "[1.0, 2.0], [1.0, 3.0]", "array([ True, False])")
logical_and = _binary("logical_and", "whether both differ from 0,", "[1.0, 2.0], [0.0, 3.0]", "array([False,  True])")
logical_or = _binary("logical_or", "whether one differs from 0,", "[0.0, 2.0], [0.0, 3.0]", "array([False,  True])")
logical_xor = _binary("logical_xor", "whether exactly one differs from 0,", "[1.0, 2.0], [0.0, 3.0]", "array([ True, False])")
pow = _binary("pow", "the first to the power of the second", "[2.0, 9.0], [3.0, 0.5]", "array([8., 3.])")
remainder = _binary("remainder", "the remainder with the sign of the second", "[-7.0, 7.0], [3.0, -3.0]", "array([ 2., -2.])")
fmod = _binary("fmod", "the remainder with the sign of the first", "[-7.0, 7.0], [3.0, -3.0]", "array([-1.,  1.])")
floor_divide = _binary("floor_divide", "the greatest integer that is not larger than the quotient", "[-7.0, 7.0], [2.0, 2.0]", "array([-4.,  3.])")
atan2 = _binary("atan2", "the angle of the point (second, first)", "[1.0, 0.0], [0.0, 2.0]", "array([1.57079633, 0.        ])")
bitwise_and = _binary("bitwise_and", "the common bits", "[6, 5], [3, 3]", "array([2, 1])")
bitwise_or = _binary("bitwise_or", "the bits of either", "[6, 5], [3, 3]", "array([7, 7])")
bitwise_xor = _binary("bitwise_xor", "the bits of exactly one", "[6, 5], [3, 3]", "array([5, 6])")
bitwise_left_shift = _binary("bitwise_left_shift", "the first moved to higher bits by the second", "[3, 1], [2, 64]", "array([12,  0])")
bitwise_right_shift = _binary("bitwise_right_shift", "the first moved to lower bits by the second", "[12, -5], [2, 1]", "array([ 3, -3])")
add = _binary("add", "the sum", "[1.0, 2.0], [3.0, 4.0]", "array([4., 6.])")
subtract = _binary("subtract", "the difference", "[1.0, 2.0], [3.0, 4.0]", "array([-2., -2.])")
multiply = _binary("multiply", "the product", "[1.0, 2.0], [3.0, 4.0]", "array([3., 8.])")
divide = _binary("divide", "the quotient (of integers as float64)", "[1, 4], [2, 2]", "array([0.5, 2. ])")
maximum = _binary("maximum", "the larger one (NaN if one is NaN)", "[1.0, 4.0], [2.0, 3.0]", "array([2., 4.])")
minimum = _binary("minimum", "the smaller one (NaN if one is NaN)", "[1.0, 4.0], [2.0, 3.0]", "array([1., 3.])")


def _where(of: Dict[str, Any], explains: bool) -> Any:
    return choice(of["condition"], of["x1"], of["x2"], of["out"], of["settings"], explains)


def _clip(of: Dict[str, Any], explains: bool) -> Any:
    return _clipped(of["x"], of["min"], of["max"], of["out"], of["settings"], explains)


def _take(of: Dict[str, Any], explains: bool) -> Any:
    arrays = with_numpy("take", (of["x"], of["indices"]))
    axis = of["axis"]
    if axis is None and len(shape_of(arrays[0])) != 1:
        raise bad_value("axis: is None; it must be given unless x has one dimension")
    return run("take", "", arrays, of["out"], of["settings"], explains, axis or 0)


def _take_along_axis(of: Dict[str, Any], explains: bool) -> Any:
    arrays = with_numpy("take_along_axis", (of["x"], of["indices"]))
    return run("gather", "", arrays, of["out"], of["settings"], explains, of["axis"])


def _concat(of: Dict[str, Any], explains: bool) -> Any:
    arrays = with_numpy("concat", tuple(of["arrays"]))
    if not arrays:
        raise bad_value("arrays: is empty; there must be at least one")
    return run("concat", "", arrays, of["out"], of["settings"], explains, of["axis"])


def _astype(of: Dict[str, Any], explains: bool) -> Any:
    if not of["copy"]:
        raise bad_type("copy: is False; the result of astype() always has memory of its own")
    arrays = with_numpy("astype", (of["x"],))
    return run("unary", "copy", arrays, of["out"], of["settings"], explains, 0, type_name(of["dtype"]))


def where(
    condition: Operand, x1: Pair, x2: Pair, /, *, out: Optional[Out] = None, settings: SettingsArgument = None
) -> Kind:
    """Returns the elements of x1 where the condition is true, and of x2 elsewhere, as numpy.where with three arrays.

    Shapes: any that broadcast; the result has the shape to which all three are broadcast.
    Types: condition bool; x1 and x2 any one type.
    Errors: BadTypeError: the condition is not bool

    >>> backplane.elementwise.where([True, False], [1.0, 2.0], 0.0)
    array([1., 0.])
    """
    return _where(dict(condition=condition, x1=x1, x2=x2, out=out, settings=settings), False)


def clip(
    x: Kind,
    /,
    min: Optional[Operand] = None,
    max: Optional[Operand] = None,
    *,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    """Returns ``minimum(maximum(x, min), max)``, where None means no limit: ``max`` where ``min > max``, and NaN of NaN.

    Limits are numbers or arrays. Numbers take the type of x; integers next to floating numbers become float64, as in other functions of
    two elements.

    Shapes: x and the limits broadcast.
    Types: f16, bf16, f32, f64, i32 and i64.

    >>> backplane.elementwise.clip([-3.0, 0.5, 9.0], 0, 6)
    array([0. , 0.5, 6. ])
    """
    return _clip(dict(x=x, min=min, max=max, out=out, settings=settings), False)


def take(
    x: Kind, indices: Operand, /, axis: Optional[int] = None, *, out: Optional[Out] = None, settings: SettingsArgument = None
) -> Kind:
    """Takes the slices of x with these indices along an axis, as numpy.take. x of one dimension needs no axis.

    Shapes: x any, indices any; in the result, the shape of indices is in the place of the axis.
    Types: x f16, bf16, f32, f64, i32 or i64; indices i32 or i64.
    Errors: BadValueError: an index is below 0 or not below the size, or x has several dimensions and there is no axis

    >>> backplane.elementwise.take([10.0, 20.0, 30.0], [2, 0])
    array([30., 10.])
    """
    return _take(dict(x=x, indices=indices, axis=axis, out=out, settings=settings), False)


def take_along_axis(
    x: Kind, indices: Operand, /, axis: int = -1, *, out: Optional[Out] = None, settings: SettingsArgument = None
) -> Kind:
    """Takes one element of x for each index along an axis, as numpy.take_along_axis without broadcasting, or torch.gather.

    Shapes: ``x`` any; ``indices`` as ``x``, except along the axis; the result as ``indices``.
    Types: x f16, bf16, f32, f64, i32 or i64; indices i32 or i64.
    Errors: BadValueError: an index is below 0 or not below the size

    >>> backplane.elementwise.take_along_axis(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1], [0]]))
    array([[2.],
           [3.]])
    """
    return _take_along_axis(dict(x=x, indices=indices, axis=axis, out=out, settings=settings), False)


def concat(arrays: Sequence[Kind], /, axis: int = 0, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Returns the arrays one after another along an axis.

    Shapes: equal, except along the axis, where the sizes are added.
    Types: f16, bf16, f32, f64, i32 and i64, one for all arrays.
    Errors: BadValueError: there is no array

    >>> backplane.elementwise.concat([np.array([1.0, 2.0]), np.array([3.0])])
    array([1., 2., 3.])
    """
    return _concat(dict(arrays=arrays, axis=axis, out=out, settings=settings), False)


def astype(
    x: Kind, dtype: DType, /, *, copy: bool = True, out: Optional[Out] = None, settings: SettingsArgument = None
) -> Kind:
    """Returns a copy of x, converted to an element type: of NumPy, of torch, bool, int or float of Python, or a name.

    Numbers are rounded to nearest even. Floating numbers are truncated to integers: those out of range become the nearest
    integer of the type, and NaN becomes 0.

    Shapes: any; the result has the same.
    Types: all, from and to f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64 and bool; c64 and c128 to each other.
    Errors: BadTypeError: dtype is not an element type, or copy is False

    >>> backplane.elementwise.astype([1.5, 2.5, float("nan")], "int32")
    array([1, 2, 0], dtype=int32)
    """
    return _astype(dict(x=x, dtype=dtype, copy=copy, out=out, settings=settings), False)


for _function, _call in ((where, _where), (clip, _clip), (take, _take), (take_along_axis, _take_along_axis), (concat, _concat), (astype, _astype)):
    finish(_function, __name__, _function.__name__, str(_function.__doc__), _call)

del _function, _call
_close(__name__)
