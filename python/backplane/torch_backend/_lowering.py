"""Converts a graph of torch's functional ATen operations to a backplane.Graph.

Each node of the graph has a handler in the tables of _views.py, _elements.py and _layers.py, which adds calls and views. What does not
depend on the graph's inputs, such as a causal mask, is computed by torch when the graph is made, and becomes a constant.
"""

from __future__ import annotations

import contextlib
import operator
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, TypeVar, Union

import torch

from .._core import Error
from .._graph import Graph, Value

Handler = Callable[..., Any]

HANDLERS: Dict[str, Handler] = {}
"""By the name of the operation without its overload: "aten.linear"."""

DTYPES: Dict[torch.dtype, str] = {
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.complex64: "c64",
    torch.complex128: "c128",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.uint8: "u8",
    torch.bool: "bool",
}
_TORCH_DTYPES = {name: dtype for dtype, name in DTYPES.items()}

# Functions of one element that linear layers and convolutions apply to their results. Two calls give the same result.
ACTIVATIONS = {"aten.relu": "relu", "aten.silu": "silu", "aten.sigmoid": "sigmoid", "aten.tanh": "tanh", "aten.gelu": "gelu"}

# The element types of calls that look at some of them only when a plan is made.
_FLOATS = ("f16", "bf16", "f32", "f64")
_ACCEPTED = {
    **dict.fromkeys(("linear", "conv", "pool", "batch_norm", "layer_norm", "softmax", "attention", "rnn"), _FLOATS),
    **dict.fromkeys(("matmul", "einsum"), (*_FLOATS, "c64", "c128")),
    "vector_norm": ("f32", "f64", "c64", "c128"),
}

_CHECKS = ("aten._assert_tensor_metadata", "aten._assert_scalar", "aten.sym_constrain_range", "aten.sym_constrain_range_for_size")


class Unsupported(NotImplementedError):
    """An operation, or a form of it, that Backplane does not compute."""


_Given = TypeVar("_Given", bound=Handler)


def handles(*names: str) -> Callable[[_Given], _Given]:
    """Enters a handler into the table. It gets the Lowering and the arguments of the operation by their names; `self` is `input`."""

    def enter(handler: _Given) -> _Given:
        for name in names:
            HANDLERS["aten." + name] = handler
        return handler

    return enter


def name_of(node: torch.fx.Node) -> str:
    """Returns the name of a node's operation without its overload."""
    packet = getattr(node.target, "overloadpacket", None)
    return str(packet) if packet is not None else getattr(node.target, "__name__", str(node.target))


def list_of(given: Any, count: int) -> List[int]:
    """Returns a number for each of `count` dimensions: an int, and a list of one, are for all."""
    numbers = [given] if isinstance(given, int) else list(given)
    return numbers * count if len(numbers) == 1 else numbers


def axes_of(given: Any, ndim: int) -> List[int]:
    """Returns dimensions from 0 on; None and [] are all."""
    listed = [given] if isinstance(given, int) else list(given or [])
    return [axis % max(ndim, 1) for axis in listed] if listed else list(range(ndim))


class Output(NamedTuple):
    """How a call makes one of its results."""

    kind: str
    """"graph": an output of the graph. "argument": an argument of the call. "constant": a copy of a tensor. "plain": any other object."""
    source: Any
    """The number of the output or argument, or the object."""
    views: Tuple[torch.fx.Node, ...] = ()
    """Views that torch makes of it, so that they share memory as torch's own do."""


def _dtype_of(x: Any) -> torch.dtype:
    return _TORCH_DTYPES[x.dtype] if isinstance(x, Value) else x.dtype


class Lowering:
    """Makes a graph from a torch.fx.Graph and its arguments: a tensor is a constant, Input an input, and a number is itself.

    With the mode of torch's fake tensors, which have no elements, constants are fake too. Then `refused` has the nodes that are
    not supported, and the graph is not called."""

    def __init__(self, fx: torch.fx.GraphModule, arguments: Sequence[Any], fake_mode: Any = None) -> None:
        self.graph = Graph()
        self.node: torch.fx.Node = None  # the one that is being added
        self.outputs: List[Output] = []
        self.inputs: List[int] = []  # numbers of the arguments that the graph takes
        self.has_graph = False
        self.refused: Dict[torch.fx.Node, str] = {}  # with the reason
        self._values: Dict[torch.fx.Node, Any] = {}
        self._constants: Dict[Any, Tuple[Value, Any]] = {}
        self._fused: Dict[torch.fx.Node, torch.fx.Node] = {}
        self._fx = fx
        self._fake_mode = fake_mode
        self._add_all(arguments)

    # ---- What handlers use ----

    @property
    def dtype(self) -> str:
        """The element type of the node's result."""
        return self.name_of_dtype(self.meta().dtype)

    def meta(self) -> Any:
        """Torch's description of the node's first result."""
        found = self.node.meta["val"]
        return found[0] if isinstance(found, (tuple, list)) else found

    def name_of_dtype(self, dtype: torch.dtype) -> str:
        """Returns Backplane's name of an element type."""
        if dtype not in DTYPES:
            raise Unsupported(f"elements of type {dtype}")
        return DTYPES[dtype]

    def value(self, x: Any, dtype: Optional[str] = None) -> Value:
        """Returns a value of the graph, converted to a type: for a value, a tensor, which becomes a constant, or a number."""
        if isinstance(x, Value):
            return x if dtype is None else self.graph.cast(x, dtype)
        if not isinstance(x, torch.Tensor):
            if dtype is None:
                raise Unsupported(f"a number as a tensor: {x!r}")
            return self._number(x, dtype)
        if dtype is not None and DTYPES.get(x.dtype) != dtype:
            x = x.to(_TORCH_DTYPES[dtype])
        return self._constant(x)

    def optional(self, x: Any, dtype: Optional[str] = None) -> Optional[Value]:
        """As value(), or None for None."""
        return None if x is None else self.value(x, dtype)

    def common(self, *operands: Any) -> str:
        """Returns the element type to which torch converts these operands."""
        like = [
            torch.empty((1,) * x.ndim, dtype=_dtype_of(x), device="meta") if isinstance(x, (Value, torch.Tensor)) else x
            for x in operands
        ]
        found = like[0]
        for one in like[1:]:
            dtype = torch.result_type(found, one)
            deepest = max((x for x in (found, one) if isinstance(x, torch.Tensor)), key=lambda x: x.ndim, default=None)
            found = torch.empty(() if deepest is None else deepest.shape, dtype=dtype, device="meta")
        return self.name_of_dtype(found.dtype if isinstance(found, torch.Tensor) else torch.tensor(found).dtype)

    def call(self, call: str, *operands: Optional[Value], outputs: Any = 1, **fields: Any) -> Any:
        """Adds a call of the graph."""
        for operand in operands[:2]:
            if operand is not None and operand.dtype not in _ACCEPTED.get(call, (operand.dtype,)):
                raise Unsupported(f"elements of type {operand.dtype + ''}")
        return self.graph.call(call, *operands, outputs=outputs, **fields)

    def unary(self, kind: str, x: Any, **fields: Any) -> Value:
        """Adds a function of one element."""
        made: Value = self.call("unary", self.value(x), kind=kind, **fields)
        return made

    def binary(self, kind: str, a: Any, b: Any, dtype: Optional[str] = None) -> Value:
        """Adds a function of two elements, which are converted to one type, by default the type of the node's result."""
        wanted = dtype or self.dtype
        made: Value = self.call("binary", self.value(a, wanted), self.value(b, wanted), kind=kind)
        return made

    def run_torch(self, function: Callable[..., Any], *arguments: Any, **words: Any) -> Any:
        """Calls a function of torch, on tensors that do not depend on the inputs."""
        with torch.no_grad(), self._fake_mode or contextlib.nullcontext():
            return function(*arguments, **words)

    def activation(self) -> Optional[str]:
        """Returns the function of one element that alone uses the node's result, and that the node's call can apply."""
        users = list(self.node.users)
        name = ACTIVATIONS.get(name_of(users[0])) if len(users) == 1 and users[0].op == "call_function" else None
        if name is None:
            return None
        if name == "gelu" and users[0].kwargs.get("approximate", "none") == "tanh":
            name = "gelu_tanh"
        self._fused[users[0]] = self.node
        return name

    # ---- Values ----

    def _number(self, x: Any, dtype: str) -> Value:
        return self._constant(torch.tensor(x, dtype=_TORCH_DTYPES[dtype]), key=(dtype, repr(x)))

    def _constant(self, x: torch.Tensor, key: Any = None) -> Value:
        key = key or id(x)
        if key not in self._constants:
            name = f"c{len(self._constants)}"
            if self._fake_mode is not None:
                shape = [size_hint(size) for size in x.shape]
                self._constants[key] = self.graph.input(name, self.name_of_dtype(x.dtype), shape), x
            else:
                self.name_of_dtype(x.dtype)
                plain = x.detach().resolve_neg().resolve_conj()
                self._constants[key] = self.graph.constant(name, plain, borrow=True), x
        return self._constants[key][0]

    def _add_all(self, arguments: Sequence[Any]) -> None:
        given = iter(enumerate(arguments))
        for node in self._fx.graph.nodes:
            self.node = node
            if node.op == "placeholder":
                self._values[node] = self._argument(*next(given))
            elif node.op == "get_attr":
                self._values[node] = self._attribute(node.target)
            elif node.op == "output":
                self._add_outputs(node.args[0])
            else:
                self._values[node] = self._result(node)

    def _argument(self, index: int, given: Any) -> Any:
        if not isinstance(given, Input):
            return given
        self.inputs.append(index)
        return self._new_input(f"x{index}", given)

    def _new_input(self, name: str, of: Any) -> Any:
        if of.dtype not in DTYPES:
            raise Unsupported(f"elements of type {of.dtype}")
        return self.graph.input(name, DTYPES[of.dtype], [size_hint(size) for size in of.shape])

    def _of(self, given: Any) -> Any:
        return torch.fx.node.map_arg(given, lambda node: self._values[node])

    def _attribute(self, name: str) -> Any:
        found = operator.attrgetter(name)(self._fx)
        fakes = self._fake_mode is not None and isinstance(found, torch.Tensor)
        return self._fake_mode.from_tensor(found) if fakes else found

    # ---- Nodes ----

    def _result(self, node: torch.fx.Node) -> Any:
        try:
            return self._compute(node)
        except (Error, Unsupported) as error:
            name = name_of(node)
            reason = name if str(error) == name else f"{name}: {error}"
            if self._fake_mode is None:
                raise Unsupported(reason) from error
            self.refused[node] = reason
            return self._stand_in(node.meta.get("val"), f"r{len(self.refused)}")

    def _compute(self, node: torch.fx.Node) -> Any:
        name = name_of(node)
        if node in self._fused:
            return self._values[self._fused[node]]
        if name in _CHECKS:
            return None
        arguments, words = self._of(node.args), self._of(dict(node.kwargs))
        given = (arguments, tuple(words.values()))
        if _has(given, _Absent):
            raise Unsupported("of what cannot be a value of a graph")
        if node.target is operator.getitem or not _has(given, Value):
            return self._evaluate(node, arguments, words)
        handler = HANDLERS.get(name)
        if handler is None:
            raise Unsupported(name)
        return handler(self, **_bound(node.target, arguments, words))

    def _stand_in(self, of: Any, name: str) -> Any:
        """Returns an input in place of the result of a node that is not supported, so that what follows can be looked at."""
        if isinstance(of, (tuple, list)):
            return tuple(self._stand_in(one, f"{name}_{i}") for i, one in enumerate(of))
        try:
            return self._new_input(name, of) if isinstance(of, torch.Tensor) else _Absent()
        except (Error, Unsupported):
            return _Absent()

    def _evaluate(self, node: torch.fx.Node, arguments: Any, words: Any) -> Any:
        """Computes a node that does not depend on the inputs."""
        tags = getattr(node.target, "tags", ())
        if torch.Tag.nondeterministic_seeded in tags:
            raise Unsupported(f"{name_of(node)}: random numbers")
        return self.run_torch(node.target, *arguments, **words)

    # ---- Outputs ----

    def _views_of(self, node: torch.fx.Node) -> Tuple[torch.fx.Node, List[torch.fx.Node]]:
        """Returns the node that a node is a view of in torch, and the views from there to it."""
        views: List[torch.fx.Node] = []
        while node.op == "call_function":
            part = node.target is operator.getitem and isinstance(node.args[0], torch.fx.Node)
            of = node.args[0] if part else node
            if not _is_view(of):
                break
            views[:0] = [of, node] if part else [node]
            node = of.args[0]
        return node, views

    def _add_outputs(self, results: Any) -> None:
        roots = [self._views_of(node) if isinstance(node, torch.fx.Node) else (None, []) for node in results]
        numbers: Dict[torch.fx.Node, int] = {}
        for node, (root, views) in zip(results, roots):
            if not isinstance(node, torch.fx.Node):
                self.outputs.append(Output("plain", node))
                continue
            value = self._values[node]
            shares = sum(other is root for other, _ in roots) > 1
            if root.op == "placeholder":
                index = [n for n in self._fx.graph.nodes if n.op == "placeholder"].index(root)
                self.outputs.append(Output("argument", index, tuple(self._fixed(views))))
            elif isinstance(value, _Absent):
                continue
            elif isinstance(value, Value):
                source = root if shares else node
                if source not in numbers:
                    numbers[source] = self._add_output(source, len(numbers))
                self.outputs.append(Output("graph", numbers[source], tuple(self._fixed(views)) if shares else ()))
            else:
                self.outputs.append(Output("constant" if isinstance(value, torch.Tensor) else "plain", value))
        if numbers:
            self.graph.finish()
            for node, index in numbers.items():
                self._set_strides(index, node.meta["val"])
        self.has_graph = bool(numbers)

    @property
    def is_plain(self) -> bool:
        """Whether the results are the outputs of the graph, in their order."""
        return all(output == Output("graph", i) for i, output in enumerate(self.outputs))

    def _fixed(self, views: List[torch.fx.Node]) -> List[Any]:
        """Returns each view as a function of a tensor."""
        return [_View(v.target, self._of(v.args[1:]), self._of(dict(v.kwargs))) for v in views]

    def _add_output(self, node: torch.fx.Node, index: int) -> int:
        self.graph.output(f"y{index}", self._values[node])
        return index

    def _set_strides(self, index: int, like: Any) -> None:
        """Gives the arrays of an output the order of dimensions that torch's have."""
        shape = self.graph.outputs[index].shape
        strides = [size_hint(step) for step in like.stride()]
        order = sorted(range(len(shape)), key=lambda axis: (-strides[axis], axis))
        step, made = 1, [0] * len(shape)
        for axis in reversed(order):
            made[axis] = step
            step *= max(shape[axis], 1)
        self.graph._core.set_strides(index, tuple(made))


class Input(NamedTuple):
    """An argument that the graph takes in each call."""

    dtype: torch.dtype
    shape: Tuple[int, ...]


class _View(NamedTuple):
    function: Callable[..., Any]
    arguments: Tuple[Any, ...]
    words: Dict[str, Any]

    def __call__(self, tensor: torch.Tensor) -> torch.Tensor:
        return self.function(tensor, *self.arguments, **self.words)


def size_hint(size: Any) -> int:
    """Returns the size that torch traced with, without making it a condition of the compiled function."""
    if isinstance(size, int):
        return size
    hint = size.node.hint
    if hint is None:
        raise Unsupported("a shape that follows from data")
    return int(hint)


class _Absent:
    """The result of a node that is not supported, and whose element type or shape no value has."""


def _has(given: Any, kind: type) -> bool:
    """Returns whether an object of this type is among the arguments, also in lists."""
    if isinstance(given, (tuple, list)):
        return any(_has(one, kind) for one in given)
    return isinstance(given, kind)


def _is_view(node: torch.fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    if schema is None or len(schema.returns) != 1 or not schema.arguments or not isinstance(node.args[0], torch.fx.Node):
        return False
    first, result = schema.arguments[0].alias_info, schema.returns[0].alias_info
    if first is None or result is None or first.is_write:
        return False
    of, made = node.args[0].meta.get("val"), node.meta.get("val")
    parts = made if isinstance(made, (tuple, list)) else (made,)
    return isinstance(of, torch.Tensor) and all(isinstance(one, torch.Tensor) and one.dtype == of.dtype for one in parts)


def _bound(target: Any, arguments: Sequence[Any], words: Dict[str, Any]) -> Dict[str, Any]:
    """Returns the arguments by their names in the operation's schema."""
    bound = {}
    for place, argument in enumerate(target._schema.arguments):
        name = "input" if argument.name == "self" else argument.name
        if place < len(arguments) and not argument.kwarg_only:
            bound[name] = arguments[place]
        elif argument.name in words:
            bound[name] = words[argument.name]
        elif argument.has_default_value():
            bound[name] = argument.default_value
    return bound


Numbers = Union[int, Sequence[int]]
