"""Compiled functions: they are traced at their first call with arrays of certain types and sizes, and their graph runs from then on."""

from __future__ import annotations

import functools
import os
import sys
import threading
import weakref
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, TypeVar, Union, overload

from .. import _core
from .._conversions import short_name
from .._convert import shape_of, type_of
from .._errors import bad_type, bad_value, failure
from .._graph import Graph
from .._products import Explanation, _is_numpy, _is_torch
from ._backends import Backend, build, get_default_backend, lookup
from .._traced import TRACING
from ._errors import RecompileLimitHit, trace_error
from ._record import record
from ._stance import Stance
from ._trace import CURRENT, Trace, Tracer
from ._trees import Tree, flatten, unflatten

MOST_GRAPHS = 64
"""Graphs of different types and sizes that a function keeps."""

# ---- Recording ----


class _Recording:
    """Makes a trace the one of the calling thread. The extension asks for the recorder while any thread traces."""

    _lock = threading.Lock()
    _count = 0

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def __enter__(self) -> None:
        self._former, CURRENT.trace = CURRENT.trace, self._trace
        TRACING.refuse = trace_error
        with _Recording._lock:
            _Recording._count += 1
            _core.set_recorder(record)

    def __exit__(self, *error: Any) -> None:
        CURRENT.trace = self._former
        TRACING.refuse = trace_error if self._former is not None else None
        with _Recording._lock:
            _Recording._count -= 1
            if _Recording._count == 0:
                _core.set_recorder(None)


    @classmethod
    def renew(cls) -> None:
        """In a child of fork: only the thread that forked goes on, and another one may have held the lock."""
        cls._lock = threading.Lock()
        cls._count = 0 if CURRENT.trace is None else 1
        _core.set_recorder(None if CURRENT.trace is None else record)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Recording.renew)


# ---- Arguments ----


def _is_array(leaf: Any) -> bool:
    if isinstance(leaf, (bool, int, float, complex, str, bytes, bytearray, type(None))):
        return False
    if _is_numpy(leaf) or _is_torch(leaf) or isinstance(leaf, _core.Tensor):
        return True
    return (hasattr(leaf, "__dlpack__") or _has_buffer(leaf)) and type_of(leaf) != ""


def _has_buffer(leaf: Any) -> bool:
    try:
        memoryview(leaf)
    except TypeError:
        return False
    return True


def _as_leaf(leaf: Any) -> Any:
    """Returns a scalar of NumPy as an array."""
    numpy = sys.modules.get("numpy")
    return numpy.asarray(leaf) if numpy is not None and isinstance(leaf, numpy.generic) else leaf


def _library(array: Any) -> str:
    return "numpy" if _is_numpy(array) else "torch" if _is_torch(array) else ""


def _described(array: Any) -> Tuple[str, Tuple[int, ...]]:
    """Returns the library's name of the element type, and the shape."""
    known = _library(array) != ""
    return short_name(array.dtype) if known else type_of(array), tuple(shape_of(array))


def _key_of(leaf: Any) -> Any:
    if _is_array(leaf):
        return (type(leaf), *_described(leaf))
    try:
        hash(leaf)
    except TypeError:
        return _Same(leaf)
    return type(leaf), repr(leaf) if isinstance(leaf, (float, complex)) else leaf


class _Same:
    """An object without a hash, which is known again by its identity."""

    def __init__(self, of: Any) -> None:
        self._of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other._of is self._of

    def __hash__(self) -> int:
        return id(self._of)


# ---- Graphs ----


class _Result(NamedTuple):
    """The origin of a leaf of the result: "graph", "argument" or "plain"."""

    kind: str
    source: Any


class _Kept:
    """The graph of a function for certain types and sizes, and how its result is made."""

    def __init__(self, graph: Optional[Graph], run: Optional[Callable[..., Any]], tree: Tree, results: Sequence[_Result]) -> None:
        self.graph, self.run, self.tree, self.results = graph, run, tree, list(results)
        count = len(self.results)
        in_order = [(one.kind, one.source) for one in self.results] == [("graph", i) for i in range(count)]
        is_flat = tree == "leaf" if count == 1 else tree == (tuple, ("leaf",) * count)
        # The run of the graph itself gives the result: one array, or a tuple of them.
        self.is_plain = in_order and is_flat and graph is not None and run is graph._core

    def __call__(self, *arrays: Any) -> Any:
        made: Any = ()
        if self.run is not None:
            made = self.run(*arrays)
            if self.is_plain:
                return made
            made = tuple(made) if isinstance(made, (tuple, list)) else (made,)
        sources = {"graph": made, "argument": arrays}
        leaves = iter([sources[one.kind][one.source] if one.kind in sources else one.source for one in self.results])
        return unflatten(self.tree, leaves.__next__)


def _result_of(trace: Trace, leaf: Any, numbers: Dict[int, int], inputs: Dict[int, int]) -> _Result:
    """Adds a leaf of the result to the outputs of the graph, unless it is an argument or no array."""
    if not isinstance(leaf, Tracer) and not _is_array(_as_leaf(leaf)):
        return _Result("plain", leaf)
    value = trace.value(leaf)
    if value.number in inputs:
        return _Result("argument", inputs[value.number])
    if value.number not in numbers:
        numbers[value.number] = len(numbers)
        trace.graph.output(f"y{numbers[value.number]}", value)
    return _Result("graph", numbers[value.number])


def trace_function(function: Callable[..., Any], arguments: Any) -> Tuple[Trace, Tree, List[_Result]]:
    """Calls a function with traced values in place of the arrays among its arguments, which are a tuple and a dict. Returns the trace with a
    finished graph, and how the result is made of it."""
    leaves: List[Any] = []
    tree = flatten(arguments, leaves)
    leaves = [_as_leaf(leaf) for leaf in leaves]
    arrays = [leaf for leaf in leaves if _is_array(leaf)]
    trace = Trace(_library(arrays[0]) if arrays else "")
    tracers = [trace.input(f"x{i}", *_described(array)) for i, array in enumerate(arrays)]
    given = iter(tracers)
    replaced = iter([next(given) if _is_array(leaf) else leaf for leaf in leaves])
    positions, names = unflatten(tree, replaced.__next__)
    with _Recording(trace):
        returned = function(*positions, **names)
        made: List[Any] = []
        result = flatten(returned, made)
        numbers: Dict[int, int] = {}
        inputs = {tracer.value.number: i for i, tracer in enumerate(tracers)}
        results = [_result_of(trace, leaf, numbers, inputs) for leaf in made]
    if numbers:
        trace.graph.finish()
    return trace, result, results


# ---- Compiled functions ----

_ALL: weakref.WeakSet[Compiled] = weakref.WeakSet()


class Compiled:
    """A function that is compiled. Its graphs are made when it is called; `graphs` has those so far."""

    def __init__(self, function: Callable[..., Any], backend: Union[None, str, Backend], settings: Any) -> None:
        functools.update_wrapper(self, function)
        self._function, self._backend, self._settings = function, backend, settings
        self.reset()
        _ALL.add(self)

    def reset(self) -> None:
        """Forgets all graphs."""
        self._kept: Dict[Any, _Kept] = {}
        self._flat: Dict[Any, Callable[..., Any]] = {}  # for calls with arrays alone, by their types and shapes

    @property
    def graphs(self) -> List[Graph]:
        """The graphs so far."""
        return [kept.graph for kept in list(self._kept.values()) if kept.graph is not None]

    def __repr__(self) -> str:
        return f"<compiled {self._function!r}>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    # ---- Graphs ----

    def _make(self, arguments: Any, arrays: Sequence[Any]) -> _Kept:
        trace, tree, results = trace_function(self._function, arguments)
        if not any(one.kind == "graph" for one in results):
            return _Kept(None, None, tree, results)
        backend = self._backend if self._backend is not None else get_default_backend()
        run = build(backend, trace.graph, list(arrays))
        if self._settings is not None and run is trace.graph._core:
            run = functools.partial(trace.graph, settings=self._settings)
        return _Kept(trace.graph, run, tree, results)

    def _find(self, arguments: Any) -> Tuple[Optional[_Kept], List[Any]]:
        """Returns the graph for these arguments, and their arrays. There is none if no argument is an array, or if the stance is so."""
        leaves: List[Any] = []
        tree = flatten(arguments, leaves)
        leaves = [_as_leaf(leaf) for leaf in leaves]
        arrays = [leaf for leaf in leaves if _is_array(leaf)]
        if not arrays or Stance.name == "force_eager" or any(isinstance(leaf, Tracer) for leaf in leaves):
            return None, arrays
        key = tree, tuple(map(_key_of, leaves))
        kept = self._kept.get(key)
        if kept is not None or (self._kept and Stance.name == "eager_on_recompile"):
            return kept, arrays
        if self._kept and Stance.name == "fail_on_recompile":
            raise failure(RecompileLimitHit, "E_UNSUPPORTED", f"{self!r} is called with other types or sizes, and the stance is fail_on_recompile")
        # Without a lock, which the function would run under, and which a child of fork might not get: threads may trace it twice.
        made = self._make(arguments, arrays)
        if len(self._kept) >= MOST_GRAPHS:
            self.reset()
        kept = self._kept.setdefault(key, made)
        self._add_flat(arguments, arrays, kept)
        return kept, arrays

    def _add_flat(self, arguments: Any, arrays: Sequence[Any], kept: _Kept) -> None:
        positions, names = arguments
        plain = (_core.Tensor, getattr(sys.modules.get("numpy"), "ndarray", None), getattr(sys.modules.get("torch"), "Tensor", None))
        if not names and len(positions) == len(arrays) and all(type(one) in plain for one in positions):
            run = kept.run if kept.is_plain and kept.run is not None else kept
            self._flat[tuple([(type(one), one.shape, one.dtype) for one in positions])] = run

    # ---- Calls ----

    def __call__(self, *arguments: Any, **names: Any) -> Any:
        if not names and Stance.name == "default":
            try:
                run = self._flat.get(tuple([(type(one), one.shape, one.dtype) for one in arguments]))
            except (AttributeError, TypeError):  # of what is no array
                run = None
            if run is not None:
                return run(*arguments)
        kept, arrays = self._find((arguments, names))
        return self._function(*arguments, **names) if kept is None else kept(*arrays)

    def explain(self, *arguments: Any, **names: Any) -> List[Explanation]:
        """Explains the graph of a call with these arguments, if there is one: which library and algorithm runs each part, and why."""
        kept, arrays = self._find((arguments, names))
        return [] if kept is None or kept.graph is None else [kept.graph.explain(*arrays, settings=self._settings)]


def _is_module_of_torch(model: Any) -> bool:
    torch = sys.modules.get("torch")
    module = getattr(getattr(torch, "nn", None), "Module", None)
    return isinstance(module, type) and isinstance(model, module)


def _compile_module(model: Any, fullgraph: bool, dynamic: Optional[bool], options: Optional[Dict[str, Any]]) -> Any:
    from .. import torch_backend

    return sys.modules["torch"].compile(model, backend=torch_backend.backplane, fullgraph=fullgraph, dynamic=dynamic, options=options)


def _settings_of(options: Optional[Dict[str, Any]]) -> Any:
    for name in options or {}:
        if name != "settings":
            raise bad_value(f"options: there is no {name!r}; there is settings")
    given = (options or {}).get("settings")
    return given if given is None or isinstance(given, _core.Options) else _core.Options(given)


Function = TypeVar("Function", bound=Callable[..., Any])


@overload
def compile(
    model: Function,
    *,
    fullgraph: bool = ...,
    dynamic: Optional[bool] = ...,
    backend: Union[None, str, Backend] = ...,
    mode: Optional[str] = ...,
    options: Optional[Dict[str, Any]] = ...,
    disable: bool = ...,
) -> Function: ...


@overload
def compile(
    model: None = ...,
    *,
    fullgraph: bool = ...,
    dynamic: Optional[bool] = ...,
    backend: Union[None, str, Backend] = ...,
    mode: Optional[str] = ...,
    options: Optional[Dict[str, Any]] = ...,
    disable: bool = ...,
) -> Callable[[Function], Function]: ...


def compile(
    model: Optional[Callable[..., Any]] = None,
    *,
    fullgraph: bool = False,
    dynamic: Optional[bool] = None,
    backend: Union[None, str, Backend] = None,
    mode: Optional[str] = None,
    options: Optional[Dict[str, Any]] = None,
    disable: bool = False,
) -> Any:
    """Returns a function that computes the same by graphs; also as a decorator.

    At its first call with arrays of certain types and shapes, the function runs once with traced values, which record every call of
    backplane, every operator and method, and the functions of NumPy and of the array API as one graph. Later calls run the graph: it is planned
    and packed once, intermediate results share memory, and chains of functions run in the cache. What else the function does, it does
    only when it is traced.

    Arguments and results may be tuples, lists and dicts. Arrays that the function takes from elsewhere become constants, as they are
    when it is traced. Numbers, texts and other objects among the arguments are fixed: another one is traced again. A function keeps at most 64 graphs.

    ``backend`` is a name of compiler.list_backends(), or a function of a Graph and example inputs that returns a callable. ``options`` may have
    ``settings``, a dict of dotted names. ``fullgraph`` makes no difference, as a function is one graph or an error. ``dynamic`` and ``mode`` have
    their defaults only: sizes are fixed in a graph. With ``disable``, the function is returned as it is. A module of torch is compiled by
    torch.compile, with backplane as its backend.

    Errors: compiler.TraceError (the function depends on elements of arrays, or writes arrays), compiler.InvalidBackend,
    compiler.BackendCompilerFailed, and what the function and the calls raise.

    >>> @backplane.compile
    ... def layer(x, w):
    ...     return backplane.elementwise.maximum(x @ w, 0.0)
    >>> layer(np.eye(2), np.array([[1.0, -2.0], [3.0, 4.0]]))
    array([[1., 0.],
           [3., 4.]])
    """
    if model is None:
        words = dict(fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable)
        return functools.partial(compile, **words)
    if not callable(model):
        raise bad_type(f"compile: expects a function, but got {model!r}")
    if mode not in (None, "default"):
        raise bad_value(f"compile: mode is {mode!r}; it must be 'default', as settings say how calls are chosen")
    if dynamic:
        raise bad_value("compile: dynamic is True; sizes are fixed in a graph, and a call with others is traced again")
    if backend is not None:
        lookup(backend)
    if options and backend not in (None, "auto", "inductor"):
        raise bad_value(f"compile: options are given, which the backend {backend!r} does not take")
    if disable or getattr(model, "_is_not_compiled", False):
        return model
    if _is_module_of_torch(model):
        return _compile_module(model, fullgraph, dynamic, options)
    function = model._function if isinstance(model, Compiled) else model
    return Compiled(function, backend, _settings_of(options))


def reset() -> None:
    """Forgets the graphs of all compiled functions."""
    for one in list(_ALL):
        one.reset()


def explain(function: Callable[..., Any]) -> Callable[..., List[Explanation]]:
    """Returns a function that explains the graph of a call: which library and algorithm runs each part, and why.

    >>> why = explain(lambda x: backplane.elementwise.exp(x) + 1.0)(np.zeros(3))
    >>> len(why), [part.chosen.library for part in why[0].parts]
    (1, ['native', 'native'])
    """
    if _is_module_of_torch(function):
        from .. import torch_backend

        return torch_backend.explain(function)
    made = function if isinstance(function, Compiled) else Compiled(function, None, None)
    return made.explain


def export(function: Callable[..., Any], /, *arguments: Any, **names: Any) -> Graph:
    """Returns the graph of a call with these arguments. Graph.text() writes it, and bp_graph_parse() of C and Graph.parse() read the text.

    >>> print(export(lambda x: x * 2.0, np.zeros(3)).text(), end="")
    graph 1
    input x0 f64 [3]
    constant c0 f64 [] = [0x1p+1]
    v3 = binary(a=x0, b=c0, kind=multiply)
    output y0 = v3
    """
    if _is_module_of_torch(function):
        from .. import torch_backend

        return torch_backend.export(function, *arguments, **names)
    made = function._function if isinstance(function, Compiled) else function
    trace, _, results = trace_function(made, (arguments, names))
    if not any(one.kind == "graph" for one in results):
        raise bad_value("export: no result of the function is computed from arrays")
    return trace.graph
