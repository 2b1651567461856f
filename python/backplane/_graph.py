"""Graphs: networks of calls that are built once, and then run as one call."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Iterable, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _core
from ._dtypes import SHORT_NAMES
from ._dtypes import dtype as element_type
from ._elements import type_name
from ._errors import bad_type, bad_value, whole
from ._products import Explanation

if TYPE_CHECKING:
    from ._types import DType, Operand, SettingsArgument

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")
_TEXTS = ("expression",)  # fields that are texts, not words


class Value:
    """A tensor of a graph, which is written once: an input, a constant, or a result of a call or view. ``number`` is its number in
    the graph, from 1 on."""

    __slots__ = ("number", "dtype", "shape")

    def __init__(self, number: int, dtype: element_type, shape: Tuple[int, ...]) -> None:
        self.number, self.dtype, self.shape = number, dtype, shape

    def __repr__(self) -> str:
        return f"<backplane value {self.number}: {self.dtype + ''} {list(self.shape)}>"

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


class Port(NamedTuple):
    """An input or output of a graph."""

    name: str
    dtype: element_type
    shape: Tuple[int, ...]


def _text_of(name: str, given: Any) -> str:
    """Returns the value of a field as it stands in the text of a graph."""
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, str):
        escaped = given.replace("\\", "\\\\").replace('"', '\\"')
        return given if _WORD.match(given) and name not in _TEXTS else f'"{escaped}"'
    if isinstance(given, (tuple, list)):
        return "[" + ", ".join(_text_of(name, one) for one in given) + "]"
    number = whole(given)
    if number is not None:
        return str(number)
    if isinstance(given, complex):
        return f"({given.real.hex()}, {given.imag.hex()})"
    try:
        return float(given).hex()
    except (TypeError, ValueError):
        raise bad_type(f"{name}: expects a number, a str, a bool or a list of numbers, but got {given!r}") from None


def _sizes(name: str, given: Any) -> Tuple[int, ...]:
    numbers = tuple(whole(one) for one in given) if isinstance(given, Iterable) and not isinstance(given, str) else (whole(given),)
    if None in numbers:
        raise bad_type(f"{name}: expects whole numbers, but got {given!r}")
    return numbers  # type: ignore[return-value]


class Graph:
    """A network of calls that is built once, and then run as one call. Shapes and element types are known as soon as a value
    is added. After finish() a graph does not change, and several threads may call it at once.

    >>> graph = Graph()
    >>> x = graph.input("x", "f32", (4, 3))
    >>> w = graph.constant("w", np.ones((2, 3), np.float32))
    >>> hidden = graph.call("linear", x, w, activation="relu")
    >>> hidden.dtype, hidden.shape
    (backplane.float32, (4, 2))
    >>> graph.output("y", graph.call("softmax", hidden, axis=1))
    >>> graph.finish()
    >>> graph(np.ones((4, 3), np.float32)).tolist()[0]
    [0.5, 0.5]
    """

    __slots__ = ("_core", "__weakref__")

    def __init__(self) -> None:
        self._core = _core.Graph()

    # ---- Building ----

    def _value(self, number: int) -> Value:
        dtype, shape = self._core.shape_of(number)
        return Value(number, element_type(dtype), shape)

    def input(self, name: str, dtype: DType, shape: Sequence[int]) -> Value:
        """Adds an input. Calls take arrays of this type and shape, in the order in which inputs were added."""
        return self._value(self._core.add_input(name, type_name(dtype), _sizes("shape", shape)))

    def constant(self, name: str, array: Operand, *, borrow: bool = False) -> Value:
        """Adds a constant: an array of the host, which is copied. With ``borrow`` it is held and not copied, and must not
        change."""
        return self._value(self._core.add_constant(name, array, borrow))

    def call(self, call: str, /, *operands: Optional[Value], outputs: Union[int, Sequence[bool]] = 1, **fields: Any) -> Any:
        """Adds a call by its name in calls.h, with the operands that it reads in their order (None: absent), and its fields
        by their names. Returns the first output; for another number of ``outputs`` a tuple of them. Flags instead of a number
        say which outputs are wanted; the others are None.

        >>> graph = Graph()
        >>> graph.call("reduce", graph.input("x", "f64", (2, 3)), kind="max", axes=[1], keep=True).shape
        (2, 1)
        """
        wanted = (True,) * outputs if isinstance(outputs, int) else tuple(outputs)
        text = ", ".join(f"{name}={_text_of(name, given)}" for name, given in fields.items() if given is not None)
        numbers = tuple(None if value is None else value.number for value in operands)
        made = [None if n is None else self._value(n) for n in self._core.add_call(call, text, numbers, wanted)]
        return made[0] if outputs == 1 else tuple(made)

    def cast(self, value: Value, dtype: DType) -> Value:
        """Adds a conversion to another element type; returns the value itself if it has that type."""
        name = SHORT_NAMES.get(type_name(dtype), type_name(dtype))
        made: Value = value if value.dtype == name else self.call("unary", value, kind="copy", dtype=name)
        return made

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        """Adds a view with another shape and the same elements in row-major order; one size may be -1: what is left."""
        return self._value(self._core.add_reshape(value.number, _sizes("shape", shape)))

    def permute(self, value: Value, axes: Sequence[int]) -> Value:
        """Adds a view whose dimension i is dimension axes[i] of the value."""
        return self._value(self._core.add_permute(value.number, _sizes("axes", axes)))

    def expand(self, value: Value, shape: Sequence[int]) -> Value:
        """Adds a view that repeats dimensions of size 1, and may have more dimensions in front."""
        return self._value(self._core.add_expand(value.number, _sizes("shape", shape)))

    def slice(self, value: Value, axis: int, start: Optional[int] = None, stop: Optional[int] = None, step: int = 1) -> Value:
        """Adds a view of every ``step``-th element of an axis from ``start`` to ``stop``, as a slice of Python."""
        if step == 0:
            raise bad_value("slice: step is 0")
        if not -value.ndim <= axis < value.ndim:
            raise bad_value(f"slice: axis is {axis}; the value has {value.ndim} dimensions")
        first, last, step = slice(start, stop, step).indices(value.shape[axis])
        end = -(2**63) if step < 0 and last < 0 else last
        return self._value(self._core.add_slice(value.number, axis, first, end, step))

    def output(self, name: str, value: Value) -> None:
        """Adds an output. A call returns outputs in the order in which they were added."""
        self._core.add_output(name, value.number)

    def finish(self) -> None:
        """Ends the building."""
        self._core.close()

    # ---- Descriptions ----

    @property
    def inputs(self) -> Tuple[Port, ...]:
        """Name, element type and shape of each input."""
        return tuple(Port(name, element_type(dtype), shape) for name, dtype, shape in self._core.ports_in())

    @property
    def outputs(self) -> Tuple[Port, ...]:
        """Name, element type and shape of each output."""
        return tuple(Port(name, element_type(dtype), shape) for name, dtype, shape in self._core.ports_out())

    def text(self) -> str:
        """Returns the graph as text, which is exact: parse() makes the same graph from it."""
        return self._core.write()

    @classmethod
    def parse(cls, text: str) -> Graph:
        """Makes a finished graph from its text.

        >>> Graph.parse("graph 1\\ninput x f64 [3]\\ny = unary(x, kind=exp)\\noutput y = y\\n").outputs
        (Port(name='y', dtype=backplane.float64, shape=(3,)),)
        """
        made = cls()
        made._core.read(text)
        return made

    @classmethod
    def from_onnx(
        cls,
        path: Union[str, bytes, os.PathLike[str]],
        *,
        sizes: Optional[Mapping[str, int]] = None,
        values: Optional[Mapping[str, Operand]] = None,
    ) -> Graph:
        """Makes a finished graph of the model in an ONNX file. ``sizes`` are those that the model leaves open, by their names
        (``"batch"``) or places (``"x[0]"``: dimension 0 of input x). Inputs in ``values`` become constants.

        >>> Graph.from_onnx("missing.onnx", sizes={"batch": 8})
        Traceback (most recent call last):
        ...
        backplane.NotFoundError: missing.onnx: cannot open it: No such file or directory
        """
        made = cls()
        numbers = {str(name).encode(): whole(size) for name, size in (sizes or {}).items()}
        if None in numbers.values():
            raise bad_type(f"sizes: expects whole numbers, but got {sizes!r}")
        arrays = {str(name).encode(): array for name, array in (values or {}).items()}
        made._core.read_onnx(os.fsencode(path), numbers, arrays)  # type: ignore[arg-type]
        return made

    def hash(self) -> bytes:
        """Returns the SHA-256 of what the graph computes. Names do not change it."""
        return self._core.digest()

    def __repr__(self) -> str:
        return f"<backplane.Graph: {', '.join(p.name for p in self.inputs)} -> {', '.join(p.name for p in self.outputs)}>"

    # ---- Calls ----

    def __call__(self, *arrays: Operand, out: Any = None, settings: SettingsArgument = None) -> Any:
        """Computes the outputs: one array, or a tuple of them, of the kind of the first array. ``out`` is an array for the
        output, or a tuple with an array or None for each."""
        if out is None and settings is None:
            return self._core(*arrays)
        return self._core(*arrays, out=out, settings=settings)

    def explain(self, *arrays: Operand, out: Any = None, settings: SettingsArgument = None) -> Explanation:
        """Explains the plan of a call with these arguments: what became of the nodes, and which library runs each part."""
        return Explanation(self._core.explained(*arrays, out=out, settings=settings))
