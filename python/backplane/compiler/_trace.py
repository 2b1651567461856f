"""A trace: the graph of a function while it is recorded, and the values of the graph that the function works with."""

from __future__ import annotations

import sys
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from .. import _core
from .._conversions import LONG_NAMES, short_name
from .._convert import is_literal, numpy_of, type_of
from .._dtypes import dtype as element_type
from .._errors import whole
from .._graph import Graph, Value
from .._products import _is_numpy, _is_torch
from .._traced import Traced
from ._errors import trace_error

class Trace:
    """The graph of a function that is being recorded. `library` is the library of the function's first array: "numpy", "torch" or ""."""

    def __init__(self, library: str) -> None:
        self.graph = Graph()
        self.library = library
        self.constants = 0

    def dtype_of(self, kind: str) -> Any:
        """Returns an element type as the arrays of the function's library have it."""
        if self.library == "numpy" and kind != "bf16":
            return sys.modules["numpy"].dtype(LONG_NAMES[kind])
        if self.library == "torch":
            return getattr(sys.modules["torch"], LONG_NAMES[kind], element_type(kind))
        return element_type(kind)

    def tracer(self, value: Value) -> Tracer:
        """Returns the object that stands for a value of the graph."""
        return Tracer(self, value)

    def input(self, name: str, kind: str, shape: Sequence[int]) -> Tracer:
        """Adds an input of the graph."""
        return Tracer(self, self.graph.input(name, kind, shape), True)

    def value(self, x: Any) -> Value:
        """Returns the value of the graph that stands for an operand. An array becomes a constant, as it is now."""
        if isinstance(x, Tracer):
            if x.trace is not self:
                raise trace_error("a value of another trace is used; a traced function must not keep values for later calls")
            return x.value
        if is_literal(x):
            x = numpy_of("backplane.compile").asarray(x)
        self.constants += 1
        return self.graph.constant(f"c{self.constants - 1}", x)


class _Current(threading.local):
    trace: Optional[Trace] = None


CURRENT = _Current()
"""The trace of the calling thread."""


def current() -> Optional[Trace]:
    """Returns the trace of the calling thread, or None."""
    return CURRENT.trace


# ---- Operators ----

_METHODS: Dict[str, Callable[..., Any]] = {}
"""What the operators and methods of a value compute, which _namespace.py enters: they use functions of the whole package."""


_SYMBOLS = {
    "add": "+=", "sub": "-=", "mul": "*=", "truediv": "/=", "floordiv": "//=", "mod": "%=", "pow": "**=", "matmul": "@=", "and": "&=",
    "or": "|=", "xor": "^=", "lshift": "<<=", "rshift": ">>=",
}  # fmt: skip
_OF_TORCH = {
    "add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "true_divide": "divide", "matmul": "matmul", "pow": "pow",
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
}  # fmt: skip
"""The operators of a tensor of torch next to a value."""


def _operator(name: str, swapped: bool = False) -> Any:
    def apply(self: Tracer, other: Any) -> Any:
        return _METHODS[name](other, self) if swapped else _METHODS[name](self, other)

    return apply


def _in_place(name: str, symbol: str) -> Any:
    """Returns the operator that changes a value: all names of the object have the new one, as the names of an array would."""

    def apply(self: Tracer, other: Any) -> Any:
        made = _METHODS[name](self, other)
        if self.is_shared:
            raise trace_error(f"x {symbol} y changes an argument, or what shares memory with another array: {self!r}; write x = x {symbol[:-1]} y")
        if (made.kind, made.shape) != (self.kind, self.shape):
            raise trace_error(f"x {symbol} y changes the type or shape: {self!r} becomes {made!r}")
        self.value = made.value
        return self

    return apply


def _sign(name: str) -> Any:
    def apply(self: Tracer) -> Any:
        return _METHODS[name](self)

    return apply


def _method(name: str) -> Any:
    def apply(self: Tracer, *arguments: Any, **names: Any) -> Any:
        return _METHODS[name](self, *arguments, **names)

    return apply


def _refused(what: str) -> Any:
    def refuse(self: Tracer, *arguments: Any, **names: Any) -> Any:
        raise trace_error(
            f"{what} of a traced value is asked for, which has no elements: {self!r}. A traced function must not depend on them; "
            "backplane.elementwise.where() chooses between elements"
        )

    return refuse


class Tracer(Traced):
    """A value of a function that is being traced. It has the operators and methods of an array, which add calls to the graph."""

    __slots__ = ("trace", "value", "is_shared")
    __array_priority__ = 1000

    def __init__(self, trace: Trace, value: Value, is_shared: bool = False) -> None:
        self.trace, self.value = trace, value
        self.is_shared = is_shared
        """Whether an array would share memory with an argument or another array, so that it cannot be changed in place."""

    # ---- Properties ----

    @property
    def kind(self) -> str:
        return self.value.dtype + ""

    @property
    def dtype(self) -> Any:
        return self.trace.dtype_of(self.kind)

    @property
    def shape(self) -> Tuple[int, ...]:
        return self.value.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        product = 1
        for one in self.shape:
            product *= one
        return product

    @property
    def device(self) -> Any:
        """The device of the arrays: the host."""
        from .._torch_names import device

        return device("cpu")

    @property
    def T(self) -> Tracer:
        """The value with the order of its dimensions reversed."""
        return self.permuted(range(self.ndim)[::-1])

    @property
    def mT(self) -> Tracer:
        """The value with its last two dimensions exchanged."""
        if self.ndim < 2:
            raise trace_error(f"mT of a value with {self.ndim} dimensions")
        axes = list(range(self.ndim))
        return self.permuted([*axes[:-2], axes[-1], axes[-2]])

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a value without dimensions has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tracer]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<traced value: {self.kind} {list(self.shape)}>"

    def __hash__(self) -> int:
        return id(self)

    def as_float(self) -> Any:
        is_torch = self.trace.library == "torch"
        made: Tracer = self.astype(element_type(short_name(sys.modules["torch"].get_default_dtype()) if is_torch else "f64"))
        return made

    # ---- Views ----

    def of_view(self, value: Value) -> Tracer:
        """Returns the object that stands for a view of this value."""
        self.is_shared = True
        return Tracer(self.trace, value, True)

    def permuted(self, axes: Sequence[int]) -> Tracer:
        """Returns the value with its dimensions in this order."""
        return self.of_view(self.trace.graph.permute(self.value, tuple(axes)))

    def reshaped(self, shape: Sequence[int]) -> Tracer:
        """Returns the value with another shape."""
        return self.of_view(self.trace.graph.reshape(self.value, tuple(shape)))

    def expanded(self, shape: Sequence[int]) -> Tracer:
        """Returns the value with dimensions of size 1 repeated."""
        return self.of_view(self.trace.graph.expand(self.value, tuple(shape)))

    def __getitem__(self, index: Any) -> Tracer:
        return _indexed(self, index)

    # ---- What a graph does not have ----

    def __setitem__(self, index: Any, value: Any) -> None:
        raise trace_error("a traced value is assigned to in part; values are written once. backplane.elementwise.where() or concat() make new ones")

    __bool__ = _refused("the truth")
    __float__ = _refused("a number")
    __int__ = _refused("a number")
    __complex__ = _refused("a number")
    __index__ = _refused("a whole number")
    __array__ = _refused("an array")
    __dlpack__ = _refused("the memory")
    __dlpack_device__ = _refused("the memory")
    item = _refused("an element")
    tolist = _refused("a list")
    numpy = _refused("an array")

    # ---- Protocols ----

    def __array_namespace__(self, *, api_version: Optional[str] = None) -> Any:
        return _METHODS["namespace"](self.trace)

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **names: Any) -> Any:
        return _METHODS["ufunc"](function, method, inputs, names)

    def __array_function__(self, function: Any, types: Any, arguments: Any, names: Any) -> Any:
        return _METHODS["array_function"](function, arguments, names)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, arguments: Any = (), names: Any = None) -> Any:
        name = getattr(function, "__name__", str(function))
        if name in _OF_TORCH and not names:
            return _METHODS[_OF_TORCH[name]](*arguments)
        raise trace_error(
            f"{name} of torch is called; backplane.compile records functions of backplane, NumPy and the "
            "array API. torch.compile(function, backend='backplane') compiles code of torch"
        )

    __eq__ = _operator("equal")
    __ne__ = _operator("not_equal")
    __lt__ = _operator("less")
    __le__ = _operator("less_equal")
    __gt__ = _operator("greater")
    __ge__ = _operator("greater_equal")
    __neg__ = _sign("negative")
    __pos__ = _sign("positive")
    __abs__ = _sign("abs")
    __invert__ = _sign("invert")


for _name, _function in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide", "mod": "remainder", "pow": "pow",
    "matmul": "matmul", "and": "and", "or": "or", "xor": "xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}.items():
    setattr(Tracer, f"__{_name}__", _operator(_function))
    setattr(Tracer, f"__r{_name}__", _operator(_function, swapped=True))
    setattr(Tracer, f"__i{_name}__", _in_place(_function, _SYMBOLS[_name]))

for _name in (
    "all any argmax argmin astype clip cumsum dot flatten float half double max mean min permute prod ravel reshape round squeeze std sum "
    "swapaxes to transpose unsqueeze var view contiguous copy detach repeat take"
).split():
    setattr(Tracer, _name, _method(_name))


# ---- Indexing ----


def _padded(index: Any, ndim: int) -> List[Any]:
    """Returns an index for each dimension, with slices for those that an ellipsis stands for."""
    listed = list(index) if isinstance(index, tuple) else [index]
    if sum(one is Ellipsis for one in listed) > 1:
        raise IndexError("an index has one ellipsis at most")
    taken = sum(one is not None and one is not Ellipsis for one in listed)
    if taken > ndim:
        raise IndexError(f"there are {taken} indices; the value has {ndim} dimensions")
    place = next((i for i, one in enumerate(listed) if one is Ellipsis), len(listed))
    return [*listed[:place], *[slice(None)] * (ndim - taken), *listed[place + 1 :]]


def _is_array(one: Any) -> bool:
    return isinstance(one, (Tracer, list)) or _is_numpy(one) or _is_torch(one) or isinstance(one, _core.Tensor)


def _sliced(of: Tracer, axis: int, index: slice) -> Tracer:
    numbers = [None if one is None else whole(one) for one in (index.start, index.stop, index.step)]
    if index == slice(None):
        return of
    step = 1 if numbers[2] is None else numbers[2]
    return of.of_view(of.trace.graph.slice(of.value, axis, numbers[0], numbers[1], step))


def _indexed(of: Tracer, index: Any) -> Tracer:
    axis, shape, arrays = 0, [], []
    for one in _padded(index, of.ndim):
        number = None if isinstance(one, (bool, Tracer)) else whole(one) if not isinstance(one, slice) and one is not None else None
        if one is None:
            shape.append(1)
            continue
        if isinstance(one, slice):
            of = _sliced(of, axis, one)
        elif number is not None:
            size = of.shape[axis]
            if not -size <= number < size:
                raise IndexError(f"index {number} is out of range; dimension {axis} has size {size}")
            of = _sliced(of, axis, slice(number % size, number % size + 1))
            axis += 1
            continue
        elif _is_array(one) and (one.kind if isinstance(one, Tracer) else type_of_any(one)) in ("i32", "i64"):
            arrays.append((len(shape), one))
        else:
            raise trace_error(f"an index of a traced value is {one!r}; it must be whole numbers, slices, None, ..., or one array of i32 or i64")
        shape.append(of.shape[axis])
        axis += 1
    if tuple(shape) != of.shape:
        of = of.reshaped(shape)
    if len(arrays) > 1:
        raise trace_error("two arrays are indices of one value; backplane.elementwise.take() and take_along_axis() take one")
    for place, one in arrays:
        of = _METHODS["take_at"](of, one, place)
    return of


def type_of_any(array: Any) -> str:
    """Returns the library's name of the element type of any array."""
    if isinstance(array, list):
        array = numpy_of("an index").asarray(array)
    return short_name(array.dtype) if hasattr(array, "dtype") else type_of(array)
