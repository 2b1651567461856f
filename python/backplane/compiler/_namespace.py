"""What operators, methods and functions of NumPy and of the array API compute for traced values: functions of the package."""

from __future__ import annotations

import functools
import math
import operator
import sys
from types import SimpleNamespace
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .. import _dtypes, elementwise, fft, linalg, reduce
from .._conversions import LONG_NAMES, short_name
from .._cumsum import cumsum
from .._einsum import einsum
from .._errors import bad_type, bad_value, whole
from .._products import matmul
from .._traced import follows_numpy
from ._errors import trace_error
from ._trace import _METHODS, CURRENT, Trace, Tracer

# ---- Shapes ----


def _traced(x: Any) -> Tracer:
    """Returns a value; an array becomes a constant."""
    if isinstance(x, Tracer):
        return x
    if CURRENT.trace is None:
        raise bad_type("expects a traced value; the namespace of a value is for the function that is being traced")
    return CURRENT.trace.tracer(CURRENT.trace.value(x))


def _axis(axis: Any, ndim: int) -> int:
    number = whole(axis)
    if number is None or not -ndim <= number < ndim:
        raise bad_value(f"axis: is {axis!r}; the value has {ndim} dimensions")
    return number % ndim if ndim else 0


def _axes(axes: Any, ndim: int) -> List[int]:
    """Returns axes from 0 on; none are all."""
    listed = range(ndim) if axes is None else axes if isinstance(axes, (tuple, list)) else (axes,)
    return [_axis(axis, ndim) for axis in listed]


def _sizes(given: Tuple[Any, ...]) -> Tuple[Any, ...]:
    """Returns a shape that is given as one argument or as several."""
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list)) else given


def _reshape(x: Any, *shape: Any, order: str = "C", copy: Optional[bool] = None) -> Tracer:
    if order not in ("C", "A"):
        raise trace_error(f"reshape: order is {order!r}; elements are in row-major order")
    return _traced(x).reshaped(_sizes(shape))


def _permute_dims(x: Any, axes: Sequence[int]) -> Tracer:
    of = _traced(x)
    return of.permuted(_axes(tuple(axes), of.ndim))


def _transpose(x: Any, *axes: Any) -> Tracer:
    of = _traced(x)
    given = _sizes(axes)
    return of.T if not given or given == (None,) else of.permuted(_axes(given, of.ndim))


def _torch_transpose(x: Tracer, *axes: Any) -> Tracer:
    """Reverses or permutes dimensions, or exchanges two of three and more, as Tensor.transpose of torch."""
    exchanges = len(axes) == 2 and x.ndim != 2 and not isinstance(axes[0], (tuple, list))
    return _swapaxes(x, *axes) if exchanges else _transpose(x, *axes)


def _swapaxes(x: Any, axis1: int, axis2: int) -> Tracer:
    of = _traced(x)
    axes = list(range(of.ndim))
    first, second = _axis(axis1, of.ndim), _axis(axis2, of.ndim)
    axes[first], axes[second] = axes[second], axes[first]
    return of.permuted(axes)


def _moveaxis(x: Any, source: Any, destination: Any) -> Tracer:
    of = _traced(x)
    sources, places = _axes(source, of.ndim), _axes(destination, of.ndim)
    axes = [axis for axis in range(of.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources)):
        axes.insert(place, axis)
    return of.permuted(axes)


def _expand_dims(x: Any, axis: Any = 0) -> Tracer:
    of = _traced(x)
    count = of.ndim + (len(axis) if isinstance(axis, (tuple, list)) else 1)
    added, sizes = set(_axes(axis, count)), iter(of.shape)
    return of.reshaped([1 if place in added else next(sizes) for place in range(count)])


def _squeeze(x: Any, axis: Any = None) -> Tracer:
    of = _traced(x)
    removed = [place for place, size in enumerate(of.shape) if size == 1] if axis is None else _axes(axis, of.ndim)
    if any(of.shape[place] != 1 for place in removed):
        raise bad_value(f"squeeze: axis is {axis}; the value has shape {of.shape}", "E_SHAPE")
    return of.reshaped([size for place, size in enumerate(of.shape) if place not in removed])


def _broadcast_to(x: Any, shape: Sequence[int]) -> Tracer:
    return _traced(x).expanded(tuple(shape))


def _stack(arrays: Sequence[Any], axis: int = 0) -> Tracer:
    made: Tracer = elementwise.concat([_expand_dims(one, axis) for one in arrays], axis=_axis(axis, _traced(arrays[0]).ndim + 1))
    return made


def _split(x: Any, parts: Any, axis: int = 0) -> List[Tracer]:
    x = _traced(x)
    axis = _axis(axis, x.ndim)
    size, count = x.shape[axis], whole(parts)
    if count is not None and (count < 1 or size % count):
        raise bad_value(f"split: {count} parts of a dimension of size {size}")
    ends = [*parts, size] if count is None else [size // count * (i + 1) for i in range(count)]
    made, start = [], 0
    for end in ends:
        made.append(x[(slice(None),) * axis + (slice(start, end),)])
        start = end
    return made


def _repeat(x: Tracer, *counts: Any) -> Tracer:
    """Repeats the value along its dimensions, as Tensor.repeat of torch and numpy.tile."""
    numbers = _sizes(counts)
    x = x.reshaped((1,) * (len(numbers) - x.ndim) + x.shape)
    for axis, count in enumerate(numbers):
        if count != 1:
            x = elementwise.concat([x] * count, axis=axis) if count else x[(slice(None),) * axis + (slice(0, 0),)]
    return x


# ---- Elements ----


def _as_type(x: Any, dtype: Any, copy: bool = True) -> Tracer:
    of = _traced(x)
    if follows_numpy(of) and not isinstance(dtype, _dtypes.dtype):
        dtype = sys.modules["numpy"].dtype(dtype)  # "f4" counts bytes
    wanted = short_name(dtype)
    made: Tracer = _copy(of) if of.kind == wanted else elementwise.astype(of, wanted)
    return made


def _copy(x: Tracer) -> Tracer:
    """Returns another object for the same value: one may be changed in place without the other."""
    return x.trace.tracer(x.value)


def _logical(name: str) -> Callable[[Any, Any], Any]:
    """Returns the function of the operator: of bits for whole numbers and bools."""
    return lambda a, b: getattr(elementwise, f"bitwise_{name}")(a, b)


def _invert(x: Tracer) -> Any:
    return elementwise.logical_not(x) if x.kind == "bool" else elementwise.bitwise_invert(x)


def _power(a: Any, b: Any) -> Any:
    """Small whole exponents are products, which are exact for whole numbers."""
    if isinstance(b, int) and not isinstance(b, bool) and b in (1, 2, 3) and isinstance(a, Tracer):
        return functools.reduce(elementwise.multiply, [a] * b)
    return elementwise.pow(a, b)


def _round(x: Any, decimals: int = 0) -> Any:
    if decimals != 0:
        raise trace_error(f"round: to {decimals} decimals; a value is rounded to whole numbers")
    return elementwise.round(x)


def _reduction(name: str) -> Callable[..., Any]:
    call = getattr(reduce, name)

    def reduction(x: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False, **words: Any) -> Any:
        """`dim`, `keepdim`, `ddof` and `unbiased` are the words of other libraries."""
        axis, keepdims = words.pop("dim", axis), words.pop("keepdim", keepdims)
        if name in ("var", "std"):
            words["correction"] = words.pop("correction", words.pop("ddof", 0))
        x = _traced(x) if dtype is None else _as_type(x, dtype)
        return call(x, axis=axis, keepdims=bool(keepdims), **words)

    return reduction


def _clip(x: Any, min: Any = None, max: Any = None) -> Any:
    return elementwise.clip(x, min, max)


def _cumulative_sum(x: Any, axis: int = 0, dtype: Any = None, **words: Any) -> Any:
    return cumsum(_traced(x), words.pop("dim", axis), dtype=dtype, **words)


def _take(x: Any, indices: Any, axis: Optional[int] = None) -> Any:
    x = _traced(x)
    return elementwise.take(x, indices, axis=axis) if axis is not None or x.ndim == 1 else elementwise.take(x.reshaped((-1,)), indices, axis=0)


def _take_at(x: Tracer, indices: Any, axis: int) -> Any:
    """Negative indices count from the end, as in an index of an array."""
    indices = _traced(indices)
    from_end = elementwise.add(indices, x.shape[axis])
    return elementwise.take(x, elementwise.where(elementwise.less(indices, 0), from_end, indices), axis=axis)


def _to(x: Tracer, *given: Any, **words: Any) -> Any:
    """Converts the element type. Devices are ignored: graphs run on the host."""
    dtype = words.pop("dtype", None)
    for one in given:
        name = getattr(one, "type", one)
        dtype = dtype if isinstance(name, str) and name in ("cpu", "host") and not isinstance(one, _dtypes.dtype) else one
    if words.pop("device", "cpu") is not None and (words.keys() - {"copy", "non_blocking"}):
        raise bad_type(f"to: there is no argument {sorted(words)[0]!r}")
    return x if dtype is None else _as_type(x, dtype)


def _flatten(x: Tracer, start_dim: int = 0, end_dim: int = -1) -> Any:
    if not x.ndim:
        return x.reshaped((1,))
    first, last = _axis(start_dim, x.ndim), _axis(end_dim, x.ndim)
    return x.reshaped([*x.shape[:first], math.prod(x.shape[first : last + 1]), *x.shape[last + 1 :]])


def _dot(a: Any, b: Any) -> Any:
    a, b = _traced(a), _traced(b)
    if not a.ndim or not b.ndim:
        return elementwise.multiply(a, b)
    if b.ndim < 2:
        return matmul(a, b)
    left, right = "".join(chr(97 + i) for i in range(a.ndim - 1)), [chr(110 + i) for i in range(b.ndim)]
    contracted = right[-2]
    rest = "".join(one for one in right if one != contracted)
    return einsum(f"{left}{contracted},{''.join(right)}->{left}{rest}", a, b)


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = _traced(a), _traced(b)
    count = whole(axes)
    first, second = (range(a.ndim - count, a.ndim), range(count)) if count is not None else axes
    firsts, seconds = _axes(tuple(first) if not isinstance(first, int) else first, a.ndim), _axes(
        tuple(second) if not isinstance(second, int) else second, b.ndim
    )
    labels = list(range(a.ndim)), [a.ndim + axis for axis in range(b.ndim)]
    for left, right in zip(firsts, seconds):
        labels[1][right] = left
    output = [one for i, one in enumerate(labels[0]) if i not in firsts] + [one for i, one in enumerate(labels[1]) if i not in seconds]
    return einsum(a, labels[0], b, labels[1], output)


def _where(condition: Any, a: Any, b: Any) -> Any:
    return elementwise.where(condition, a, b)


def _full(shape: Any, value: Any, kind: str) -> Tracer:
    """Returns a constant of one element, expanded."""
    trace = CURRENT.trace
    if trace is None:
        raise bad_type("expects to be called while a function is traced")
    from .._devices import full

    return trace.tracer(trace.value(full((), value, dtype=kind))).expanded(tuple(shape) if isinstance(shape, (tuple, list)) else (shape,))


def _maker(value: float) -> Callable[..., Tracer]:
    def make(shape: Any, *, dtype: Any = None, device: Any = None) -> Tracer:
        return _full(shape, value, "f64" if dtype is None else short_name(dtype))

    return make


def _maker_like(value: float) -> Callable[..., Tracer]:
    def make(x: Tracer, /, *, dtype: Any = None, device: Any = None) -> Tracer:
        return _full(x.shape, value, x.kind if dtype is None else short_name(dtype))

    return make


def _full_like(x: Tracer, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tracer:
    return _full(x.shape, fill_value, x.kind if dtype is None else short_name(dtype))


def _asarray(x: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Tracer:
    return _traced(x) if dtype is None else _as_type(x, dtype)


# ---- Tables ----

_REDUCTIONS = ("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var")
_SHAPES: Dict[str, Callable[..., Any]] = {
    "broadcast_to": _broadcast_to,
    "concat": lambda arrays, axis=0: _concat(arrays, axis),
    "expand_dims": _expand_dims,
    "matrix_transpose": lambda x: _traced(x).mT,
    "moveaxis": _moveaxis,
    "permute_dims": _permute_dims,
    "reshape": _reshape,
    "squeeze": _squeeze,
    "stack": _stack,
    "tensordot": _tensordot,
}


def _concat(arrays: Sequence[Any], axis: Optional[int] = 0) -> Any:
    given = [_traced(one) for one in arrays]
    return elementwise.concat([one.reshaped((-1,)) for one in given] if axis is None else given, axis=axis or 0)


_OPERATORS = (
    "abs add bitwise_left_shift bitwise_right_shift divide equal floor_divide greater greater_equal less less_equal multiply negative "
    "not_equal remainder subtract"
).split()
_METHODS.update({name: getattr(elementwise, name) for name in _OPERATORS})
_METHODS.update({name: _reduction(name) for name in _REDUCTIONS})
_METHODS.update({name: _logical(name) for name in ("and", "or", "xor")})
_METHODS.update(
    astype=_as_type, clip=_clip, contiguous=lambda x: x, copy=_copy, cumsum=_cumulative_sum, detach=lambda x: x, dot=_dot,
    double=lambda x: _as_type(x, "f64"), flatten=_flatten, float=lambda x: _as_type(x, "f32"), half=lambda x: _as_type(x, "f16"),
    invert=_invert, matmul=matmul, permute=lambda x, *axes: _permute_dims(x, _sizes(axes)), positive=_copy, pow=_power,
    ravel=lambda x: x.reshaped((-1,)), repeat=_repeat, reshape=_reshape, round=_round, squeeze=_squeeze, swapaxes=_swapaxes, take=_take,
    take_at=_take_at, to=_to, transpose=_torch_transpose, unsqueeze=_expand_dims, view=_reshape,
)  # fmt: skip

# ---- The array API ----


def _namespace_of(trace: Trace) -> SimpleNamespace:
    """Returns the functions of the array API, and the element types of the function's library."""
    made = SimpleNamespace(__name__="backplane.compiler", **_SHAPES)
    for name in elementwise.__all__:
        setattr(made, name, getattr(elementwise, name))
    for name in _REDUCTIONS:
        setattr(made, name, _METHODS[name])
    for kind, name in LONG_NAMES.items():
        setattr(made, name, trace.dtype_of(kind))
    made.__dict__.update(
        matmul=matmul, vecdot=linalg.vecdot, astype=_as_type, where=_where, clip=_clip, cumulative_sum=_cumulative_sum, asarray=_asarray,
        zeros=_maker(0), ones=_maker(1), zeros_like=_maker_like(0), ones_like=_maker_like(1), full_like=_full_like, einsum=einsum,
        linalg=linalg, fft=fft, pi=math.pi, e=math.e, inf=math.inf, nan=math.nan, newaxis=None,
    )  # fmt: skip
    return made


_METHODS["namespace"] = _namespace_of

# ---- NumPy ----

_UFUNCS = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "fabs": "abs", "invert": "bitwise_invert", "left_shift": "bitwise_left_shift", "mod": "remainder", "power": "pow",
    "right_shift": "bitwise_right_shift", "rint": "round", "true_divide": "divide",
}  # fmt: skip
"""The names of the package where they are not NumPy's."""


def _square(x: Any) -> Any:
    return elementwise.multiply(x, x)


_OF_UFUNCS: Dict[str, Callable[..., Any]] = {
    "matmul": matmul, "positive": _copy, "square": _square, "power": _power, "invert": _invert, "vecdot": linalg.vecdot,
}  # fmt: skip
_OF_REDUCE = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any"}


def _ufunc(function: Any, method: str, inputs: Tuple[Any, ...], names: Dict[str, Any]) -> Any:
    name = function.__name__
    words = {key: value for key, value in names.items() if value is not None and not (key == "where" and value is True)}
    if method == "reduce" and name in _OF_REDUCE:
        axis = words.pop("axis", 0)
        return _METHODS[_OF_REDUCE[name]](*inputs, axis=axis, **words)
    found = _OF_UFUNCS.get(name) or getattr(elementwise, _UFUNCS.get(name, name), None)
    dtype = words.pop("dtype", None)
    if method != "__call__" or found is None or words:
        what = f"numpy.{name}" + ("" if method == "__call__" else f".{method}") + (f" with {sorted(words)[0]}" if words else "")
        raise trace_error(f"{what} of a traced value is not recorded")
    if dtype is not None:
        inputs = tuple(_as_type(one, dtype) if isinstance(one, Tracer) else one for one in inputs)
    return found(*inputs)


_METHODS["ufunc"] = _ufunc

_OF_NUMPY: Dict[str, Callable[..., Any]] = {
    **{name: _METHODS[name] for name in _REDUCTIONS}, **{f"a{name}": _METHODS[name] for name in ("max", "min")}, **_SHAPES,
    "clip": _clip, "concatenate": _concat, "cumsum": _cumulative_sum, "dot": _dot, "einsum": einsum, "flip": elementwise.flip,
    "ravel": lambda x: x.reshaped((-1,)), "roll": lambda x, shift, axis=None: elementwise.roll(x, shift, axis=axis), "round": _round,
    "around": _round, "split": _split, "swapaxes": _swapaxes, "take": _take, "take_along_axis": elementwise.take_along_axis, "tile": _repeat,
    "transpose": lambda x, axes=None: _transpose(x, axes), "where": _where, "ndim": lambda x: x.ndim, "shape": lambda x: x.shape,
    "size": lambda x: x.size, "zeros_like": lambda x, dtype=None: _maker_like(0)(x, dtype=dtype),
    "ones_like": lambda x, dtype=None: _maker_like(1)(x, dtype=dtype),
    "full_like": lambda x, fill_value, dtype=None: _full_like(x, fill_value, dtype=dtype),
    "vdot": lambda a, b: _dot(_traced(a).reshaped((-1,)), _traced(b).reshaped((-1,))), "outer": lambda a, b: elementwise.multiply(
        _traced(a).reshaped((-1, 1)), _traced(b).reshaped((1, -1))),
    "norm": linalg.norm, "inner": lambda a, b: _tensordot(a, b, ([-1], [-1])),
}  # fmt: skip


def _array_function(function: Any, arguments: Tuple[Any, ...], names: Dict[str, Any]) -> Any:
    name, module = function.__name__, getattr(function, "__module__", "") or ""
    found = _OF_NUMPY.get(name)
    if module.startswith("numpy.fft"):
        found = getattr(fft, name, None)
    elif module.startswith("numpy.linalg"):
        found = getattr(linalg, name, None)
    if found is None:
        raise trace_error(f"{module}.{name} of a traced value is not recorded; backplane has functions that are")
    return found(*arguments, **{key: value for key, value in names.items() if value is not None})


_METHODS["array_function"] = _array_function
